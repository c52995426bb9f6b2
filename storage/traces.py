"""Traces and their events: written as they happen, read after the last one seen."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, Text, cast, func, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Target
from core.problems import Problem
from core.trace import Event, TraceFailed, Verdict, VerdictReached
from core.uncertainty import doubt
from storage import targets
from storage.database import insert_all
from storage.events import event_of, event_row, opinion_row, target_of
from storage.tables import EventRow, ItemRow, OpinionRow, RunRow, TraceRow, now

Status = Literal["running", "waiting", "failed", "agreed", "disputed", "no_verdict"]
FEW = 8
"""Up to so many opinions are shown one by one."""
STATUSES: tuple[Status, ...] = ("running", "waiting", "failed", "agreed", "disputed", "no_verdict")


@dataclass(frozen=True)
class Trace:
    """Where a trace stands."""

    id: int
    study_id: int
    run_id: int
    run: str
    protocol: str
    criterion: str
    item: str
    scenario: str | None
    status: Status
    problem: str
    doubt: float


@dataclass(frozen=True)
class Totals:
    """What the calls of a trace or a run took."""

    calls: int = 0
    errors: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0
    unpriced: int = 0
    """Calls whose price is not known: they are not in `dollars`."""


@dataclass(frozen=True)
class Filter:
    """Which traces to find; None lets everything through."""

    study_id: int
    run_id: int | None = None
    scenario: str | None = None
    criterion: str | None = None
    status: Status | None = None
    item: str | None = None
    """Part of the item's name, in capitals or not."""


def find(session: Session, wanted: Filter, *, offset: int = 0, limit: int = 50) -> list[Trace]:
    """The traces that match, the newest run first and in the order of its items."""
    query = _traces().where(*_conditions(wanted))
    query = query.order_by(col(RunRow.id).desc(), col(ItemRow.position), col(TraceRow.id)).offset(offset).limit(limit)
    return [_trace(row) for row in session.execute(query)]


def count(session: Session, wanted: Filter) -> int:
    """How many traces match."""
    query = _traces().where(*_conditions(wanted)).with_only_columns(func.count())
    return session.scalars(query).one()


def get(session: Session, trace_id: int) -> Trace:
    """The trace of that number."""
    row = session.execute(_traces().where(col(TraceRow.id) == trace_id)).first()
    if row is None:
        raise Problem(f"There is no trace {trace_id}.")
    return _trace(row)


def of_target(session: Session, study_id: int, target: Target) -> list[Trace]:
    """The traces that judged a target, newest run first."""
    judged = select(col(OpinionRow.trace_id)).where(
        col(OpinionRow.target_id) == targets.find(session, study_id, target)
    )
    query = _traces().where(col(TraceRow.id).in_(judged)).order_by(col(RunRow.id).desc())
    return [_trace(row) for row in session.execute(query)]


def events(session: Session, trace_id: int, *, after: int = -1) -> list[tuple[int, Event]]:
    """(sequence number, event) of everything after `after`; prompts are left out, see `prompt`."""
    query = (
        select(col(EventRow.seq), cast(col(EventRow.body), Text))
        .where(col(EventRow.trace_id) == trace_id, col(EventRow.seq) > after)
        .order_by(col(EventRow.seq))
    )
    return [(seq, event_of(body)) for seq, body in session.execute(query)]


def last_opinions(session: Session, trace_ids: Sequence[int]) -> dict[int, str]:
    """Each trace's last opinions in the order they were kept, as "1 · 1 · 2"; "–" where one could not be read.

    Many are counted instead: "24 × True · 10 × False".
    """
    query = (
        select(col(OpinionRow.trace_id), col(OpinionRow.value))
        .where(col(OpinionRow.trace_id).in_(trace_ids), col(OpinionRow.stage) == "last")
        .order_by(col(OpinionRow.id))
    )
    found: dict[int, list[str]] = {}
    for trace_id, value in session.execute(query):
        found.setdefault(trace_id, []).append("–" if value is None else str(value))
    return {trace_id: " · ".join(_few(values)) for trace_id, values in found.items()}


def _few(values: list[str]) -> list[str]:
    if len(values) <= FEW:
        return values
    return [f"{count} × {value}" for value, count in Counter(values).most_common(FEW)]


def whole(session: Session, trace_id: int) -> list[Event]:
    """Every event with its prompt: what a flow is replayed from and a file is written from."""
    query = (
        select(cast(col(EventRow.body), Text), col(EventRow.prompt))
        .where(col(EventRow.trace_id) == trace_id)
        .order_by(col(EventRow.seq))
    )
    return [event_of(body, prompt) for body, prompt in session.execute(query)]


def prompt(session: Session, trace_id: int, seq: int) -> str:
    """The prompt that an event answers."""
    query = select(col(EventRow.prompt)).where(col(EventRow.trace_id) == trace_id, col(EventRow.seq) == seq)
    return session.scalars(query).first() or ""


def totals(session: Session, *, trace_id: int | None = None, run_id: int | None = None) -> Totals:
    """The sums over a trace or a run."""
    asked = col(EventRow.type).in_(("turn", "unreadable"))
    query = select(
        func.count().filter(asked),
        func.count().filter(col(EventRow.type) == "call_failed"),
        func.sum(col(EventRow.prompt_tokens)),
        func.sum(col(EventRow.completion_tokens)),
        func.sum(col(EventRow.seconds)),
        func.sum(col(EventRow.dollars)),
        func.count().filter(asked, col(EventRow.dollars).is_(None)),
    )
    if trace_id is not None:
        query = query.where(col(EventRow.trace_id) == trace_id)
    if run_id is not None:
        query = query.where(col(EventRow.run_id) == run_id)
    calls, errors, prompts, completions, seconds, dollars, unpriced = session.execute(query).one()
    return Totals(calls, errors, prompts or 0, completions or 0, seconds or 0.0, dollars or 0.0, unpriced)


@dataclass(frozen=True)
class Happened:
    """An event of a trace, ready to be kept."""

    trace_id: int
    seq: int
    event: Event


def append(session: Session, happened: Sequence[Happened]) -> None:
    """Keep events, several traces' at once; a verdict also settles its trace."""
    owners = _owners(session, {one.trace_id for one in happened})
    rows = [event_row(one.event, one.trace_id, owners[one.trace_id].run_id, one.seq) for one in happened]
    insert_all(session, EventRow, rows)
    for one in happened:
        if isinstance(one.event, TraceFailed):
            _set(session, one.trace_id, outcome="failed", problem=one.event.problem)
        elif isinstance(one.event, VerdictReached):
            _settle(session, owners[one.trace_id], one.event.verdict)


@dataclass(frozen=True)
class _Owner:
    """What the events of a trace belong to."""

    id: int
    study_id: int
    run_id: int
    item: str


def _settle(session: Session, trace: _Owner, verdict: Verdict) -> None:
    """Set a trace's outcome, and keep the judges' opinions as raters' values."""
    _set(session, trace.id, outcome=verdict.outcome, problem="", doubt=doubt(verdict.opinions))
    numbers = targets.numbers(session, trace.study_id, {target_of(trace.item, one) for one in verdict.opinions})
    rows = [
        opinion_row(trace.study_id, trace.run_id, trace.id, numbers[target_of(trace.item, one)], one)
        for one in verdict.opinions
    ]
    insert_all(session, OpinionRow, rows)


def _set(session: Session, trace_id: int, **values: Any) -> None:
    session.execute(update(TraceRow).where(col(TraceRow.id) == trace_id).values(**values))


def _owners(session: Session, trace_ids: Iterable[int]) -> dict[int, _Owner]:
    query = (
        select(col(TraceRow.id), col(TraceRow.study_id), col(TraceRow.run_id), col(ItemRow.key))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.id).in_(trace_ids))
    )
    return {row[0]: _Owner(*row) for row in session.execute(query)}


def _traces() -> Select[*tuple[Any, ...]]:
    return (
        select(
            col(TraceRow.id),
            col(TraceRow.study_id),
            col(TraceRow.run_id),
            col(RunRow.name),
            col(RunRow.protocol),
            col(RunRow.criterion),
            col(ItemRow.key),
            col(ItemRow.scenario),
            col(TraceRow.outcome),
            col(TraceRow.claimed_until),
            col(TraceRow.problem),
            col(TraceRow.doubt),
        )
        .select_from(TraceRow)
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    )


def _conditions(wanted: Filter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [col(TraceRow.study_id) == wanted.study_id]
    if wanted.run_id is not None:
        found.append(col(TraceRow.run_id) == wanted.run_id)
    if wanted.scenario is not None:
        found.append(col(ItemRow.scenario) == wanted.scenario)
    if wanted.criterion is not None:
        found.append(col(RunRow.criterion) == wanted.criterion)
    if wanted.item:
        found.append(col(ItemRow.key).icontains(wanted.item, autoescape=True))
    return found + _with_status(wanted.status)


def _with_status(status: Status | None) -> list[ColumnElement[bool]]:
    if status is None:
        return []
    waits = col(TraceRow.outcome) == "waiting"
    if status == "running":
        return [waits, col(TraceRow.claimed_until) > now()]
    if status == "waiting":
        return [waits, or_(col(TraceRow.claimed_until).is_(None), col(TraceRow.claimed_until) <= now())]
    return [col(TraceRow.outcome) == status]


def _trace(row: Row[*tuple[Any, ...]]) -> Trace:
    id, study_id, run_id, run, protocol, criterion, item, scenario, outcome, claimed_until, problem, doubt = row
    return Trace(
        id=id,
        study_id=study_id,
        run_id=run_id,
        run=run,
        protocol=protocol,
        criterion=criterion,
        item=item,
        scenario=scenario,
        status=_status(outcome, claimed_until),
        problem=problem,
        doubt=doubt,
    )


def _status(outcome: Any, claimed_until: datetime | None) -> Status:
    held = claimed_until is not None and claimed_until > now()
    return "running" if outcome == "waiting" and held else outcome
