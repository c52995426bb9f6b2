"""Exchanges the two responses of half of the items, and the numbers of the responses in what refers to them."""

import hashlib
from collections.abc import Iterator
from typing import Any

from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, Record, TraceRecord
from core.labels import Kind, Value
from core.trace import TurnCompleted, VerdictReached

EXCHANGED = {1: 2, 2: 1}
PREFERENCE_STEP = "choice"
"""The step of the turns that `core.formats.mapping.judges` makes of preferences."""


def is_exchanged(item: str) -> bool:
    """Return whether an item's responses are exchanged: for half of the names, the same ones each time."""
    return hashlib.sha256(item.encode()).digest()[0] % 2 == 1


def shuffle_responses(records: Iterator[Record]) -> Iterator[Record]:
    """Yield the records of items with two responses, in an order that does not give the preferred one away."""
    for record in records:
        match record:
            case ItemRecord(item=item) if is_exchanged(item.id):
                critiques = tuple(_with_number(critique, "of") for critique in item.critiques)
                exchanged = {"responses": item.responses[::-1], "critiques": critiques}
                yield record.model_copy(update={"item": item.model_copy(update=exchanged)})
            case LabelRecord(label=label) if is_exchanged(label.target.item):
                value = _exchange(label.target.kind, label.value)
                yield record.model_copy(update={"label": label.model_copy(update={"value": value})})
            case AdjudicationRecord(ruling=ruling) if is_exchanged(ruling.target.item):
                value = _exchange(ruling.target.kind, ruling.value)
                yield record.model_copy(update={"ruling": ruling.model_copy(update={"value": value})})
            case TraceRecord(item=item_id) if is_exchanged(item_id):
                yield _exchange_trace(record)
            case _:
                yield record


def _exchange(kind: Kind, value: Value | None) -> Value | None:
    """Return a preference for the other response; other values are unchanged."""
    is_preference = kind == "preference" and isinstance(value, int) and not isinstance(value, bool)
    return EXCHANGED.get(value, value) if is_preference and isinstance(value, int) else value


def _with_number(value: Any, field: str) -> Any:
    number = getattr(value, field)
    return value.model_copy(update={field: EXCHANGED.get(number, number)})


def _exchange_trace(record: TraceRecord) -> TraceRecord:
    events: list[Any] = []
    for event in record.events:
        match event:
            case TurnCompleted(turn=turn):
                reading = _exchange("preference", turn.reading) if turn.step == PREFERENCE_STEP else turn.reading
                shown = tuple(EXCHANGED.get(number, number) for number in turn.shown)
                changed = turn.model_copy(update={"reading": reading, "shown": shown})
                events.append(event.model_copy(update={"turn": changed}))
            case VerdictReached(verdict=verdict):
                opinions = tuple(
                    opinion.model_copy(update={"value": _exchange(opinion.kind, opinion.value)})
                    for opinion in verdict.opinions
                )
                is_preference = any(opinion.kind == "preference" for opinion in opinions)
                value = _exchange("preference", verdict.value) if is_preference else verdict.value
                changed_verdict = verdict.model_copy(update={"value": value, "opinions": opinions})
                events.append(event.model_copy(update={"verdict": changed_verdict}))
    return record.model_copy(update={"events": tuple(events)})
