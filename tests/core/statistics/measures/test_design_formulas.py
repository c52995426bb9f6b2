"""The formulas of designed means, written out target by target, on labels with unequal probabilities in two strata."""

from dataclasses import dataclass
from math import isclose

import numpy as np
import pytest
from scipy import stats

from core.statistics.data.sample import Draw
from core.statistics.measures import designs
from core.statistics.measures.designs import design_mean

# Stratum A has 4 labels of 6 targets, stratum B 7 of 9, by probabilities that differ within each.
STRATA = np.array([0] * 6 + [1] * 9)
HUMAN = np.array([1, 0, 1, 1, np.nan, np.nan, 0, 1, 0, 0, 1, 0, 0, np.nan, np.nan])
JUDGE = np.array([1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0.0])
CHANCES = np.array([0.5, 0.25, 0.8, 0.5, 0.6, 0.4, 0.9, 0.3, 0.5, 0.7, 0.2, 0.5, 0.9, 0.5, 0.5])


@dataclass
class Expected:
    """The estimate, the influence of each target on it, and the targets of each stratum with labels."""

    value: float
    influence: list[float]
    labelled: list[list[int]]

    def variance(self) -> float:
        """Return the sum of the squares, of targets with a label times n / (n - 1) as in a stratified mean."""
        return sum(part**2 for part in self.influence)

    def degrees(self) -> float:
        """Satterthwaite's, of the strata; at most those of all of them."""
        parts = [sum(self.influence[i] ** 2 for i in own) for own in self.labelled]
        spent = sum(part**2 / (len(own) - 1) for part, own in zip(parts, self.labelled, strict=True))
        return min(sum(len(own) - 1 for own in self.labelled), self.variance() ** 2 / spent)


def expected(weight: float) -> Expected:
    """Return what `design_mean` states, with the same lambda in both strata."""
    total, value, influence, labelled = len(HUMAN), 0.0, [0.0] * len(HUMAN), []
    means = {}
    for stratum in (0, 1):
        own = [i for i in range(total) if STRATA[i] == stratum]
        drawn = [i for i in own if not np.isnan(HUMAN[i])]
        labelled.append(drawn)
        counted = sum(1 / CHANCES[i] for i in drawn)
        person = sum(HUMAN[i] / CHANCES[i] for i in drawn) / counted
        judged = sum(JUDGE[i] / CHANCES[i] for i in drawn) / counted
        every = sum(JUDGE[i] for i in own) / len(own)
        value += len(own) / total * (weight * every + person - weight * judged)
        means[stratum] = person
        for i in own:
            influence[i] = weight * (JUDGE[i] - every)
            if i in drawn:
                left = (HUMAN[i] - weight * JUDGE[i]) - (person - weight * judged)
                factor = (len(drawn) / (len(drawn) - 1)) ** 0.5
                influence[i] += len(own) / counted / CHANCES[i] * left * factor
    centre = sum((stratum == STRATA).sum() / total * mean for stratum, mean in means.items())
    influence = [(part + means[STRATA[i]] - centre) / total for i, part in enumerate(influence)]
    return Expected(value, influence, labelled)


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_a_designed_mean_with_verdicts_is_the_formula(weight):
    found, known = design_mean(HUMAN, CHANCES, STRATA, JUDGE, judge_weight=weight), expected(weight)
    assert found.value == pytest.approx(known.value, abs=1e-12)
    assert found.variance == pytest.approx(known.variance(), rel=1e-12)
    half = stats.t.ppf(0.975, known.degrees()) * known.variance() ** 0.5
    assert (found.low, found.high) == pytest.approx((known.value - half, known.value + half))
    counted = 1 / CHANCES[~np.isnan(HUMAN)]
    assert found.effective == pytest.approx(counted.sum() ** 2 / (counted**2).sum())
    assert (found.labelled, found.targets, found.judge_weight) == (11, 15, pytest.approx(weight))


def test_a_fitted_weight_costs_a_degree_of_freedom_in_its_stratum():
    judge, human = np.tile(JUDGE, 3), np.tile(HUMAN, 3)
    strata, chances = np.tile(STRATA, 3), np.tile(CHANCES, 3)
    weights = []
    for stratum in (0, 1):
        own = (strata == stratum) & ~np.isnan(human)
        covariance = np.cov(human[own], judge[own], aweights=1 / chances[own])[0, 1]
        weights.append(min(1, covariance / judge[strata == stratum].var(ddof=1)))
    assert weights[0] > 0 < weights[1] and weights[0] != weights[1]
    fixed = [
        design_mean(human[strata == own], chances[strata == own], 0 * strata[strata == own], judge[strata == own],
                    judge_weight=weights[own])
        for own in (0, 1)
    ]  # fmt: skip
    found = design_mean(human, chances, strata, judge)
    assert found.judge_weight == pytest.approx(0.4 * weights[0] + 0.6 * weights[1])
    assert found.value == pytest.approx(0.4 * fixed[0].value + 0.6 * fixed[1].value)
    one = design_mean(human[strata == 0], chances[strata == 0], 0 * strata[strata == 0], judge[strata == 0])
    labelled = int((~np.isnan(human[strata == 0])).sum())
    of_labels = _influence_of_labels(human[strata == 0], chances[strata == 0], judge[strata == 0], weights[0])
    grown = of_labels * ((labelled - 1) / (labelled - 2) - 1)
    assert one.variance == pytest.approx(fixed[0].variance + grown)
    assert one.high - one.value == pytest.approx(
        stats.t.ppf(0.975, _satterthwaite(one, of_labels, labelled - 2)) * one.variance**0.5
    )


def _influence_of_labels(human, chances, judge, weight):
    """Return the part of the variance of one stratum that its labelled targets have."""
    own = ~np.isnan(human)
    counted = (1 / chances)[own]
    left = (human - weight * judge)[own]
    mean, n = counted @ left / counted.sum(), own.sum()
    parts = (
        weight * (judge[own] - judge.mean())
        + human.size / counted.sum() * counted * (left - mean) * (n / (n - 1)) ** 0.5
    )
    return float((parts**2).sum() / human.size**2)


def _satterthwaite(found, of_labels, left):
    part = of_labels * (left + 1) / left
    return min(left, found.variance**2 / (part**2 / left))


def test_two_labels_have_a_fitted_weight_one_or_all_have_none():
    human, judge = np.array([1.0, 0, np.nan, np.nan]), np.array([1.0, 0, 1, 1])
    found = design_mean(human, np.full(4, 0.5), np.zeros(4, int), judge)
    assert found.judge_weight == 1 and found.value == 0.75  # cov .5 / var .25, at most 1
    one = design_mean(np.array([1.0, np.nan]), np.ones(2), np.zeros(2, int), np.array([1.0, 0]))
    assert (one.judge_weight, one.value) == (0, 1)
    every = design_mean(np.arange(12) % 2 + 0.0, np.ones(12), np.zeros(12, int), np.arange(12) % 2 + 0.0)
    assert every.judge_weight == 0  # verdicts on targets that all have labels add nothing


@pytest.mark.parametrize("with_judge", [False, True])
def test_labels_without_spread_have_the_variance_of_one_unseen_error(with_judge):
    """Stratum A has 10 equal labels of 20 targets; all 20 of B are labelled, and vary."""
    human = np.concatenate([np.full(10, 4.0), np.full(10, np.nan), np.tile([1.0, 5.0], 10)])
    judge = np.concatenate([np.full(20, 4.0), np.tile([1.0, 5.0], 10)])
    strata, chances = np.repeat([0, 1], 20), np.repeat([0.5, 1.0], 20)
    given = (judge, {"judge_weight": 1.0}) if with_judge else (None, {})
    free, bound = (
        design_mean(human, chances, strata, given[0], **given[1], limits=own) for own in ((-np.inf, np.inf), (1, 5))
    )
    unseen = 0.5**2 * (1 / 12) * (11 / 12) * 4**2 / 10
    assert bound.variance == pytest.approx(free.variance + unseen)


def test_what_a_judge_leaves_decides_whether_labels_have_spread():
    """People and the judge differ by the same everywhere: nothing is left that varies, although the labels do."""
    judge = np.tile([2.0, 4.0], 20)
    human = np.where(np.arange(40) < 20, judge, np.nan)
    free, bound = (design_mean(human, np.full(40, 0.5), np.zeros(40, int), judge, judge_weight=1.0, limits=own)
                   for own in ((-np.inf, np.inf), (1, 5)))  # fmt: skip
    assert bound.variance == pytest.approx(free.variance + (1 / 22) * (21 / 22) * 16 / 20)
    half = design_mean(human, np.full(40, 0.5), np.zeros(40, int), judge, judge_weight=0.5, limits=(1, 5))
    assert half.variance == pytest.approx(
        design_mean(human, np.full(40, 0.5), np.zeros(40, int), judge, judge_weight=0.5).variance
    )


def test_degrees_of_freedom_of_clusters_are_less_one_for_each_stratum_and_fitted_weight():
    rng = np.random.default_rng(5)
    strata, clusters = np.repeat([0, 1], 20), np.repeat(np.arange(20), 2)
    human, chances = rng.random(40), np.ones(40)
    found = design_mean(human, chances, strata, clusters=clusters)
    influence = human - found.value
    for own in (strata == 0, strata == 1):
        mean = human[own].mean()
        influence[own] = mean - found.value + (human[own] - mean) * (20 / 19) ** 0.5
    sums = np.bincount(clusters, influence) / 40
    assert found.variance == pytest.approx((sums**2).sum() * 20 / 19 * 39 / 40)
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 18) * found.variance**0.5)
    two = designs._with_degrees_of_clusters(np.array([1.0, -1.0]), 10, 2, 1, 0.0)
    assert two == pytest.approx((2 * 2 * 9 / 10, 1))
    assert designs._with_degrees_of_clusters(np.ones(4), 4, 5, 1, 1.0) == pytest.approx((4 * 5 / 4 * 3 / 4 * 4 / 3, 3))


# Means of drawn patterns: 3 patterns in stratum A (each stands for 2), one of B, one without a label.

PATTERNS = Draw(np.array([0, 0, 1, 1]), np.array([2.0, 2.0, 5.0, 0.0]), np.array([10.0, 15.0]))
TIMES = np.array([3.0, 2.0, 3.0, 4.0])


def test_the_variance_of_drawn_patterns_is_within_and_between_strata():
    values = np.array([1.0, 0.0, 1.0, 0.0])
    value, variance, degrees = designs.drawn_mean(values, TIMES, PATTERNS)
    assert (value, degrees) == (pytest.approx((6 + 15) / 25), 6)
    within = 5 / 4 * (3 * (2 * 0.4) ** 2 + 2 * (2 * 0.6) ** 2) / 25**2
    between = (10 * (0.6 - 0.84) ** 2 + 15 * (1 - 0.84) ** 2) / 25 / 25
    assert variance == pytest.approx(within + between)
    unseen = designs.unseen_variance(values, TIMES, PATTERNS)
    of_a, of_b = (4 / 7) * (3 / 7) / 5, (4 / 5) * (1 / 5) / 3  # one hit and one miss more in each
    assert unseen == pytest.approx((10**2 * of_a + 15**2 * of_b) / 25**2 + between)


def test_clusters_of_drawn_patterns_are_summed_over_all_strata():
    values, clusters = (
        np.array([1.0, 0.0, 1.0, 0.0]),
        np.array([[2, 0, 1, 0], [1, 2, 1, 1], [0, 0, 1, 1], [0, 0, 0, 2.0]]),
    )
    _, variance, degrees = designs.drawn_mean(values, TIMES, PATTERNS, clusters)
    moved = np.array([2 * 0.16, 2 * -0.84, 5 * 0.16]) / 25
    sums = [2 * moved[0] + moved[2], moved[0] + 2 * moved[1] + moved[2], moved[2]]  # the fourth has no label
    assert (degrees, variance) == (2, pytest.approx(sum(own**2 for own in sums) * 3 / 2))


def test_the_expected_interval_is_that_of_a_stratified_share():
    found = designs.expected_half_width([60, 0, 40], [6, 0, 8], [0.5, 9.0, 0.3])
    assert found is not None and isclose(found, 1.96 * (0.36 * 0.25 / 6 + 0.16 * 0.09 / 8) ** 0.5)
    assert designs.expected_half_width([60, 40], [6, 0]) is None
    assert designs.expected_half_width([100], [25]) == pytest.approx(1.96 * 0.1)


def test_no_labels_are_no_effective_labels():
    assert designs.effective_labels(np.array([])) == 0
