"""Aspect weights (DnA-Eval): distances between raters, mean weights, quality of aspects, and agreement of verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.aspects import Weights
from core.formats.tables import Column
from core.labels import Kind
from core.statistics.data.arrays import Estimate
from core.statistics.data.columns import Column as CodedColumn
from core.statistics.data.label_table import LabelTable, groups
from core.statistics.measures.means import mean_estimate
from core.statistics.measures.shares import share_estimate
from core.statistics.reports.weight_distances import (
    DistanceMeasure,
    RaterDistance,
    UnitDistance,
    WeightUnit,
    rank_distance,
    rater_distances,
    unit_distances,
)
from core.wording import report_criterion
from storage.db import connections
from storage.labels import labels, targets
from storage.reports.alignment import judge_model, load_data
from storage.reports.chosen_labels import Choices
from storage.reports.opinions import opinion_columns, opinion_frame
from storage.runs import runs
from storage.runs.aspects import KIND
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

UnitKey = tuple[str, str, str]
"""Item, set of aspects, scenario."""
PREFERENCE: Kind = "preference"
TIE = 0
DECIDED = ("adjudicated", "unanimous", "majority", "single")
"""Sources of gold with a value that annotators chose."""
COLUMNS = (
    Column("Rater", "rater_a", key="rater_a"),
    Column("Other rater", "rater_b", key="rater_b"),
    Column("Distance", "distance.value distance.low distance.high", "estimate", "distance low high"),
    Column(
        "Undefined as 0", "distance_undefined_as_zero", "estimate", "distance_undefined_as_zero",
        help="Equal weights have no order. The paper counts them as the same order; here they are left out.",
    ),
    Column("Weightings", "units", "count", "items"),
    Column("Undefined", "undefined", "count", "undefined"),
    Column("Between", lambda row: "people" if row.among_annotators else "judge and people"),
)  # fmt: skip
"""Of the distances of raters."""
AGREEMENT_COLUMNS = (
    Column("Run", "run"),
    Column("Criterion", "criterion"),
    Column("With ties", "with_ties.value with_ties.low with_ties.high", "estimate"),
    Column("Items", "with_ties.items", "count"),
    Column("Without ties", "without_ties.value without_ties.low without_ties.high", "estimate"),
    Column("Items ", "without_ties.items", "count"),
    Column("No verdict", "no_verdict", "count"),
)


@dataclass(frozen=True)
class WeightingDetail:
    """One set of aspects of an item, with all its weights."""

    item: str
    scenario: str
    distance: float | None
    weights: Mapping[str, Weights]
    """By rater; empty if `blind`."""
    trace: int | None
    """The newest trace with these aspects."""
    blind: bool
    """The viewer has not weighed these aspects yet."""


@dataclass(frozen=True)
class AspectQuality:
    """The annotators' ratings of the aspects of one judge, 1 to 5 (Table 3)."""

    judge: str
    quality: str
    rating: Estimate


@dataclass(frozen=True)
class VerdictAgreement:
    """The share of items on which a run's verdict equals the gold label (Table 2)."""

    run: str
    protocol: str
    criterion: str
    with_ties: Estimate
    without_ties: Estimate
    """On the items whose gold label is not a tie."""
    no_verdict: int
    """Items with a gold label and without a verdict, which are in neither share."""


def rows(
    engine: Engine, study: Study, measure: DistanceMeasure = rank_distance, *, resamples: int = 1000
) -> list[RaterDistance]:
    """Return the distance between each two annotators, and between each judge and the annotators."""
    return rater_distances(load_units(engine, study), measure, resamples=resamples)


def drill_down(
    engine: Engine,
    study: Study,
    row: RaterDistance,
    measure: DistanceMeasure = rank_distance,
    viewer: str | None = None,
) -> list[WeightingDetail]:
    """Return the weightings of a row of `rows`, the largest distance first.

    `viewer` is the annotator who is signed in: weights of aspects that the viewer has not weighed are hidden.
    """
    with connections.reading(engine) as session:
        weighted = units(session, study.id)
        opinions = opinion_frame(session, study.id, [KIND])
    keys = zip(opinions["item"].tolist(), opinions["part"].tolist(), strict=True)
    newest = dict(zip(keys, opinions["trace"].tolist(), strict=True))
    return [
        _detail(unit_distance, newest.get((unit_distance.unit.item, unit_distance.unit.part)), viewer)
        for unit_distance in unit_distances(weighted, row.rater_a, row.rater_b, row.among_annotators, measure)
    ]


def _detail(unit_distance: UnitDistance, trace: int | None, viewer: str | None) -> WeightingDetail:
    unit = unit_distance.unit
    if viewer is not None and viewer not in unit.annotators:
        return WeightingDetail(unit.item, unit.scenario, None, {}, trace, True)
    weights = {**unit.judges, **unit.annotators}
    return WeightingDetail(unit.item, unit.scenario, unit_distance.distance, weights, trace, False)


def aspect_qualities(engine: Engine, study: Study, *, resamples: int = 1000) -> list[AspectQuality]:
    """Return the mean rating of each judge's aspects: the mean over items of the mean over annotators."""
    with connections.reading(engine) as session:
        ratings = labels.frame(session, study.id)
        opinions = _weight_opinions(session, study.id).drop_duplicates(["rater", "item", "part"])
    ratings = ratings[ratings["kind"] == "aspect_quality"]
    judges = opinions[["rater", "item", "part"]].rename(columns={"rater": "judge"})
    by_judge = ratings.merge(judges, on=["item", "part"]).groupby(["judge", "criterion"], sort=True)
    return [AspectQuality(str(key[0]), str(key[1]), _mean_rating(rows, resamples)) for key, rows in by_judge]


def _mean_rating(ratings: "pd.DataFrame", resamples: int) -> Estimate:
    by_target = ratings.assign(value=ratings["value"].astype(float)).groupby(["item", "part"])["value"].mean()
    groups = [item for item, _ in by_target.index]
    raters = int(ratings["rater"].nunique())
    return mean_estimate(by_target.tolist(), groups=groups, raters=raters, pairs=len(ratings), resamples=resamples)


def verdict_agreement(engine: Engine, study: Study, choices: Choices | None = None) -> list[VerdictAgreement]:
    """Return each run's agreement with the annotators on preferences, with and without ties.

    If labels are mainly of disputed targets, it is of these: `choices`, if the caller has them.
    """
    if choices is None:
        choices = load_data(engine, study, "gold").choices
    with connections.reading(engine) as session:
        gold = {
            id: gold.value
            for id, gold in labels.gold_by_target_id(session, study.id, [PREFERENCE])
            if gold.source in DECIDED
        }
        opinions = opinion_columns(session, study.id, [PREFERENCE])
        by_id = dict(targets.of_study(session, study.id, [PREFERENCE]))
        runs_by_id = {run.id: run for run in runs.of_study(session, study.id)}
    criteria = {id: report_criterion(target.criterion) for id, target in by_id.items()}
    gold = {id: value for id, value in gold.items() if choices.has_figures_of(by_id[id])}
    judged = CodedColumn.of(opinions.targets)
    columns = {"run": CodedColumn.of(opinions.runs), "criterion": judged.map(criteria.__getitem__)}
    table = LabelTable({**columns, "verdict": opinions.values, "gold": judged.map(gold.get)})
    verdicts = table.take(opinions.stages.equals("verdict"))
    has_gold = verdicts["gold"].present()
    return [
        _agreement(runs_by_id[run].name, runs_by_id[run].protocol, criterion, verdicts.take(rows[has_gold[rows]]))
        for (run, criterion), rows in groups(verdicts, "run", "criterion")
        if has_gold[rows].any()
    ]


def _agreement(run: str, protocol: str, criterion: str, verdicts: LabelTable) -> VerdictAgreement:
    """Return the agreement of verdicts with their gold labels."""
    decided = verdicts.take(verdicts["verdict"].present())
    without_ties = decided.take(decided["gold"].where(lambda label: label != TIE))
    missing = len(verdicts) - len(decided)
    return VerdictAgreement(run, protocol, criterion, _share_equal(decided), _share_equal(without_ties), missing)


def _share_equal(verdicts: LabelTable) -> Estimate:
    equal = verdicts["verdict"].array() == verdicts["gold"].array()
    return share_estimate(equal, pairs=len(verdicts), reason="there is no item with a verdict and a gold label")


def load_units(engine: Engine, study: Study) -> list[WeightUnit]:
    """Return `units` of a study."""
    with connections.reading(engine) as session:
        return units(session, study.id)


def units(session: Session, study_id: int) -> list[WeightUnit]:
    """Return all current weights by item and set of aspects; of a judge, its newest."""
    annotators = _weights_by_unit(labels.frame(session, study_id))
    judges = _weights_by_unit(_weight_opinions(session, study_id))
    keys = dict.fromkeys([*annotators, *judges])
    return [WeightUnit(*key, annotators.get(key, {}), judges.get(key, {})) for key in keys]


def _weight_opinions(session: Session, study_id: int) -> "pd.DataFrame":
    """Return the judges' weights; a judge that has different models in several runs is one rater for each model."""
    opinions = opinion_frame(session, study_id, [KIND])
    settings = {run.id: run.settings for run in runs.of_study(session, study_id)}
    pairs = dict.fromkeys(zip(opinions["rater"].tolist(), opinions["run"].tolist(), strict=True))
    models = {(rater, run): judge_model(settings.get(run), rater) for rater, run in pairs}
    used: dict[str, set[str]] = {}
    for (rater, _), model in models.items():
        used.setdefault(rater, set()).add(model)
    names = {
        pair: f"{pair[0]} · {model}" if model and len(used[pair[0]]) > 1 else pair[0] for pair, model in models.items()
    }
    keys = zip(opinions["rater"].tolist(), opinions["run"].tolist(), strict=True)
    return opinions.assign(rater=[names[key] for key in keys])


def _weights_by_unit(frame: "pd.DataFrame") -> dict[UnitKey, dict[str, Weights]]:
    """Return unit -> rater -> weights, without unreadable ones."""
    rows = frame[frame["kind"] == KIND]
    columns = (rows[name].tolist() for name in ("item", "part", "scenario", "rater", "value"))
    weights: dict[UnitKey, dict[str, Weights]] = {}
    for item, part, scenario, rater, value in zip(*columns, strict=True):
        if isinstance(value, dict):
            key = (item, part, scenario if isinstance(scenario, str) else "")
            weights.setdefault(key, {})[rater] = value
    return weights
