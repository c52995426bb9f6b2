"""From labels in long form to rows of numbers: what pages and the command line ask for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, Protocol

import numpy as np
import pandas as pd

from core.statistics.agreement import NOMINAL, ORDERED, estimates, estimates_of_scores
from core.statistics.estimate import Estimate
from core.statistics.ratings import Category, Ratings, Scores

By = Literal["all", "scenario", "criterion", "raters"]


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


@dataclass(frozen=True)
class Row:
    """One number of the agreement between people."""

    kind: str
    criterion: str
    group: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    raters: int
    pairs: int
    reason: str


@dataclass(frozen=True)
class Cell:
    """The labels of one kind, criterion and group."""

    kind: str
    criterion: str
    group: str
    scale: Scale
    rated: Ratings | Scores


def agreement(
    frame: pd.DataFrame,
    *,
    by: By,
    scales: Mapping[tuple[str, str], Scale],
    resamples: int = 1000,
    seed: int = 0,
) -> list[Row]:
    """Agreement between people, one row a statistic.

    `frame` has one row a label: item, scenario, kind, criterion, part, rater, value and, where items
    come in documents or dialogues, group. `scales` gives the declared scale of each
    (kind, criterion). By "raters" a group is a pair, "a × b"; by "scenario" a scenario; otherwise
    "all". By "all" the criteria of a kind that share a scale are also pooled, as criterion "all".
    """
    return [
        row(cell, name, estimate)
        for cell in cells(frame, by, scales)
        for name, estimate in measured(cell, resamples, seed).items()
    ]


def measured(cell: Cell, resamples: int, seed: int) -> dict[str, Estimate]:
    """The statistics that make sense for the cell's scale."""
    if isinstance(cell.rated, Scores):
        return estimates_of_scores(cell.rated, resamples=resamples, seed=seed)
    names = NOMINAL if cell.scale.level == "nominal" else ORDERED
    return estimates(cell.rated, names, resamples=resamples, seed=seed)


def row(cell: Cell, statistic: str, estimate: Estimate) -> Row:
    """A number with the cell it belongs to."""
    return Row(
        cell.kind,
        cell.criterion,
        cell.group,
        statistic,
        estimate.value,
        estimate.low,
        estimate.high,
        estimate.items,
        estimate.raters,
        estimate.pairs,
        estimate.reason,
    )


def cells(frame: pd.DataFrame, by: By, scales: Mapping[tuple[str, str], Scale]) -> Iterator[Cell]:
    """The labels of each kind, criterion and group."""
    for (kind, criterion), labels in criteria(frame):
        if (kind, criterion) not in scales:
            continue
        scale = scales[kind, criterion]
        if by == "scenario":
            for scenario, some in labels.groupby("scenario", sort=True, dropna=False):
                yield cell(kind, criterion, text(scenario), scale, some)
        elif by == "raters":
            yield from pairs(cell(kind, criterion, "all", scale, labels))
        else:
            yield cell(kind, criterion, "all", scale, labels)
    if by == "all":
        yield from pooled(frame, scales)


def criteria(frame: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """The labels of each kind and criterion, in the order of their names."""
    if frame.empty:
        return
    for (kind, criterion), labels in frame.groupby(["kind", "criterion"], sort=True, dropna=False):
        yield (text(kind), text(criterion)), labels


def pooled(frame: pd.DataFrame, scales: Mapping[tuple[str, str], Scale]) -> Iterator[Cell]:
    """All criteria of a kind together, where there are several and they share one scale."""
    several: dict[str, list[tuple[str, pd.DataFrame]]] = {}
    for (kind, criterion), labels in criteria(frame):
        if (kind, criterion) in scales:
            several.setdefault(kind, []).append((criterion, labels))
    for kind, parts in several.items():
        declared = [scales[kind, criterion] for criterion, _ in parts]
        if len(parts) > 1 and all(same(scale, declared[0]) for scale in declared):
            labels = pd.concat([labels for _, labels in parts])
            yield cell(kind, "all", "all", declared[0], labels)


def same(one: Scale, other: Scale) -> bool:
    """Whether two scales declare the same values at the same level."""
    return (one.level, one.categories, one.low, one.high) == (
        other.level,
        other.categories,
        other.low,
        other.high,
    )


def pairs(whole: Cell) -> Iterator[Cell]:
    """One cell for each two raters, named in order, on the items that both judged."""
    rated = whole.rated
    for a, b in combinations(sorted(rated.raters), 2):
        yield Cell(
            whole.kind,
            whole.criterion,
            f"{a} × {b}",
            whole.scale,
            rated.select(raters=(a, b)).complete(),
        )


def cell(kind: str, criterion: str, group: str, scale: Scale, labels: pd.DataFrame) -> Cell:
    """Put the labels in an items x raters array; the unit is the target."""
    units = targets(labels)
    groups = labels["group"].to_numpy() if "group" in labels.columns else None
    raters, values = labels["rater"].to_numpy(), labels["value"].to_numpy()
    if scale.categories:
        rated: Ratings | Scores = Ratings.from_rows(units, raters, values, scale.categories, groups=groups)
    else:
        rated = Scores.from_rows(units, raters, values, groups=groups)
    return Cell(kind, criterion, group, scale, rated)


def targets(labels: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number for each distinct (item, criterion, part)."""
    number = np.zeros(len(labels), np.int64)
    for column in ("item", "criterion", "part"):
        if column in labels.columns:
            at, found = pd.factorize(labels[column].to_numpy(), use_na_sentinel=False)
            number = number * max(1, len(found)) + at
    return number


def text(name: object) -> str:
    """A name as text; none is empty."""
    return "" if name is None or (isinstance(name, float) and np.isnan(name)) else str(name)


def table(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a data frame, columns in order."""
    return pd.DataFrame([vars(row) for row in rows], columns=list(Row.__dataclass_fields__))
