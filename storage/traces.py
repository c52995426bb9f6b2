"""Traces and their events: appended while a run executes, and read from any sequence number on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Select,
    SQLColumnExpression,
    Text,
    and_,
    cast,
    false,
    func,
    not_,
    or_,
    select,
)
from sqlalchemy.orm import Session
from sqlmodel import col

from core.current_events import current_numbered_events
from core.errors import TiebreakError
from core.labels import Target
from core.pairs import item_name
from core.trace import Event
from core.wording import format_count
from storage import calls, targets, workers
from storage.database import clock
from storage.events import (
    parse_event,
)
from storage.operations import reading_for
from storage.read_guard import STUDY
from storage.tables import EventRow, ItemRow, OpinionRow, RunRow, TargetRow, TraceRow

Status = Literal["running", "waiting", "failed", "agreed", "disputed", "no_verdict"]
STATUSES: tuple[Status, ...] = ("running", "waiting", "failed", "agreed", "disputed", "no_verdict")


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


@dataclass(frozen=True)
class Totals:
    """Sums over the calls of a trace or of runs. Tokens, seconds and dollars are without those of reused replies."""

    calls: int = 0
    """Answered asks, with those whose reply was reused."""
    errors: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0
    unpriced: int = 0
    """Calls whose price is unknown: they are not in `dollars`."""
    uncounted: int = 0
    """Calls whose tokens the provider did not state, or not as possible numbers."""
    refused_schemas: int = 0
    """Requests for JSON that were refused and made as text instead; they are not errors."""
    reused: int = 0
    """Calls that were not made, because their replies were stored."""
    saved_dollars: float = 0.0
    """The cost of the reused calls when they were made, as far as it is known."""
    interrupted: int = 0
    """Calls that were in flight when a worker ended; each may have been paid."""

    def describe_calls(self) -> str:
        """Return `120 calls (90 reused, 2 interrupted)`."""
        details = [
            f"{count:,} {word}" for count, word in ((self.reused, "reused"), (self.interrupted, "interrupted")) if count
        ]
        return format_count(self.calls, "call") + (f" ({', '.join(details)})" if details else "")

    def describe_tokens(self) -> str:
        """Return the tokens in words. Unknown tokens are never shown as 0 tokens."""
        tokens = self.prompt_tokens + self.completion_tokens
        unknown = f"tokens unknown for {format_count(self.uncounted, 'call')}" if self.uncounted else ""
        return ", ".join(filter(None, (format_count(tokens, "token") if tokens or not unknown else "", unknown)))

    def describe_cost(self) -> str:
        """Return the cost in words. An unknown price is never shown as $0.00."""
        unpriced = f"{format_count(self.unpriced, 'call')} of unknown price" if self.unpriced else ""
        priced = f"${self.dollars:,.2f}" if self.dollars or not unpriced else ""
        saved = f" (saved ${self.saved_dollars:,.2f})" if self.saved_dollars else ""
        return " and ".join(filter(None, (priced, unpriced))) + saved


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


def find(
    session: Session,
    filter: Filter,
    *,
    offset: int = 0,
    limit: int = 50,
    order: Literal["run", "contention"] = "run",
) -> list[Trace]:
    """Return the matching traces: the newest run first, in the order of the items, or the most disputed first.

    In the order of contention, equal ones are in the order of the items, and then the newest run first; traces without
    a known contention come last.
    """
    at = clock(session)
    place, newest = col(ItemRow.position), col(TraceRow.run_id).desc()
    orders = {
        "run": (newest, place),
        "contention": (col(TraceRow.contention).is_(None), col(TraceRow.contention).desc(), place, newest),
    }
    # Only ids are sorted: to sort all columns of many traces takes several times as long.
    query = _matching(filter, at, col(TraceRow.id), with_items=True)
    if order == "run" and filter == Filter(filter.study_id):
        run_ids, offset = _runs_of_page(session, filter.study_id, offset, limit)
        query = query.where(col(TraceRow.run_id).in_(run_ids))
    query = query.order_by(*orders[order], col(TraceRow.id)).offset(offset).limit(limit)
    ids = list(session.scalars(query))
    rows = session.execute(trace_query(at, filter.criterion).where(col(TraceRow.id).in_(ids))) if ids else ()
    found = {row[0]: trace_of_row(row) for row in rows}
    return [found[id] for id in ids if id in found]


def count(session: Session, filter: Filter) -> int:
    """Return the number of matching traces."""
    total: int = session.execute(_matching(filter, clock(session), func.count())).scalar_one()
    return total


def _matching(
    filter: Filter, at: datetime, column: SQLColumnExpression[Any], *, with_items: bool = False
) -> Select[*tuple[Any, ...]]:
    """Select a column of the matching traces, joined only with the tables that the filter needs, or with items too."""
    query = select(column).select_from(TraceRow).where(*_conditions(filter, at))
    if filter.criterion is not None or filter.status in ("running", "waiting"):
        query = query.join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
    if with_items or filter.scenario is not None or filter.item:
        query = query.join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    return query


def _runs_of_page(session: Session, study_id: int, offset: int, limit: int) -> tuple[list[int], int]:
    """Return the runs, newest first, that have the traces of a page of the list, and its offset within them."""
    traces = select(func.count()).where(col(TraceRow.run_id) == col(RunRow.id)).correlate(RunRow).scalar_subquery()
    query = select(col(RunRow.id), traces).where(col(RunRow.study_id) == study_id).order_by(col(RunRow.id).desc())
    found: list[int] = []
    left = limit
    for run_id, number in session.execute(query):
        if not found and offset >= number:
            offset -= number
            continue
        left -= number if found else number - offset
        found.append(run_id)
        if left <= 0:
            break
    return found, offset


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


def totals(session: Session, *, trace_id: int | None = None, run_ids: Sequence[int] | None = None) -> Totals:
    """Return the sums over the calls of a trace, or of runs."""
    answered, reused = col(EventRow.type).in_(("turn", "unreadable", "extracted")), col(EventRow.reused)
    paid = not_(reused)
    uncounted = or_(col(EventRow.prompt_tokens).is_(None), col(EventRow.completion_tokens).is_(None))
    query = select(
        func.count().filter(answered),
        func.count().filter(col(EventRow.type) == "call_failed"),
        func.coalesce(func.sum(col(EventRow.prompt_tokens)).filter(paid), 0),
        func.coalesce(func.sum(col(EventRow.completion_tokens)).filter(paid), 0),
        func.coalesce(func.sum(col(EventRow.seconds)).filter(paid), 0.0),
        func.coalesce(func.sum(col(EventRow.dollars)).filter(paid), 0.0),
        func.count().filter(answered, paid, col(EventRow.dollars).is_(None)),
        func.count().filter(answered, paid, uncounted),
        func.count().filter(col(EventRow.type) == "schema_refused"),
        func.count().filter(reused),
        func.coalesce(func.sum(col(EventRow.dollars)).filter(reused), 0.0),
    )
    if trace_id is not None:
        query = query.where(col(EventRow.trace_id) == trace_id)
    if run_ids is not None:
        query = query.where(col(EventRow.run_id).in_(run_ids))
    sums: tuple[Any, ...] = tuple(session.execute(query).one())
    return Totals(*sums, *(() if run_ids is None else (calls.count_interrupted(session, run_ids),)))


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
            _outcome_on(criterion).label("outcome"),
            (false() if at is None else _is_claimed(at)).label("claimed"),
            col(TraceRow.problem),
            col(TraceRow.uncertainty),
            col(TraceRow.contention),
        )
        .select_from(TraceRow)
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    )


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


def _outcome_on(criterion: str | None) -> SQLColumnExpression[str]:
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


def _status_conditions(status: Status | None, criterion: str | None, at: datetime) -> list[ColumnElement[bool]]:
    if status is None:
        return []
    if status in ("running", "waiting"):
        claimed = _is_claimed(at)
        return [col(TraceRow.outcome) == "waiting", claimed if status == "running" else not_(claimed)]
    return [_outcome_on(criterion) == status]


def _is_claimed(at: datetime) -> ColumnElement[bool]:
    """Return whether a trace is claimed by a worker that is alive, or by the one that has claimed its run."""
    is_own = func.coalesce(col(TraceRow.claimed_by) == col(RunRow.claimed_by), false())
    alone = and_(is_own, func.coalesce(col(RunRow.claimed_until) > at, false()))
    return or_(alone, workers.is_alive(col(TraceRow.claimed_by), at))


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
