"""From labels in long form to rows of numbers: what pages and the command line ask for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import pandas as pd

from core.statistics.data import frames
from core.statistics.data.estimate import Estimate
from core.statistics.data.frames import Scale, criteria, same, targets, text
from core.statistics.data.ratings import Ratings, Scores
from core.statistics.measures.agreement import NOMINAL, ORDERED, estimates, estimates_of_scores
from core.statistics.reports import weights
from core.statistics.reports.alignment import AlignmentRow, alignment

__all__ = ["AlignmentRow", "Row", "agreement", "alignment", "table"]

By = Literal["all", "scenario", "criterion", "raters"]


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
    Kinds without a scale are left out, except aspect weights, which need none.
    """
    found = [
        row(cell.kind, cell.criterion, cell.group, name, estimate)
        for cell in cells(frame, by, scales)
        for name, estimate in measured(cell, resamples, seed).items()
    ]
    return found + of_weights(frame, by, resamples, seed)


def measured(cell: Cell, resamples: int, seed: int) -> dict[str, Estimate]:
    """The statistics that make sense for the cell's scale."""
    if isinstance(cell.rated, Scores):
        return estimates_of_scores(cell.rated, resamples=resamples, seed=seed)
    names = NOMINAL if cell.scale.level == "nominal" else ORDERED
    return estimates(cell.rated, names, resamples=resamples, seed=seed)


def of_weights(frame: pd.DataFrame, by: By, resamples: int, seed: int) -> list[Row]:
    """Agreement of aspect weights, which need no scale: distances, and Kendall's W."""
    rows = []
    for (kind, criterion), labels in criteria(frame):
        if kind == "aspect_weights":
            for group, some in groups_of(labels, by):
                found = weights.among_people(some, resamples=resamples, seed=seed)
                rows += [row(kind, criterion, group, name, one) for name, one in found.items()]
    return rows


def groups_of(labels: pd.DataFrame, by: By) -> Iterator[tuple[str, pd.DataFrame]]:
    """The labels of each scenario, of each two raters, or all."""
    if by == "scenario":
        for scenario, some in labels.groupby("scenario", sort=True, dropna=False):
            yield text(scenario), some
    elif by == "raters":
        for a, b in combinations(sorted(labels["rater"].unique()), 2):
            yield f"{a} × {b}", labels[labels["rater"].isin([a, b])]
    else:
        yield "all", labels


def row(kind: str, criterion: str, group: str, statistic: str, estimate: Estimate) -> Row:
    """A number with what it is of."""
    return Row(
        kind,
        criterion,
        group,
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
            for scenario, some in groups_of(labels, by):
                yield cell(kind, criterion, scenario, scale, some)
        elif by == "raters":
            yield from pairs(cell(kind, criterion, "all", scale, labels))
        else:
            yield cell(kind, criterion, "all", scale, labels)
    if by == "all":
        yield from pooled(frame, scales)


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
    groups = frames.groups_of(labels, units)
    raters, values = labels["rater"].to_numpy(), labels["value"].to_numpy()
    if scale.categories:
        rated: Ratings | Scores = Ratings.from_rows(units, raters, values, scale.categories, groups=groups)
    else:
        rated = Scores.from_rows(units, raters, values, groups=groups)
    return Cell(kind, criterion, group, scale, rated)


def table(rows: Sequence[Row] | Sequence[AlignmentRow]) -> pd.DataFrame:
    """The rows of `agreement` or `alignment` as a data frame, columns in order."""
    shape = type(rows[0]) if rows else Row
    return pd.DataFrame([vars(row) for row in rows], columns=list(shape.__dataclass_fields__))
