"""The alternative-annotator test."""

import numpy as np
import pytest
from scipy import stats

from core.statistics.data.arrays import mean_of_defined
from core.statistics.data.patterns import JudgedPatterns, Units, judged_patterns
from core.statistics.data.ratings import Ratings
from core.statistics.data.sample import Draw
from core.statistics.measures.alternative_annotator import (
    AnnotatorTest,
    annotator_test,
    decide_winners,
    human_ceiling,
    numeric_closeness,
    run_on_patterns,
)
from core.statistics.measures.alternative_annotator import (
    run as run_test,
)
from core.statistics.measures.resampling import weighted_mean
from core.statistics.reports.alignment import annotator_test_estimates
from tests.core.statistics.builders import random_ratings, ratings_from_codes
from tests.core.statistics.oracles import run_by_category


def evaluate_by_item(annotators: np.ndarray, judge: np.ndarray, epsilon: float) -> tuple[float, float, list[float]]:
    """Return winning rate, advantage probability and each p as section 3 of the paper defines them, item by item."""
    p, advantages = [], []
    for rater in range(annotators.shape[1]):
        deficits, has_advantage = [], []
        for row, verdict in zip(annotators, judge, strict=True):
            others = [value for other, value in enumerate(row) if other != rater and not np.isnan(value)]
            if np.isnan(row[rater]) or np.isnan(verdict) or not others:
                continue
            judge_score = np.mean([verdict == other for other in others])
            rater_score = np.mean([row[rater] == other for other in others])
            has_advantage.append(judge_score >= rater_score)
            deficits.append(int(rater_score >= judge_score) - int(judge_score >= rater_score))
        if len(deficits) >= 30:
            p.append(stats.ttest_1samp(deficits, epsilon, alternative="less").pvalue)
            advantages.append(np.mean(has_advantage))
    won = stats.false_discovery_control(p, method="by") <= 0.05
    return float(np.mean(won)), float(np.mean(advantages)), p


@pytest.mark.parametrize("seed", range(8))
def test_the_test_equals_the_papers_loop(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 120)

    def draw_labels(accuracy: float) -> np.ndarray:
        return np.where(rng.random(120) < accuracy, truth, rng.integers(0, 3, 120)).astype(float)

    annotators = np.column_stack([draw_labels(0.75) for _ in range(4)])
    annotators[rng.random(annotators.shape) < 0.3] = np.nan
    judge = draw_labels(0.5 + 0.05 * seed)
    test = run_by_category(annotators, judge, tuple("abcd"), units=Units(np.ones(120)), epsilon=0.1)
    winning_rate, advantage, p = evaluate_by_item(annotators, judge, 0.1)
    assert test.winning_rate == pytest.approx(winning_rate)
    assert [one.p for one in test.tests] == pytest.approx(p)
    assert test.mean_advantage(np.ones((1, 120)))[0] == pytest.approx(advantage)


@pytest.mark.parametrize(("items", "tested"), [(29, 0), (30, 2)])
def test_an_annotator_needs_thirty_items(items, tested):
    """Calderon et al. 2025: at least 30 instances."""
    labels = np.arange(items) % 2.0
    run = run_by_category
    test = run(np.column_stack([labels, labels]), labels, ("a", "b"), units=Units(np.ones(items)))
    assert (len(test.tests), len(test.skipped), test.used.all()) == (tested, 2 - tested, tested == 2)


def test_without_annotators_nobody_is_tested():
    test = run_test((), numeric_closeness(np.empty((3, 0)), np.zeros(3)), Units(np.ones(3)))
    assert test.tests == () and test.winning_rate is None and not test.used.any()


def test_scores_are_tested_by_their_distance():
    annotators = np.column_stack([np.arange(40.0), np.arange(40.0) + 2, np.arange(40.0) - 2])
    near, far = (
        run_test(tuple("abc"), numeric_closeness(annotators, judge), Units(np.ones(40)))
        for judge in (np.arange(40.0) + 0.5, np.arange(40.0) + 9)
    )
    assert far.winning_rate == 0
    assert near.winning_rate == pytest.approx(2 / 3)  # b and c, never the annotator in the middle


def test_items_that_were_drawn_more_rarely_count_more():
    """Of 60 items of one stratum 20 were drawn, and all 20 of the other: the judge is right in the first one only."""
    strata = np.repeat([0, 1], 20)
    draw = Draw(strata, np.where(strata == 0, 3.0, 1.0), np.array([60.0, 20.0]))
    test = annotator_test("a", 1.0 - strata, np.full(40, 0.5), np.ones(40), 0.1, draw)
    assert test.advantage_probability == pytest.approx(60 / 80)
    assert not annotator_test("a", np.zeros(40), np.zeros(40), np.ones(40), 0.0).won, "it is not better by any margin"


def test_a_corrected_p_of_exactly_the_false_discovery_rate_wins():
    (test,) = decide_winners([AnnotatorTest("a", 30, 1.0, 0.05, won=False)])
    assert test.won


def test_a_t_test_without_variance_is_flagged():
    """With the same outcome on all items scipy would return p = 0."""
    test = run_by_category(np.zeros((40, 2)), np.zeros(40), ("a", "b"), units=Units(np.ones(40)))
    assert [one.p for one in test.tests] == [None, None]
    assert test.winning_rate == 1
    assert "no variance" in annotator_test_estimates(test, 40, 50)["winning_rate"].reason


@pytest.mark.parametrize("seed", range(5))
def test_patterns_give_the_tests_of_shares_by_category(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 3, (300, 5)).astype(np.int16)
    codes[:, 4] = np.where(rng.random(300) < 0.95, -1, codes[:, 4])  # too few labels for a test
    ratings = Ratings(tuple("abcde"), np.where(codes < 0, np.nan, codes), (0, 1, 2))
    for _ in range(3):
        judge = rng.integers(-1, 3, 300).astype(np.int16)
        patterns = judged_patterns(ratings, judge, codes[:, 0])
        alone = run_by_category(
            np.where(patterns.labels.codes >= 0, patterns.labels.codes, np.nan),
            np.where(patterns.judge >= 0, patterns.judge, np.nan),
            patterns.names, units=patterns.units,
        )  # fmt: skip
        together = run_on_patterns(patterns)
        assert together.tests == alone.tests and together.skipped == alone.skipped == ("e",)
        for part, other in zip(together.advantages, alone.advantages, strict=True):
            np.testing.assert_array_equal(part, other)


def test_the_mean_advantage_is_the_mean_of_the_rates_of_the_annotators() -> None:
    rng = np.random.default_rng(0)
    ratings = random_ratings(rng, items=800, raters=6, n_categories=3, missing=0.6)
    patterns = judged_patterns(ratings, rng.integers(-1, 3, 800), rng.integers(-1, 3, 800))
    test = run_on_patterns(patterns)
    size = patterns.units.frequencies.size
    rates = []
    for rows, is_close in test.advantages:
        values, tested = np.zeros(size), np.zeros(size, bool)
        values[rows], tested[rows] = is_close, True
        rates.append(weighted_mean(values, tested))
    weights = rng.integers(0, 3, (50, size)).astype(float)
    weights[0, test.advantages[0][0]] = 0  # without an item of the first annotator
    means = mean_of_defined(np.stack([rate(weights) for rate in rates], axis=-1))
    assert len(rates) == 6 and np.isnan(rates[0](weights)).any()
    np.testing.assert_array_equal(test.mean_advantage(weights), means)


# The leave-one-annotator-out ceiling.


def make_patterns(annotators: list[str], judge: str, n_categories: int = 3) -> JudgedPatterns:
    """One word of digits for each annotator and one for the judge; '-' is missing."""
    codes = np.array([[-1 if char == "-" else int(char) for char in word] for word in [*annotators, judge]])
    return judged_patterns(ratings_from_codes(codes[:-1].T, n_categories), codes[-1], codes[-1])


def value(statistic, patterns: JudgedPatterns) -> float:
    return float(statistic(patterns.units.frequencies[None])[0])


def test_the_ceiling_computed_by_hand():
    """Three annotators; each is compared with the other two if those agree."""
    patterns = make_patterns(["0000", "0011", "0101"], "0100")
    ceiling = human_ceiling(patterns)
    # a: the others agree on items 0 (0) and 3 (1): a is right once; the judge once.
    # b: others agree on 0 (0), 2 (0): b once, the judge twice. c: on 0 (0), 1 (0): c once, the judge once.
    assert value(ceiling.annotators, patterns) == pytest.approx((1 / 2 + 1 / 2 + 1 / 2) / 3)
    assert value(ceiling.judge, patterns) == pytest.approx((1 / 2 + 2 / 2 + 1 / 2) / 3)
    assert value(ceiling.difference, patterns) == pytest.approx(1 / 6)
    assert (ceiling.raters, ceiling.comparisons) == (3, 6)


def test_the_ceiling_leaves_out_items_without_a_verdict():
    patterns = make_patterns(["00", "01"], "0-")
    ceiling = human_ceiling(patterns)
    assert (ceiling.comparisons, patterns.count_items(ceiling.used)) == (2, 1)
    assert value(ceiling.annotators, patterns) == value(ceiling.judge, patterns) == 1


def test_one_annotator_has_no_ceiling():
    assert human_ceiling(make_patterns(["01"], "01")) is None


def test_an_annotator_with_few_labels_changes_the_ceiling_little():
    """Another annotator's three labels, all wrong, would lower a mean over annotators by a quarter."""
    others = ["0" * 60, "0" * 60, "0" * 60]
    patterns = make_patterns([*others, "111" + "-" * 57], "0" * 60)
    ceiling = human_ceiling(patterns)
    assert value(ceiling.annotators, patterns) == pytest.approx(180 / 183)
    assert value(ceiling.judge, patterns) == 1
