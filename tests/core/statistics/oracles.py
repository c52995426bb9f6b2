"""Reference implementations that the statistics are compared with."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from scipy import stats

from core.statistics.data.arrays import Floats, ratio
from core.statistics.data.patterns import Units, category_counts
from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement, alternative_annotator
from core.statistics.measures.alternative_annotator import EPSILON, AlternativeAnnotatorTest, Closeness

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


def top_k_distance(first: Sequence[Hashable], second: Sequence[Hashable], p: float = 0.0) -> float:
    """K^(p) of two top-k lists, best first (Fagin et al. 2003, section 3.1).

    Over all pairs of elements in either list: both lists have both, 1 if in opposite order; one list has both and the
    other has one, 1 if the other prefers the lower one; each has a different one, 1; one list has both and the other
    neither, p. p = 0 is optimistic and no metric; p = 1/2 neutral.
    """
    positions = [{element: position for position, element in enumerate(ranked)} for ranked in (first, second)]
    elements = dict.fromkeys([*first, *second])
    return float(sum(pair_penalty(i, j, positions, p) for i, j in combinations(elements, 2)))


def pair_penalty(i: Hashable, j: Hashable, positions: Sequence[dict[Hashable, int]], p: float) -> float:
    """Return the penalty of one pair; an element that a list lacks ranks below all that it has."""
    orders = []
    for position in positions:
        if i not in position and j not in position:
            return p
        last = len(position)
        orders.append(position.get(i, last) - position.get(j, last))
    return float(orders[0] * orders[1] < 0)


def run_by_category(
    annotators: Floats, judge: Floats, names: tuple[str, ...], *, units: Units, epsilon: float = EPSILON
) -> AlternativeAnnotatorTest:
    """The alternative-annotator test of categories as numbers, row by row instead of by patterns."""
    return alternative_annotator.run(names, category_closeness(annotators, judge), units, epsilon)


def category_closeness(annotators: Floats, judge: Floats) -> Iterator[Closeness]:
    """Yield for each annotator the shares of the others with the same category, from the counts of each row."""
    labelled = ~np.isnan(annotators)
    categories = np.unique(np.concatenate([np.unique(annotators[labelled]), judge[~np.isnan(judge)]]))
    codes = np.full(annotators.shape, -1, np.int16)
    codes[labelled] = np.searchsorted(categories, annotators[labelled])
    verdicts = np.searchsorted(categories, judge)
    counts = category_counts(codes, categories.size)
    raters, rows = np.nonzero((labelled & ~np.isnan(judge)[:, None] & (labelled.sum(axis=1) > 1)[:, None]).T)
    own, others = codes[rows, raters], counts.sum(axis=1)[rows] - 1
    judge_scores = ratio(counts[rows, verdicts[rows]] - (verdicts[rows] == own), others)
    rater_scores = ratio(counts[rows, own] - 1, others)
    for rater in range(annotators.shape[1]):
        own_cells = raters == rater
        yield rows[own_cells], judge_scores[own_cells], rater_scores[own_cells]
