"""Counts what a mapping leaves out of a table: rows by `where`, and values that it turns into none."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Omissions:
    """What was read and is not in the study. Rows are those of the file, or the elements of an exploded list."""

    rows: int = 0
    """All rows, if the mapping has `where`."""
    rows_left_out: int = 0
    labels: int = 0
    """Values that are no label, because `values` maps them to null."""
    verdicts: int = 0
    """Values of judges that are no verdict, and choices that change with the order."""
    gold: int = 0

    def notes(self) -> list[str]:
        """Return a phrase for each count that is not 0."""
        rows = f"{self.rows_left_out:,} of {self.rows:,} rows left out by `where` or `where_not`"
        values = {"label": self.labels, "verdict": self.verdicts, "gold": self.gold}
        notes = [_value_note(count, name) for name, count in values.items() if count]
        return [rows, *notes] if self.rows_left_out else notes


def _value_note(count: int, name: str) -> str:
    return f"{count:,} values are no {name}" if count > 1 else f"1 value is no {name}"


_current: ContextVar[Omissions | None] = ContextVar("omissions", default=None)


@contextmanager
def recording_omissions() -> Iterator[Omissions]:
    """Yield the counts of the tables that are read until the end of the block."""
    omissions = Omissions()
    token = _current.set(omissions)
    try:
        yield omissions
    finally:
        _current.reset(token)


def current_omissions() -> Omissions:
    """Return the counts of the block of `recording_omissions`, or counts that nobody reads."""
    return _current.get() or Omissions()
