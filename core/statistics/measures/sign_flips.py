"""The paired test by changes of sign: exact for few pairs, and without a model of the distribution."""

from collections.abc import Sequence

import numpy as np

from core.statistics.data.arrays import Floats

MAX_EXACT = 14
"""Number of differences up to which all 2**n changes of sign are enumerated."""
CHUNK = 1_000_000
"""Signs that are drawn at once."""


def sign_flip_p_value(
    differences: Floats, groups: Sequence[str] | None = None, *, resamples: int = 9_999, seed: int = 0
) -> float:
    """Return the two-sided p of paired differences (N,): how often signs at random give a sum as far from 0.

    Under the hypothesis that the two sides of a pair can be exchanged, every change of signs has the same probability
    (Fisher 1935, section 21). The signs of a group's differences change together. Differences of 0 have no effect; for
    more than MAX_EXACT others, signs are drawn, and one is added above and below, so the test never exceeds its level
    (Phipson & Smyth 2010).
    """
    sums = _group_sums(np.asarray(differences, float), groups)
    sums = sums[np.abs(sums) > 1e-12]
    observed = abs(sums.sum()) - 1e-9
    if sums.size <= MAX_EXACT:
        places = np.arange(2**sums.size)[:, None] >> np.arange(sums.size)
        return float((np.abs((1 - 2 * (places & 1)) @ sums) >= observed).mean())
    rng, as_extreme, drawn = np.random.default_rng(seed), 0, 0
    while drawn < resamples:
        size = min(resamples - drawn, max(1, CHUNK // sums.size))
        signs = 2.0 * rng.integers(0, 2, (size, sums.size), dtype=np.int8) - 1
        as_extreme += int((np.abs(signs @ sums) >= observed).sum())
        drawn += size
    return (as_extreme + 1) / (resamples + 1)


def _group_sums(differences: Floats, groups: Sequence[str] | None) -> Floats:
    if groups is None:
        return differences
    _, places = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    return np.bincount(places, weights=differences).astype(float)
