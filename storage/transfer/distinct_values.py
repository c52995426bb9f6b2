"""Values of labels or opinions that are remembered to be checked once each."""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from core.labels import Value

Subject = TypeVar("Subject")
MAX_DISTINCT = 10_000
"""Values that are remembered."""


class DistinctValues(Generic[Subject]):
    """Numbers and texts by what they are values of, in the order in which they were added."""

    def __init__(self) -> None:
        self._values: dict[tuple[Subject, type[Any], Any], None] = {}
        self.are_all = True
        """Whether no value is left out: weights are, and those above MAX_DISTINCT."""

    def add(self, subject: Subject, value: Value | None) -> None:
        """Add a value."""
        if isinstance(value, dict):
            self.are_all = False
            return
        key = (subject, type(value), value)  # 1 and True are equal as keys
        if key not in self._values:
            if len(self._values) < MAX_DISTINCT:
                self._values[key] = None
            else:
                self.are_all = False

    def __iter__(self) -> Iterator[tuple[Subject, Value | None]]:
        return ((subject, value) for subject, _, value in self._values)
