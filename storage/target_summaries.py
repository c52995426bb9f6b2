"""Columns of targets that follow from their labels and opinions, so a queue is counted without reading both.

They are written in the transactions that change labels and opinions. On PostgreSQL the targets are locked first: of two
transactions, the second one counts what the first one stored.
"""

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, exists, func, not_, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from storage.database import execute
from storage.postgresql import DEFERRED
from storage.tables import LabelRow, OpinionRow, TargetRow, TraceRow

DISPUTED = ("disputed", "no_verdict")
"""Outcomes about which people are asked."""


def lock_targets(session: Session, target_ids: Collection[int]) -> None:
    """Lock targets until the end of the transaction.

    All transactions lock in the same order. SQLite has one writer at a time anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        execute(session, _lock_query(), {"targets": list(target_ids)})


@cache  # to build the query takes longer than to execute it, as for the other cached queries
def _lock_query() -> Select[int]:
    query = select(col(TargetRow.id)).prefix_with(DEFERRED).select_from(TargetRow)
    query = query.where(col(TargetRow.id).in_(bindparam("targets", expanding=True))).order_by(col(TargetRow.id))
    return query.with_for_update(key_share=True, of=TargetRow)


def count_labels(session: Session, target_id: int) -> None:
    """Count the labels of a target again; the target must be locked."""
    execute(session, _count_statement(), {"target": target_id})


@cache
def _count_statement() -> Any:
    table: Any = TargetRow
    statement = update(table.__table__).prefix_with(DEFERRED)
    return statement.where(col(TargetRow.id) == bindparam("target")).values(counted=counted_labels())


def count_labels_of(session: Session, target_ids: Collection[int]) -> None:
    """Count the labels of several targets again; they must be locked."""
    _set(session, col(TargetRow.id).in_(target_ids), counted=counted_labels())


def count_labels_of_study(session: Session, study_id: int) -> None:
    """Count the labels of every target of a study."""
    _set(session, col(TargetRow.study_id) == study_id, counted=counted_labels())


def mark_disputed(session: Session, target_ids: Collection[int]) -> None:
    """Set whether targets are disputed, after their opinions have changed."""
    if target_ids:
        lock_targets(session, target_ids)
        execute(session, _disputed_statement(), {"targets": list(target_ids)})


@cache
def _disputed_statement() -> Any:
    table: Any = TargetRow
    chosen = col(TargetRow.id).in_(bindparam("targets", expanding=True))
    return update(table.__table__).where(chosen).values(disputed=is_disputed())


def mark_disputed_of_study(session: Session, study_id: int) -> None:
    """Set whether the targets of a study are disputed."""
    _set(session, col(TargetRow.study_id) == study_id, disputed=is_disputed())


def concluded_targets(session: Session, trace_ids: Collection[int]) -> set[int]:
    """Return the targets of the verdicts of traces."""
    if not trace_ids:
        return set()
    return set(execute(session, _concluded_query(), {"traces": list(trace_ids)}).scalars())


@cache
def _concluded_query() -> Any:
    of_traces = col(OpinionRow.trace_id).in_(bindparam("traces", expanding=True))
    return select(col(OpinionRow.target_id)).where(of_traces, col(OpinionRow.stage) == "verdict")


def is_current(label: Any) -> ColumnElement[bool]:
    """Return whether a label (the table or an alias) is its annotator's newest of the target and not withdrawn."""
    newer = _newer_label()
    replaced = exists().where(
        col(newer.target_id) == col(label.target_id),
        col(newer.annotator_id) == col(label.annotator_id),
        col(newer.id) > col(label.id),
    )
    return col(label.value).is_not(None) & ~replaced


@cache
def _newer_label() -> Any:
    return aliased(LabelRow)  # takes longer to build than a short query to execute


def _set(session: Session, condition: ColumnElement[bool], **values: Any) -> None:
    statement = update(TargetRow).where(condition).values(**values)
    session.execute(statement, execution_options={"synchronize_session": False})


def counted_labels() -> Any:
    """Return the number of current labels of the outer query's target that count towards its overlap."""
    own = select(func.count()).select_from(LabelRow).where(col(LabelRow.target_id) == col(TargetRow.id))
    return own.where(is_current(LabelRow), not_(col(LabelRow.surplus))).correlate(TargetRow).scalar_subquery()


def own_outcome() -> ColumnElement[str]:
    """Return the outcome of the target of a verdict, which is an opinion joined with its trace.

    It is that of the trace, unless the trace judges several criteria that have their own.
    """
    return func.coalesce(col(OpinionRow.outcome), col(TraceRow.outcome))


def is_disputed() -> Any:
    """Return whether a verdict is no agreement on the outer query's target, or its labels were requested."""
    return col(TargetRow.overlap).is_not(None) | (
        exists()
        .where(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.stage) == "verdict")
        .where(col(TraceRow.id) == col(OpinionRow.trace_id), own_outcome().in_(DISPUTED))
        .correlate(TargetRow)
    )
