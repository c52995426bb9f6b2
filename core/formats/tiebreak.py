"""Tiebreak's own file: JSON lines, one record a line, the full round trip of everything that a study holds."""

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from core.formats.records import RECORD, Record, Records
from core.formats.text import first, lines
from core.formats.validation_errors import refused
from core.problems import FileRefused

SUSPECT = re.compile(r"NaN|Infinity|\\u0000|[0-9.][eE]\+?[0-9]{3}|[0-9]{300}")
"""Only such a line can hold a number that is not finite, or a NUL, which PostgreSQL cannot store."""
TYPED = re.compile(r'\{\s*"type"\s*:\s*"(study|criterion|scale|item|run|trace|label|mark|ruling|aiu_edit)"')


def recognises(path: Path) -> bool:
    """JSON lines whose first record says what it is."""
    return path.is_file() and path.suffix in (".jsonl", ".ndjson", ".json") and bool(TYPED.match(first(path)))


def read(path: Path) -> Records:
    """The records of the file, in its order; raises FileRefused with the line and the field."""
    number = 0
    for number, text in lines(path):
        yield _record(text, number)
    if not number:
        raise FileRefused("the file is empty: expected one record a line")


def write(records: Iterable[Record], stream: TextIO) -> None:
    """One line a record, every field said, so that the same records are always the same bytes.

    Raises ValueError for a number that is not finite: JSON has no word for it.
    """
    for record in records:
        fields = record.model_dump(mode="json")
        stream.write(json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")


def _record(text: str, number: int) -> Record:
    try:
        record: Record = RECORD.validate_json(text)
    except ValidationError as error:
        raise refused(error, line=number, drop=1) from None
    if SUSPECT.search(text):
        _check(record.model_dump(), "", number)
    return record


def _check(value: Any, field: str, line: int) -> None:
    """Refuses what JSON can carry and a database cannot."""
    match value:
        case dict():
            for name, inner in value.items():
                _check(name, field, line)
                _check(inner, f"{field}.{name}" if field else str(name), line)
        case list() | tuple():
            for place, inner in enumerate(value):
                _check(inner, f"{field}.{place}", line)
        case float() if not math.isfinite(value):
            raise FileRefused("expected a finite number", line=line, field=field)
        case str() if "\x00" in value:
            raise FileRefused("expected text without NUL characters", line=line, field=field)
