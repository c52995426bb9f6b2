"""Rows of a data frame by the values of several columns, without a Python object for each row."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]


def row_keys(frame: "pd.DataFrame", columns: Sequence[str]) -> "Ints":
    """Return one number for each row, equal for rows with equal values in these columns; missing values are equal."""
    import pandas as pd

    keys = np.zeros(len(frame), np.int64)
    for column in columns:
        codes, distinct = pd.factorize(frame[column], use_na_sentinel=False)
        keys = pd.factorize(keys * max(1, len(distinct)) + codes)[0]
    return np.asarray(keys, np.int64)


def distinct_rows(frame: "pd.DataFrame", columns: Sequence[str]) -> "tuple[Ints, list[tuple[Any, ...]]]":
    """Return for each row the place of its values in the list of the distinct ones, in order of first appearance."""
    keys = row_keys(frame, columns)
    _, first = np.unique(keys, return_index=True)
    return keys, list(frame.iloc[first][list(columns)].itertuples(index=False, name=None))


def has_key(
    frame: "pd.DataFrame", wanted: Collection[tuple[Any, ...]], columns: Sequence[str] = ("kind", "criterion")
) -> "npt.NDArray[np.bool_]":
    """Return whether the values of these columns are one of the wanted ones, for each row."""
    if not wanted or not len(frame):
        return np.zeros(len(frame), bool)
    keys, distinct = distinct_rows(frame, columns)
    return np.array([values in wanted for values in distinct], bool)[keys]
