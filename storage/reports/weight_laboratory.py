"""The aspect scores of a study's DnA-Eval runs with every set of weights, as the weights laboratory needs them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.aspects import Weights, aspect_set_id, in_percent, mean_weights, preferred_response
from core.formats.tables import Column
from core.items import Item
from core.labels import Target
from core.protocols import registry
from core.protocols.dna_eval.settings import Settings, settings_of_item
from core.protocols.dna_eval.verdicts import Judgement, collect_judgements
from core.statistics.reports.weight_laboratory import LaboratoryReport, ScoredPair, laboratory_report
from storage.db import connections
from storage.labels import labels, targets
from storage.reports import references
from storage.reports.opinions import annotator_panel, find_scales, opinion_frame
from storage.runs import aius, aspects, runs, turns
from storage.runs.aspects import KIND
from storage.runs.runs import Run
from storage.runs.turns import TraceTurns
from storage.studies import items
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    Column("Weights", "scheme", key="weights"),
    Column("Minus", "less", key="less"),
    Column("Agreement", "agreement.value agreement.low agreement.high", "estimate", "value low high"),
    Column("Items", "agreement.items", "count", "items"),
    Column("Note", "agreement.reason", key="reason"),
)
"""Of the agreements of each way to aggregate."""


def file_rows(report: LaboratoryReport) -> list[dict[str, object]]:
    """Return the agreements, differences and points of the curve as they are in files."""
    rows = [(row.scheme, row.less, None, row.agreement) for row in report.schemes]
    rows += [(point.weighting, None, point.k, point.agreement) for point in report.curve]
    return [
        {"judge": report.judge, "weights": weights, "less": less, "k": k}
        | {name: getattr(agreement, name) for name in ("value", "low", "high", "items")}
        for weights, less, k, agreement in rows
    ]


def reports(
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
        panel = annotator_panel(session, study)
        frame = references.frame(session, study.id, chosen, find_scales(session, study, [panel]))
        gold = _preferences(frame[frame["source"] != references.BY_THE_DEBATE])  # weights are fitted to people alone
        judged = _judged_items(session, study.id, scoring)
        people = _people_weights(session, study.id)
        baselines = _baselines(session, study.id, scoring)
        pairs: dict[str, list[ScoredPair]] = defaultdict(list)
        for trace in turns.by_trace(session, study.id, list(scoring)):
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


def _judged_items(
    session: Session, study_id: int, scoring: Mapping[int, tuple[Run, Settings]]
) -> dict[int, dict[str, Item]]:
    """Return run id -> item id -> the item as the run judged it."""
    by_id = items.by_key(session, study_id) if scoring else {}
    return {run.id: aius.evaluated_items(session, run, by_id) for run, _ in scoring.values()}


def _preferences(gold: "pd.DataFrame") -> dict[Target, int]:
    rows = gold[(gold["kind"] == "preference") & gold["value"].notna()]
    return {target: int(value) for target, value in zip(targets.of_frame(rows), rows["value"], strict=True)}


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
    own_sum = judgement.overalls if settings.aggregation != "weighted sum" else None
    return ScoredPair(
        item=trace.item,
        group=trace.group,
        scores=_two(judgement.scores),
        reference=reference,
        judge_weights=in_percent(judgement.weights) if judgement.weights else None,
        people_weights=people.get((trace.item, aspect_set_id(judgement.aspects))),
        own_preference=preferred_response(own_sum) if own_sum else None,
        criterion=settings.criterion_name,
        trace=trace.trace,
        baselines={run: value for (judge, run), value in baselines.items() if judge == judgement.judge},
    )


def _two(scores: Sequence[Weights]) -> tuple[Weights, Weights]:
    first, second = scores
    return first, second
