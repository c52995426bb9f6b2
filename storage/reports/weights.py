"""Aspect weights (DnA-Eval): distances, means, quality of aspects, agreement of verdicts, and other weights."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.aspects import Weights, aspect_set_id, in_percent, mean_weights
from core.formats.tables import Column
from core.labels import Kind, Target
from core.protocols import registry
from core.protocols.dna_eval.settings import Settings, settings_of_item
from core.protocols.dna_eval.verdicts import Judgement, collect_judgements
from core.statistics.reports.weight_distances import (
    DistanceMeasure,
    RaterDistance,
    WeightUnit,
    rank_distance,
    rater_distances,
    unit_distances,
)
from core.statistics.reports.weight_laboratory import LaboratoryReport, ScoredPair, laboratory_report
from storage.db import connections
from storage.labels import labels, targets
from storage.reports import references
from storage.reports.alignment import judge_models
from storage.reports.opinions import find_scales, opinion_frame
from storage.runs import aius, aspects, events, runs
from storage.runs.aspects import KIND
from storage.runs.events import TraceTurns
from storage.runs.runs import Run
from storage.studies import items
from storage.studies.studies import Study

# Item, set of aspects, scenario.
UnitKey = tuple[str, str, str]
PREFERENCE: Kind = "preference"
TIE = 0
# Of the distances of raters.
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


def rows(
    engine: Engine, study: Study, measure: DistanceMeasure = rank_distance, *, resamples: int = 1000
) -> list[RaterDistance]:
    """Return the distance between each two annotators, and between each judge and the annotators."""
    return rater_distances(load_units(engine, study), measure, resamples=resamples)


def drill_down(engine: Engine, study: Study, row: RaterDistance, viewer: str | None = None) -> list[WeightingDetail]:
    """Return the weightings of a row of `rows`, the largest distance first.

    `viewer` is the annotator who is signed in: weights of aspects that the viewer has not weighed are hidden.
    """
    with connections.reading(engine) as session:
        weighted = units(session, study.id)
        opinions = opinion_frame(session, study.id, [KIND])
    keys = zip(opinions["item"].tolist(), opinions["part"].tolist(), strict=True)
    newest = dict(zip(keys, opinions["trace"].tolist(), strict=True))
    details = []
    for unit, distance in unit_distances(weighted, row.rater_a, row.rater_b, row.among_annotators):
        blind = viewer is not None and viewer not in unit.annotators
        given = {} if blind else {**unit.judges, **unit.annotators}
        trace, shown = newest.get((unit.item, unit.part)), None if blind else distance
        details.append(WeightingDetail(unit.item, unit.scenario, shown, given, trace, blind))
    return details


def load_units(engine: Engine, study: Study) -> list[WeightUnit]:
    """Return `units` of a study."""
    with connections.reading(engine) as session:
        return units(session, study.id)


def units(session: Session, study_id: int) -> list[WeightUnit]:
    """Return all current weights by item and set of aspects; of a judge, its newest."""
    annotators = _weights_by_unit(labels.frame(session, study_id))
    judges = _weights_by_unit(weight_opinions(session, study_id))
    keys = dict.fromkeys([*annotators, *judges])
    return [WeightUnit(*key, annotators.get(key, {}), judges.get(key, {})) for key in keys]


def weight_opinions(session: Session, study_id: int) -> pd.DataFrame:
    """Return the judges' weights; a judge that has different models in several runs is one rater for each model."""
    opinions = opinion_frame(session, study_id, [KIND])
    models, several = judge_models(session, study_id, opinions)
    names = {
        pair: f"{pair[0]} · {model}" if model and pair[0] in several else pair[0] for pair, model in models.items()
    }
    keys = zip(opinions["rater"].tolist(), opinions["run"].tolist(), strict=True)
    return opinions.assign(rater=[names[key] for key in keys])


def _weights_by_unit(frame: pd.DataFrame) -> dict[UnitKey, dict[str, Weights]]:
    """Return unit -> rater -> weights, without unreadable ones."""
    rows = frame[frame["kind"] == KIND]
    columns = (rows[name].tolist() for name in ("item", "part", "scenario", "rater", "value"))
    weights: dict[UnitKey, dict[str, Weights]] = {}
    for item, part, scenario, rater, value in zip(*columns, strict=True):
        if isinstance(value, dict):
            key = (item, part, scenario if isinstance(scenario, str) else "")
            weights.setdefault(key, {})[rater] = value
    return weights


# The aspect scores of a study's DnA-Eval runs with every set of weights, as the weights laboratory needs them.


# Of the agreements of each way to aggregate.
SCHEME_COLUMNS = (
    Column("Weights", "scheme", key="weights"),
    Column("Minus", "less", key="less"),
    Column("Agreement", "agreement.value agreement.low agreement.high", "estimate", "value low high"),
    Column("Items", "agreement.items", "count", "items"),
    Column("Note", "agreement.reason", key="reason"),
)


def laboratory(
    engine: Engine, study: Study, *, reference: str | None = None, resamples: int = 1000
) -> list[LaboratoryReport]:
    """Return the report of each judge of each run that scored aspects, oldest run first.

    Raises TiebreakError for a reference that the study does not have.
    """
    pairs = load_pairs(engine, study, reference)
    return [laboratory_report(judge, of_judge, resamples=resamples) for judge, of_judge in pairs.items()]


def load_pairs(engine: Engine, study: Study, reference: str | None = None) -> dict[str, list[ScoredPair]]:
    """Return "judge · run" -> its scored pairs of responses with a reference, from the stored turns."""
    with connections.reading(engine) as session:
        chosen = references.resolve(session, study.id, reference)
        scoring = _scoring_runs(session, study.id)
        if not scoring:
            return {}
        scales = find_scales(session, study, [labels.frame(session, study.id)])
        frame = references.frame(session, study.id, chosen, scales)
        # Weights are fitted to people alone.
        frame = frame[(frame["source"] != references.BY_THE_DEBATE) & (frame["kind"] == "preference")]
        frame = frame[frame["value"].notna()]
        gold = dict(zip(targets.of_frame(frame), frame["value"].astype(int).tolist(), strict=True))
        by_id = items.by_key(session, study.id)
        judged = {run.id: aius.evaluated_items(session, run, by_id) for run, _ in scoring.values()}
        people = _people_weights(session, study.id)
        baselines = _baselines(session, study.id, scoring)
        pairs: dict[str, list[ScoredPair]] = defaultdict(list)
        for trace in events.turns_by_trace(session, study.id, list(scoring)):
            run, settings = scoring[trace.run]
            settings = settings_of_item(settings, judged[trace.run][trace.item])
            target = Target(item=trace.item, kind="preference", criterion=settings.criterion_name, part=trace.part)
            if target in gold:
                for judgement in collect_judgements(trace.turns, settings, 2):
                    if judgement.complete:
                        pair = _pair(trace, judgement, settings, gold[target], people, baselines.get(target, {}))
                        pairs[f"{judgement.judge} · {run.name}"].append(pair)
    return dict(pairs)


def _scoring_runs(session: Session, study_id: int) -> dict[int, tuple[Run, Settings]]:
    """Return run id -> the run with its settings, oldest first, if the protocol scores aspects."""
    protocols = registry.with_artifact("aspects")
    matching = [run for run in reversed(runs.of_study(session, study_id)) if run.protocol in protocols]
    return {run.id: (run, aspects.parse_settings(run.settings)) for run in matching}


def _people_weights(session: Session, study_id: int) -> dict[tuple[str, str], Weights]:
    """Return (item, set of aspects) -> the mean of people's weights."""
    frame = labels.frame(session, study_id)
    frame = frame[frame["kind"] == KIND]
    given: dict[tuple[str, str], list[Weights]] = defaultdict(list)
    for item, part, value in zip(frame["item"], frame["part"], frame["value"], strict=True):
        if isinstance(value, dict) and value:
            given[item, part].append(value)
    return {key: mean_weights(of_key) for key, of_key in given.items() if len({frozenset(w) for w in of_key}) == 1}


def _baselines(
    session: Session, study_id: int, scoring: Mapping[int, object]
) -> dict[Target, dict[tuple[str, str], int]]:
    """Return target -> (judge, run) -> the preference of a judge in a run without aspects."""
    names = {run.id: run.name for run in runs.of_study(session, study_id) if run.id not in scoring}
    frame = opinion_frame(session, study_id, ["preference"])
    frame = frame[frame["value"].notna() & frame["run"].isin(list(names))]
    frame = frame[frame["stage"] != "first"]
    values_by_target: dict[Target, dict[tuple[str, str], int]] = defaultdict(dict)
    columns = (frame[name] for name in ("rater", "run", "value"))
    for judge, run, value, target in zip(*columns, targets.of_frame(frame), strict=True):
        values_by_target[target][judge, names[run]] = int(value)
    return values_by_target


def _pair(
    trace: TraceTurns,
    judgement: Judgement,
    settings: Settings,
    reference: int,
    people: Mapping[tuple[str, str], Weights],
    baselines: Mapping[tuple[str, str], int],
) -> ScoredPair:
    return ScoredPair(
        item=trace.item,
        group=trace.group,
        scores=(judgement.scores[0], judgement.scores[1]),
        reference=reference,
        judge_weights=in_percent(judgement.weights) if judgement.weights else None,
        people_weights=people.get((trace.item, aspect_set_id(judgement.aspects))),
        baselines={run: value for (judge, run), value in baselines.items() if judge == judgement.judge},
    )
