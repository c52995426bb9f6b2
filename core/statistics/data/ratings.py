"""Labels as arrays of items x raters: category codes of a declared scale, or numbers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.statistics.data.arrays import Bools, Codes, Floats, Ints, ratio
from core.statistics.data.label_table import Column as CodedColumn
from core.statistics.data.label_table import factorize
from core.statistics.data.sample import Sample

Category = float | int | str | bool
# One value for each label: a list, an array, a pandas series or codes of values.
Column = Sequence[Any] | npt.NDArray[Any] | CodedColumn


class Grid(ABC):
    """What an array of categories and one of numbers have in common."""

    ARRAY: ClassVar[str]
    """The name of the array."""
    items: tuple[str, ...]
    raters: tuple[str, ...]
    groups: tuple[str, ...] | None
    sample: Sample | None

    @property
    @abstractmethod
    def labels(self) -> Floats:
        """(N, R): codes or numbers, nan missing."""

    def to_numbers(self, values: Floats) -> Floats:
        """Return codes as the numbers that their categories denote; numbers are returned unchanged."""
        return values

    def select(self, raters: Iterable[str] | None = None, items: Bools | None = None) -> Self:
        """Return only these raters, in this order, and only the items where the mask is true."""
        names = self.raters if raters is None else tuple(raters)
        columns = [self.raters.index(name) for name in names]
        mask = np.ones(len(self.items), bool) if items is None else np.asarray(items, bool)
        chosen = {
            "items": select_names(self.items, mask),
            "raters": names,
            "groups": None if self.groups is None else select_names(self.groups, mask),
            "sample": None if self.sample is None else self.sample.select(mask),
            self.ARRAY: getattr(self, self.ARRAY)[mask][:, columns],
        }
        return replace(self, **chosen)  # type: ignore[type-var]

    def complete(self) -> Self:
        """Return only the items that every rater labelled; drawn ones stand for as many of their stratum as all did."""
        mask = np.all(~np.isnan(self.labels), axis=1)
        kept = self.select(items=mask)
        if self.sample is None or kept.sample is None:
            return kept
        weights = self.sample.calibrated(np.ones(mask.size), mask).weights[mask]
        return replace(kept, sample=replace(kept.sample, weights=weights))  # type: ignore[type-var]


@dataclass(frozen=True)
class Ratings(Grid):
    """An items x raters array of category codes, -1 if a rater did not label an item."""

    ARRAY = "codes"
    items: tuple[str, ...]
    raters: tuple[str, ...]
    codes: Codes
    categories: tuple[Category, ...]
    """The declared scale, in order: code k denotes categories[k]."""
    groups: tuple[str, ...] | None = None
    """The document or dialogue of each item; None if items are independent."""
    sample: Sample | None = None
    """How the items were drawn for labelling; None if no design is known."""

    @classmethod
    def from_rows(
        cls,
        items: Column,
        raters: Column,
        values: Column,
        categories: Sequence[Category],
        groups: Column | None = None,
    ) -> Self:
        """Build the array from parallel columns, one row for each label.

        None and nan are missing; 1 and 1.0 are equal. Raises ValueError for a value outside the declared scale and
        for two labels of one rater on the same item.
        """
        codes = encode_categories(values, categories)
        item_names, rater_names, grid, names = build_grid(items, raters, codes, codes >= 0, -1, groups)
        return cls(item_names, rater_names, grid, tuple(categories), names)

    @property
    def labels(self) -> Floats:
        """(N, R): codes, nan missing."""
        return np.where(self.codes >= 0, self.codes, np.nan)

    def to_numbers(self, values: Floats) -> Floats:
        """Return codes as the numbers that their categories denote."""
        numbers = category_numbers(self.categories)
        return np.where(np.isnan(values), np.nan, numbers[np.nan_to_num(values).astype(int)])


@dataclass(frozen=True)
class Scores(Grid):
    """An items x raters array of numbers on a continuous scale, nan if missing."""

    ARRAY = "values"
    items: tuple[str, ...]
    raters: tuple[str, ...]
    values: Floats
    groups: tuple[str, ...] | None = None
    sample: Sample | None = None

    @classmethod
    def from_rows(cls, items: Column, raters: Column, values: Column, groups: Column | None = None) -> Self:
        """Build the array from parallel columns, one row for each score. None and nan are missing."""
        numbers = to_numbers(values)
        return cls(*build_grid(items, raters, numbers, ~np.isnan(numbers), np.nan, groups))

    @property
    def labels(self) -> Floats:
        """(N, R): numbers, nan missing."""
        return self.values


def build_grid(
    items: Column, raters: Column, values: npt.NDArray[Any], present: Bools, missing: float, groups: Column | None
) -> tuple[tuple[str, ...], tuple[str, ...], npt.NDArray[Any], tuple[str, ...] | None]:
    """Return the names of items and raters, the array of the values that are present, and the groups of the items."""
    item_codes, item_names = number_names(items)
    rater_codes, rater_names = number_names(raters, sort=True)
    grid = np.full((len(item_names), len(rater_names)), missing, values.dtype)
    fill_grid(grid, item_codes, rater_codes, values, present)
    return item_names, rater_names, grid, item_groups(item_codes, len(item_names), groups)


def encode_categories(values: Column, categories: Sequence[Category]) -> Codes:
    """Return the code of each value on the declared scale, -1 for None and nan.

    Raises ValueError for a value outside the scale and for a scale that repeats a category.
    """
    column = (values if isinstance(values, CodedColumn) else CodedColumn.of(values)).used()
    codes = {category_key(category): code for code, category in enumerate(categories)}
    if len(codes) < len(categories):
        raise ValueError(f"the scale {list(categories)} names a category twice")
    unknown = [value for value in column.values if value is not None and category_key(value) not in codes]
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown[:5]))} is not on the declared scale {list(categories)}")
    lookup = [-1 if value is None else codes[category_key(value)] for value in column.values]
    return np.array(lookup, np.int16)[column.codes]


def category_key(value: Category) -> tuple[bool, Category]:
    """Return a dictionary key under which 1 equals 1.0 but not True."""
    return isinstance(value, bool), value


def category_numbers(categories: Sequence[Category]) -> Floats:
    """Return the number of each category (K,): its value if all are numbers, otherwise its position on the scale."""
    if all(isinstance(category, int | float) for category in categories):
        return np.array(categories, float)
    return np.arange(len(categories), dtype=float)


def mean_scores(values: Floats) -> Floats:
    """Return the mean score of each item, (N, R) -> (N,); nan if an item has no score."""
    present = ~np.isnan(values)
    return ratio(np.where(present, values, 0).sum(axis=1), present.sum(axis=1))


def to_numbers(values: Column) -> Floats:
    """Return values as numbers, nan if missing. Raises ValueError for a value that is not a number."""
    column = (values if isinstance(values, CodedColumn) else CodedColumn.of(values)).used()
    return column.map(lambda value: np.nan if value is None else float(value)).array().astype(float)


def number_names(names: Column, *, sort: bool = False) -> tuple[Ints, tuple[str, ...]]:
    """Return a code for each name, in order of first appearance or sorted, and the distinct names as text."""
    codes, distinct_names = factorize(names, sort=sort)
    return codes, tuple(map(str, distinct_names))


def fill_grid(grid: npt.NDArray[Any], rows: Ints, columns: Ints, values: npt.NDArray[Any], present: Bools) -> None:
    """Write each value that is present to its cell of the grid. Raises ValueError for two values in one cell."""
    cells = rows[present] * grid.shape[1] + columns[present]
    if cells.size and np.bincount(cells, minlength=1).max() > 1:
        raise ValueError("a rater has two labels for the same item; pass only the newest label")
    grid.reshape(-1)[cells] = values[present]


def item_groups(item_codes: Ints, n_items: int, groups: Column | None) -> tuple[str, ...] | None:
    """Return the group of each item from the groups of the rows; None if no row has a group.

    An item without a group forms its own group.
    """
    if groups is None:
        return None
    group_codes, group_names = factorize(groups)
    if not group_names:
        return None
    group_of_item = np.full(n_items, -1, np.int64)
    group_of_item[item_codes] = group_codes
    names = [str(name) for name in group_names]
    return tuple(names[group] if group >= 0 else f"(item {item})" for item, group in enumerate(group_of_item.tolist()))


def select_names(names: tuple[str, ...], mask: Bools) -> tuple[str, ...]:
    """Return the names for which the mask is true."""
    return names if mask.all() else tuple(np.array(names, object)[mask].tolist())
