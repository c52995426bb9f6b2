"""Tiebreak's own format: JSON lines, one record per line, a lossless copy of a study."""

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from core.errors import FileFormatError
from core.formats.records import RECORD_TYPES, Record, Records, record_adapter
from core.formats.text import read_head, read_lines
from core.formats.validation_errors import to_file_format_error

# Only a line that matches can contain a number that is not finite, or a NUL, which PostgreSQL cannot store. The full
# check of every value would double the time of an import.
SUSPECT = re.compile(r"NaN|Infinity|\\u0000|[0-9.][eE]\+?[0-9]{3}|[0-9]{300}")
TYPES = sorted(type.model_fields["type"].default for type in RECORD_TYPES)
FIRST_RECORD = re.compile(r'\{\s*"type"\s*:\s*"(' + "|".join(TYPES) + ')"')


def recognises(path: Path) -> bool:
    """Return whether the file is JSON lines whose first record has a known type."""
    return (
        path.is_file() and path.suffix in (".jsonl", ".ndjson", ".json") and bool(FIRST_RECORD.match(read_head(path)))
    )


def read(path: Path) -> Records:
    """Yield the records of the file in order; raises FileFormatError with the line and the field."""
    number = 0
    for number, text in read_lines(path):
        yield parse_record(text, number)
    if not number:
        raise FileFormatError("the file is empty: expected one record per line")


def write(records: Iterable[Record], stream: TextIO) -> None:
    """Write one line for each record with its fields in a fixed order: the same records give the same bytes.

    A number that is not finite, which JSON cannot represent, is written as null.
    """
    for record in records:
        try:
            line = _to_line(record.model_dump(mode="json"))
        except ValueError:  # a number that is not finite; pydantic's own JSON has null there, and takes longer
            line = _to_line(json.loads(record.model_dump_json()))
        stream.write(line + "\n")


def _to_line(fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse_record(text: str, number: int) -> Record:
    """Return the record of one line; raises FileFormatError with its number and the field."""
    try:
        record: Record = record_adapter().validate_json(text)
    except ValidationError as error:
        raise to_file_format_error(error, line=number, skip=1) from None
    if SUSPECT.search(text):
        _check_storable(record.model_dump(), "", number)
    return record


def _check_storable(value: Any, field: str, line: int) -> None:
    """Raise FileFormatError for values that JSON can represent and a database cannot store."""
    match value:
        case dict():
            for name, inner in value.items():
                _check_storable(name, field, line)
                _check_storable(inner, f"{field}.{name}" if field else str(name), line)
        case list() | tuple():
            for index, inner in enumerate(value):
                _check_storable(inner, f"{field}.{index}", line)
        case float() if not math.isfinite(value):
            raise FileFormatError("expected a finite number", line=line, field=field)
        case str() if "\x00" in value:
            raise FileFormatError("expected text without NUL characters", line=line, field=field)
