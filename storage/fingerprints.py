"""What people say as rows. Each row is known again by a hash of what it says, so that the same file twice adds nothing.

The hash is taken from the row, not from the file's text: the same moment in another time zone, or a name with other
blanks around it, is the same thing said.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pydantic_core

from core.formats.records import MarkRecord
from core.labels import Label, Ruling
from core.problems import Problem
from storage.json_columns import storable

Row = dict[str, Any]


def label_row(label: Label, study_id: int, target_id: int, annotator_id: int) -> Row:
    """A label as it is kept, but for its origin."""
    return {
        "study_id": study_id,
        "target_id": target_id,
        "annotator_id": annotator_id,
        "value": label.value,
        "blind": label.blind,
        "reason": label.reason,
        "seconds": label.seconds,
        "at": moment(label.at),
    }


def ruling_row(ruling: Ruling, target_id: int, annotator_id: int) -> Row:
    """A ruling as it is kept, but for its origin."""
    return {
        "target_id": target_id,
        "annotator_id": annotator_id,
        "value": ruling.value,
        "rule": ruling.rule,
        "reason": ruling.reason,
        "at": moment(ruling.at),
    }


def mark_row(mark: MarkRecord, target_id: int, annotator_id: int) -> Row:
    """A skip, a flag or a note as it is kept, but for its origin."""
    return {
        "target_id": target_id,
        "annotator_id": annotator_id,
        "mark": mark.mark,
        "text": mark.text,
        "on": mark.on,
        "at": moment(mark.at),
    }


def moment(at: datetime | None) -> datetime | None:
    """A file's moment as it is kept; one without a zone is taken for UTC."""
    if at is None:
        return None
    try:
        return at.replace(tzinfo=UTC) if at.utcoffset() is None else at.astimezone(UTC)
    except OverflowError:
        raise Problem(f"The moment {at.isoformat()} is before or after all calendars.") from None


def origin(row: Row, repeat: int = 0) -> str:
    """What a row is known by; `repeat` tells the second identical line of a file from the first."""
    said = [sorted(value.items()) if isinstance(value, dict) else value for value in row.values()]
    return hashlib.blake2b(pydantic_core.to_json([*said, repeat]), digest_size=16).hexdigest()


def with_origin(row: Row) -> Row:
    """The row, ready to be kept."""
    row = storable(row)
    return row | {"origin": origin(row)}


def counting() -> Callable[[Row], Row]:
    """`with_origin` for one file: lines that say the same are counted, and each is kept."""
    seen: Counter[str] = Counter()

    def ready(row: Row) -> Row:
        first = origin(row)
        seen[first] += 1
        return row | {"origin": first if seen[first] == 1 else origin(row, seen[first] - 1)}

    return ready
