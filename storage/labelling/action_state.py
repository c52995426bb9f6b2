"""What is stored before an action is executed: the client's earlier actions, the task, and the annotator's label of it.

All of it is read with one query, because every action begins with it.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, and_, bindparam, literal, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Scale
from storage.database import execute
from storage.labelling import action_log
from storage.labelling.entered import Standing, standing_of
from storage.labelling.work import Json, Task, Work, queue_named, task_columns, task_of
from storage.tables import ItemRow, LabelRow, ScaleRow, TargetRow

NO_TARGET = 0
"""No target has this id."""
LABEL_COLUMNS = ("value", "reason", "evidence", "blind", "surplus", "at", "shown")


@dataclass(frozen=True)
class ActionState:
    """The state of a study for one action."""

    last: int | None
    """The highest number of the client's actions; None for a new client."""
    stored: Json | None
    """The stored result of this action."""
    work: Work
    """The queue of the task, which need not be the one on the page."""
    task: Task | None
    standing: Standing
    """The annotator's label of the task's main target."""
    scale: Scale | None
    """The declared scale of the task's main target."""


def read(session: Session, work: Work, client: str, seq: int, task_name: object) -> ActionState:
    """Return the state for an action about the task with an opaque id, which may be any value."""
    task_id = work.ids.decode("t", task_name) if isinstance(task_name, str) else None
    parameters = action_log.parameters(work, client, seq) | {"target": task_id or NO_TARGET}
    rows = execute(session, _query(), parameters).all()
    last, stored, scale, *columns = rows[0][: -1 - len(LABEL_COLUMNS)]
    found = task_of(columns) if columns[0] is not None else None
    if found is None:
        return ActionState(last, stored, work, None, Standing(), None)
    name, task = found
    if name != work.name:
        work = replace(work, name=name, queue=queue_named(work.study.id, name))
    standing = standing_of([row for row in rows if row.label_id is not None])
    return ActionState(last, stored, work, task, standing, None if scale is None else Scale.model_validate(scale))


@cache  # to build the query takes longer than to execute it
def _query() -> Select[*tuple[Any, ...]]:
    study, annotator = bindparam("study", type_=Integer), bindparam("annotator", type_=Integer)
    target = and_(col(TargetRow.id) == bindparam("target", type_=Integer), col(TargetRow.study_id) == study)
    own = and_(col(LabelRow.target_id) == col(TargetRow.id), col(LabelRow.annotator_id) == annotator)
    scale = select(col(ScaleRow.body)).where(
        col(ScaleRow.study_id) == study,
        col(ScaleRow.kind) == col(TargetRow.kind),
        col(ScaleRow.criterion) == col(TargetRow.criterion),
    )
    label = [col(LabelRow.id).label("label_id"), *(getattr(LabelRow, name) for name in LABEL_COLUMNS)]
    always = select(literal(1).label("one")).subquery()
    tables = always.outerjoin(TargetRow, target).outerjoin(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    return (
        select(*action_log.columns(), scale.correlate(TargetRow).scalar_subquery(), *task_columns(), *label)
        .select_from(tables.outerjoin(LabelRow, own))
        .order_by(col(LabelRow.id))
    )
