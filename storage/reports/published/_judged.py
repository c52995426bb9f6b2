"""Tables of judges against people: ChatEval's 1 and 2, ReFeR's 2 and 12, DnA-Eval's 2 to 4, 7 and Figure 5.

Then those of runs and labels: costs and durations (ReFeR's Tables 2 to 4 and Figure 7, ChatEval's Table 6, DnA-Eval's
Table 6), ReFeR's Figures 3 and 6, and ScaleEval's Figure 4.

ChatEval: Chan et al. 2023, arXiv:2308.07201. ReFeR: Narsupalli et al. 2024, arXiv:2407.12877. DnA-Eval: Li et al. 2024,
arXiv:2405.15329.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from core.labels import Target
from core.protocols import registry
from core.protocols.dna_baselines import NAME as BASELINE
from core.statistics.data.dataset import NUMBER_COLUMNS, build_datasets
from core.statistics.measures.means import mean_estimate
from core.statistics.reports import peer_errors
from core.statistics.reports.agreement import agreement_rows
from core.statistics.reports.experiments import RunOfCell
from core.statistics.reports.judges import compared_statistic, judge_differences
from core.statistics.reports.peer_errors import TraceOutcome
from core.statistics.reports.weight_distances import average_weights as mean_weights
from core.wording import format_p, join_notes, repeats_note, significance_level
from storage.db import connections
from storage.labels import labels, targets
from storage.reports import alignment, peer_reviews, weights
from storage.reports.alignment import AS_TIE, AS_TIE_NOTE, BY_SCORES, FIRST_OPINION, TIE
from storage.reports.judge_costs import UNITS, RunCost, cost_by_run, cost_by_speaker, sum_costs
from storage.reports.opinions import once, with_texts
from storage.reports.published._debates import pairs_and_scenarios
from storage.reports.published.rows import (
    PublishedRow,
    PublishedTable,
    Request,
    evaluators,
    from_estimate,
    mean_rows,
    share,
    with_mean,
)
from storage.reports.references import ADJUDICATED
from storage.runs import experiments, runs
from storage.runs.runs import Run

if TYPE_CHECKING:
    import pandas as pd

CHATEVAL, REFER, DNA = "ChatEval, Chan et al. 2023", "ReFeR, Narsupalli et al. 2024", "DnA-Eval, Li et al. 2024"
SCALEEVAL = "ScaleEval, Chern et al. 2024"
ACCURACIES = ("accuracy_gold", "cohen_kappa_gold")
CORRELATIONS = ("spearman", "kendall_tau_b", "pearson")
ALL_CALLS = "all calls"
PART_OF_MAJORITY = "this annotator's own label is part of the majority"


def accuracy(request: Request) -> list[PublishedRow]:
    """Return accuracy and kappa of each judge, and of each annotator with the majority (ChatEval's Table 1)."""
    statistics = {name: name.removesuffix("_gold") for name in ACCURACIES}
    statistics |= {name + AS_TIE: f"{short}, no verdict as a tie" for name, short in statistics.items()}
    return annotator_accuracy(request, statistics) + _alignment_rows(request, "preference", statistics)


def annotator_accuracy(request: Request, statistics: Mapping[str, str]) -> list[PublishedRow]:
    """Return each annotator's statistics with the reference, if there are several annotators."""
    labels = request.data.labels
    labels = labels[labels["kind"] == "preference"]
    if labels["rater"].nunique() < 2:
        return []
    given = labels.assign(judge=labels["rater"].astype(str), stage="verdict")
    rows = _rows_of_repeats(request, given, {name: name for name in given["judge"].unique()}, statistics)
    gold = request.data.gold
    is_part = gold is None or "source" not in gold or not (gold["source"] == ADJUDICATED).any()
    return [replace(row, note=join_notes(PART_OF_MAJORITY if is_part else "", row.note)) for row in rows]


def _alignment_rows(request: Request, kind: str, statistics: Mapping[str, str]) -> list[PublishedRow]:
    """Return rows of the alignment by criterion, renamed; first opinions are left out, and repeats are one judge."""
    opinions = request.data.opinions
    if opinions.empty:
        return []
    opinions = opinions[(opinions["kind"] == kind) & ~opinions["judge"].astype(str).str.endswith(FIRST_OPINION)]
    names = evaluators(request, map(str, opinions["judge"].unique()))
    repeats = Counter(names.values())
    repeated = {judge: name for judge, name in names.items() if repeats[name] > 1}
    data = replace(request.data, opinions=opinions[~opinions["judge"].isin(repeated)])
    single = [
        from_estimate(row.judge, row.criterion, statistics[row.statistic], row, weighted=True)
        for row in alignment.measured_rows(data, "criterion", resamples=request.resamples)
        if row.statistic in statistics
    ]
    return single + _rows_of_repeats(request, opinions, repeated, statistics)


def _rows_of_repeats(
    request: Request, opinions: "pd.DataFrame", names: Mapping[str, str], statistics: Mapping[str, str]
) -> list[PublishedRow]:
    """Return the means over the repeats of each evaluator, as in the table of an experiment; `names`: judge -> its own.

    Only one that lacks a verdict has statistics with it as a tie.
    """
    rows = []
    codes = {judge: number for number, judge in enumerate(names)}
    opinions = with_texts(opinions[opinions["judge"].isin(codes)])
    opinions = opinions.assign(run=opinions["judge"].map(codes).astype(int))
    opinions = opinions.drop(columns=[*NUMBER_COLUMNS], errors="ignore")
    ties = {name.removesuffix(AS_TIE): title for name, title in statistics.items() if name.endswith(AS_TIE)}
    for name in dict.fromkeys(names.values()):
        runs_of = {code: RunOfCell((name,), code) for judge, code in codes.items() if names[judge] == name}
        own = opinions[opinions["run"].isin(runs_of)]
        rows += _mean_rows(request, own, runs_of, statistics)
        if ties and own["value"].isna().any():
            filled = own.assign(value=own["value"].where(own["value"].notna(), TIE))
            rows += _mean_rows(request, filled, runs_of, ties, AS_TIE_NOTE)
    return rows


def _mean_rows(
    request: Request,
    opinions: "pd.DataFrame",
    runs_of: Mapping[int, RunOfCell],
    statistics: Mapping[str, str],
    note: str = "",
) -> list[PublishedRow]:
    """Return the means over the repeats of one evaluator, whose opinions of each repeat have a run."""
    scales = alignment.comparable_scales(opinions, request.data.scales)
    data = replace(request.data, opinions=opinions, scales=scales)
    return mean_rows(data, runs_of, statistics, request.resamples, note)


def correlations(request: Request) -> list[PublishedRow]:
    """Return each judge's correlations with people by criterion, and their means over criteria."""
    return once(request.data, ("published", request.resamples), lambda: _correlations(request))  # of two tables


def _correlations(request: Request) -> list[PublishedRow]:
    rows = _alignment_rows(request, "score", {name: name for name in CORRELATIONS})
    keys = dict.fromkeys((row.scorer, row.statistic) for row in rows)
    own = [[row for row in rows if (row.scorer, row.statistic) == key] for key in keys]
    return rows + [mean for of_judge in own for mean in with_mean(of_judge)[len(of_judge) :]]


def differences(request: Request, kind: str) -> list[PublishedRow]:
    """Return every two judges' difference on the same items (ReFeR's Table 12, DnA-Eval's Table 4).

    The repeats of a run are one judge, whose value of an item is the mean over them.
    """
    data = request.data
    if data.opinions.empty:
        return []
    opinions = data.opinions[data.opinions["kind"] == kind]
    scales = alignment.comparable_scales(opinions, data.scales)
    names, found = evaluators(request, opinions["judge"].unique()), []
    for dataset in build_datasets(replace(data, opinions=opinions, scales=scales, design=None), "criterion"):
        for row in judge_differences(dataset, resamples=request.resamples, evaluators=names):
            p = {"p of the bootstrap": row.p_bootstrap, "of the test": row.p_t, "corrected (Holm)": row.p_corrected}
            note = ", ".join(f"{n} {format_p(of)}" for n, of in p.items() if of is not None)
            level = f"level {stars}" if (stars := significance_level(row.p_bootstrap)) else ""
            note = join_notes(note, join_notes(level, row.reason))
            if FIRST_OPINION not in row.judge + row.other_judge:
                name, figures = f"{row.judge} less {row.other_judge}", (row.difference, row.low, row.high)
                subject = (name, dataset.criterion, compared_statistic(dataset))
                found.append(PublishedRow(*subject, *figures, row.items, note))
    return found


def verdict_agreement(request: Request) -> list[PublishedRow]:
    """Return each run's agreement with people's preferences, with and without their ties (DnA-Eval's Table 2)."""
    data = request.people
    keys = ["item", "kind", "criterion", "part"]
    gold = data.gold[(data.gold["kind"] == "preference") & data.gold["value"].notna()]
    verdicts = data.opinions[(data.opinions["kind"] == "preference") & (data.opinions["stage"] == "verdict")]
    verdicts = with_texts(verdicts[~verdicts["judge"].astype(str).str.endswith(BY_SCORES)])
    judged = verdicts.merge(gold[[*keys, "value"]].rename(columns={"value": "gold"}).astype({"part": str}), on=keys)
    with connections.reading(request.engine) as session:
        names = {run.id: run.name_of_cell for run in runs.of_study(session, request.study.id)}
    repeats = Counter(names.values())
    rows = []
    for (name, criterion), own in judged.groupby([judged["run"].map(names), "criterion"], sort=False):
        decided = own[own["value"].notna()]
        missing = len(own) - len(decided)
        note = join_notes(repeats_note(repeats[str(name)]), f"{missing} without a verdict, left out" if missing else "")
        without_ties = decided[decided["gold"] != TIE]
        for statistic, some in (("agreement with ties", decided), ("agreement without ties", without_ties)):
            hits = (some["value"] == some["gold"]).tolist()
            rows.append(share(str(name), str(criterion), statistic, hits, some["item"].tolist(), note))
    return rows


def corrected_mistakes(request: Request) -> list[PublishedRow]:
    """Return how often DnA-Eval is right where a baseline with its model is wrong, and the reverse (Table 11).

    The shares are of the pairs on which both runs and people have a preference; the notes name the first items.
    """
    verdicts = request.data.opinions
    verdicts = verdicts[(verdicts["kind"] == "preference") & (verdicts["stage"] == "verdict")]
    with connections.reading(request.engine) as session:
        found = runs.of_study(session, request.study.id)
    with_aspects = registry.with_artifact("aspects")
    right: dict[int, dict[Target, bool]] = {}
    for run in found:
        own = verdicts[(verdicts["run"] == run.id) & verdicts["value"].notna()]
        of_run = zip(targets.of_frame(own), own["value"], strict=True)
        right[run.id] = {t: value == request.preferences[t] for t, value in of_run if t in request.preferences}
    pooled: dict[tuple[str, str], list[tuple[Target, bool, bool]]] = defaultdict(list)
    for direct, run in product((one for one in found if one.protocol == BASELINE), found):
        if run.protocol not in with_aspects or (_model(direct), direct.repeat) != (_model(run), run.repeat):
            continue
        before, after = right[direct.id], right[run.id]
        both = [(target, before[target], after[target]) for target in after if target in before]
        pooled[run.name_of_cell, direct.name_of_cell] += both
    rows = []
    for (name, baseline), both in pooled.items():
        for statistic, is_right in (("corrected", True), ("made wrong", False)) if both else ():
            hits = [(was, is_now) == (not is_right, is_right) for _, was, is_now in both]
            judged = [target.item for target, _, _ in both]
            first = [*dict.fromkeys(item for item, hit in zip(judged, hits, strict=True) if hit)]
            note = f"items: {', '.join(first[:5])}{' ...' * (len(first) > 5)}" if first else ""
            rows.append(share(name, f"instead of {baseline}", statistic, hits, judged, note))
    return rows


def _model(run: Run) -> str:
    """Return the model of the first judge; empty if settings, which may be imported, have none."""
    first: Any = next(iter(run.settings.get("judges") or ()), {})
    return alignment.judge_model(run.settings, first.get("name", "")) if isinstance(first, dict) else ""


def aspect_ratings(request: Request) -> list[PublishedRow]:
    """Return people's mean ratings of each judge's aspects: over items, of the mean over annotators (Table 3)."""
    with connections.reading(request.engine) as session:
        opinions = weights.weight_opinions(session, request.study.id).drop_duplicates(["rater", "item", "part"])
        ratings = labels.frame(session, request.study.id)
    ratings = ratings[ratings["kind"] == "aspect_quality"]
    sets = opinions[["rater", "item", "part"]].rename(columns={"rater": "judge"})
    rows = []
    for (judge, quality), rated in ratings.merge(sets, on=["item", "part"]).groupby(["judge", "criterion"], sort=True):
        of_sets = rated.assign(value=rated["value"].astype(float)).groupby(["item", "part"])["value"].mean()
        own = [item for item, _ in of_sets.index]
        rating = mean_estimate(of_sets.tolist(), groups=own, resamples=request.resamples)
        rows.append(from_estimate(str(judge), str(quality), "mean rating", rating))
    return rows


def average_weights(request: Request) -> list[PublishedRow]:
    """Return each rater's mean weights by category of tasks (DnA-Eval's Figure 4 and Tables 7 to 10)."""
    units = weights.load_units(request.engine, request.study)
    averages = mean_weights(units, resamples=request.resamples)
    return [
        from_estimate(row.rater, f"{row.scenario}: {row.aspect}", "weight in percent", row.weight) for row in averages
    ]


def weight_distances(request: Request) -> list[PublishedRow]:
    """Return the rank distances of weights between raters (DnA-Eval's Figure 5)."""
    rows: list[PublishedRow] = []
    for row in weights.rows(request.engine, request.study, resamples=request.resamples):
        pair = f"{row.rater_a} and {row.rater_b}" if row.rater_a != row.rater_b else "people, all pairs"
        counts = f"{row.units:,} weightings of {row.items:,} items" if row.items < row.units else ""
        rows.append(replace(from_estimate(pair, "", "rank distance", row.distance, counts), items=row.items))
        note = "equal weights have no order; counted as the same order, as in the authors' code"
        note = "; ".join(filter(None, (note, counts)))
        value = row.distance_undefined_as_zero
        rows.append(PublishedRow(pair, "", "rank distance, undefined as 0", value, None, None, row.items, note))
    return rows


PEOPLE_PREFER, PEOPLE_SCORE = "people's preferences, and verdicts of judges", "people's scores, and scores by judges"


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
        "chateval-1", CHATEVAL, "Table 1: accuracy and kappa on preferences",
        "Does a discussion of personas decide as people do?", PEOPLE_PREFER, accuracy, kinds=("preference",),
    ),
    PublishedTable(
        "chateval-2", CHATEVAL, "Table 2: correlations with people's scores",
        "Does a discussion of personas score as people do?", PEOPLE_SCORE, correlations, kinds=("score",),
    ),
    PublishedTable(
        "refer-2", REFER, "Tables 2, 3, 5, 8 and 9: correlations of peers and area chair",
        "Does the area chair score more like people than its peers do?", PEOPLE_SCORE, correlations, kinds=("score",),
    ),
    PublishedTable(
        "refer-12", REFER, "Table 12: differences of correlations", "Is the area chair better than another judge?",
        PEOPLE_SCORE, lambda request: differences(request, "score"), kinds=("score",),
    ),
    PublishedTable(
        "dna-2", DNA, "Table 2: agreement with people, with and without ties",
        "Does scoring by aspects agree with people more often than one overall score?", PEOPLE_PREFER,
        verdict_agreement,
        has_reference=False, kinds=("preference",),
    ),
    PublishedTable(
        "dna-3", DNA, "Table 3: ratings of aspects", "How good are the aspects that models propose?",
        "people's ratings of aspects from 1 to 5, and a run of DnA-Eval", aspect_ratings,
        has_reference=False, kinds=("aspect_quality",),
    ),
    PublishedTable(
        "dna-4", DNA, "Table 4: significance of the differences",
        "Is the difference from the baseline more than chance?",
        PEOPLE_PREFER, lambda request: differences(request, "preference"), kinds=("preference",),
    ),
    PublishedTable(
        "dna-7", DNA, "Figure 4 and Tables 7 to 10: average weights", "Which aspects matter in which task?",
        "aspect weights of several items with the same aspects", average_weights,
        has_reference=False, kinds=("aspect_weights",),
    ),
    PublishedTable(
        "dna-11", DNA, "Table 11: mistakes of a baseline that DnA-Eval corrects",
        "Where is scoring by aspects right and one overall score wrong?",
        "people's preferences, and runs of DnA-Eval and of its baselines with the same model", corrected_mistakes,
        kinds=("preference",),
    ),
    PublishedTable(
        "dna-figure-5", DNA, "Figure 5: distances of weights", "Do models weight aspects as people do?",
        "aspect weights of people and of judges", weight_distances,
        has_reference=False, kinds=("aspect_weights",),
    ),
    PublishedTable(
        "costs", f"{REFER}; ChatEval, Chan et al. 2023; DnA-Eval, Li et al. 2024",
        "Costs and durations (ReFeR's Tables 2 to 4 and Figure 7, ChatEval's Table 6, DnA-Eval's Table 6)",
        "What does each run cost, all together and its chair alone?", "runs with recorded calls", costs,
        has_reference=False, labels="no value",
        kinds=("preference", "score", "answer", "aiu_precision", "aspect_weights"),
    ),
    PublishedTable(
        "refer-figure-3", REFER, "Figure 3: errors of peers and area chair, pooled",
        "How often is the chair right although its peers are wrong?", "runs of ReFeR, and people's scores or answers",
        error_slices, has_reference=False, kinds=("score", "answer"),
    ),
    PublishedTable(
        "refer-figure-6", REFER, "Figure 6: distribution of people's scores", "How skewed are people's scores?",
        "people's scores", label_distribution, has_reference=False, labels="values of people", kinds=("score",),
    ),
    PublishedTable(
        "scaleeval-figure-4", SCALEEVAL, "Figure 4: agreement of people",
        "How far do people agree on each pair of systems?", "preferences of several people", human_agreement,
        has_reference=False, labels="values of people", kinds=("preference",),
    ),
)  # fmt: skip
