"""Columns of codes."""

import numpy as np
import pytest

from core.statistics.data.columns import number_by_value


@pytest.mark.parametrize("size", [0, 1, 500])
def test_numbers_have_the_rank_and_the_first_place_of_the_distinct_ones(size):
    rng = np.random.default_rng(size)
    values = rng.choice([0.1 + 0.2, 0.3, 0.0, -0.0, -1.5, np.nan, 1e300], size)
    _, first, ranks = np.unique(values, return_index=True, return_inverse=True)
    found = number_by_value(values)
    assert found[0].tolist() == ranks.tolist()
    assert found[1].tolist() == first.tolist()
