"""The opinions of judges by target, as arrays that do not change with the labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.statistics.data.arrays import Bools, Codes, Floats, Ints
from core.statistics.data.frames import (
    ALL,
    By,
    Pool,
    Scale,
    find_pools,
    pool_criteria,
    split_by_criterion,
    target_codes,
)
from core.statistics.data.ratings import encode_categories, fill_grid

Strings = npt.NDArray[np.object_]
SIDE_COLUMNS = ("shown_first", "longer", "own")
"""Columns of opinions: the response that was shown first, that is longer, that is of the judge's own family."""
NUMBER_COLUMNS = (*SIDE_COLUMNS, "length_gap", "trace")
"""Columns of opinions with a number for each verdict; see `JudgeOpinions.sides`."""
STAGES = ("verdict", "last", "first")


@dataclass(frozen=True)
class JudgeOpinions:
    """One judge's verdicts on N targets."""

    asked: Bools
    """(N,): whether the judge was asked about the target."""
    values: Floats
    """(N,): codes of the scale, or numbers if it has no categories; nan for no verdict."""
    sides: Mapping[str, Floats] = field(default_factory=dict)
    """By the available `NUMBER_COLUMNS`, (N,), nan if unknown; a side of a preference is 1 or 2, or 0 for neither."""
    origins: frozenset[str] = frozenset()
    """The runs and the raters of the opinions, if known: judges with a common origin are not independent."""
    stage: int = 0
    """The earliest of `STAGES` that the opinions are from."""


@dataclass(frozen=True)
class EncodedOpinions:
    """The opinions of J judges about T targets of one kind and criterion, without labels, which change far more often.

    `Dataset` combines them with the labels.
    """

    kind: str
    criterion: str
    scale: Scale
    pool: Pool[Scale] | None
    """The criteria that are pooled; None for one criterion."""
    targets: pd.DataFrame
    """The first opinion of each target, in order of appearance."""
    attributes: Mapping[str, Strings | None]
    """See `TargetAttributes.column`."""
    names: tuple[str, ...]
    origins: Sequence[tuple[frozenset[str], int]]
    """(J,): see `opinion_origins`."""
    asked: Bools
    """(T, J)."""
    grids: Mapping[str, Floats]
    """The value and the available `NUMBER_COLUMNS`, (T, J) each, nan if unknown."""

    def judges(self, targets: Ints, n_targets: int) -> dict[str, JudgeOpinions]:
        """Return each judge's verdicts by name; `targets` (T,) are their places among the targets of a dataset."""
        asked = np.zeros((n_targets, len(self.names)), bool)
        asked[targets] = self.asked
        grids = {name: np.full(asked.shape, np.nan) for name in self.grids}
        for name, grid in self.grids.items():
            grids[name][targets] = grid
        verdicts = grids.pop("value")
        return {
            name: JudgeOpinions(
                asked[:, j], verdicts[:, j], {side: grid[:, j] for side, grid in grids.items()}, *self.origins[j]
            )
            for j, name in enumerate(self.names)
        }

    def on_targets_of(self, other: "EncodedOpinions") -> "EncodedOpinions":
        """Return these opinions with the frame of equal targets of others, so that labels are aligned with one.

        The opinions themselves if the targets or their order differ.
        """
        if (self.kind, self.criterion, self.scale, self.pool) != (other.kind, other.criterion, other.scale, other.pool):
            return self
        if len(self.targets) != len(other.targets):
            return self
        own, others = np.split(target_codes(self.targets, other.targets), 2)
        is_equal = np.array_equal(own, others)
        return replace(self, targets=other.targets, attributes=other.attributes) if is_equal else self


def encode_opinions(
    opinions: pd.DataFrame, scales: Mapping[tuple[str, str], Scale], by: By
) -> Iterator[EncodedOpinions]:
    """Yield the opinions of each kind and criterion with a declared scale, and except by "criterion" those of pools."""
    for (kind, criterion), rows in split_by_criterion(opinions):
        if (kind, criterion) in scales:
            yield encode(kind, criterion, scales[kind, criterion], rows)
    pools = [] if by == "criterion" else find_pools(opinions, scales)
    for pool in sorted(pools, key=lambda pool: pool.kind):
        yield encode(pool.kind, ALL, pool.scale, pool_criteria(opinions, [pool]), pool)


def encode(
    kind: str, criterion: str, scale: Scale, opinions: pd.DataFrame, pool: Pool[Scale] | None = None
) -> EncodedOpinions:
    """Return opinions of one kind and criterion by target; a value of None is no verdict."""
    codes, distinct_targets = pd.factorize(target_codes(opinions))
    targets, n_targets = codes.astype(np.int64), len(distinct_targets)
    first = np.empty(n_targets, np.int64)
    first[targets[::-1]] = np.arange(targets.size)[::-1]  # in reverse order, so the first row is assigned last
    attributes = TargetAttributes(n_targets, ((targets, opinions),))
    names_of_attributes = ("item", "critique", "scenario", "part", "system", "group")
    judges, names = pd.factorize(opinions["judge" if "judge" in opinions.columns else "rater"], sort=True)
    columns = {"value": encode_on_scale(opinions["value"], scale)}
    columns |= {
        name: pd.to_numeric(opinions[name]).to_numpy(float) for name in NUMBER_COLUMNS if name in opinions.columns
    }
    grids = {column: np.full((n_targets, len(names)), np.nan) for column in columns}
    for column, values in columns.items():
        fill_grid(grids[column], targets, judges.astype(np.int64), values, ~np.isnan(values))
    asked = np.zeros((n_targets, len(names)), bool)
    asked[targets, judges] = True
    return EncodedOpinions(
        kind,
        criterion,
        scale,
        pool,
        opinions.iloc[first],
        {name: attributes.column(name) for name in names_of_attributes},
        tuple(map(str, names)),
        opinion_origins(opinions, judges, len(names)),
        asked,
        grids,
    )


@dataclass(frozen=True)
class TargetAttributes:
    """The columns of labels and opinions that describe the targets themselves."""

    n_targets: int
    frames: tuple[tuple[Ints, pd.DataFrame], ...]
    """Labels or opinions, each after the targets of its rows."""
    encoded: tuple[tuple[Ints, Mapping[str, Strings | None]], ...] = ()
    """Columns of opinions with one value for each target, after these targets. The values of frames come first."""

    def column(self, name: str) -> Strings | None:
        """Return the first value of each target in a column, (N,), "" for none; None if the column has no value."""
        attribute, has_value = np.full(self.n_targets, "", object), False
        for targets, columns in self.encoded:
            values = columns.get(name)
            if values is not None:
                attribute[targets], has_value = values, True
        # In reverse order, so the first row of a target is assigned last.
        for targets, frame in reversed(self.frames):
            if name in frame.columns:
                rows = np.flatnonzero(frame[name].notna())[::-1]
                attribute[targets[rows]] = frame[name].to_numpy(object)[rows]
                has_value = has_value or bool(rows.size)
        return attribute if has_value else None

    def groups(self) -> tuple[str, ...] | None:
        """Return the document or dialogue of each target, otherwise its item; None if targets are independent."""
        item, group = names_or_empty(self.column("item"), self.n_targets), self.column("group")
        if group is not None:
            return tuple(map(str, np.where(group == "", item, group)))
        return None if len(set(item)) == self.n_targets else tuple(map(str, item))


def names_or_empty(names: Strings | None, size: int) -> Strings:
    """Return the names, or empty strings (size,) if there are none."""
    return np.full(size, "", object) if names is None else names


def opinion_origins(opinions: pd.DataFrame, judges: Ints, n_judges: int) -> list[tuple[frozenset[str], int]]:
    """Return of each judge, by the judge of each row (M,), the runs and raters, and the earliest of its `STAGES`."""
    columns = [column for column in ("run", "rater", "stage") if column in opinions.columns]
    distinct = opinions[columns].assign(number=judges).drop_duplicates()
    names: list[set[str]] = [set() for _ in range(n_judges)]
    stages: list[set[int]] = [set() for _ in range(n_judges)]
    for row in distinct.to_dict("records"):
        names[row["number"]] |= {f"{column}: {row[column]}" for column in ("run", "rater") if column in row}
        stages[row["number"]] |= {STAGES.index(row["stage"])} if "stage" in row else set()
    return [(frozenset(origins), min(of_judge, default=0)) for origins, of_judge in zip(names, stages, strict=True)]


def encode_on_scale(values: pd.Series, scale: Scale) -> Floats:
    """Return values as codes of the scale, or as numbers if it has no categories; nan missing."""
    if scale.categories:
        codes: Codes = encode_categories(values.to_numpy(object), scale.categories)
        return np.where(codes >= 0, codes, np.nan)
    return pd.to_numeric(values).to_numpy(float, na_value=np.nan)
