"""Labels in long form as columns of codes: a table has one row for each label.

Its columns are item, scenario, kind, criterion, part, rater, value and, if items come in documents or dialogues, group.
`frames` has operations on pandas data frames.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from core.labels import Scale
from core.statistics.data.arrays import Bools, Ints
from core.statistics.data.columns import Column, as_text, number_by_appearance
from core.statistics.data.frames import ALL, By, Pool, pooled_scales, pools_of

if TYPE_CHECKING:
    import pandas as pd

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
