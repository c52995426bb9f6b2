"""Does a judge repeat the labels of one annotator, beyond what the truth explains?

Verdicts that are independent of the annotators given the truth side with an annotator as often as the annotator is
right. Only targets on which annotators differ can tell:

    P(verdict = l) = c [a's label is l] + (1 - c) (alpha T(l) + (1 - alpha) (1 - T(l)) / (G - 1))

T(l) is the probability that l is the true category, G the number of different labels of the target, alpha the share of
these targets on which the judge is right by itself, and c the share on which it repeats annotator a. alpha is free, so
a judge that errs where people do, on difficult targets, is not dependent on any of them: it sides with each of them.
Verdicts that no annotator gave tell nothing and are left out.

T is from the labels alone, by the model of Dawid & Skene 1979 with one accuracy for each annotator, and the directions
of errors in common (the "homogeneous" model of Paun et al. 2018, "Comparing Bayesian models of annotation"). Accuracies
are drawn to their mean by `PRIOR` labels: three annotators say little about who of them is right, and one that is
never wrong could not be told from one that is repeated.

c > `NEGLIGIBLE` is tested one-sided by the signed root of the likelihood ratio, with alpha at its best for each c.
Without such a finding, a judge may still be a copy: few targets do not find it. So a copy, c >= `COPY`, has to be
excluded by the same likelihood; few targets exclude nothing, and more of them never make a copy more possible, apart
from chance. It needs not be excluded where it could change nothing: the annotator has labels of few targets, or hardly
ever differs from others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from core.statistics.data.arrays import Bools, Codes, Floats, Ints, normal_cdf, ratio
from core.statistics.data.patterns import Units, category_counts, cluster_table, distinct_rows
from core.statistics.data.ratings import Ratings
from core.statistics.measures.comparison import correct_p_values
from core.statistics.measures.risk import upper_bound

# The weight of the annotators' mean accuracy in that of each, in labels.
PRIOR = 60.0
# The same where the uncertainty of the accuracies is resampled: a stronger one would leave it out.
WEAK_PRIOR = 4.0
# The fewest and the most fits to resampled labels, and the size of all of them: large data vary little.
REFITS, LARGEST_REFIT, REFIT_ITERATIONS = (10, 50), 500_000, 30
# A judge that repeats an annotator on at most this share of targets is not called dependent: the model of the truth is
# not exact enough for less.
NEGLIGIBLE = 1 / 3
LEVEL = 0.05
# A copy repeats an annotator on this share of targets; it is excluded if twice the log-likelihood ratio is above this,
# the one-sided 5 % point of chi-squared with one degree of freedom.
COPY, EXCLUDED = 0.9, 2.71
# A copy changes nothing that matters if the annotator differs from others on surely less than this share of targets.
IMMATERIAL = 0.05
# Targets that every two of three annotators share, to tell who of them is right where two differ.
MIN_SHARED = 10
ITERATIONS, TOLERANCE = 200, 1e-6
# The values of c; `NEGLIGIBLE` is one of them.
SHARES = np.linspace(0, 1, 31)
# The values of alpha.
ACCURACIES = np.linspace(0.01, 0.99, 50)
# T is rounded to this many steps, so that many targets are few rows.
BINS = 200


class State(StrEnum):
    """What the labels say about a judge and an annotator."""

    repeats = "repeats"
    unclear = "unclear"
    """A copy is not excluded: the labels are too few to tell it from verdicts that are as right as the annotator."""


@dataclass(frozen=True)
class Dependence:
    """A judge whose verdicts are with one annotator."""

    annotator: str
    state: State
    share: float
    """c, the estimated share of targets on which the judge repeats the annotator."""
    sides: int
    """The targets on which the verdict is the annotator's label, of `targets`."""
    targets: int
    """Targets on which annotators differ, with a label of this one and a verdict that one of them gave."""
    p_corrected: float
    """Of c <= `NEGLIGIBLE`, by Holm's method over all annotators and judges."""
    can_be_copy: bool
    """Whether a copy would matter and is not excluded: `COPY` is not, or c > `NEGLIGIBLE` before correction."""
    few_annotators: bool = False
    """Whether fewer than three annotators share targets, so that nobody knows who of them is right."""


@dataclass(frozen=True)
class Contested:
    """The N targets of ratings, with the probability of each category where annotators differ."""

    codes: Codes
    """(N, R)"""
    differ: Bools
    """(N,)"""
    given: Bools
    """(N, K): whether an annotator gave the category."""
    truth: Floats
    """(N, K): T, among the categories that were given."""
    identified: Bools
    """(R,): whether the labels can tell how accurate each annotator is."""


def find_dependence(
    ratings: Ratings, verdicts: Mapping[str, Codes], decided: Codes | None = None
) -> dict[str, tuple[Dependence, ...]]:
    """Return judge -> the annotators that it depends on, or may depend on; judges without one are left out.

    `verdicts` (N,) are codes of the categories, others are left out; `decided` (N,) are true categories that people
    decided apart from the labels, -1 without one.
    """
    contested = contested_targets(ratings, decided)
    found = [
        (judge, dependence)
        for judge, codes in verdicts.items()
        for place in range(len(ratings.raters))
        if (dependence := _test(contested, codes, place, ratings.raters[place])) is not None
    ]
    corrected = correct_p_values([dependence.p_corrected for _, dependence in found])
    by_judge: dict[str, list[Dependence]] = {}
    for (judge, dependence), p in zip(found, corrected, strict=True):
        repeats = p < LEVEL and not dependence.few_annotators
        if repeats or dependence.can_be_copy:
            state = State.repeats if repeats else State.unclear
            by_judge.setdefault(judge, []).append(replace(dependence, state=state, p_corrected=p))
    certain = {judge: [one for one in own if one.state is State.repeats] for judge, own in by_judge.items()}
    # Without a certain one, the most probable.
    return {
        judge: tuple(certain[judge] or [min(own, key=lambda one: (one.p_corrected, -one.share))])
        for judge, own in by_judge.items()
    }


def contested_targets(ratings: Ratings, decided: Codes | None = None) -> Contested:
    """Return the targets on which annotators differ, with the probable truth."""
    n_categories = len(ratings.categories)
    counts = category_counts(ratings.codes, n_categories)
    given = counts > 0
    truth = fit_truth(ratings.codes, n_categories) * given
    known = np.zeros(len(given), bool)
    if decided is not None:
        known = (decided >= 0) & given[np.arange(len(given)), np.maximum(decided, 0)]
        truth[known] = np.eye(n_categories)[decided[known]]
    truth = np.nan_to_num(ratio(truth, truth.sum(axis=1, keepdims=True)))
    differ = given.sum(axis=1) >= 2
    enough = np.count_nonzero(known & differ) >= MIN_SHARED
    return Contested(ratings.codes, differ, given, truth, _has_triangle(ratings.codes) | enough)


def _has_triangle(codes: Codes) -> Bools:
    """Return for each annotator whether two others share targets with it and with each other, (R,)."""
    has = (codes >= 0).astype(float)
    shared = (has.T @ has >= MIN_SHARED).astype(float)
    np.fill_diagonal(shared, 0)
    return np.diagonal(shared @ shared @ shared) > 0


def fit_truth(codes: Codes, n_categories: int) -> Floats:
    """Return the probability of each true category of N targets, (N, K), from labels (N, R) alone."""
    rows, frequencies, place = distinct_rows(codes)
    return _fit_rows(rows, frequencies.astype(float), n_categories, PRIOR)[place]


def refit_truth(codes: Codes, n_categories: int, groups: Sequence[str] | None) -> tuple[Floats, Ints]:
    """Return the probability of each true category of P distinct rows of labels, (1 + B, P, K), and the row of each
    target, (N,): of all targets, and with the accuracies estimated again on resampled targets, or groups of them.

    Accuracies are drawn to their mean by few labels: what is uncertain about them is in the spread of the B values.
    """
    rows, frequencies, place = distinct_rows(codes)
    own = frequencies.astype(float)
    refits = int(np.clip(LARGEST_REFIT // (len(rows) * n_categories), *REFITS))
    units = Units(own, cluster_table(groups, place, len(rows)))
    truth = _fit_rows(rows, own, n_categories, WEAK_PRIOR)
    resampled = np.concatenate(list(units.resample_weights(refits)))
    again = [_fit_rows(rows, weights, n_categories, WEAK_PRIOR, truth) for weights in resampled]
    return np.stack([truth, *again]), place


def _fit_rows(rows: Codes, weights: Floats, n_categories: int, prior: float, start: Floats | None = None) -> Floats:
    """Return the probability of each true category of P rows of labels with weights (P,), (P, K)."""
    targets, raters = np.nonzero(rows >= 0)
    labels = rows[targets, raters]
    votes = category_counts(rows, n_categories)
    posterior = ratio(votes, votes.sum(axis=1, keepdims=True)) if start is None else start
    posterior = np.where(np.isnan(posterior), 1 / n_categories, posterior)
    for _ in range(ITERATIONS if start is None else REFIT_ITERATIONS):
        previous = posterior
        accuracy, directions = _estimate(previous, weights, targets, raters, labels, rows.shape[1], prior)
        shares = weights @ previous + 1
        joint = np.tile(np.log(shares / shares.sum()), (len(rows), 1))
        for category in range(n_categories):
            right = labels == category
            chance = np.where(right, accuracy[raters], (1 - accuracy[raters]) * directions[category, labels])
            logs = np.log(np.maximum(chance, 1e-12))
            joint[:, category] += np.bincount(targets, logs, minlength=len(rows))
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        posterior = joint / joint.sum(axis=1, keepdims=True)
        if np.abs(posterior - previous).max(initial=0) < TOLERANCE:
            break
    return np.asarray(posterior)


def _estimate(
    posterior: Floats, weights: Floats, targets: Ints, raters: Ints, labels: Codes, number: int, prior: float
) -> tuple[Floats, Floats]:
    """Return the accuracy of each annotator (R,), and the share of each wrong label given the truth, (K, K)."""
    n_categories = posterior.shape[1]
    own = weights[targets]
    hits = np.bincount(raters, posterior[targets, labels] * own, minlength=number)
    totals = np.bincount(raters, own, minlength=number)
    mean = hits.sum() / max(totals.sum(), 1)
    accuracy = np.clip((hits + prior * mean) / (totals + prior), 1e-4, 1 - 1e-4)
    joint = posterior[targets] * own[:, None]
    answers = np.stack([np.bincount(labels, joint[:, k], minlength=n_categories) for k in range(n_categories)])
    wrong = (answers + 1) * (1 - np.eye(n_categories))
    return accuracy, np.nan_to_num(ratio(wrong, wrong.sum(axis=1, keepdims=True)))


def _test(contested: Contested, verdicts: Codes, place: int, annotator: str) -> Dependence | None:
    """Return the test of one judge and annotator, with its p before correction; None if no target can tell and a copy
    would change nothing.
    """
    n_categories = contested.given.shape[1]
    judged, labelled = verdicts >= 0, contested.codes[:, place] >= 0
    rows = np.flatnonzero(contested.differ & judged & (verdicts < n_categories) & labelled)
    compared = judged & (np.count_nonzero(contested.codes >= 0, axis=1) >= 2)
    own = int((compared & labelled).sum())
    matters = own > NEGLIGIBLE * compared.sum() and upper_bound(rows.size, own, LEVEL) > IMMATERIAL
    rows = rows[contested.given[rows, verdicts[rows]]]
    if not rows.size:
        few = not contested.identified[place]
        return Dependence(annotator, State.unclear, 1.0, 0, 0, 1.0, True, few) if matters else None
    truth = np.rint(contested.truth[rows, verdicts[rows]] * BINS).astype(np.int64)
    labels = contested.given[rows].sum(axis=1)
    sides = contested.codes[rows, place] == verdicts[rows]
    keys, frequencies = np.unique((truth * (n_categories + 1) + labels) * 2 + sides, return_counts=True)
    truth, labels = keys // 2 // (n_categories + 1) / BINS, keys // 2 % (n_categories + 1)
    likelihood = _likelihood(truth, labels, keys % 2 == 1, frequencies)
    best, limit = int(likelihood.argmax()), round(NEGLIGIBLE * (SHARES.size - 1))
    z = float(np.sqrt(2 * (likelihood[best] - likelihood[limit])))
    p = normal_cdf(-z) if best > limit else 1.0
    copies = likelihood[round(COPY * (SHARES.size - 1)) :].max()
    return Dependence(
        annotator, State.unclear, float(SHARES[best]), int(sides.sum()), rows.size,
        p_corrected=p,
        can_be_copy=bool(matters and (2 * (likelihood[best] - copies) < EXCLUDED or p < LEVEL)),
        few_annotators=not contested.identified[place],
    )  # fmt: skip


def _likelihood(truth: Floats, labels: Ints, sides: Bools, frequencies: Ints) -> Floats:
    """Return the log-likelihood of each of `SHARES`, alpha at its best."""
    own = ACCURACIES[:, None] * truth + (1 - ACCURACIES[:, None]) * (1 - truth) / (labels - 1)
    mixed = SHARES[:, None, None] * sides + (1 - SHARES[:, None, None]) * own
    return np.asarray((np.log(np.maximum(mixed, 1e-12)) @ frequencies.astype(float)).max(axis=1))
