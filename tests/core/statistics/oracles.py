"""Reference implementations that the statistics are compared with."""

from collections.abc import Callable
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from scipy import stats

from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement

SCIPY_CORRELATIONS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_tau_b": stats.kendalltau}


def estimate_values(ratings: Ratings, *names: str) -> list[float | None]:
    """Return the values of the named statistics."""
    estimates = agreement.estimate_statistics(ratings, names, resamples=0)
    return [estimates[name].value for name in names]


def is_equal(value: float | None, expected: float) -> bool:
    """Return whether two values are equal to 1e-9; an undefined value is None on our side, nan on the other."""
    return np.isnan(expected) if value is None else value == pytest.approx(expected, abs=1e-9)


def package_alpha(data: np.ndarray, level: str, **options) -> float:
    """Return the krippendorff package's alpha, nan if it raises."""
    try:
        with np.errstate(all="ignore"):
            return float(krippendorff.alpha(data, level_of_measurement=level, **options))
    except ValueError:
        return np.nan


def mean_over_pairs(values: np.ndarray, statistic: Callable) -> float:
    """Return the mean of a scipy correlation over the pairs of raters with at least three items and no constant.

    Weights are the numbers of items of the pairs.
    """
    correlations, sizes = [], []
    for a, b in combinations(values.T, 2):
        both = ~np.isnan(a) & ~np.isnan(b)
        x, y = a[both], b[both]
        if x.size > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
            correlations.append(statistic(x, y).statistic)
            sizes.append(x.size)
    return float(np.average(correlations, weights=sizes)) if correlations else np.nan
