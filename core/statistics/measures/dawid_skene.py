"""Dawid & Skene 1979: the reliability of each annotator and judge, and the probable true categories.

Every item has one true category; each rater sees it through a confusion matrix of their own and errs independently of
the others. EM estimates the categories' shares p, the matrices pi and each item's posterior. No gold is needed. Judges
of one model family do not err independently, so the estimates should be read together with those with gold.
"""

from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Codes, Floats, ratio
from core.statistics.data.patterns import distinct_patterns
from core.statistics.data.ratings import Ratings

MAX_ITERATIONS = 1_000
TOLERANCE = 1e-10
"""EM stops when the log-likelihood grows by less than this share of itself."""
MIN_PROBABILITY = 1e-300
"""Replaces 0 in logarithms: a category that a rater never uses makes others certain, but not by infinity."""


@dataclass(frozen=True)
class Fit:
    """The estimates of EM for K categories, R raters and P patterns of labels."""

    shares: Floats
    """(K,): p, the share of each true category."""
    confusion: Floats
    """(R, K, K): pi[r, k, l], how often rater r answers l if k is true; nan if k never is."""
    posterior: Floats
    """(P, K): the probability of each true category."""
    log_likelihood: float
    iterations: int
    converged: bool
    """Whether EM converged; if not, the values are not final."""

    @property
    def accuracy(self) -> Floats:
        """(R,): how often each rater gives the true category, sum_k p_k pi[r, k, k]."""
        correct = np.nan_to_num(np.diagonal(self.confusion, axis1=1, axis2=2))
        return np.asarray(correct @ self.shares)


def fit_counts(counts: Floats, frequencies: Floats | None = None) -> Fit:
    """Run EM on counts n[i, r, k], (P, R, K): how often rater r assigned pattern i to k.

    `frequencies` (P,): the number of items with each pattern. Starts from each item's shares of votes, as the paper
    does. E: T_ik ~ p_k prod_rl pi[r, k, l]^n[i, r, l]; M: pi[r, k, l] = sum_i T_ik n[i, r, l] / sum_il T_ik n[i, r, l],
    p_k = mean T_ik (their equations 2.3 to 2.5).
    """
    frequencies = np.ones(counts.shape[0]) if frequencies is None else frequencies
    votes = counts.sum(axis=1)
    posterior = votes / votes.sum(axis=1, keepdims=True)
    previous, converged, iteration = -np.inf, False, 0
    while not converged and iteration < MAX_ITERATIONS:
        shares, confusion = m_step(counts, frequencies, posterior)
        posterior, likelihood = e_step(counts, frequencies, shares, np.nan_to_num(confusion))
        converged = likelihood - previous < TOLERANCE * (1 + abs(likelihood))
        previous, iteration = likelihood, iteration + 1
    return Fit(shares, confusion, posterior, likelihood, iteration, converged)


def m_step(counts: Floats, frequencies: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """Return the shares (K,) and the confusion matrices (R, K, K) from the posterior (P, K)."""
    weighted = posterior * frequencies[:, None]
    answers = np.einsum("ik,irl->rkl", weighted, counts, optimize=True)
    shares = np.asarray(weighted.sum(axis=0) / frequencies.sum())
    return shares, ratio(answers, answers.sum(axis=2, keepdims=True))


def e_step(counts: Floats, frequencies: Floats, shares: Floats, confusion: Floats) -> tuple[Floats, float]:
    """Return the posterior (P, K) and the log-likelihood of all labels."""
    logs = np.log(np.maximum(confusion, MIN_PROBABILITY))
    joint = np.einsum("irl,rkl->ik", counts, logs, optimize=True)
    joint += np.log(np.maximum(shares, MIN_PROBABILITY))
    # Subtracting the largest logarithm keeps the exponentials from underflowing.
    largest = joint.max(axis=1, keepdims=True)
    unscaled = np.exp(joint - largest)
    total = unscaled.sum(axis=1, keepdims=True)
    likelihood = float(frequencies @ (largest + np.log(total))[:, 0])
    return unscaled / total, likelihood


def fit_ratings(ratings: Ratings) -> tuple[Fit, Codes]:
    """Return the fit to raters with one label per item, and the P distinct rows (P, R) that it describes."""
    patterns = distinct_patterns(ratings).with_min_labels(1)
    counts = one_hot(patterns.codes, len(ratings.categories))
    return fit_counts(counts, patterns.units.frequencies), patterns.codes


def one_hot(codes: Codes, n_categories: int) -> Floats:
    """Return (P, R, K) from codes (P, R): 1 if the rater chose the category."""
    return np.asarray(codes[:, :, None] == np.arange(n_categories), float)
