"""Labels in long form: the targets, criteria and groups of a data frame, and the pooling of criteria.

A frame has one row for each label: item, scenario, kind, criterion, part, rater, value and, if items come in
documents or dialogues, group.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from core.labels import Scale
from core.statistics.data.arrays import Ints

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("item", "kind", "criterion", "part", "rater", "value")
# The criterion under which pooled criteria are reported, and the group of a frame that is not split.
ALL = "all"
# How rows are split into groups; all but "criterion" also pool the criteria of a kind that share a scale.
By = Literal["all", "scenario", "criterion", "raters"]
# Recognised by name, so that pandas is not imported.
MISSING_TYPES = ("NAType", "NaTType")


def as_text(name: object) -> str:
    """Return a name as text; None and nan are empty."""
    return "" if is_missing(name) else str(name)


def is_missing(value: object) -> bool:
    """Return whether a value is None, nan, or pandas' NA or NaT."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in MISSING_TYPES


@dataclass(frozen=True)
class Pool:
    """Several criteria of one kind that share a scale."""

    kind: str
    criteria: frozenset[str]
    scale: Scale


def find_pools(frame: "pd.DataFrame", scales: Mapping[tuple[str, str], Scale]) -> list[Pool]:
    """Return the kinds with several criteria in the frame, all of them declared on one scale."""
    if frame.empty:
        return []
    names = frame[["kind", "criterion"]].drop_duplicates().itertuples(index=False)
    return pools_of(((as_text(kind), as_text(criterion)) for kind, criterion in names), scales)


def pools_of(names: Iterable[tuple[str, str]], scales: Mapping[tuple[str, str], Scale]) -> list[Pool]:
    """Return the kinds with several criteria among these (kind, criterion), all of them declared on one scale."""
    criteria: dict[str, dict[str, None]] = {}
    for kind, criterion in names:
        criteria.setdefault(kind, {})[criterion] = None
    pools = []
    for kind, of_kind in criteria.items():
        declared = [scales[kind, name] for name in of_kind if (kind, name) in scales]
        share_scale = bool(declared) and all(scale == declared[0] for scale in declared)
        if len(of_kind) > 1 and len(declared) == len(of_kind) and share_scale:
            pools.append(Pool(kind, frozenset(of_kind), declared[0]))
    return pools


def pool_criteria(frame: "pd.DataFrame", pools: Collection[Pool]) -> "pd.DataFrame":
    """Return the rows of the pools' criteria under the criterion "all".

    The criterion becomes part of the part's name, so an item remains one target for each criterion. These
    targets of one item are resampled together, see `label_table.resampling_groups`.
    """
    if frame.empty or not pools:
        return frame.iloc[:0].reindex(columns=[*dict.fromkeys([*frame.columns, *COLUMNS])])
    import pandas as pd

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


def split_by_criterion(frame: "pd.DataFrame") -> "Iterator[tuple[tuple[str, str], pd.DataFrame]]":
    """Yield ((kind, criterion), rows), in the order of the names."""
    if frame.empty:
        return
    for (kind, criterion), rows in frame.groupby(["kind", "criterion"], sort=True, dropna=False):
        yield (as_text(kind), as_text(criterion)), rows


def select_rows(
    frame: "pd.DataFrame", kind: str, criterion: str | None = None, scenario: str | None = None
) -> "pd.DataFrame":
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


def target_codes(*frames: "pd.DataFrame") -> Ints:
    """Return one number for each distinct (item, criterion, part) of the rows of all frames, one after another.

    A missing part equals an empty one.
    """
    codes = np.zeros(sum(map(len, frames)), np.int64)
    for column in ("item", "criterion", "part"):
        column_codes, size = _column_codes(frames, column)
        codes = codes * size + column_codes
    return codes


def _column_codes(frames: "Sequence[pd.DataFrame]", column: str) -> tuple[Ints, int]:
    """Return a number for each name of a column in the rows of all frames, 0 for a missing one, and their count."""
    import pandas as pd

    encoded = [_factorize(frame, column) for frame in frames]
    names = [np.array([""], object), *(names for _, names in encoded)]
    numbers, distinct = pd.factorize(np.concatenate(names))
    _, *of_frames = np.split(numbers, np.cumsum([len(part) for part in names])[:-1])
    # A missing name has the code -1.
    parts = [np.append(of_names, 0)[codes] for of_names, (codes, _) in zip(of_frames, encoded, strict=True)]
    return np.concatenate(parts), len(distinct)


def _factorize(frame: "pd.DataFrame", column: str) -> tuple[Ints, Any]:
    """Return the code of each row's name, -1 if it is missing, and the distinct names as an array of objects."""
    import pandas as pd

    if column not in frame.columns:
        return np.full(len(frame), -1), np.zeros(0, object)
    codes, names = pd.factorize(frame[column])
    return codes.astype(np.int64), np.asarray(names, object)
