"""Labels in long form as columns of codes: a table has one row for each label.

Its columns are item, scenario, kind, criterion, part, rater, value and, if items come in documents or dialogues, group.
`frames` has operations on pandas data frames, without which a small study is read here. A column has N values, which
are places in a list of values. Distinct values are few even if there are millions of rows, so comparisons and counts
are operations on integers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from core.labels import Scale
from core.statistics.data.arrays import Bools, Ints
from core.statistics.data.frames import ALL, By, Pool, as_text, is_missing, pooled_scales, pools_of

if TYPE_CHECKING:
    import pandas as pd

# Numbers below this times their count are looked up in a table, which is faster than sorting them.
DENSE = 4


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


# The values that the rows of a group share, and their places (M,).
Group = tuple[tuple[Any, ...], Ints]


@dataclass(frozen=True)
class LabelTable:
    """N rows of named columns."""

    columns: Mapping[str, Column]

    @classmethod
    def from_frame(cls, frame: "pd.DataFrame") -> Self:
        """Return the table of a data frame."""
        return cls({str(name): Column.of(frame[name].to_numpy(object)) for name in frame.columns})

    def to_frame(self) -> "pd.DataFrame":
        """Return the table as a data frame: names are texts, missing ones nan."""
        import pandas as pd

        types = {name: object if name == "value" else None for name in self.columns}
        columns = {name: pd.Series(self[name].values, dtype=types[name]).take(self[name].codes) for name in types}
        return pd.DataFrame({name: column.array for name, column in columns.items()})

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def take(self, rows: Ints | Bools) -> "LabelTable":
        """Return these rows: a mask, or places."""
        return LabelTable({name: column.take(rows) for name, column in self.columns.items()})

    def assign(self, **columns: Column) -> "LabelTable":
        """Return the table with these columns added or replaced."""
        return LabelTable({**self.columns, **columns})


def as_table(labels: "LabelTable | pd.DataFrame") -> LabelTable:
    """Return labels as a table."""
    return labels if isinstance(labels, LabelTable) else LabelTable.from_frame(labels)


def concatenate(tables: Sequence[LabelTable]) -> LabelTable:
    """Return the rows of several tables with the same columns."""
    columns = {}
    for name in tables[0].columns:
        parts = [table[name] for table in tables]
        starts = np.cumsum([0, *(len(part.values) for part in parts)])
        codes = [part.codes + start for part, start in zip(parts, starts, strict=False)]
        columns[name] = Column(np.concatenate(codes), [value for part in parts for value in part.values])
    return LabelTable(columns)


def find_pools(labels: LabelTable, scales: Mapping[tuple[str, str], Scale]) -> list[Pool]:
    """Return the kinds with several criteria in the table, all of them declared on one scale."""
    return pools_of(criteria_of(labels), scales)


def with_pooled_criteria(
    labels: LabelTable, scales: Mapping[tuple[str, str], Scale]
) -> tuple[LabelTable, Mapping[tuple[str, str], Scale]]:
    """Return the labels followed by those of pooled criteria, and the scales of both.

    The criterion of pooled labels is "all"; their own becomes part of the part's name, see `frames.pool_criteria`.
    """
    pools = find_pools(labels, scales)
    if not pools:
        return labels, scales
    mask = np.zeros(len(labels), bool)
    for pool in pools:
        mask |= labels["kind"].equals(pool.kind) & labels["criterion"].map(as_text).where(pool.criteria.__contains__)
    pooled = labels.take(mask)
    criteria, parts = pooled["criterion"].unified(), _part(pooled).unified()
    pairs, distinct = number_by_appearance(criteria.codes * len(parts.values) + parts.codes)
    names = [
        f"{as_text(criteria.values[criterion])}\n{as_text(parts.values[part])}"
        for criterion, part in (divmod(pair, len(parts.values)) for pair in distinct.tolist())
    ]
    pooled = pooled.assign(criterion=Column.constant(ALL, len(pooled)), part=Column(pairs, names))
    return concatenate([labels.assign(part=_part(labels)), pooled]), {**scales, **pooled_scales(pools)}


def _part(labels: LabelTable) -> Column:
    return labels["part"] if "part" in labels else Column.constant("", len(labels))


def criteria_of(labels: LabelTable) -> list[tuple[str, str]]:
    """Return every (kind, criterion) of the rows, in order of first appearance."""
    return [(as_text(kind), as_text(criterion)) for (kind, criterion), _ in groups(labels, "kind", "criterion")]


def split_by_criterion(labels: LabelTable) -> Iterator[tuple[tuple[str, str], LabelTable]]:
    """Yield ((kind, criterion), rows), in the order of the names."""
    for (kind, criterion), rows in sorted(groups(labels, "kind", "criterion"), key=_name_order):
        yield (as_text(kind), as_text(criterion)), labels.take(rows)


def split_table(labels: LabelTable, by: By) -> Iterator[tuple[str, LabelTable]]:
    """Yield (name, rows) for each scenario or each pair of raters, "a × b"; otherwise all rows as "all"."""
    if by == "scenario":
        for (scenario,), rows in sorted(groups(labels, "scenario"), key=_name_order):
            yield as_text(scenario), labels.take(rows)
    elif by == "raters":
        for a, b in combinations(sorted(labels["rater"].distinct()), 2):
            yield f"{a} × {b}", labels.take(labels["rater"].where((a, b).__contains__))
    else:
        yield ALL, labels


def _name_order(group: Group) -> list[tuple[bool, str]]:
    """Return the sorting key of a group: a missing name is last."""
    return [(name is None, as_text(name)) for name in group[0]]


def groups(labels: LabelTable, *names: str) -> list[Group]:
    """Return the values of each group of rows in these columns, and its rows, in order of first appearance."""
    if not len(labels):
        return []
    columns = [labels[name] for name in names]
    codes = combined_codes(columns)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return [(tuple(column.values[column.codes[rows[0]]] for column in columns), rows) for rows in parts]


def select_rows(labels: LabelTable, kind: str, criterion: str | None = None, scenario: str | None = None) -> LabelTable:
    """Return the rows of a kind, of one criterion unless it is None, and of one scenario unless it is None."""
    if not len(labels):
        return labels
    mask = labels["kind"].equals(kind)
    if criterion is not None:
        mask &= labels["criterion"].equals(criterion)
    if scenario is not None:
        mask &= labels["scenario"].equals(scenario)
    return labels.take(mask)


def combined_codes(columns: Sequence[Column]) -> Ints:
    """Return one number for each row, equal for rows with equal values in these columns, in order of appearance."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        distinct = column.unified()
        if len(distinct.values) > 1:
            codes = number_by_appearance(codes * len(distinct.values) + distinct.codes)[0]
    return codes


def target_codes(labels: LabelTable) -> Ints:
    """Return one number for each distinct (item, criterion, part) of the rows; a missing part equals an empty one."""
    names = (name for name in ("item", "criterion", "part") if name in labels)
    return combined_codes([labels[name].map(lambda value: "" if value is None else value) for name in names])


def resampling_groups(labels: LabelTable, targets: Ints) -> npt.NDArray[np.object_] | None:
    """Return the group of each row: its document or dialogue, otherwise its item; None if targets are independent.

    `targets` are those of `target_codes`. Targets of one item, such as its AIUs or its criteria, are no more
    independent than those of one document.
    """
    items = labels["item"]
    if "group" in labels:
        present = labels["group"].present()
        if present.any():
            return np.where(present, labels["group"].array(), items.array())
    n_targets = int(targets.max()) + 1 if targets.size else 0
    one_target_per_item = len(items.unified().values) == n_targets
    return None if one_target_per_item else items.array()
