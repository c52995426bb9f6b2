"""Rows of events and opinions, and the turns of a study's traces, which replays and statistics over rounds start from.

A prompt has its own column, because a list of turns is read without it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, cast, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Opinion, Target
from core.trace import (
    EVENT_ADAPTER,
    Event,
    NumberedEvent,
    Outcome,
    ReplyExtracted,
    ReplyUnreadable,
    Turn,
    TurnCompleted,
    Verdict,
    completed_turns,
)
from core.verdicts import criterion_outcomes
from storage.db.columns import sanitize, to_storable_json
from storage.db.fingerprints import to_utc
from storage.db.tables import EventRow, ItemRow, RunRow, TraceRow, now
from storage.labels import targets

if TYPE_CHECKING:
    import pandas as pd

# Events of calls that were answered.
EventWithTurn = TurnCompleted | ReplyUnreadable | ReplyExtracted


def opinion_target(item: str, opinion: Opinion) -> Target:
    """Return the target of an opinion."""
    return Target(item=item, kind=opinion.kind, criterion=opinion.criterion, part=opinion.part)


def opinion_row(
    study_id: int,
    run_id: int,
    trace_id: int,
    target_id: int,
    opinion: Opinion,
    verdict: Mapping[str, tuple[Outcome | None, float | None]],
) -> dict[str, Any]:
    """Return the columns of an opinion; `verdict` is what its verdict states by criterion (`verdict_columns`)."""
    outcome, contention = verdict.get(opinion.criterion, (None, None)) if opinion.stage == "verdict" else (None, None)
    ids = {"study_id": study_id, "run_id": run_id, "trace_id": trace_id, "target_id": target_id}
    own = {name: getattr(opinion, name) for name in ("judge", "stage", "value", "problem")}
    return {**ids, **own, "outcome": outcome, "contention": contention}


def verdict_columns(verdict: Verdict) -> dict[str, tuple[Outcome | None, float | None]]:
    """Return criterion -> its outcome and its contention, if they may differ from those of the whole verdict."""
    outcomes, contentions = criterion_outcomes(verdict), verdict.contentions
    return {name: (outcomes.get(name), contentions.get(name)) for name in {*outcomes, *contentions}}


def event_row(event: Event, trace_id: int, run_id: int, seq: int, at: datetime | None = None) -> dict[str, Any]:
    """Return the columns of an event, with the prompt separate from the body; the default time is now."""
    body = event.model_dump(mode="json")
    text, usage, is_reused = "", {}, False
    if isinstance(event, EventWithTurn):
        is_reused = bool(event.turn.reused)
        text, body["turn"]["prompt"], usage = sanitize(event.turn.prompt), "", body["turn"]["usage"]
    return {
        "trace_id": trace_id,
        "seq": seq,
        "run_id": run_id,
        "type": event.type,
        "body": to_storable_json(body),
        "prompt": text,
        **{name: usage.get(name) for name in ("prompt_tokens", "completion_tokens", "seconds", "dollars")},
        "reused": is_reused,
        "at": to_utc(at) or now(),
    }


def parse_event(body: str, prompt: str = "") -> Event:
    """Return an event from its columns."""
    event: Event = EVENT_ADAPTER.validate_json(body)
    if prompt and isinstance(event, EventWithTurn):
        return event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": prompt})})
    return event


def next_sequence_numbers(session: Session, trace_ids: Sequence[int]) -> dict[int, int]:
    """Return trace id -> the sequence number of its next event."""
    query = (
        select(col(EventRow.trace_id), func.max(col(EventRow.seq)) + 1)
        .where(col(EventRow.trace_id).in_(trace_ids))
        .group_by(col(EventRow.trace_id))
    )
    numbers = dict(session.execute(query).all())
    return {trace: numbers.get(trace, 0) for trace in trace_ids}


def stored_events(session: Session, trace_id: int) -> list[NumberedEvent]:
    """Return every event of a trace as it was stored, with superseded ones, without prompts."""
    return events_by_trace(session, [trace_id]).get(trace_id, [])


def events_by_trace(session: Session, trace_ids: Sequence[int]) -> dict[int, list[NumberedEvent]]:
    """Return the same for several traces, without those that have no event."""
    query = (
        select(col(EventRow.trace_id), col(EventRow.seq), cast(col(EventRow.body), Text))
        .where(col(EventRow.trace_id).in_(trace_ids))
        .order_by(col(EventRow.trace_id), col(EventRow.seq))
    )
    rows_by_trace = groupby(session.execute(query), key=lambda row: int(row[0]))
    return {trace_id: [(seq, parse_event(body)) for _, seq, body in rows] for trace_id, rows in rows_by_trace}


# Types of the events that decide which turns count, and with which reading.
TURN_EVENTS = ("turn", "restarted", "extracted", "reading", "reading_withdrawn")


@dataclass(frozen=True)
class TraceTurns:
    """The turns of one trace in the order of the flow, without superseded ones and without their prompts."""

    trace: int
    run: int
    item: str
    part: str
    """The pair of responses that the trace is on; empty if it is on the whole item."""
    scenario: str
    group: str
    """The document or dialogue of the item, otherwise the item."""
    turns: tuple[Turn, ...]

    def of_criterion(self, criterion: str) -> tuple[Turn, ...]:
        """Return the turns on a criterion: all of them if the trace is on one, so that no turn names it."""
        return tuple(turn for turn in self.turns if turn.criterion in ("", criterion))


def turns_by_trace(session: Session, study_id: int, run_ids: Collection[int] | None = None) -> Iterator[TraceTurns]:
    """Yield the turns of each trace of these runs, or of all runs of the study, in the order of the traces."""
    query = (
        select(
            col(EventRow.trace_id), col(EventRow.run_id), col(ItemRow.key), col(TraceRow.part),
            col(ItemRow.scenario), col(ItemRow.cluster), cast(col(EventRow.body), Text),
        )
        .join(TraceRow, col(TraceRow.id) == col(EventRow.trace_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(EventRow.type).in_(TURN_EVENTS))
        .order_by(col(EventRow.trace_id), col(EventRow.seq))
        .execution_options(yield_per=2000)
    )  # fmt: skip
    if run_ids is not None:
        query = query.where(col(EventRow.run_id).in_(run_ids))
    for key, rows in groupby(session.execute(query), key=lambda row: tuple(row[:6])):
        trace, run, item, part, scenario, group = key
        turns = completed_turns([parse_event(row[6]) for row in rows])
        yield TraceTurns(trace, run, item, part, scenario or "", group or item, tuple(turns))


def targets_by_trace(opinions: "pd.DataFrame") -> Mapping[int, Collection[Target]]:
    """Return trace id -> the targets of its opinions, one for each criterion."""
    found: dict[int, dict[Target, None]] = defaultdict(dict)
    for trace, target in zip(opinions["trace"].tolist(), targets.of_frame(opinions), strict=True):
        found[trace][target] = None
    return found
