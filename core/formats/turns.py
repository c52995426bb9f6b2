"""The replies of traces as CSV or JSON lines, one reply per row, with its reading and how it was read."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TextIO

from core.formats.tables import escape_formula
from core.trace import PastReading, Turn

Attempt = Literal["first", "second", "extractor"]


@dataclass(frozen=True)
class TurnRow:
    """One reply in a trace with its current reading; docs/readings.md describes each field."""

    run: str
    protocol: str
    item: str
    part: str
    scenario: str | None
    criterion: str
    outcome: str
    contention: float | None
    ask: int
    attempt: Attempt
    superseded: bool
    speaker: str
    step: str
    round: int
    model: str
    shown: tuple[int, ...]
    reading: Any
    reading_rule: str
    reading_span: tuple[int, int] | None
    read_by: str
    earlier_readings: tuple[dict[str, Any], ...]
    format: str
    problem: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float | None
    dollars: float | None
    reply: str


def turn_row(
    turn: Turn, ask: int, attempt: Attempt, superseded: bool, earlier: Sequence[PastReading] = (), **trace: Any
) -> TurnRow:
    """Return the row of a reply; `trace` has the fields that concern its trace."""
    names = ("speaker", "step", "round", "model", "shown", "reading", "reading_rule", "reading_span", "read_by")
    named = {name: getattr(turn, name) for name in (*names, "format", "problem", "reply")}
    trace["criterion"] = turn.criterion or trace["criterion"]
    named |= turn.usage.model_dump() | trace
    read = ("reading", "reading_rule", "read_by", "problem")
    named["earlier_readings"] = tuple(
        {name: getattr(past.turn, name) for name in read} | {"withdrawn_by": past.withdrawn_by} for past in earlier
    )
    return TurnRow(ask=ask, attempt=attempt, superseded=superseded, **named)


def write_csv(rows: Iterable[TurnRow], stream: TextIO) -> None:
    """Write a header and one line per reply. Structured values are JSON; text that would be a formula is escaped."""
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([field.name for field in fields(TurnRow)])
    writer.writerows([_cell(value) for value in asdict(row).values()] for row in rows)


def write_jsonl(rows: Iterable[TurnRow], stream: TextIO) -> None:
    """Write one JSON object a line."""
    stream.writelines(json.dumps(asdict(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _cell(value: object) -> object:
    match value:
        case str():
            return escape_formula(value)
        case None | ():
            return ""
        case bool() | dict() | tuple():
            return json.dumps(value, ensure_ascii=False)
    return value
