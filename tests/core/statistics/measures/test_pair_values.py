"""Values of many rater pairs at once are those of each pair alone."""

import numpy as np
import pytest

from core.statistics import catalogue
from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import estimate_statistics, pair_values
from core.statistics.measures.pairwise import overlapping_pairs

ORDERED = catalogue.of_level("ordinal")


@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_values_equal_those_of_each_pair_alone(missing):
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, (30, 1))
    codes = np.where(rng.random((30, 5)) < 0.5, truth, rng.integers(0, 4, (30, 5)))
    codes = np.where(rng.random((30, 5)) < missing, -1, codes).astype(np.int16)
    codes[:, 4] = np.where(codes[:, 4] >= 0, 2, -1)  # one category only: some statistics are undefined
    categories = (1, 2, 4, 8)
    pairs = overlapping_pairs(codes)
    chunks = list(pair_values(codes, np.array(categories, float), ORDERED, pairs))
    shared, values = np.concatenate([n for n, _ in chunks]), np.concatenate([v for _, v in chunks], axis=1)
    for number, (a, b) in enumerate(pairs.tolist()):
        both = (codes[:, [a, b]] >= 0).all(axis=1)
        assert shared[number] == both.sum()
        alone = Ratings(tuple(map(str, range(both.sum()))), ("a", "b"), codes[both][:, [a, b]], categories)
        for name, estimate in estimate_statistics(alone, ORDERED, resamples=0).items():
            value = values[ORDERED.index(name), number]
            if estimate.value is None:
                assert np.isnan(value), name
            else:
                assert value == pytest.approx(estimate.value, abs=1e-9), name
