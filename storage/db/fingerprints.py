"""Rows of labels, adjudications and marks, each with a fingerprint of its content.

Importing the same file twice adds nothing, because a fingerprint is unique in its table. It is computed from the row,
not from the file's text: the same time in another zone, or a name with other whitespace around it, is the same row.
"""

import hashlib
import math
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pydantic_core

from core.errors import TiebreakError
from core.formats.study_records import MarkRecord
from core.labels import Adjudication, Label
from storage.db.columns import sanitize

Row = dict[str, Any]
# Columns of labels that are newer than the first fingerprints, and not part of them.
LATER_COLUMNS = frozenset({"evidence", "surplus", "guidelines", "shown"})


def label_row(label: Label, study_id: int, target_id: int, annotator_id: int) -> Row:
    """Return the columns of a label without its fingerprint."""
    return {"study_id": study_id, "target_id": target_id, "annotator_id": annotator_id, **label_columns(label)}


def label_columns(label: Label) -> Row:
    """Return the columns of a label without ids."""
    return {
        "value": label.value,
        "blind": label.blind,
        "reason": label.reason,
        "seconds": label.seconds if label.seconds is None or math.isfinite(label.seconds) else None,
        "at": to_utc(label.at),
        "evidence": [evidence.model_dump() for evidence in label.evidence] or None,
        "surplus": label.surplus,
        "guidelines": label.guidelines,
        "shown": list(label.shown) or None,
    }


def adjudication_row(adjudication: Adjudication, target_id: int, annotator_id: int) -> Row:
    """Return the columns of an adjudication without its fingerprint."""
    return {
        "target_id": target_id,
        "annotator_id": annotator_id,
        "value": adjudication.value,
        "rule": adjudication.rule,
        "reason": adjudication.reason,
        "at": to_utc(adjudication.at),
    }


def mark_row(mark: MarkRecord, target_id: int, annotator_id: int) -> Row:
    """Return the columns of a skip, a flag or a note without its fingerprint."""
    return {
        "target_id": target_id,
        "annotator_id": annotator_id,
        "mark": mark.mark,
        "text": mark.text,
        "on": mark.on,
        "at": to_utc(mark.at),
    }


def to_utc(at: datetime | None) -> datetime | None:
    """Return a time in UTC; a time without a zone is read as UTC. Raises TiebreakError if the calendar ends."""
    if at is None:
        return None
    try:
        return at.replace(tzinfo=UTC) if at.utcoffset() is None else at.astimezone(UTC)
    except OverflowError:
        raise TiebreakError(f"The time {at.isoformat()} is out of range.") from None


def fingerprint(row: Row, repeat: int = 0) -> str:
    """Return 32 hexadecimal digits for a row; `repeat` distinguishes identical lines of one file.

    Stored fingerprints are compared with new ones: the values and their order must not change.
    """
    return hashlib.blake2b(pydantic_core.to_json([*_values(row), repeat]), digest_size=16).hexdigest()


def _values(row: Row) -> list[Any]:
    return [
        sorted(value.items()) if isinstance(value, dict) else value
        for name, value in row.items()
        if name not in LATER_COLUMNS
    ]


def with_fingerprint(row: Row) -> Row:
    """Return the row, without characters that cannot be stored, with its fingerprint."""
    row = sanitize(row)
    return row | {"fingerprint": fingerprint(row)}


class FileFingerprints:
    """`with_fingerprint` for the rows of one file: identical lines are numbered, so each is stored."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def add_to(self, row: Row) -> Row:
        """Return the row with its fingerprint."""
        own = fingerprint(row)
        repeat = self._seen[own]
        self._seen[own] += 1
        return row | {"fingerprint": fingerprint(row, repeat) if repeat else own}
