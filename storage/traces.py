"""Traces and their events: written as they happen, read after the last one seen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, func, insert, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.doubt import doubt
from core.labels import Opinion, Target
from core.problems import Problem
from core.trace import EVENT, Event, ReplyUnreadable, TraceFailed, TurnTaken, VerdictReached
from storage import items
from storage.tables import EventRow, ItemRow, OpinionRow, RunRow, TraceRow, now

Status = Literal["running", "waiting", "failed", "agreed", "disputed", "no_verdict"]
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
    """Part of the item's name."""


def find(session: Session, wanted: Filter, *, offset: int = 0, limit: int = 50) -> list[Trace]:
    """The traces that match, in the order of run and item."""
    query = _traces().where(*_conditions(wanted))
    query = query.order_by(col(RunRow.id).desc(), col(ItemRow.position), col(TraceRow.id)).offset(offset).limit(limit)
    return [_trace(*row) for row in session.execute(query)]


def count(session: Session, wanted: Filter) -> int:
    """How many traces match."""
    query = select(func.count()).select_from(_traces().where(*_conditions(wanted)).subquery())
    return session.scalars(query).one()


def get(session: Session, trace_id: int) -> Trace:
    """The trace of that number."""
    row = session.execute(_traces().where(col(TraceRow.id) == trace_id)).first()
    if row is None:
        raise Problem(f"There is no trace {trace_id}.")
    return _trace(*row)


def of_target(session: Session, study_id: int, target: Target) -> list[Trace]:
    """The traces that judged a target, newest run first."""
    target_id = items.target_id(session, study_id, target)
    judged = select(col(OpinionRow.trace_id)).where(col(OpinionRow.target_id) == target_id).distinct()
    query = _traces().where(col(TraceRow.id).in_(judged)).order_by(col(RunRow.id).desc())
    return [_trace(*row) for row in session.execute(query)]


def events(session: Session, trace_id: int, *, after: int = -1) -> list[tuple[int, Event]]:
    """(sequence number, event) of everything after `after`; prompts are left out, see `prompt`."""
    query = (
        select(col(EventRow.seq), col(EventRow.body))
        .where(col(EventRow.trace_id) == trace_id, col(EventRow.seq) > after)
        .order_by(col(EventRow.seq))
    )
    return [(seq, EVENT.validate_python(body)) for seq, body in session.execute(query)]


def last_opinions(session: Session, trace_ids: Sequence[int]) -> dict[int, str]:
    """Each trace's last opinions in the order they were kept, as "1 · 1 · 2"; "–" where one could not be read."""
    query = (
        select(col(OpinionRow.trace_id), col(OpinionRow.value))
        .where(col(OpinionRow.trace_id).in_(trace_ids), col(OpinionRow.stage) == "last")
        .order_by(col(OpinionRow.id))
    )
    found: dict[int, list[str]] = {}
    for trace_id, value in session.execute(query):
        found.setdefault(trace_id, []).append("–" if value is None else str(value))
    return {trace_id: " · ".join(values) for trace_id, values in found.items()}


def whole(session: Session, trace_id: int) -> list[Event]:
    """Every event with its prompt: what a flow is replayed from and a file is written from."""
    query = (
        select(col(EventRow.body), col(EventRow.prompt))
        .where(col(EventRow.trace_id) == trace_id)
        .order_by(col(EventRow.seq))
    )
    return [_with_prompt(EVENT.validate_python(body), prompt) for body, prompt in session.execute(query)]


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
    session.execute(insert(EventRow), [_row(one, owners[one.trace_id].run_id) for one in happened])
    for one in happened:
        if isinstance(one.event, VerdictReached | TraceFailed):
            settle(session, owners[one.trace_id], one.event)


def settle(session: Session, trace: TraceRow, event: VerdictReached | TraceFailed) -> None:
    """Set a trace's outcome, and keep the judges' opinions as raters' values."""
    if isinstance(event, TraceFailed):
        trace.outcome, trace.problem = "failed", event.problem
        return
    verdict = event.verdict
    trace.outcome, trace.problem, trace.doubt = verdict.outcome, "", doubt(verdict.opinions)
    key = session.get_one(ItemRow, trace.item_id).key
    targets = items.target_ids(session, trace.study_id, {target_of(key, o) for o in verdict.opinions})
    rows = [opinion_row(trace, targets[target_of(key, opinion)], opinion) for opinion in verdict.opinions]
    if rows:
        session.execute(insert(OpinionRow), rows)


def target_of(item: str, opinion: Opinion) -> Target:
    """What an opinion is about."""
    return Target(item=item, kind=opinion.kind, criterion=opinion.criterion, part=opinion.part)


def opinion_row(trace: TraceRow, target_id: int, opinion: Opinion) -> dict[str, Any]:
    """The columns that keep an opinion."""
    return {
        "study_id": trace.study_id,
        "run_id": trace.run_id,
        "trace_id": trace.id,
        "target_id": target_id,
        "judge": opinion.judge,
        "stage": opinion.stage,
        "value": opinion.value,
        "problem": opinion.problem,
    }


def _row(one: Happened, run_id: int) -> dict[str, Any]:
    return event_row(one.event, one.trace_id, run_id, one.seq)


def event_row(event: Event, trace_id: int, run_id: int, seq: int) -> dict[str, Any]:
    """The columns that keep an event; the prompt stands apart from the body."""
    body = event.model_dump(mode="json")
    text, usage = "", {}
    if isinstance(event, TurnTaken | ReplyUnreadable):
        text, body["turn"]["prompt"], usage = event.turn.prompt, "", body["turn"]["usage"]
    return {
        "trace_id": trace_id,
        "seq": seq,
        "run_id": run_id,
        "type": event.type,
        "body": body,
        "prompt": text,
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "seconds": usage.get("seconds"),
        "dollars": usage.get("dollars"),
        "at": now(),
    }


def _owners(session: Session, trace_ids: Iterable[int]) -> dict[int, TraceRow]:
    rows = session.scalars(select(TraceRow).where(col(TraceRow.id).in_(list(trace_ids))))
    return {row.id: row for row in rows}


def _with_prompt(event: Event, text: str) -> Event:
    if text and isinstance(event, TurnTaken | ReplyUnreadable):
        return event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": text})})
    return event


def _traces() -> Select[TraceRow, RunRow, str, str | None]:
    return (
        select(TraceRow, RunRow, col(ItemRow.key), col(ItemRow.scenario))
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
        found.append(col(ItemRow.key).contains(wanted.item, autoescape=True))
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


def _trace(row: TraceRow, run: RunRow, key: str, scenario: str | None) -> Trace:
    return Trace(
        id=row.id,
        study_id=row.study_id,
        run_id=run.id,
        run=run.name,
        protocol=run.protocol,
        criterion=run.criterion,
        item=key,
        scenario=scenario,
        status=_status(row.outcome, row.claimed_until),
        problem=row.problem,
        doubt=row.doubt,
    )


def _status(outcome: str, claimed_until: datetime | None) -> Any:
    if outcome == "waiting" and claimed_until is not None and claimed_until > now():
        return "running"
    return outcome
