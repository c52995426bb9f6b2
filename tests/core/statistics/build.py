"""Small ways to make ratings for tests."""

from collections.abc import Sequence

import numpy as np

from core.statistics.data.ratings import Ratings


def ratings(rows: Sequence[Sequence[int | None]], kinds: int, groups: Sequence[str] | None = None) -> Ratings:
    """Items x raters, categories numbered from 1, None missing."""
    codes = np.array([[-1 if value is None else value - 1 for value in row] for row in rows], np.int16)
    return of_codes(codes, kinds, groups)


def of_codes(codes: np.ndarray, kinds: int, groups: Sequence[str] | None = None) -> Ratings:
    """An array of codes, -1 missing."""
    return Ratings(
        tuple(f"i{item}" for item in range(codes.shape[0])),
        tuple(f"r{rater}" for rater in range(codes.shape[1])),
        codes.astype(np.int16),
        tuple(range(1, kinds + 1)),
        None if groups is None else tuple(groups),
    )


def of_table(table: Sequence[Sequence[int]]) -> Ratings:
    """Two raters' table of counts as two columns of labels."""
    rows = [[k, m] for k, row in enumerate(table) for m, times in enumerate(row) for _ in range(times)]
    return of_codes(np.array(rows), len(table))


def random_ratings(rng: np.random.Generator, items: int, raters: int, kinds: int, missing: float) -> Ratings:
    """Labels that agree in part, with some missing."""
    truth = rng.integers(0, kinds, (items, 1))
    codes = np.where(rng.random((items, raters)) < 0.6, truth, rng.integers(0, kinds, (items, raters)))
    return of_codes(np.where(rng.random((items, raters)) < missing, -1, codes), kinds)
