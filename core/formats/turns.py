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
    """One reply in a trace with its current reading."""

    run: str
    protocol: str
    item: str
    part: str
    """The pair of responses that the trace is on ("1-3"); empty if it is on the whole item."""
    scenario: str | None
    criterion: str
    outcome: str
    """The trace's: agreed, disputed, no_verdict, failed or waiting."""
    contention: float | None
    """The trace's, from 0 to 1; empty if it is not known."""
    ask: int
    """The number of the ask in the trace, from 0."""
    attempt: Attempt
    """"first" or "second" request of the ask; "extractor" for the model that was asked to read an unreadable reply."""
    superseded: bool
    """Whether a later reply counts instead: to the second request, or after a restart of the trace."""
    speaker: str
    step: str
    round: int
    model: str
    shown: tuple[int, ...]
    """The responses in the order in which they were shown, in a pair 1 and 2; empty if that does not apply."""
    reading: Any
    """The value in the item's own terms; empty if there is none."""
    reading_rule: str
    """The parser's rule, "extracted" or "stated"; empty for replies of earlier versions."""
    reading_span: tuple[int, int] | None
    """The first character of the reply that the reading rests on, and the one after the last."""
    read_by: str
    """Empty for the parser; "extractor: MODEL" or "person: NAME"."""
    earlier_readings: tuple[dict[str, Any], ...]
    """Readings that were replaced or withdrawn, oldest first: reading, reading_rule, read_by, problem, withdrawn_by."""
    format: str
    """The format in which the answer was requested: "text" or "json"."""
    problem: str
    """Why there is no reading."""
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
    return TurnRow(
        ask=ask, attempt=attempt, superseded=superseded, earlier_readings=tuple(map(_past, earlier)), **named
    )


def _past(reading: PastReading) -> dict[str, Any]:
    names = ("reading", "reading_rule", "read_by", "problem")
    return {name: getattr(reading.turn, name) for name in names} | {"withdrawn_by": reading.withdrawn_by}


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
