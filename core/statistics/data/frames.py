"""What the reports read: labels in long form, and the scales that were declared for them."""

from collections.abc import Iterator
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.statistics.data.arrays import Ints
from core.statistics.data.ratings import Category


class Scale(Protocol):
    """What is declared of the values that may occur; `core.labels.Scale` is one."""

    @property
    def level(self) -> Literal["nominal", "ordinal", "interval"]: ...
    @property
    def categories(self) -> tuple[Category, ...]: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def criteria(frame: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """The labels of each kind and criterion, in the order of their names."""
    if frame.empty:
        return
    for (kind, criterion), labels in frame.groupby(["kind", "criterion"], sort=True, dropna=False):
        yield (text(kind), text(criterion)), labels


def same(one: Scale, other: Scale) -> bool:
    """Whether two scales declare the same values at the same level."""
    return (one.level, one.categories, one.low, one.high) == (
        other.level,
        other.categories,
        other.low,
        other.high,
    )


def targets(labels: pd.DataFrame) -> Ints:
    """A number for each distinct (item, criterion, part); no part is the same as an empty one."""
    number = np.zeros(len(labels), np.int64)
    for column in ("item", "criterion", "part"):
        if column in labels.columns:
            names = labels[column]
            at, found = pd.factorize(names.where(names.notna(), "").to_numpy())
            number = number * max(1, len(found)) + at
    return number


def groups_of(labels: pd.DataFrame, units: Ints) -> npt.NDArray[np.object_] | None:
    """The group of each row: its document or dialogue, else its item; None where each target stands alone.

    Targets of one item (its AIUs, its criteria) are no more independent than those of one document.
    """
    item = labels["item"]
    if "group" in labels.columns and labels["group"].notna().any():
        return labels["group"].where(labels["group"].notna(), item).to_numpy(object)
    alone = item.nunique() == pd.unique(units).size
    return None if alone else item.to_numpy(object)


def text(name: object) -> str:
    """A name as text; none is empty."""
    return "" if name is None or (isinstance(name, float) and np.isnan(name)) else str(name)
