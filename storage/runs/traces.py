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

    @property
    def is_of_whole_runs(self) -> bool:
        """Whether every trace of a run matches, or none."""
        return self == Filter(self.study_id, self.run_id)


def count_by_run(session: Session, filter: Filter) -> dict[int, int]:
    """Return run -> the number of its matching traces, the newest run first, without runs that have none.

    The numbers of whole runs are stored with the runs (`storage.runs.call_totals`); otherwise the traces are counted.
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
#
# A page is read from an index, from the trace on, so it costs as much at the end of the list as at its start: every
# query has equal values in the first columns of an index, and reads its next column in order. Items are ordered by
# their ids, which is the order of the study, because items are only appended to it.

# The newest run first, in the order of the items; or the most disputed first, then in the order of the items, the
# newest run first, and at last the traces without a known contention.
Order = Literal["run", "contention"]
# A part of a list, which one query reads: its conditions, and its order.
Part = tuple[Sequence[ColumnElement[bool]], Sequence[Any]]


# The columns of the trace after which a page begins: its id, run_id, item_id and contention.
_Place = Any


def ordered_ids(
    session: Session,
    filter: Filter,
    sizes: Mapping[int, int],
    *,
    after: int,
    limit: int,
    order: Order,
    backwards: bool = False,
) -> list[int]:
    """Return the first traces after a trace, or backwards those before it; see `key_pages.read_page`.

    `sizes` is `trace_filter.count_by_run` of the filter. A trace that the study does not have counts as START.
    """
    at, found = clock(session), list[int]()
    place = None if after == START else _place(session, filter, after)
    runs = list(sizes)
    if order == "run":
        parts = _by_run(runs[::-1] if backwards else runs, sizes, place, limit, backwards)
    else:
        parts = _by_contention(place, backwards)
    for conditions, sorting in parts:
        query = matching(filter, at, col(TraceRow.id)).where(*conditions).order_by(*sorting)
        found += session.scalars(query.limit(limit - len(found)))
        if len(found) == limit:
            break
    return found


def _place(session: Session, filter: Filter, trace_id: int) -> _Place | None:
    columns = (col(TraceRow.id), col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.contention))
    query = select(*columns).where(col(TraceRow.id) == trace_id, col(TraceRow.study_id) == filter.study_id)
    return session.execute(query).first()


def _by_run(
    runs: Sequence[int], sizes: Mapping[int, int], place: _Place | None, limit: int, backwards: bool
) -> Iterator[Part]:
    """Yield the rest of the run of the place, then runs in groups: all but the last of a group are on one page."""
    run, item, id = col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.id)
    in_run = [_directed(item, backwards), _directed(id, backwards)]
    if place is not None:
        yield [run == place.run_id, *_rest_of_run(place, backwards)], in_run
        runs = [one for one in runs if (one > place.run_id if backwards else one < place.run_id)]
    while runs:
        small = _fitting(runs, sizes, limit)
        if small:
            yield [run.in_(small)], [_directed(run, not backwards), *in_run]
        runs = runs[len(small) :]
        if runs:
            yield [run == runs[0]], in_run
        runs = runs[1:]


def _fitting(runs: Sequence[int], sizes: Mapping[int, int], limit: int) -> list[int]:
    """Return the first runs that have fewer traces together than a page."""
    found: list[int] = []
    for run in runs:
        limit -= sizes[run]
        if limit <= 0:
            break
        found.append(run)
    return found


def _rest_of_run(place: _Place, backwards: bool) -> list[ColumnElement[bool]]:
    item, id = col(TraceRow.item_id), col(TraceRow.id)
    if backwards:
        return [item <= place.item_id, or_(item < place.item_id, id < place.id)]
    return [item >= place.item_id, or_(item > place.item_id, id > place.id)]


def _by_contention(place: _Place | None, backwards: bool) -> Iterator[Part]:
    """Yield the traces of the item with the contention of the place, of its later items, and then the other ones."""
    contention, item, run, id = (
        col(TraceRow.contention), col(TraceRow.item_id), col(TraceRow.run_id), col(TraceRow.id),
    )  # fmt: skip
    of_item = [_directed(run, not backwards), _directed(id, backwards)]
    equal = [_directed(item, backwards), *of_item]
    known: Part = ([contention.is_not(None)], [_directed(contention, not backwards), *equal])
    unknown: Part = ([contention.is_(None)], equal)
    if place is None:
        yield from (unknown, known) if backwards else (known, unknown)
        return
    same = contention == place.contention if place.contention is not None else contention.is_(None)
    earlier_run, earlier = (run > place.run_id, id < place.id) if backwards else (run < place.run_id, id > place.id)
    yield [same, item == place.item_id, or_(earlier_run, and_(run == place.run_id, earlier))], of_item
    yield [same, item < place.item_id if backwards else item > place.item_id], equal
    if place.contention is not None:
        yield [contention > place.contention if backwards else contention < place.contention], known[1]
    if backwards and place.contention is None:
        yield known
    if not backwards and place.contention is not None:
        yield unknown


def _directed(column: Any, backwards: bool) -> Any:
    return column.desc() if backwards else column


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
    sizes, after = count_by_run(session, filter), START
    while ids := ordered_ids(session, filter, sizes, after=after, limit=BATCH, order="run"):
        yield _of_ids(session, filter, ids)
        after = ids[-1]


def page(
    session: Session, filter: Filter, sizes: Mapping[int, int], *, after: int, size: int, order: Order
) -> Page[Trace]:
    """Return the page that begins after a trace; `sizes` is `count_by_run` of the filter."""

    def read(after: int, limit: int, backwards: bool) -> list[int]:
        return ordered_ids(session, filter, sizes, after=after, limit=limit, order=order, backwards=backwards)

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
