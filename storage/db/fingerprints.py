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


def encoded_columns(columns: Row) -> bytes:
    """Return the part of the JSON behind a label's fingerprint that follows from `label_columns`."""
    return pydantic_core.to_json(_values(columns))[1:-1]


class FileFingerprints:
    """`with_fingerprint` for the rows of one file: identical lines are numbered, so each is stored."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()  # takes a third of the memory of counts and text
        self._repeats: Counter[bytes] = Counter()

    def add_to(self, row: Row) -> Row:
        """Return the row with its fingerprint."""
        digest = bytes.fromhex(fingerprint(row))
        if repeat := self._repeat(digest):
            digest = bytes.fromhex(fingerprint(row, repeat))
        return row | {"fingerprint": digest.hex()}

    def of_label(self, study_id: int, target_id: int, annotator_id: int, columns: bytes) -> str:
        """Return the fingerprint of a label's row; labels of a file have few different `encoded_columns`."""
        values = b"[%d,%d,%d,%b," % (study_id, target_id, annotator_id, columns)
        digest = hashlib.blake2b(values + b"0]", digest_size=16).digest()
        if repeat := self._repeat(digest):
            digest = hashlib.blake2b(b"%b%d]" % (values, repeat), digest_size=16).digest()
        return digest.hex()

    def _repeat(self, digest: bytes) -> int:
        """Return how many earlier rows of the file are the same."""
        if digest in self._seen:
            self._repeats[digest] += 1
            return self._repeats[digest]
        self._seen.add(digest)
        return 0
