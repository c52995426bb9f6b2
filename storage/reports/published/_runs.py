"""Tables of a study's runs and labels: costs and durations (ReFeR's Tables 2 to 4 and Figure 7, ChatEval's Table 6,
DnA-Eval's Table 6), ReFeR's Figures 3 and 6, and ScaleEval's Figure 4.
"""

from collections.abc import Iterator, Sequence

from core.statistics.reports import peer_errors
from core.statistics.reports.agreement import agreement_rows
from core.statistics.reports.peer_errors import TraceOutcome
from core.wording import repeats_note
from storage.db import connections
from storage.reports import peer_reviews
from storage.reports.judge_costs import UNITS, RunCost, cost_by_run, cost_by_speaker, sum_costs
from storage.reports.published._debates import pairs_and_scenarios
from storage.reports.published.rows import PublishedRow, PublishedTable, Request, from_estimate, share
from storage.runs import experiments, runs

REFER, SCALEEVAL = "ReFeR, Narsupalli et al. 2024", "ScaleEval, Chern et al. 2024"
ALL_CALLS = "all calls"


def costs(request: Request) -> list[PublishedRow]:
    """Return dollars and seconds of calls of 1,000 traces of each run, of all its calls and of each speaker alone.

    The relative cost is the share of the dearest run, as in the papers. Calls are counted one after another, and a
    reused reply as the call that was made for it.
    """
    with connections.reading(request.engine) as session:
        names = {run.id: run.name_of_cell for run in runs.of_study(session, request.study.id)}
        of_runs = {run: cost for run, cost in cost_by_run(session, list(names)).items() if cost.calls}
        of_speakers = cost_by_speaker(session, list(of_runs))
    groups: dict[str, dict[str, list[RunCost]]] = {}
    for run, cost in of_runs.items():
        groups.setdefault(ALL_CALLS, {}).setdefault(names[run], []).append(cost)
    for (run, speaker), cost in of_speakers.items():
        groups.setdefault(f"{speaker} alone", {}).setdefault(names[run], []).append(cost)
    return [row for group, of_group in groups.items() for row in _cost_rows(group, of_group)]


def _cost_rows(group: str, repeats: dict[str, list[RunCost]]) -> Iterator[PublishedRow]:
    costs = {run: sum_costs(of_run) for run, of_run in repeats.items()}
    for unit in UNITS:
        amounts = {run: amount for run, cost in costs.items() if (amount := cost.amount(unit)) is not None}
        most = max(amounts.values(), default=0.0)
        for run, amount in amounts.items():
            of_run = (None, None, costs[run].traces, repeats_note(len(repeats[run])))
            yield PublishedRow(run, group, f"{unit} of 1,000 traces", amount, *of_run)
            if most:
                yield PublishedRow(run, group, f"relative {unit}", amount / most, *of_run)


def error_slices(request: Request) -> list[PublishedRow]:
    """Return the shares of traces by peers right and chair right or wrong, of each run and each experiment (Figure 3).

    All traces of an experiment are pooled as in the paper; a run on several criteria counts with each, and the repeats
    of a cell are one run. Intervals are over items.
    """
    pooled: dict[str, list[TraceOutcome]] = {}
    with connections.reading(request.engine) as session:
        names = {one.id: one.name for one in experiments.of_study(session, request.study.id)}
        for run in peer_reviews.find_runs(session, request.study.id):
            if peer_reviews.INFLUENCE in run.name:  # a run's own items again, without one of its peers
                continue
            for criterion in peer_reviews.criteria_of_run(run) or [""]:
                errors = peer_reviews.load_errors(session, run, criterion=criterion)
                is_score = errors.settings.kind == "score"
                tolerance = peer_errors.score_tolerance(errors.settings.scale) if is_score else None
                reviewed = [one for one in errors.reviewed if one.peers]  # none of a chair alone
                outcomes = peer_errors.classify_traces(reviewed, tolerance)
                experiment = names.get(run.experiment_id or 0, "no experiment")
                for scorer in (f"all runs of {experiment}", run.name_of_cell):
                    pooled.setdefault(scorer, []).extend(outcomes)
    return [row for name, outcomes in pooled.items() if outcomes for row in _slices(name, outcomes)]


def _slices(name: str, outcomes: Sequence[TraceOutcome]) -> Iterator[PublishedRow]:
    own = [outcome.reviewed.item for outcome in outcomes]
    for one in peer_errors.outcome_slices(outcomes):
        found = {id(outcome) for outcome in one.outcomes}
        yield share(name, one.name, "share of traces", [id(outcome) in found for outcome in outcomes], own)


def label_distribution(request: Request) -> list[PublishedRow]:
    """Return the share of each value among people's scores of a criterion (Figure 6)."""
    scores = request.data.labels[request.data.labels["kind"] == "score"]
    scores = scores[scores["value"].notna()]
    rows = []
    for criterion, of_criterion in scores.groupby("criterion", sort=True):
        given, rated = [float(value) for value in of_criterion["value"]], of_criterion["item"].tolist()
        for value in sorted({*given}):
            hits = [one == value for one in given]
            rows.append(share("people", str(criterion), f"share of {value:g}", hits, rated))
    return rows


def human_agreement(request: Request) -> list[PublishedRow]:
    """Return Fleiss' kappa of people's preferences for each pair of systems and scenario (Figure 4)."""
    labels = request.data.labels
    labels = labels[labels["kind"] == "preference"]
    if labels.empty:
        return []
    groups = pairs_and_scenarios(request)
    named = labels.assign(scenario=labels["item"].map(groups).replace("", "all"))
    found = agreement_rows(named, by="scenario", scales=request.data.scales, resamples=request.resamples)
    return [
        from_estimate("people", " · ".join(filter(None, (row.criterion, row.group))), "Fleiss' kappa", row)
        for row in found
        if row.statistic == "fleiss_kappa" and row.kind == "preference"
    ]


TABLES = (
    PublishedTable(
        "costs", f"{REFER}; ChatEval, Chan et al. 2023; DnA-Eval, Li et al. 2024",
        "Costs and durations (ReFeR's Tables 2 to 4 and Figure 7, ChatEval's Table 6, DnA-Eval's Table 6)",
        "What does each run cost, all together and its chair alone?", "runs with recorded calls", costs,
        has_reference=False, labels="no value",
    ),
    PublishedTable(
        "refer-figure-3", REFER, "Figure 3: errors of peers and area chair, pooled",
        "How often is the chair right although its peers are wrong?", "runs of ReFeR, and people's scores or answers",
        error_slices, has_reference=False,
    ),
    PublishedTable(
        "refer-figure-6", REFER, "Figure 6: distribution of people's scores", "How skewed are people's scores?",
        "people's scores", label_distribution, has_reference=False, labels="values of people",
    ),
    PublishedTable(
        "scaleeval-figure-4", SCALEEVAL, "Figure 4: agreement of people",
        "How far do people agree on each pair of systems?", "preferences of several people", human_agreement,
        has_reference=False, labels="values of people",
    ),
)  # fmt: skip
