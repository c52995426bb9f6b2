"""Sparse matrices that count in which row and column each of N observations is."""

from typing import TYPE_CHECKING

import numpy as np

from core.statistics.data.arrays import Ints

if TYPE_CHECKING:
    from scipy import sparse


def indicator_matrix(rows: Ints, columns: Ints, shape: tuple[int, int] | None = None) -> "sparse.csr_array":
    """Return a matrix with 1 at (row, column) of each observation; repeated places are added up."""
    from scipy import sparse  # takes a sixth of a second to import, and small studies do not need it

    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
