"""Columns of long data as NumPy codes, so that a small study is read without pandas.

A column has N values, which are places in a list of values. Distinct values are few even if there are millions of rows,
so comparisons and counts are operations on integers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from core.statistics.data.arrays import Bools, Ints

# Numbers below this times their count are looked up in a table, which is faster than sorting them.
DENSE = 4

# Recognised by name, so that pandas is not imported.
MISSING_TYPES = ("NAType", "NaTType")


def as_text(name: object) -> str:
    """Return a name as text; None and nan are empty."""
    return "" if is_missing(name) else str(name)


def is_missing(value: object) -> bool:
    """Return whether a value is None, nan, or pandas' NA or NaT."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in MISSING_TYPES


@dataclass(frozen=True)
class Column:
    """N values, each a place in a sequence of values."""

    codes: Ints
    """(N,)."""
    values: Sequence[Any]
    """A value can be listed more than once, and need not be used."""

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """Return the column of these values. Values that are equal, such as 1 and 1.0, are listed once, as the first.

        True and 1 are different, and mappings are never equal. None and nan become None.
        """
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            places, distinct = number_by_appearance(values)
            return cls(places, distinct.tolist())
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        types = set(map(type, listed))
        has_equal_types = bool in types and len(types) > 1
        keys = [(type(value) is bool, value) for value in listed] if has_equal_types else listed
        numbers: defaultdict[Any, int] = defaultdict(count().__next__)
        try:
            codes = np.fromiter(map(numbers.__getitem__, keys), np.int64, len(listed))
        except TypeError:  # mappings have no hash
            return cls(np.arange(len(listed)), [None if is_missing(value) else value for value in listed])
        listed = [value for _, value in numbers] if has_equal_types else list(numbers)
        return cls(codes, [None if is_missing(value) else value for value in listed])

    @classmethod
    def constant(cls, value: Any, size: int) -> Self:
        """Return a column with one value in every row."""
        return cls(np.zeros(size, np.int64), [value])

    def __len__(self) -> int:
        return self.codes.size

    def take(self, rows: Ints | Bools) -> "Column":
        """Return the column of these rows: a mask, or places."""
        return Column(self.codes[rows], self.values)

    def map(self, function: Callable[[Any], Any]) -> "Column":
        """Return the column with the function's value of each value; it is called once for each listed value."""
        return Column(self.codes, [function(value) for value in self.values])

    def where(self, function: Callable[[Any], bool]) -> Bools:
        """Return whether the function is true of the value of each row."""
        if not self.values:
            return np.zeros(len(self), bool)
        return np.fromiter(map(function, self.values), bool, len(self.values))[self.codes]

    def equals(self, name: str) -> Bools:
        """Return whether each value as text is this name; a missing one is empty."""
        return self.where(lambda value: as_text(value) == name)

    def present(self) -> Bools:
        """Return whether each row has a value."""
        return self.where(lambda value: value is not None)

    def used(self) -> "Column":
        """Return the column with only the values that occur, in order of first appearance."""
        codes, places = number_by_appearance(self.codes)
        return Column(codes, [self.values[code] for code in places.tolist()])

    def distinct(self) -> list[Any]:
        """Return the different values that occur, in order of first appearance."""
        return list(dict.fromkeys(self.used().values))

    def unified(self) -> "Column":
        """Return the column with only the values that occur, each listed once, in order of first appearance."""
        used = self.used()
        numbers: dict[Any, int] = {}
        lookup = [numbers.setdefault(value, len(numbers)) for value in used.values]
        return Column(np.array(lookup, np.int64)[used.codes], list(numbers))

    def tolist(self) -> list[Any]:
        """Return the values of all rows."""
        return list(map(self.values.__getitem__, self.codes.tolist()))

    def array(self) -> npt.NDArray[np.object_]:
        """Return the values of all rows as an array of objects."""
        listed = np.empty(len(self.values), object)
        listed[:] = list(self.values)
        return listed[self.codes] if len(self) else listed[:0]


def number_by_appearance(codes: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the number of each value, in order of first appearance, and the distinct values in this order."""
    if not codes.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if codes.min() >= 0 and codes.max() < DENSE * codes.size:
        first = np.full(int(codes.max()) + 1, codes.size)
        # In reverse order, so the first row of a value is assigned last.
        first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
        distinct = np.flatnonzero(first < codes.size)
        distinct = distinct[np.argsort(first[distinct])]
        number = np.zeros(first.size, np.int64)
        number[distinct] = np.arange(distinct.size)
        return number[codes], distinct
    distinct, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    return number[inverse], distinct[order].astype(np.int64)


def factorize(values: Iterable[Any] | Column, *, sort: bool = False) -> tuple[Ints, list[Any]]:
    """Return a code for each value, -1 if it is missing, and the distinct values in order of appearance, or sorted.

    Values of different types are sorted by the names of the types first.
    """
    column = (values if isinstance(values, Column) else Column.of(values)).unified()
    listed = [value for value in column.values if value is not None]
    if sort:
        try:
            listed.sort()
        except TypeError:
            listed.sort(key=lambda value: (isinstance(value, str), str(value)))
    numbers = {value: number for number, value in enumerate(listed)}
    lookup = np.array([numbers.get(value, -1) for value in column.values], np.int64)
    return (lookup[column.codes] if len(column) else np.zeros(0, np.int64)), listed
