"""Traces and their events: appended while a run executes, and read from any sequence number on.

Some traces are watched by somebody: a worker states their open calls again and again while they are open.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Select,
    SQLColumnExpression,
    Text,
    and_,
    cast,
    delete,
    false,
    func,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import TiebreakError
from core.items import item_name
from core.labels import Target
from core.llm.progress import OpenCall
from core.trace import Event, current_numbered_events
from storage.db.columns import START, Page, read_page, sanitize
from storage.db.connections import batches, clock, upsert
from storage.db.guards import STUDY, reading_for
from storage.db.tables import EventRow, ItemRow, LiveTraceRow, OpinionRow, RunRow, TargetRow, TraceRow
from storage.labels import targets
from storage.runs.events import parse_event

# Which traces of a study are listed, and their number.

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
    changed: bool | None = None
    """Whether a judge's last opinion differs from its first one, both readable."""


def count(session: Session, filter: Filter) -> int:
    """Return the number of matching traces."""
    return session.scalar(matching(filter, clock(session), func.count())) or 0


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
    """Return whether a trace is claimed by the worker that has claimed its run and is alive."""
    is_own = and_(col(TraceRow.claimed_by) == col(RunRow.claimed_by), col(RunRow.claimed_until) > at)
    return func.coalesce(is_own, false())


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
    if filter.changed is not None:
        conditions.append(_has_change() if filter.changed else not_(_has_change()))
    return conditions + _status_conditions(filter.status, filter.criterion, at)


def _has_change() -> ColumnElement[bool]:
    """Return whether a judge of a trace has another opinion at the end than at first."""
    first, last = aliased(OpinionRow), aliased(OpinionRow)
    pairs = select(col(first.id)).join(
        last,
        and_(*(col(getattr(first, name)) == col(getattr(last, name)) for name in ("trace_id", "target_id", "judge"))),
    )
    values = cast(col(first.value), Text) != cast(col(last.value), Text)  # unknown, so not true, for a missing one
    stages = (col(first.stage) == "first", col(last.stage) == "last")
    return pairs.where(col(first.trace_id) == col(TraceRow.id), *stages, values).exists()


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


# The order of a list of traces, and its pages, each of which begins after a trace.

# The newest run first, in the order of the items; or the most disputed first, then in the order of the items, the
# newest run first, and at last the traces without a known contention. Items are ordered by their ids, which is the
# order of the study, because items are only appended to it.
Order = Literal["run", "contention"]


def ordered_ids(
    session: Session, filter: Filter, *, after: int, limit: int | None, order: Order, backwards: bool = False
) -> list[int]:
    """Return the first traces after a trace, or backwards those before it; see `storage.db.columns.read_page`.

    A trace that the study does not have counts as START.
    """
    ordering = _ordering(order)
    query = matching(filter, clock(session), col(TraceRow.id))
    place = select(*(column for column, _ in ordering)).where(
        col(TraceRow.id) == after, col(TraceRow.study_id) == filter.study_id
    )
    if after != START and (found := session.execute(place).first()) is not None:
        query = query.where(_is_after(ordering, found, backwards))
    sorting = (column.desc() if falling != backwards else column for column, falling in ordering)
    return list(session.scalars(query.order_by(*sorting).limit(limit)))


def _ordering(order: Order) -> list[tuple[Any, bool]]:
    """Return the columns by which a list is sorted, each with whether its values fall."""
    run, item, id = (col(TraceRow.run_id), True), (col(TraceRow.item_id), False), (col(TraceRow.id), False)
    if order == "run":
        return [run, item, id]
    return [(func.coalesce(col(TraceRow.contention), -1.0), True), item, run, id]


def _is_after(ordering: Sequence[tuple[Any, bool]], place: Sequence[Any], backwards: bool) -> ColumnElement[bool]:
    """Return whether a trace follows the one with the values of `place`, or backwards precedes it."""
    equal: list[ColumnElement[bool]] = []
    following = []
    for (column, falling), value in zip(ordering, place, strict=True):
        following.append(and_(*equal, column < value if falling != backwards else column > value))
        equal.append(column == value)
    return or_(*following)


# Traces read with one query.
BATCH = 200


@dataclass(frozen=True)
class Trace:
    """One item in a run, with its status."""

    id: int
    study_id: int
    run_id: int
    run: str
    protocol: str
    criterion: str
    item: str
    part: str
    """The pair of responses that it is on ("1-3"); empty if it is on the whole item."""
    scenario: str | None
    status: Status
    problem: str
    contention: float | None

    @property
    def name(self) -> str:
        """The name of the item, with the pair of its responses if the trace is on one."""
        return item_name(self.item, self.part)


def in_batches(session: Session, filter: Filter) -> Iterator[list[Trace]]:
    """Yield the matching traces in parts: the newest run first, in the order of the items."""
    ids = ordered_ids(session, filter, after=START, limit=None, order="run")
    for some in batches(ids, BATCH):
        yield _of_ids(session, filter, some)


def page(session: Session, filter: Filter, *, after: int, size: int, order: Order) -> Page[Trace]:
    """Return the page that begins after a trace."""

    def read(after: int, limit: int, backwards: bool) -> list[int]:
        return ordered_ids(session, filter, after=after, limit=limit, order=order, backwards=backwards)

    found = read_page(read, after, size)
    return found.with_rows(_of_ids(session, filter, found.rows))


def _of_ids(session: Session, filter: Filter, ids: Sequence[int]) -> list[Trace]:
    query = trace_query(clock(session), filter.criterion)
    found = {
        row[0]: trace_of_row(row)
        for some in batches(ids, BATCH)
        for row in session.execute(query.where(col(TraceRow.id).in_(some)))
    }
    return [found[id] for id in ids if id in found]


def statuses(session: Session, filter: Filter, ids: Sequence[int]) -> dict[int, Status]:
    """Return trace id -> its status now, by the criterion of the filter."""
    return {trace.id: trace.status for trace in _of_ids(session, filter, ids)}


def no_trace(trace_id: int) -> str:
    """Return the sentence for a trace that does not exist, or of whose study the reader may not know."""
    return f"There is no trace {trace_id}."


@reading_for(STUDY)
def study_id(session: Session, trace_id: int) -> int:
    """Return the study of a trace; raises TiebreakError if there is no such trace."""
    found = session.scalar(select(col(TraceRow.study_id)).where(col(TraceRow.id) == trace_id))
    if found is None:
        raise TiebreakError(no_trace(trace_id))
    return found


def get(session: Session, trace_id: int) -> Trace:
    """Return the trace with that id; raises TiebreakError if there is none."""
    row = session.execute(trace_query(clock(session)).where(col(TraceRow.id) == trace_id)).first()
    if row is None:
        raise TiebreakError(no_trace(trace_id))
    return trace_of_row(row)


def of_target(session: Session, study_id: int, target: Target) -> list[Trace]:
    """Return the traces that judged a target, newest run first."""
    judged = select(col(OpinionRow.trace_id)).where(
        col(OpinionRow.target_id) == targets.find_id(session, study_id, target)
    )
    query = trace_query(clock(session)).where(col(TraceRow.id).in_(judged)).order_by(col(RunRow.id).desc())
    return [trace_of_row(row) for row in session.execute(query)]


def events(session: Session, trace_id: int, *, after: int = -1) -> list[tuple[int, Event]]:
    """Return (sequence number, event) of the events after `after`, without their prompts (see `prompt`).

    Superseded events are left out, and turns have their current readings, as far as the events after `after` tell: see
    `core.trace.current_numbered_events`. A restart is then the first event.
    """
    query = (
        select(col(EventRow.seq), cast(col(EventRow.body), Text))
        .where(col(EventRow.trace_id) == trace_id, col(EventRow.seq) > after)
        .order_by(col(EventRow.seq))
    )
    return current_numbered_events([(seq, parse_event(body)) for seq, body in session.execute(query)])


def events_with_prompts(session: Session, trace_id: int) -> list[Event]:
    """Return every event with its prompt, as replay and export need them."""
    query = (
        select(cast(col(EventRow.body), Text), col(EventRow.prompt))
        .where(col(EventRow.trace_id) == trace_id)
        .order_by(col(EventRow.seq))
    )
    return [parse_event(body, prompt) for body, prompt in session.execute(query)]


def prompt(session: Session, trace_id: int, seq: int) -> str:
    """Return the prompt of an event; empty if it has none."""
    query = select(col(EventRow.prompt)).where(col(EventRow.trace_id) == trace_id, col(EventRow.seq) == seq)
    return session.scalars(query).first() or ""


def trace_query(at: datetime | None, criterion: str | None = None) -> Select[*tuple[Any, ...]]:
    """Select the fields of traces as they are at a time of the database's clock, with the outcome on a criterion.

    Without a time, a trace that a worker executes is one that waits.
    """
    return (
        select(
            col(TraceRow.id),
            col(TraceRow.study_id),
            col(TraceRow.run_id),
            col(RunRow.name),
            col(RunRow.protocol),
            col(RunRow.criterion),
            col(ItemRow.key),
            col(TraceRow.part),
            col(ItemRow.scenario),
            outcome_on(criterion).label("outcome"),
            col(TraceRow.problem),
            col(TraceRow.contention),
            (false() if at is None else is_claimed(at)).label("claimed"),
        )
        .select_from(TraceRow)
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    )


def trace_of_row(row: Sequence[Any]) -> Trace:
    """Return the trace of a row of `trace_query`."""
    *fields, is_claimed_now = row
    trace = Trace(*fields)
    is_running = is_claimed_now and trace.status == "waiting"
    return replace(trace, status="running") if is_running else trace


# Traces that somebody watches.

# Seconds after which a page that watches a trace has to say so again, and after which stated calls are not open any
# more: a worker that was killed states nothing.
WATCHED, STATED = timedelta(seconds=20), timedelta(seconds=4)


def watch(session: Session, trace_id: int) -> None:
    """Record that somebody watches a trace; forget the traces that nobody watches any more."""
    at = clock(session)
    session.execute(delete(LiveTraceRow).where(col(LiveTraceRow.watched_until) < at))
    upsert(session, LiveTraceRow, ("trace_id",), {"trace_id": trace_id, "watched_until": at + WATCHED})


def watched(session: Session, trace_ids: Collection[int]) -> set[int]:
    """Return the traces among these that somebody watches."""
    query = select(col(LiveTraceRow.trace_id)).where(col(LiveTraceRow.watched_until) > clock(session))
    return set(session.scalars(query)) & set(trace_ids)


def state_calls(session: Session, by_trace: Mapping[int, Sequence[OpenCall]]) -> None:
    """Store the open calls of traces that are watched."""
    for trace_id, found in by_trace.items():
        values = [{**asdict(call), "text": sanitize(call.text)} for call in found]
        session.execute(
            update(LiveTraceRow).where(col(LiveTraceRow.trace_id) == trace_id).values(calls=values, at=clock(session))
        )


def open_calls(session: Session, trace_id: int) -> list[OpenCall]:
    """Return the open calls of a trace that a worker has stated recently, in the order of their start."""
    stated = (col(LiveTraceRow.trace_id) == trace_id, col(LiveTraceRow.at) > clock(session) - STATED)
    found = session.scalar(select(col(LiveTraceRow.calls)).where(*stated)) or []
    return sorted((OpenCall(**call) for call in found), key=lambda call: call.since)
