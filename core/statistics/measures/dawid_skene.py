"""Dawid & Skene 1979: how reliable each annotator and judge is, and what is probably true.

Every item has one true category; each rater sees it through a confusion matrix of their own and
errs independently of the others. EM finds the categories' shares p, the matrices pi and each item's
posterior. No gold is needed; it assumes that raters err independently, which judges of one family
do not, so read it beside the gold.
"""

from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Codes, Floats, ratio
from core.statistics.data.patterns import patterns_of
from core.statistics.data.ratings import Ratings

STEPS = 1_000
CLOSE = 1e-10
FLOOR = 1e-300


@dataclass(frozen=True)
class Fit:
    """What EM found. K categories, R raters, P patterns of labels."""

    shares: Floats
    """(K,): p, how common each true category is."""
    confusion: Floats
    """(R, K, K): pi[r, k, l], how often rater r says l where k is true; nan where k never is."""
    posterior: Floats
    """(P, K): the probability of each true category."""
    log_likelihood: float
    steps: int
    settled: bool
    """Whether EM came to rest; if not, the values are not final."""

    @property
    def accuracy(self) -> Floats:
        """(R,): how often each rater says what is true, sum_k p_k pi[r, k, k]."""
        right = np.nan_to_num(np.diagonal(self.confusion, axis1=1, axis2=2))
        return np.asarray(right @ self.shares)


def fit(counts: Floats, times: Floats | None = None) -> Fit:
    """EM from counts n[i, r, k], (P, R, K): how often rater r put pattern i in category k.

    `times` (P,) tells on how many items each pattern occurs. Starts from each item's shares of
    votes, as the paper does. E: T_ik ~ p_k prod_rl pi[r, k, l]^n[i, r, l]; M: pi[r, k, l] =
    sum_i T_ik n[i, r, l] / sum_il T_ik n[i, r, l], p_k = mean T_ik (their equations 2.3 to 2.5).
    """
    patterns = counts.shape[0]
    times = np.ones(patterns) if times is None else times
    votes = counts.sum(axis=1)
    posterior = votes / votes.sum(axis=1, keepdims=True)
    before, settled, step = -np.inf, False, 0
    while not settled and step < STEPS:
        shares, confusion = maximised(counts, times, posterior)
        posterior, likelihood = expected(counts, times, shares, np.nan_to_num(confusion))
        settled = likelihood - before < CLOSE * (1 + abs(likelihood))
        before, step = likelihood, step + 1
    return Fit(shares, confusion, posterior, likelihood, step, settled)


def maximised(counts: Floats, times: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """The M step: shares (K,) and confusion (R, K, K) from what is probably true."""
    weighted = posterior * times[:, None]
    said = np.einsum("ik,irl->rkl", weighted, counts, optimize=True)
    shares = np.asarray(weighted.sum(axis=0) / times.sum())
    return shares, ratio(said, said.sum(axis=2, keepdims=True))


def expected(counts: Floats, times: Floats, shares: Floats, confusion: Floats) -> tuple[Floats, float]:
    """The E step: the posterior (P, K) and the log-likelihood of all labels."""
    logs = np.log(np.maximum(confusion, FLOOR))
    joint = np.einsum("irl,rkl->ik", counts, logs, optimize=True)
    joint += np.log(np.maximum(shares, FLOOR))
    top = joint.max(axis=1, keepdims=True)
    unscaled = np.exp(joint - top)
    total = unscaled.sum(axis=1, keepdims=True)
    likelihood = float(times @ (top + np.log(total))[:, 0])
    return unscaled / total, likelihood


def of_ratings(ratings: Ratings) -> tuple[Fit, Codes]:
    """The fit of people and judges who gave one label each, and the P distinct rows (P, R) it is of."""
    patterns = patterns_of(ratings).with_labels(1)
    return fit(one_hot(patterns.codes, len(ratings.categories)), patterns.units.times), patterns.codes


def one_hot(codes: Codes, kinds: int) -> Floats:
    """(P, R) codes -> (P, R, K): 1 where the rater chose the category."""
    return np.asarray(codes[:, :, None] == np.arange(kinds), float)
