"""The replies of traces as CSV or JSON lines, one reply per row, with its reading and how it was read."""

import csv
import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TextIO

from core.formats.tables import escape_formula
from core.trace import PastReading, Turn

Attempt = Literal["first", "second", "extractor"]
# One reply in a trace with its current reading, by COLUMNS; docs/readings.md describes each.
TurnRow = dict[str, Any]
COLUMNS = (
    "run", "protocol", "item", "part", "scenario", "criterion", "outcome", "contention", "ask", "attempt", "superseded",
    "speaker", "step", "round", "model", "shown", "reading", "reading_rule", "reading_span", "read_by",
    "earlier_readings", "format", "problem", "prompt_tokens", "completion_tokens", "seconds", "dollars", "reply",
)  # fmt: skip


def turn_row(
    turn: Turn, ask: int, attempt: Attempt, superseded: bool, earlier: Sequence[PastReading] = (), **trace: Any
) -> TurnRow:
    """Return the row of a reply; `trace` has the fields that concern its trace."""
    row = dict(turn) | turn.usage.model_dump() | trace | {"ask": ask, "attempt": attempt, "superseded": superseded}
    row["criterion"] = turn.criterion or trace["criterion"]
    read = ("reading", "reading_rule", "read_by", "problem")
    row["earlier_readings"] = tuple(
        {name: getattr(past.turn, name) for name in read} | {"withdrawn_by": past.withdrawn_by} for past in earlier
    )
    return {name: row[name] for name in COLUMNS}


def write_csv(rows: Iterable[TurnRow], stream: TextIO) -> None:
    """Write a header and one line per reply. Structured values are JSON; text that would be a formula is escaped."""
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in row.values()] for row in rows)


def write_jsonl(rows: Iterable[TurnRow], stream: TextIO) -> None:
    """Write one JSON object a line."""
    stream.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _cell(value: object) -> object:
    match value:
        case str():
            return escape_formula(value)
        case None | ():
            return ""
        case bool() | dict() | tuple():
            return json.dumps(value, ensure_ascii=False)
    return value
