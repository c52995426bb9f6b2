"""Labels as an array of targets x raters: categories of a declared scale, or numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.labels import Scale
from core.statistics.data.arrays import Bools, Codes, Floats, Ints, ratio
from core.statistics.data.frames import is_missing
from core.statistics.data.sample import Sample

Category = float | int | str | bool


@dataclass(frozen=True)
class Ratings:
    """The labels of R raters on N targets."""

    raters: tuple[str, ...]
    labels: Floats
    """(N, R): codes of the categories, or numbers if there are none; nan if a rater did not label a target."""
    categories: tuple[Category, ...] = ()
    """The declared scale, in order: code k denotes categories[k]. Empty for numbers."""
    groups: tuple[str, ...] | None = None
    """The document or dialogue of each target; None if targets are independent."""
    sample: Sample | None = None
    """How the targets were drawn for labelling; None if no design is known."""

    @cached_property
    def codes(self) -> Codes:
        """(N, R): the codes of the categories, -1 if missing."""
        return to_codes(self.labels)

    def to_numbers(self, values: Floats) -> Floats:
        """Return codes as the numbers that their categories denote; numbers are returned unchanged."""
        if not self.categories:
            return values
        numbers = category_numbers(self.categories)
        return np.where(np.isnan(values), np.nan, numbers[np.nan_to_num(values).astype(int)])

    def select(self, raters: Iterable[str] | None = None, targets: Bools | None = None) -> "Ratings":
        """Return only these raters, in this order, and only the targets where the mask is true."""
        names = self.raters if raters is None else tuple(raters)
        columns = [self.raters.index(name) for name in names]
        mask = np.ones(len(self.labels), bool) if targets is None else np.asarray(targets, bool)
        groups = self.groups if self.groups is None or mask.all() else tuple(np.array(self.groups, object)[mask])
        sample = None if self.sample is None else self.sample.select(mask)
        return replace(self, raters=names, labels=self.labels[mask][:, columns], groups=groups, sample=sample)

    def complete(self) -> "Ratings":
        """Return the targets that every rater labelled; drawn ones stand for as many of their stratum as all did."""
        mask = np.all(~np.isnan(self.labels), axis=1)
        kept = self.select(targets=mask)
        if self.sample is None or kept.sample is None:
            return kept
        weights = self.sample.calibrated(np.ones(mask.size), mask).weights[mask]
        return replace(kept, sample=replace(kept.sample, weights=weights))


def ratings_of(
    frame: pd.DataFrame, targets: Ints, n_targets: int, scale: Scale, groups: tuple[str, ...] | None = None
) -> Ratings:
    """Return the labels of a frame, of whose rows `targets` (M,) are the places of the targets.

    None and nan are missing; 1 and 1.0 are equal. Raises ValueError for a value outside the declared scale and for two
    labels of one rater on the same target.
    """
    raters, names = pd.factorize(frame["rater"].to_numpy(object), sort=True)
    labels = grid_of(encode_on_scale(frame["value"], scale), targets, raters, (n_targets, len(names)))
    return Ratings(tuple(map(str, names)), labels, tuple(scale.categories), groups)


def grid_of(values: Floats, rows: npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int]) -> Floats:
    """Return an array with each value that is not nan in its cell. Raises ValueError for two values in one cell."""
    grid = np.full(shape, np.nan)
    present = ~np.isnan(values)
    cells = rows[present] * shape[1] + columns[present]
    if cells.size and np.bincount(cells, minlength=1).max() > 1:
        raise ValueError("a rater has two labels for the same item; pass only the newest label")
    grid.reshape(-1)[cells] = values[present]
    return grid


def encode_on_scale(values: "pd.Series[Any]", scale: Scale) -> Floats:
    """Return values as codes of the scale, or as numbers if it has no categories; nan missing.

    Raises ValueError for a value outside the scale and for a scale that repeats a category.
    """
    if not scale.categories:
        return pd.to_numeric(values).to_numpy(float, na_value=np.nan)
    codes = {category_key(category): code for code, category in enumerate(scale.categories)}
    if len(codes) < len(scale.categories):
        raise ValueError(f"the scale {list(scale.categories)} names a category twice")
    keys = [None if is_missing(value) else category_key(value) for value in values.tolist()]
    unknown = [key[1] for key in dict.fromkeys(keys) if key is not None and key not in codes]
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown[:5]))} is not on the declared scale {list(scale.categories)}")
    return np.array([np.nan if key is None else codes[key] for key in keys], float)


def category_key(value: Category) -> tuple[bool, Category]:
    """Return a dictionary key under which 1 equals 1.0 but not True."""
    return isinstance(value, bool), value


def to_codes(values: Floats) -> Codes:
    """Return category codes with nan as -1."""
    return np.where(np.isnan(values), -1, values).astype(np.int16)


def category_numbers(categories: Sequence[Category]) -> Floats:
    """Return the number of each category (K,): its value if all are numbers, otherwise its position on the scale."""
    if all(isinstance(category, int | float) for category in categories):
        return np.array(categories, float)
    return np.arange(len(categories), dtype=float)


def mean_scores(values: Floats) -> Floats:
    """Return the mean score of each target, (N, R) -> (N,); nan if it has no score."""
    present = ~np.isnan(values)
    return ratio(np.where(present, values, 0).sum(axis=1), present.sum(axis=1))
