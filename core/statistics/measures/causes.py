"""Is the judge wrong, or the people? The causes of disagreements between a judge and the majority of annotators.

Of an item, a share pi of all possible annotators would choose the judge's verdict:

    judge error   pi < 1/3: most people would contradict the judge
    ambiguity     1/3 <= pi <= 2/3: people themselves are divided
    human noise   pi > 2/3: most people would agree with the judge; those who labelled are the exception

pi is not observed. The shares of an item's categories are Dirichlet distributed with mean m and concentration
c = 1 / kappa - 1, the value at which two annotators agree as often as they do (kappa is Fleiss'; Mosimann 1962). With v
of n votes for the judge's category j, pi is Beta(c m_j + v, c (1 - m_j) + n - v). The verdict is evidence too: a judge
that is wrong on a share e of the clear items gives this verdict with probability 1 - e if pi > 2/3, e if pi < 1/3, and
1/2 in between; e is estimated by EM from all items. Annotators' noise and judge's error are independent given pi.

Few labels of an item cannot tell divided people from a clear item with annotators that err, nor who of them errs. So
there is a second model, in which every item is clear and each annotator has an accuracy of its own (Dawid & Skene 1979,
see `annotator_dependence.refit_truth`): pi is 0 or 1, with the probability T(j) that j is the true category, and the
judge gives it with probability e / (K - 1) or 1 - e. The accuracies are estimated again on resampled items. The shares
are those of the first model, and the intervals hold those of both: people may be as divided as their labels allow, or
never.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from core.provenance import SEED
from core.statistics.data.arrays import Bools, Codes, Floats, Ints, ratio
from core.statistics.data.patterns import (
    Units,
    category_counts,
    cluster_table,
    distinct_patterns,
    majority_category,
)
from core.statistics.data.ratings import Ratings
from core.statistics.measures import coefficients
from core.statistics.measures.annotator_dependence import BINS, refit_truth
from core.statistics.measures.resampling import LEVELS
from core.wording import format_count

CAUSES = ("judge error", "ambiguity", "human noise")
LIMITS = (1 / 3, 2 / 3)
# No decomposition for fewer items with two labels and a verdict.
MIN_ITEMS = 30
# No shares of fewer disagreements.
MIN_DISAGREEMENTS = 10
# Kappa is limited to this range: at 0 and 1 the distribution of shares degenerates.
KAPPA_RANGE = (0.02, 0.98)
ITERATIONS = 60


@dataclass(frozen=True)
class CauseShare:
    """The share of a judge's disagreements that have a cause, with its 95 % interval."""

    cause: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Causes:
    """The decomposition of a judge's disagreements with the annotators' majority."""

    shares: tuple[CauseShare, ...]
    """In the order of `CAUSES`; empty if there is no decomposition."""
    items: int
    """Items with two labels or more, and a verdict."""
    decided: int
    """Those of them with a majority, on which the judge can differ from people."""
    disagreements: int
    disagreeing: Bools
    """(N,): whether the verdict differs from the majority."""
    probabilities: Floats
    """(N, 3): of each cause, for every item with a verdict that is not the majority's; nan for the others."""
    kappa: float | None
    error_rate: float | None
    """How often the judge is wrong on clear items."""
    reason: str = ""


@dataclass(frozen=True)
class Votes:
    """What follows from the annotators' labels of N items alone: computed once for all judges."""

    patterns: Ints
    """(P, K): the distinct numbers of votes for each category, in lexicographic order."""
    pattern: Ints
    """(N,): the pattern of each item."""
    majority: Codes
    """(N,): the category of more than half of the votes; -1 if there is none."""
    enough: Bools
    """(N,): whether the item has two votes or more."""
    truths: Floats
    """(1 + B, D, K): the probability that each category is true, if every item is clear, of D distinct rows of labels;
    of all items, and with the annotators' accuracies from B resamples."""
    row: Ints
    """(N,): the row of each item."""
    groups: npt.NDArray[np.object_] | None
    """(N,): the document or dialogue of each item; None if items are independent."""


def count_votes(ratings: Ratings) -> Votes:
    """Count the votes of annotators."""
    counts = category_counts(ratings.codes, len(ratings.categories))
    patterns, pattern = np.unique(counts.astype(np.int64), axis=0, return_inverse=True)
    truths, row = refit_truth(ratings.codes, len(ratings.categories), ratings.groups)
    return Votes(
        patterns,
        pattern,
        majority_category(counts),
        counts.sum(axis=1) >= 2,
        truths,
        row,
        None if ratings.groups is None else np.array(ratings.groups, object),
    )


def causes_of_votes(votes: Votes, verdicts: Codes, *, resamples: int = 400) -> Causes:
    """Decompose the disagreements of a judge; `verdicts` (N,) are codes of the categories, others are left out.

    The interval of a model is that of the shares among these disagreements: kappa and the error rate are estimated
    again on resampled items (or documents), then a cause is drawn for each disagreement (Laird & Louis 1987). The
    interval reaches from the lower end of one model to the upper end of the other. If a cause is drawn for all or for
    none of them, the end is that of n of n or 0 of n (Clopper & Pearson 1934).
    """
    n_categories = votes.patterns.shape[1]
    used = votes.enough & (verdicts >= 0) & (verdicts < n_categories)
    disagreeing = used & (votes.majority >= 0) & (votes.majority != verdicts)
    empty = np.full((verdicts.size, len(CAUSES)), np.nan)
    n, decided = int(used.sum()), int((used & (votes.majority >= 0)).sum())
    if n < MIN_ITEMS or not disagreeing.any():
        few = f"{format_count(n, 'target')} with a verdict and two labels, {MIN_ITEMS} needed"
        what = "no disagreement" if n >= MIN_ITEMS else few
        return Causes((), n, decided, int(disagreeing.sum()), disagreeing, empty, None, None, what)
    differs = disagreeing[used]
    truths = votes.truths[:, votes.row[used], verdicts[used]]
    right = np.rint(truths[0] * BINS).astype(np.int64)
    keys = ((votes.pattern[used] * n_categories + verdicts[used]) * 2 + differs) * (BINS + 1) + right
    distinct, inverse = np.unique(keys, return_inverse=True)
    distinct //= BINS + 1
    counts, codes, is_different = (
        votes.patterns[distinct // 2 // n_categories], distinct // 2 % n_categories, distinct % 2,
    )  # fmt: skip
    pattern_counts = counts.astype(float)
    own = np.bincount(inverse, minlength=len(distinct)).astype(float)
    chances = np.stack([np.bincount(inverse, of_fit, len(distinct)) for of_fit in truths]) / own
    groups = None if votes.groups is None else votes.groups[used].tolist()
    units = Units(own, cluster_table(groups, inverse, len(distinct)))
    frequencies = np.concatenate([own[None], *units.resample_weights(resamples)])
    mean = own @ (pattern_counts / pattern_counts.sum(axis=1, keepdims=True)) / n
    kappas = coefficients.fleiss_kappa(pattern_counts)(frequencies)
    kappas = np.clip(np.nan_to_num(kappas, nan=KAPPA_RANGE[1]), *KAPPA_RANGE)
    # The probability depends on the verdict, the votes for it and the number of votes, not on the other votes.
    patterns = np.column_stack([counts[np.arange(codes.size), codes], counts.sum(axis=1), codes])
    alike, place = np.unique(patterns, axis=0, return_inverse=True)
    masses = interval_masses(alike, mean, kappas)
    errors = fit_error_rates(masses, frequencies @ (place[:, None] == np.arange(len(alike))))
    models = (posterior(masses, errors)[:, place], clear_posterior(chances, frequencies, n_categories))
    differing = np.flatnonzero(is_different)
    point = own[differing] @ models[0][0, differing] / own[differing].sum()
    ends = [
        np.quantile(draw_shares(one[1:, differing], own[differing].astype(np.int64)), LEVELS, axis=0) for one in models
    ]
    lows, highs = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
    all_low = LEVELS[0] ** (1 / int(differs.sum()))
    lows, highs = np.where(lows == 1, all_low, lows), np.where(highs == 0, 1 - all_low, highs)
    shares = tuple(
        CauseShare(cause, float(value), float(min(low, value)), float(max(high, value)))
        for cause, value, low, high in zip(CAUSES, point, lows, highs, strict=True)
    )
    by_item = empty.copy()
    by_item[used] = np.where(differs[:, None], models[0][0][inverse], np.nan)
    is_few, reason = int(differs.sum()) < MIN_DISAGREEMENTS, f"{MIN_DISAGREEMENTS} disagreements needed for the shares"
    return Causes(
        () if is_few else shares, n, decided, int(differs.sum()), disagreeing, by_item, float(kappas[0]),
        float(errors[0]), reason if is_few else "",
    )  # fmt: skip


def interval_masses(patterns: Ints, mean: Floats, kappas: Floats) -> Floats:
    """Return the probability that pi is below, within and above `LIMITS`, from the votes alone, (B, P, 3).

    `patterns` (P, 3) are the votes for the verdict, all votes, and the verdict.
    """
    concentration = (1 / kappas - 1)[:, None]
    prior = np.clip(mean[patterns[:, 2]], 1e-6, 1 - 1e-6)[None]
    first = concentration * prior + patterns[:, 0]
    second = concentration * (1 - prior) + patterns[:, 1] - patterns[:, 0]
    below, up_to = (betainc(first, second, limit) for limit in LIMITS)
    return np.stack([below, up_to - below, 1 - up_to], axis=2)


def fit_error_rates(masses: Floats, frequencies: Floats) -> Floats:
    """Return the judge's error rate on clear items in each resample, (B,), by EM."""
    errors = np.full(len(masses), 0.2)
    below, within, above = (np.ascontiguousarray(masses[:, :, cause]) for cause in range(3))
    for _ in range(ITERATIONS):  # with the sums of `posterior` over the items of two causes
        wrong, right = below * errors[:, None], above * (1 - errors)[:, None]
        weights = frequencies / np.maximum(wrong + 0.5 * within + right, 1e-300)
        expected_wrong, expected_right = np.vecdot(wrong, weights), np.vecdot(right, weights)
        errors = np.clip(expected_wrong / np.maximum(expected_wrong + expected_right, 1e-12), 1e-4, 1 - 1e-4)
    return errors


def posterior(masses: Floats, errors: Floats) -> Floats:
    """Return the probability of each cause given votes and verdict, (B, P, 3)."""
    likelihood = np.stack([errors, np.full(errors.size, 0.5), 1 - errors], axis=1)
    joint = masses * likelihood[:, None]
    return np.asarray(joint / np.maximum(joint.sum(axis=2, keepdims=True), 1e-300))


def clear_posterior(right: Floats, frequencies: Floats, n_categories: int) -> Floats:
    """Return the probability of each cause if every item is clear, (B, P, 3).

    `right` (1 + F, P) is T of the verdict, of all items and of F fits to resampled ones, which are taken in turn. The
    judge's error rate is estimated by EM in each resample.
    """
    fits = np.arange(len(frequencies) - 1) % (len(right) - 1) + 1
    right = right[np.concatenate([[0], fits])]
    errors = np.full((len(frequencies), 1), 0.2)
    for _ in range(ITERATIONS):
        wrong = (1 - right) * errors / max(n_categories - 1, 1)
        chance = wrong / np.maximum(wrong + right * (1 - errors), 1e-300)
        mean = np.vecdot(chance, frequencies) / frequencies.sum(axis=1)
        errors = np.clip(mean, 1e-4, 1 - 1e-4)[:, None]
    return np.stack([chance, np.zeros_like(chance), 1 - chance], axis=2)


def draw_shares(probabilities: Floats, frequencies: Ints) -> Floats:
    """Return the shares of the causes with a cause drawn for each disagreement, (B, 3)."""
    rng = np.random.default_rng(SEED)
    exact = probabilities / probabilities.sum(axis=2, keepdims=True)
    drawn = rng.multinomial(np.broadcast_to(frequencies, exact.shape[:2]), exact)
    return np.asarray(drawn.sum(axis=1) / frequencies.sum())


# Dawid & Skene 1979: the reliability of each annotator and judge, and the probable true categories.
#
# Every item has one true category; each rater sees it through a confusion matrix of their own and errs independently
# of the others. EM estimates the categories' shares p, the matrices pi and each item's posterior. No gold is needed.
# Judges of one model family do not err independently, so the estimates should be read together with those with gold.

MAX_ITERATIONS = 1_000
# EM stops when the log-likelihood grows by less than this share of itself.
TOLERANCE = 1e-10
# Replaces 0 in logarithms: a category that a rater never uses makes others certain, but not by infinity.
MIN_PROBABILITY = 1e-300


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
    return Fit(shares, confusion, posterior, likelihood, converged)


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
    # (P, R, K): 1 if the rater chose the category.
    counts = np.asarray(patterns.codes[:, :, None] == np.arange(len(ratings.categories)), float)
    return fit_counts(counts, patterns.units.frequencies), patterns.codes
