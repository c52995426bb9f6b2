"""Position, length and self-preference biases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.measures import bias


def test_order_consistency_is_the_share_of_equal_choices():
    first = bias.order_consistency(np.tile([1.0, 2.0], (100, 1)))
    assert (first.value, first.items) == (0, 100)
    choice = np.where(np.arange(100) % 2, 1.0, 2.0)
    assert bias.order_consistency(np.column_stack([choice, choice])).value == 1


def length_bias(choice, longer, reference=None):
    return bias.side_preference(choice, longer, reference, None, bias.NO_SIDE["longer"])


def test_length_bias_is_the_judges_excess_over_people():
    longer = np.tile([1, 2, 1, 2, 0], 40)
    reference = np.where(np.arange(200) % 4 < 3, longer, 3 - longer).astype(float)
    estimates = length_bias(np.where(longer == 0, 1, longer).astype(float), longer, reference)
    assert estimates["judge"].value == 1
    assert estimates["reference"].value == pytest.approx(0.75)
    excess = estimates["difference"]
    assert excess.value == pytest.approx(0.25)
    assert 0 < excess.low < excess.high
    assert excess.items == 160


def test_an_undefined_preference_has_its_own_reason() -> None:
    assert length_bias(np.array([0.0, np.nan]), np.array([1, 2]))["judge"].reason == "no decided verdict"
    no_side = length_bias(np.array([1.0, 2]), np.array([0, 0]), np.array([1.0, 2]))
    assert {estimate.reason for estimate in no_side.values()} == {"no two responses differ in length"}
    tie = length_bias(np.array([1.0, 2]), np.array([1, 1]), np.array([0.0, np.nan]))
    assert tie["reference"].reason == "the reference prefers no response"
    assert tie["difference"].reason == "no pair on which the judge and the reference both prefer a response"
    one_order = bias.order_consistency(np.empty((0, 2)))
    assert one_order.reason == "no pair was judged in both orders"


# Effects, exact tests and intervals of a preference for a side.


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_fishers_exact_test_is_scipys(hits, misses, other_hits, other_misses):
    expected = stats.fisher_exact([[hits, misses], [other_hits, other_misses]]).pvalue
    p = bias.fisher_p(hits, hits + misses, other_hits, other_hits + other_misses)
    assert p == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_binomial_test_is_scipys(hits, misses):
    n = hits + misses
    expected = stats.binomtest(hits, n).pvalue if n else 1.0
    assert bias.binomial_p(hits, n) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=20, max_size=80))
def test_the_other_side_has_the_opposite_effect(pairs):
    judge, people = np.array(pairs).T
    effect = bias.preference_given_people(judge, people)
    opposite = bias.preference_given_people(~judge, ~people)
    if effect.value is None:
        assert opposite.value is None and "are needed" in effect.reason
        return
    assert effect.value == pytest.approx(-opposite.value)
    assert (effect.low, effect.high) == pytest.approx((-opposite.high, -opposite.low))
    assert effect.p == pytest.approx(opposite.p)
    assert -0.5 <= effect.value <= 0.5 and effect.low <= effect.value <= effect.high


def test_always_the_same_side_is_the_largest_effect():
    people = np.arange(60) % 2 == 0
    always = bias.preference_given_people(np.ones(60, bool), people)
    assert always.value == 0.5 and always.p < 1e-10 and always.low > 0.3
    assert bias.preference_against_half(np.ones(60, bool)).value == 0.5


def test_verdicts_of_one_dialogue_count_as_one_if_they_are_equal():
    chose = np.repeat(np.arange(20) < 15, 5)
    independent = bias.preference_against_half(chose)
    clustered = bias.preference_against_half(chose, [str(dialogue) for dialogue in np.repeat(np.arange(20), 5)])
    alone = bias.preference_against_half(np.arange(20) < 15)
    assert independent.p < 1e-5
    assert clustered.value == alone.value and clustered.p == pytest.approx(alone.p, abs=0.03)
    assert clustered.low == pytest.approx(alone.low, abs=0.02)


def test_pairs_in_both_orders_favour_a_position():
    first, same, tie = [1, 2], [1, 1], [0, 0]
    effect = bias.preference_in_both_orders(np.array([first] * 10 + [same] * 8 + [tie] * 2 + [[np.nan, 1]]))
    assert (effect.value, effect.items, effect.judge_share) == (0.25, 20, 0.75)
    assert effect.p == pytest.approx(2 / 2**10)


def test_few_verdicts_are_not_tested():
    effect = bias.preference_against_half(np.ones(9, bool))
    assert (effect.value, effect.p, effect.reason) == (None, None, "9 decided verdicts, 10 are needed")


def test_intervals_cover_the_effect():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        people = rng.random(120) < 0.6
        # The judge is right on 80 %, and chooses the longer on 40 % of the others' places: an effect of 0.14.
        judge = np.where(people, rng.random(120) < 0.94, rng.random(120) < 0.34)
        effect = bias.preference_given_people(judge, people)
        covered += effect.low <= 0.14 <= effect.high
    assert 0.92 <= covered / 400 <= 0.98


def test_errors_of_annotators_are_no_bias_of_an_accurate_judge():
    """People choose the side on 70 %, and 15 % of their labels are wrong: the majority alone shows a bias."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(20_000) < 0.7, 1.0, -1.0)
    labels = truth[:, None] * np.where(rng.random((20_000, 3)) < 0.15, -1.0, 1.0)
    labels[rng.random(labels.shape) < 0.2] = np.nan
    chose = truth > 0
    majority = np.nansum(labels, axis=1)
    naive = bias.preference_given_people(chose[majority != 0], (majority > 0)[majority != 0])
    found = bias.preference_beyond_people(chose, labels)
    assert naive.value is not None and naive.value > 0.02
    assert found is not None and found.value == pytest.approx(0, abs=0.005)
    biased = bias.preference_beyond_people(np.where(rng.random(20_000) < 0.3, True, chose), labels)
    assert biased is not None and biased.value == pytest.approx(0.15, abs=0.01)
    assert biased.low is not None and biased.low < 0.15 < (biased.high or 0)


def test_labels_without_agreement_are_no_instrument():
    rng = np.random.default_rng(1)
    labels = rng.choice([1.0, -1.0], size=(400, 2))
    assert bias.preference_beyond_people(rng.random(400) < 0.5, labels) is None
    assert bias.preference_beyond_people(np.ones(400, bool), np.repeat(labels[:, :1], 2, axis=1)) is None


def test_a_judge_that_always_agrees_with_people_has_no_interval_without_width():
    labels = np.repeat(np.random.default_rng(2).choice([1.0, -1.0], size=(60, 1)), 2, axis=1)
    assert bias.preference_beyond_people(labels[:, 0] > 0, labels) is None


def test_the_interval_beyond_people_is_the_jackknife_over_documents():
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(60) < 0.6, 1.0, -1.0)
    labels = truth[:, None] * np.where(rng.random((60, 3)) < 0.15, -1.0, 1.0)
    chose = (truth > 0) | (rng.random(60) < 0.3)
    documents = [str(number // 4) for number in range(60)]
    found = bias.preference_beyond_people(chose, labels, documents)
    others = [np.arange(60) // 4 != number for number in range(15)]
    values = [bias.preference_beyond_people(chose[mask], labels[mask]) for mask in others]
    assert found is not None and all(values)
    error = np.sqrt(14 / 15 * sum((one.value - found.value) ** 2 for one in values if one is not None))
    assert found.high - found.low == pytest.approx(2 * 2.1447867 * error, rel=1e-6)  # t with 14 degrees of freedom
