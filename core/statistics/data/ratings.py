"""Who said what: items by raters, as codes of a declared scale, or as numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.statistics.data.arrays import Bools, Codes, Floats, Ints

Category = float | int | str | bool
Column = Sequence[Any] | npt.NDArray[Any]
"""One value a label: a list, or an array or series of pandas."""


@dataclass(frozen=True)
class Ratings:
    """An items x raters array of category codes, -1 where a rater did not judge an item."""

    items: tuple[str, ...]
    raters: tuple[str, ...]
    codes: Codes
    categories: tuple[Category, ...]
    """The declared scale, in order: code k stands for categories[k]."""
    groups: tuple[str, ...] | None = None
    """The document or dialogue of each item, where items come in groups that belong together."""

    @classmethod
    def from_rows(
        cls,
        items: Column,
        raters: Column,
        values: Column,
        categories: Sequence[Category],
        groups: Column | None = None,
    ) -> Self:
        """Parallel sequences, one place a label. None and nan are missing; 1 and 1.0 are equal.

        Raises ValueError for a value outside the declared scale and for two labels by one rater on
        one item.
        """
        codes = encode(values, categories)
        item_at, item_names = factorize(items)
        rater_at, rater_names = factorize(raters, sort=True)
        grid = np.full((len(item_names), len(rater_names)), -1, np.int16)
        place(grid, item_at, rater_at, codes, codes >= 0)
        return cls(
            item_names,
            rater_names,
            grid,
            tuple(categories),
            groups_of_items(item_at, len(item_names), groups),
        )

    def select(self, raters: Iterable[str] | None = None, items: Bools | None = None) -> Self:
        """Only these raters (in this order), only the items where the mask is true."""
        names = self.raters if raters is None else tuple(raters)
        columns = [self.raters.index(name) for name in names]
        kept = np.ones(len(self.items), bool) if items is None else np.asarray(items, bool)
        return replace(
            self,
            items=masked(self.items, kept),
            raters=names,
            codes=self.codes[kept][:, columns],
            groups=None if self.groups is None else masked(self.groups, kept),
        )

    def complete(self) -> Self:
        """Only the items that every rater judged."""
        return self.select(items=np.all(self.codes >= 0, axis=1))


@dataclass(frozen=True)
class Scores:
    """An items x raters array of numbers on a continuous scale, nan where missing."""

    items: tuple[str, ...]
    raters: tuple[str, ...]
    values: Floats
    groups: tuple[str, ...] | None = None

    @classmethod
    def from_rows(
        cls,
        items: Column,
        raters: Column,
        values: Column,
        groups: Column | None = None,
    ) -> Self:
        """Parallel sequences, one place a score. None and nan are missing."""
        numbers = pd.to_numeric(pd.Series(list(values), dtype=object)).to_numpy(float)
        item_at, item_names = factorize(items)
        rater_at, rater_names = factorize(raters, sort=True)
        grid = np.full((len(item_names), len(rater_names)), np.nan)
        place(grid, item_at, rater_at, numbers, ~np.isnan(numbers))
        return cls(item_names, rater_names, grid, groups_of_items(item_at, len(item_names), groups))

    def select(self, raters: Iterable[str] | None = None, items: Bools | None = None) -> Self:
        """Only these raters (in this order), only the items where the mask is true."""
        names = self.raters if raters is None else tuple(raters)
        columns = [self.raters.index(name) for name in names]
        kept = np.ones(len(self.items), bool) if items is None else np.asarray(items, bool)
        return replace(
            self,
            items=masked(self.items, kept),
            raters=names,
            values=self.values[kept][:, columns],
            groups=None if self.groups is None else masked(self.groups, kept),
        )

    def complete(self) -> Self:
        """Only the items that every rater scored."""
        return self.select(items=np.all(~np.isnan(self.values), axis=1))


def encode(values: Column, categories: Sequence[Category]) -> Codes:
    """The code of each value on the declared scale, -1 for None and nan."""
    at, found = pd.factorize(column(values))
    known = {told_apart(category): code for code, category in enumerate(categories)}
    if len(known) < len(categories):
        raise ValueError(f"the scale {list(categories)} names a category twice")
    unknown = [value for value in found.tolist() if told_apart(value) not in known]
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown[:5]))} is not on the declared scale {list(categories)}")
    table = np.array([known[told_apart(value)] for value in found.tolist()] + [-1], np.int16)
    return table[at]


def told_apart(value: Category) -> tuple[bool, Category]:
    """A key under which 1 and 1.0 are the same and True is neither."""
    return isinstance(value, bool), value


def column(values: Column) -> npt.NDArray[Any]:
    """The values as an array that keeps 1 and '1' apart."""
    if isinstance(values, np.ndarray):
        return values
    out = np.empty(len(values), object)
    out[:] = list(values)
    return out


def factorize(names: Column, *, sort: bool = False) -> tuple[Ints, tuple[str, ...]]:
    """Numbers for names, in order of first appearance or sorted, and the names as text."""
    at, found = pd.factorize(column(names), sort=sort, use_na_sentinel=False)
    return at.astype(np.int64), tuple(map(str, found.tolist()))


def place(grid: npt.NDArray[Any], rows: Ints, columns: Ints, values: npt.NDArray[Any], there: Bools) -> None:
    """Write each value that is there to its cell of the grid; two in one cell are an error."""
    cells = rows[there] * grid.shape[1] + columns[there]
    if cells.size and np.bincount(cells, minlength=1).max() > 1:
        raise ValueError("a rater has two labels for the same item; pass only the newest one")
    grid.reshape(-1)[cells] = values[there]


def groups_of_items(item_at: Ints, items: int, groups: Column | None) -> tuple[str, ...] | None:
    """The group of each item; an item without one is a group of its own, none at all is None."""
    if groups is None:
        return None
    at, names = pd.factorize(column(groups))
    if not len(names):
        return None
    group_of = np.full(items, -1, np.int64)
    group_of[item_at] = at
    text = [str(name) for name in names.tolist()]
    return tuple(text[group] if group >= 0 else f"(item {item})" for item, group in enumerate(group_of.tolist()))


def masked(names: tuple[str, ...], kept: Bools) -> tuple[str, ...]:
    """The names where the mask is true."""
    return names if kept.all() else tuple(np.array(names, object)[kept].tolist())
