"""Scores and answers that annotators can give without a judge's opinion: every item, on a criterion and its scale."""

from collections.abc import Iterator

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.study_records import ScaleRecord
from core.items import Criterion, Item
from core.labels import Kind, Scale, Target, Value
from core.protocols.registry import PROTOCOLS
from storage.db.guards import QUEUE, reading_for
from storage.db.tables import OpinionRow, TargetRow
from storage.labels import targets
from storage.runs import runs, trace_opinions
from storage.runs.runs import Run
from storage.runs.traces import Trace
from storage.studies import items, studies

ScaleKey = tuple[Kind, str]
"""A kind and a criterion."""


def scales(session: Session, study_id: int) -> dict[ScaleKey, Scale]:
    """Return the scales of scores and answers: those of the runs, of the study's criteria, and declared ones."""
    scales: dict[ScaleKey, Scale] = {}
    with reading_for(QUEUE):  # the scales of the runs tell nothing of the opinions
        found = runs.of_study(session, study_id)
    for run in found:
        scales |= _run_scales(run)
    criteria = studies.criteria(session, study_id)
    scales |= {("score", criterion.name): criterion.scale for criterion in criteria if criterion.scale}
    declared = studies.scales(session, study_id)
    scales |= {key: scale for key, scale in declared.items() if key[0] in ("score", "answer")}
    return dict(sorted(scales.items(), key=lambda pair: (pair[0][0] != "score", pair[0][1])))


def _run_scales(run: Run) -> dict[ScaleKey, Scale]:
    """Return the scales of a run's scores or answers. An imported run may have any settings and protocol."""
    try:
        protocol = PROTOCOLS[run.protocol]
        return dict(protocol.scales(protocol.settings.model_validate(run.settings)))
    except (KeyError, TiebreakError, ValidationError):
        return _criterion_scale(run)


def _criterion_scale(run: Run) -> dict[ScaleKey, Scale]:
    """Return the scale of the criterion in the settings, if the rest of them is not valid here."""
    try:
        criterion = Criterion.model_validate(run.settings["criterion"])
    except (ValidationError, LookupError, TypeError):
        return {}
    return {("score", criterion.name): criterion.scale} if criterion.scale else {}


def create_targets(session: Session, study_id: int, kind: Kind, criterion: str, scale: Scale) -> None:
    """Add the targets that are missing, so every item of the study can be labelled on a criterion."""
    if (kind, criterion) not in studies.scales(session, study_id):
        studies.declare_scale(session, study_id, ScaleRecord(kind=kind, criterion=criterion, scale=scale))
    existing = {t.item for _, t in targets.of_study(session, study_id) if (t.kind, t.criterion) == (kind, criterion)}
    missing = [item for item in items.of_study(session, study_id) if item.id not in existing]
    new = [target for item in missing for target in item_targets(item, kind, criterion)]
    if new:
        targets.get_or_create_ids(session, study_id, new)


def item_targets(item: Item, kind: Kind, criterion: str) -> Iterator[Target]:
    """Yield one target for the item, or for a score one for each of several responses, with its number as part."""
    if kind == "answer" or len(item.responses) < 2:
        yield Target(item=item.id, kind=kind, criterion=criterion)
        return
    for number in range(1, len(item.responses) + 1):
        yield Target(item=item.id, kind=kind, criterion=criterion, part=str(number))


# The criteria of traces: those of a study, and the one of a trace with several that needs a label most.


def criterion_to_label(session: Session, trace: Trace) -> str:
    """Return the criterion to begin with when the trace is labelled: the run's, or the first one without agreement.

    There is no agreement on a criterion if its verdict has no value or the judges' last opinions on it differ. If they
    agree on all criteria, it is the first; empty if the verdict has none.
    """
    if trace.criterion:
        return trace.criterion
    query = (
        select(col(TargetRow.criterion), col(TargetRow.kind), col(TargetRow.part), col(OpinionRow.stage))
        .add_columns(col(OpinionRow.value))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.trace_id) == trace.id, col(OpinionRow.stage).in_(("verdict", "last")))
        .order_by(col(OpinionRow.id))
    )
    criteria: dict[str, bool] = {}
    last: dict[tuple[str, ...], Value] = {}
    for criterion, kind, part, stage, value in session.execute(query):
        is_open = (
            value is None
            if stage == "verdict"
            else value is not None and (last.setdefault((criterion, kind, part), value) != value)
        )
        criteria[criterion] = criteria.get(criterion, False) or is_open
    return next((name for name, is_open in criteria.items() if is_open), next(iter(criteria), ""))


@reading_for(QUEUE)
def judged_criteria(session: Session, study_id: int) -> list[str]:
    """Return the names of the criteria of a study's runs and of their verdicts, sorted."""
    study_runs = runs.of_study(session, study_id)
    criteria = {run.criterion for run in study_runs if run.criterion}
    if any(isinstance(run.settings, dict) and run.settings.get("criteria") for run in study_runs):
        criteria.update(trace_opinions.verdict_criteria(session, study_id))
    return sorted(criteria)
