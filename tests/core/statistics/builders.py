"""Ratings for tests, and one statistic of them."""

from collections.abc import Sequence

import numpy as np

from core.statistics.data.arrays import Estimate
from core.statistics.data.patterns import Patterns, distinct_patterns
from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import estimate_statistics


def ratings_from_rows(
    rows: Sequence[Sequence[int | None]], n_categories: int, groups: Sequence[str] | None = None
) -> Ratings:
    """Return ratings from items x raters, categories numbered from 1, None missing."""
    codes = np.array([[-1 if value is None else value - 1 for value in row] for row in rows], np.int16)
    return ratings_from_codes(codes, n_categories, groups)


def ratings_from_codes(codes: np.ndarray, n_categories: int, groups: Sequence[str] | None = None) -> Ratings:
    """Return ratings from an array of codes, -1 missing."""
    return Ratings(
        tuple(f"r{rater}" for rater in range(codes.shape[1])),
        np.where(codes < 0, np.nan, codes),
        tuple(range(1, n_categories + 1)),
        None if groups is None else tuple(groups),
    )


def ratings_from_table(table: Sequence[Sequence[int]]) -> Ratings:
    """Return two raters' table of counts as two columns of labels."""
    rows = [[k, m] for k, row in enumerate(table) for m, count in enumerate(row) for _ in range(count)]
    return ratings_from_codes(np.array(rows), len(table))


def random_ratings(rng: np.random.Generator, items: int, raters: int, n_categories: int, missing: float) -> Ratings:
    """Return labels that agree in part, with a share of them missing."""
    truth = rng.integers(0, n_categories, (items, 1))
    codes = np.where(rng.random((items, raters)) < 0.6, truth, rng.integers(0, n_categories, (items, raters)))
    return ratings_from_codes(np.where(rng.random((items, raters)) < missing, -1, codes), n_categories)


def count_patterns(ratings: Ratings) -> Patterns:
    """Return the distinct category counts of the items with a label."""
    return distinct_patterns(ratings).with_min_labels(1).merged_by_counts()


def estimate_statistic(ratings: Ratings, name: str, **options) -> Estimate:
    """Return one statistic of agreement."""
    return estimate_statistics(ratings, [name], **options)[name]
