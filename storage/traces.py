"""Traces and their events: appended while a run executes, and read from any sequence number on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, Text, cast, false, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.current_events import current_numbered_events
from core.errors import TiebreakError
from core.labels import Target
from core.pairs import item_name
from core.trace import Event
from storage import targets, trace_order
from storage.database import batches, clock
from storage.events import parse_event
from storage.key_pages import START, Page, read_page
from storage.operations import reading_for
from storage.read_guard import STUDY
from storage.tables import EventRow, ItemRow, OpinionRow, RunRow, TraceRow
from storage.trace_filter import STATUSES as STATUSES
from storage.trace_filter import Filter as Filter
from storage.trace_filter import Status, count_by_run, is_claimed, outcome_on
from storage.trace_order import Order

BATCH = 200
"""Traces read with one query."""


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
    uncertainty: float
    contention: float | None

    @property
    def name(self) -> str:
        """The name of the item, with the pair of its responses if the trace is on one."""
        return item_name(self.item, self.part)


def find(
    session: Session, filter: Filter, *, after: int = START, limit: int | None = None, order: Order = "run"
) -> list[Trace]:
    """Return the matching traces in an order, all or the first ones, from the start or after a trace."""
    sizes = count_by_run(session, filter)
    limit = sum(sizes.values()) if limit is None else limit
    found = trace_order.ids(session, filter, sizes, after=after, limit=limit, order=order)
    return _of_ids(session, filter, found)


def in_batches(session: Session, filter: Filter) -> Iterator[list[Trace]]:
    """Yield the matching traces in parts: the newest run first, in the order of the items."""
    sizes, after = count_by_run(session, filter), START
    while ids := trace_order.ids(session, filter, sizes, after=after, limit=BATCH, order="run"):
        yield _of_ids(session, filter, ids)
        after = ids[-1]


def page(
    session: Session, filter: Filter, sizes: Mapping[int, int], *, after: int, size: int, order: Order
) -> Page[Trace]:
    """Return the page that begins after a trace; `sizes` is `count_by_run` of the filter."""

    def read(after: int, limit: int, backwards: bool) -> list[int]:
        return trace_order.ids(session, filter, sizes, after=after, limit=limit, order=order, backwards=backwards)

    found = read_page(read, after, size)
    return Page(_of_ids(session, filter, found.rows), found.previous, found.next, found.last)


def _of_ids(session: Session, filter: Filter, ids: Sequence[int]) -> list[Trace]:
    query = trace_query(clock(session), filter.criterion)
    found = {
        row[0]: trace_of_row(row)
        for some in batches(ids, BATCH)
        for row in session.execute(query.where(col(TraceRow.id).in_(some)))
    }
    return [found[id] for id in ids if id in found]


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
    `core.current_events.current_numbered_events`. A restart is then the first event.
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
    """Select the columns of traces as they are at a time of the database's clock, with the outcome on a criterion.

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
            (false() if at is None else is_claimed(at)).label("claimed"),
            col(TraceRow.problem),
            col(TraceRow.uncertainty),
            col(TraceRow.contention),
        )
        .select_from(TraceRow)
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    )


def trace_of_row(row: Sequence[Any]) -> Trace:
    """Return the trace of a row of `trace_query`."""
    id, study_id, run_id, run, protocol, criterion, item, part, scenario, outcome, claimed, problem, *measures = row
    uncertainty, contention = measures
    return Trace(
        id=id,
        study_id=study_id,
        run_id=run_id,
        run=run,
        protocol=protocol,
        criterion=criterion,
        item=item,
        part=part,
        scenario=scenario,
        status="running" if outcome == "waiting" and claimed else outcome,
        problem=problem,
        uncertainty=uncertainty,
        contention=contention,
    )
