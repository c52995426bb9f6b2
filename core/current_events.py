"""The events of a trace that count now, with the current reading of every reply."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from core.trace import (
    Event,
    NumberedEvent,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    TraceRestarted,
    Turn,
    TurnCompleted,
    VerdictReached,
)


def current_events(events: Sequence[Event]) -> list[Event]:
    """Return the events as they count now; see `current_numbered_events`."""
    return [event for _, event in current_numbered_events(list(enumerate(events)))]


def current_numbered_events(events: Sequence[NumberedEvent]) -> list[NumberedEvent]:
    """Return the events that are not superseded, with each turn's current reading.

    Left out are the events before the last restart, and every verdict but the last: a later reading leads to a new one.
    """
    restarts = [index for index, (_, event) in enumerate(events) if isinstance(event, TraceRestarted)]
    current = events[restarts[-1] if restarts else 0 :]
    readings = _current_readings([event for _, event in current])
    last_verdict = max((seq for seq, event in current if isinstance(event, VerdictReached)), default=None)
    return [
        (seq, _with_reading(event, readings))
        for seq, event in current
        if not isinstance(event, VerdictReached) or seq == last_verdict
    ]


def _current_readings(events: Sequence[Event]) -> dict[int, ReadingReplaced]:
    """Return ask -> the reading that replaces its turn's own."""
    readings: dict[int, list[ReadingReplaced]] = defaultdict(list)
    for event in events:
        match event:
            case ReplyExtracted(ask=ask, turn=turn) if turn.reading is not None:
                readings[ask].append(extracted_reading(ask, turn))
            case ReadingReplaced(ask=ask):
                readings[ask].append(event)
            case ReadingWithdrawn(ask=ask) if readings[ask]:
                readings[ask].pop()
    return {ask: replaced[-1] for ask, replaced in readings.items() if replaced}


def extracted_reading(ask: int, turn: Turn) -> ReadingReplaced:
    """Return the result of an extractor's turn about the reply to an ask. It has no span in that reply."""
    return ReadingReplaced(ask=ask, reading=turn.reading, reading_rule="extracted", read_by=f"extractor: {turn.model}")


def _with_reading(event: Event, readings: Mapping[int, ReadingReplaced]) -> Event:
    if not isinstance(event, TurnCompleted) or event.ask not in readings:
        return event
    return event.model_copy(update={"turn": with_reading(event.turn, readings[event.ask])})


def with_reading(turn: Turn, reading: ReadingReplaced) -> Turn:
    """Return the turn with another reading of its reply."""
    fields = ("reading", "problem", "reading_rule", "reading_span", "read_by")
    return turn.model_copy(update={name: getattr(reading, name) for name in fields})


def completed_turns(events: Sequence[Event]) -> list[Turn]:
    """Return the answered asks in the order of the flow, without superseded ones."""
    completed = sorted(
        (event for event in current_events(events) if isinstance(event, TurnCompleted)), key=lambda event: event.ask
    )
    return [event.turn for event in completed]
