"""Which traces of a study are listed, and their number."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, and_, false, func, not_, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage import workers
from storage.database import clock
from storage.tables import ItemRow, OpinionRow, RunRow, TargetRow, TraceRow

Status = Literal["running", "waiting", "failed", "agreed", "disputed", "no_verdict"]
STATUSES: tuple[Status, ...] = ("running", "waiting", "failed", "agreed", "disputed", "no_verdict")


@dataclass(frozen=True)
class Filter:
    """Conditions on traces; None means no filter."""

    study_id: int
    run_id: int | None = None
    scenario: str | None = None
    criterion: str | None = None
    """The criterion of the run, or of any opinion in the trace; the status is then that of this criterion."""
    status: Status | None = None
    item: str | None = None
    """Part of the item's name; case is ignored."""

    @property
    def is_of_whole_runs(self) -> bool:
        """Whether every trace of a run matches, or none."""
        return self == Filter(self.study_id, self.run_id)


def count_by_run(session: Session, filter: Filter) -> dict[int, int]:
    """Return run -> the number of its matching traces, the newest run first, without runs that have none.

    The numbers of whole runs are stored with the runs (`storage.run_sizes`); otherwise the traces are counted.
    """
    if filter.is_of_whole_runs:
        query = select(col(RunRow.id), col(RunRow.traces)).where(col(RunRow.study_id) == filter.study_id)
        query = query.where(col(RunRow.traces) > 0)
        if filter.run_id is not None:
            query = query.where(col(RunRow.id) == filter.run_id)
        return {run: number for run, number in session.execute(query.order_by(col(RunRow.id).desc()))}
    counted = matching(filter, clock(session), col(TraceRow.run_id), func.count()).group_by(col(TraceRow.run_id))
    return dict(sorted(((run, number) for run, number in session.execute(counted)), reverse=True))


def matching(filter: Filter, at: datetime, *columns: SQLColumnExpression[Any]) -> Select[*tuple[Any, ...]]:
    """Select columns of the matching traces, joined only with the tables that the filter needs."""
    query = select(*columns).select_from(TraceRow).where(*_conditions(filter, at))
    if filter.criterion is not None or filter.status in ("running", "waiting"):
        query = query.join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
    if filter.scenario is not None or filter.item:
        query = query.join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    return query


def outcome_on(criterion: str | None) -> SQLColumnExpression[str]:
    """Return the outcome of a trace, or its own outcome on a criterion; None for any."""
    if criterion is None:
        return col(TraceRow.outcome)
    own = (
        select(func.min(col(OpinionRow.outcome)))  # the same for all verdicts on the criterion
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.trace_id) == col(TraceRow.id), col(OpinionRow.stage) == "verdict")
        .where(col(TargetRow.criterion) == criterion)
    )
    return func.coalesce(own.scalar_subquery(), col(TraceRow.outcome))


def is_claimed(at: datetime) -> ColumnElement[bool]:
    """Return whether a trace is claimed by a worker that is alive, or by the one that has claimed its run."""
    is_own = func.coalesce(col(TraceRow.claimed_by) == col(RunRow.claimed_by), false())
    alone = and_(is_own, func.coalesce(col(RunRow.claimed_until) > at, false()))
    return or_(alone, workers.is_alive(col(TraceRow.claimed_by), at))


def _conditions(filter: Filter, at: datetime) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [col(TraceRow.study_id) == filter.study_id]
    if filter.run_id is not None:
        conditions.append(col(TraceRow.run_id) == filter.run_id)
    if filter.scenario is not None:
        conditions.append(col(ItemRow.scenario) == filter.scenario)
    if filter.criterion is not None:
        conditions.append(or_(col(RunRow.criterion) == filter.criterion, _has_opinion_on(filter.criterion)))
    if filter.item:
        conditions.append(col(ItemRow.key).icontains(filter.item, autoescape=True))
    return conditions + _status_conditions(filter.status, filter.criterion, at)


def _has_opinion_on(criterion: str) -> ColumnElement[bool]:
    """Return whether a trace has an opinion on a criterion: a run may judge several."""
    opinions = select(col(OpinionRow.id)).join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
    return opinions.where(col(OpinionRow.trace_id) == col(TraceRow.id), col(TargetRow.criterion) == criterion).exists()


def _status_conditions(status: Status | None, criterion: str | None, at: datetime) -> list[ColumnElement[bool]]:
    if status is None:
        return []
    if status in ("running", "waiting"):
        claimed = is_claimed(at)
        return [col(TraceRow.outcome) == "waiting", claimed if status == "running" else not_(claimed)]
    return [outcome_on(criterion) == status]
