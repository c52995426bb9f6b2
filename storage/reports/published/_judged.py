"""Tables of judges against people: ChatEval's 1 and 2, ReFeR's 2 and 12, DnA-Eval's 2 to 4, 7 and Figure 5.

ChatEval: Chan et al. 2023, arXiv:2308.07201. ReFeR: Narsupalli et al. 2024, arXiv:2407.12877. DnA-Eval: Li et al. 2024,
arXiv:2405.15329.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from core.labels import Target
from core.protocols import registry
from core.protocols.dna_baselines import NAME as BASELINE
from core.statistics.data.dataset import NUMBER_COLUMNS, build_datasets
from core.statistics.reports.experiments import RunOfCell
from core.statistics.reports.judges import compared_statistic, judge_differences
from core.statistics.reports.weight_distances import average_weights as mean_weights
from core.wording import format_p, join_notes, repeats_note, significance_level
from storage.db import connections
from storage.labels import targets
from storage.reports import alignment, weights
from storage.reports.alignment import AS_TIE, AS_TIE_NOTE, FIRST_OPINION, TIE
from storage.reports.opinions import once, with_texts
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
from storage.runs import runs
from storage.runs.runs import Run

if TYPE_CHECKING:
    import pandas as pd

CHATEVAL, REFER, DNA = "ChatEval, Chan et al. 2023", "ReFeR, Narsupalli et al. 2024", "DnA-Eval, Li et al. 2024"
ACCURACIES = ("accuracy_gold", "cohen_kappa_gold")
CORRELATIONS = ("spearman", "kendall_tau_b", "pearson")
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
        for row in alignment.wanted_rows(data, "criterion", statistics, resamples=request.resamples)
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
    return [
        from_estimate(row.run, row.criterion, statistic, estimate, join_notes(repeats_note(row.repeats), note))
        for row in weights.verdict_agreement(request.engine, request.study, request.people.choices)
        for statistic, estimate in (
            ("agreement with ties", row.with_ties),
            ("agreement without ties", row.without_ties),
        )
        for note in (f"{row.no_verdict} without a verdict, left out" if row.no_verdict else "",)
    ]


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
    """Return people's mean ratings of each judge's aspects (DnA-Eval's Table 3)."""
    qualities = weights.aspect_qualities(request.engine, request.study, resamples=request.resamples)
    return [from_estimate(row.judge, row.quality, "mean rating", row.rating) for row in qualities]


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
TABLES = (
    PublishedTable(
        "chateval-1", CHATEVAL, "Table 1: accuracy and kappa on preferences",
        "Does a discussion of personas decide as people do?", PEOPLE_PREFER, accuracy,
    ),
    PublishedTable(
        "chateval-2", CHATEVAL, "Table 2: correlations with people's scores",
        "Does a discussion of personas score as people do?", PEOPLE_SCORE, correlations,
    ),
    PublishedTable(
        "refer-2", REFER, "Tables 2, 3, 5, 8 and 9: correlations of peers and area chair",
        "Does the area chair score more like people than its peers do?", PEOPLE_SCORE, correlations,
    ),
    PublishedTable(
        "refer-12", REFER, "Table 12: differences of correlations", "Is the area chair better than another judge?",
        PEOPLE_SCORE, lambda request: differences(request, "score"),
    ),
    PublishedTable(
        "dna-2", DNA, "Table 2: agreement with people, with and without ties",
        "Does scoring by aspects agree with people more often than one overall score?", PEOPLE_PREFER,
        verdict_agreement,
        has_reference=False,
    ),
    PublishedTable(
        "dna-3", DNA, "Table 3: ratings of aspects", "How good are the aspects that models propose?",
        "people's ratings of aspects from 1 to 5, and a run of DnA-Eval", aspect_ratings,
        has_reference=False,
    ),
    PublishedTable(
        "dna-4", DNA, "Table 4: significance of the differences",
        "Is the difference from the baseline more than chance?",
        PEOPLE_PREFER, lambda request: differences(request, "preference"),
    ),
    PublishedTable(
        "dna-7", DNA, "Figure 4 and Tables 7 to 10: average weights", "Which aspects matter in which task?",
        "aspect weights of several items with the same aspects", average_weights,
        has_reference=False,
    ),
    PublishedTable(
        "dna-11", DNA, "Table 11: mistakes of a baseline that DnA-Eval corrects",
        "Where is scoring by aspects right and one overall score wrong?",
        "people's preferences, and runs of DnA-Eval and of its baselines with the same model", corrected_mistakes,
    ),
    PublishedTable(
        "dna-figure-5", DNA, "Figure 5: distances of weights", "Do models weight aspects as people do?",
        "aspect weights of people and of judges", weight_distances,
        has_reference=False,
    ),
)  # fmt: skip
