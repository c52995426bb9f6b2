"""Labels in long form: the targets, criteria and groups of a data frame, and the pooling of criteria.

A frame has one row for each label: item, scenario, kind, criterion, part, rater, value and, if items come in
documents or dialogues, group.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.labels import Scale
from core.statistics.data.arrays import Ints

COLUMNS = ("item", "kind", "criterion", "part", "rater", "value")
# The criterion under which pooled criteria are reported, and the group of a frame that is not split.
ALL = "all"
# How rows are split into groups; all but "criterion" also pool the criteria of a kind that share a scale.
By = Literal["all", "scenario", "criterion", "raters"]


def as_text(name: object) -> str:
    """Return a name as text; None and nan are empty."""
    return "" if is_missing(name) else str(name)


def is_missing(value: object) -> bool:
    """Return whether a value is None, nan, or pandas' NA or NaT."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


@dataclass(frozen=True)
class Pool:
    """Several criteria of one kind that share a scale."""

    kind: str
    criteria: frozenset[str]
    scale: Scale


def find_pools(frame: pd.DataFrame, scales: Mapping[tuple[str, str], Scale]) -> list[Pool]:
    """Return the kinds with several criteria in the frame, all of them declared on one scale."""
    criteria: dict[str, dict[str, None]] = {}
    for kind, criterion in distinct_keys(frame, ("kind", "criterion"))[1] if len(frame) else ():
        criteria.setdefault(as_text(kind), {})[as_text(criterion)] = None
    pools = []
    for kind, of_kind in criteria.items():
        declared = [scales[kind, name] for name in of_kind if (kind, name) in scales]
        share_scale = bool(declared) and all(scale == declared[0] for scale in declared)
        if len(of_kind) > 1 and len(declared) == len(of_kind) and share_scale:
            pools.append(Pool(kind, frozenset(of_kind), declared[0]))
    return pools


def pool_criteria(frame: pd.DataFrame, pools: Collection[Pool]) -> pd.DataFrame:
    """Return the rows of the pools' criteria under the criterion "all".

    The criterion becomes part of the part's name, so an item remains one target for each criterion. These
    targets of one item are resampled together, see `dataset.target_groups`.
    """
    if frame.empty or not pools:
        return frame.iloc[:0].reindex(columns=[*dict.fromkeys([*frame.columns, *COLUMNS])])
    criterion = _as_texts(frame["criterion"])
    mask = np.zeros(len(frame), bool)
    for pool in pools:
        mask |= ((frame["kind"] == pool.kind) & criterion.isin(pool.criteria)).to_numpy(bool)
    part = _as_texts(frame["part"]) if "part" in frame.columns else pd.Series("", index=frame.index)
    return frame.assign(criterion=ALL, part=criterion + "\n" + part)[mask]


def _as_texts(names: "pd.Series[Any]") -> "pd.Series[Any]":
    return names.astype(object).map(as_text)


def pooled_scales(pools: Collection[Pool]) -> dict[tuple[str, str], Scale]:
    """Return the scale of each pool by (kind, "all")."""
    return {(pool.kind, ALL): pool.scale for pool in pools}


def split_by_criterion(frame: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield ((kind, criterion), rows), in the order of the names."""
    if frame.empty:
        return
    for (kind, criterion), rows in frame.groupby(["kind", "criterion"], sort=True, dropna=False, observed=True):
        yield (as_text(kind), as_text(criterion)), rows


def split_frame(frame: pd.DataFrame, by: By) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (name, rows) for each scenario or each pair of raters, "a × b"; otherwise all rows as "all"."""
    if by == "scenario":
        for scenario, rows in frame.groupby("scenario", sort=True, dropna=False, observed=True):
            yield as_text(scenario), rows
    elif by == "raters":
        for a, b in combinations(sorted(frame["rater"].unique()), 2):
            yield f"{a} × {b}", frame[frame["rater"].isin((a, b))]
    else:
        yield ALL, frame


def select_rows(
    frame: pd.DataFrame, kind: str, criterion: str | None = None, scenario: str | None = None
) -> pd.DataFrame:
    """Return the rows of a kind, of one criterion unless it is None, and of one scenario unless it is None."""
    if frame.empty:
        return frame.reindex(columns=[*dict.fromkeys([*frame.columns, *COLUMNS])])
    mask = frame["kind"] == kind
    if criterion is not None:
        mask &= _has_name(frame["criterion"], criterion)
    if scenario is not None:
        mask &= _has_name(frame["scenario"], scenario)
    return frame if mask.all() else frame[mask]


def _has_name(names: "pd.Series[Any]", name: str) -> "pd.Series[bool]":
    """Return whether each name is this one; a missing one is empty."""
    return names.isin([name]) if name else names.isin([name]) | names.isna()


# Rows by the values of several columns, as numbers.


def row_keys(frame: pd.DataFrame, columns: Sequence[str]) -> Ints:
    """Return a number for each row, equal for rows with equal values in these columns, in order of first appearance.

    Missing values are equal.
    """
    keys = np.zeros(len(frame), np.int64)
    for column in columns:
        codes, distinct = pd.factorize(frame[column], use_na_sentinel=False)
        keys = pd.factorize(keys * max(1, len(distinct)) + codes)[0]
    return np.asarray(keys, np.int64)


def distinct_keys(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[Ints, list[tuple[Any, ...]]]:
    """Return for each row the place of its values in the list of the distinct ones, in order of first appearance."""
    keys = row_keys(frame, columns)
    _, first = np.unique(keys, return_index=True)
    return keys, list(frame.iloc[first][list(columns)].itertuples(index=False, name=None))


def has_key(
    frame: pd.DataFrame, wanted: Collection[tuple[Any, ...]], columns: Sequence[str] = ("kind", "criterion")
) -> npt.NDArray[np.bool_]:
    """Return whether the values of these columns are one of the wanted ones, for each row."""
    if not wanted or not len(frame):
        return np.zeros(len(frame), bool)
    keys, distinct = distinct_keys(frame, columns)
    return np.array([values in wanted for values in distinct], bool)[keys]


def target_codes(*frames: pd.DataFrame) -> Ints:
    """Return a number for each distinct (item, criterion, part) of the rows of all frames, one after another.

    In order of first appearance. A missing part equals an empty one.
    """
    names = ("item", "criterion", "part")
    columns = [frame.reindex(columns=names).astype(object) for frame in frames]
    rows = pd.concat(columns, ignore_index=True)
    return row_keys(rows.where(rows.notna(), ""), names)
