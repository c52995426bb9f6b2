"""Position, length and self-preference biases."""

import numpy as np
import pytest

from core.statistics.measures import bias


def test_a_judge_that_picks_the_response_shown_first_is_never_consistent():
    item, shown_first = np.repeat(np.arange(100), 2), np.tile([1, 2], 100)
    consistency = bias.order_consistency(shown_first.astype(float), shown_first, item)
    assert (consistency.value, consistency.items) == (0, 100)


def test_a_consistent_judge_makes_the_same_choice_in_both_orders():
    item, shown_first = np.repeat(np.arange(100), 2), np.tile([1, 2], 100)
    choice = np.repeat(np.where(np.arange(100) % 2, 1.0, 2.0), 2)
    assert bias.order_consistency(choice, shown_first, item).value == 1


def test_items_judged_in_one_order_have_no_consistency():
    choice, shown_first = np.array([1.0, 0.0, np.nan, 2.0]), np.array([1, 1, 1, 1])
    assert bias.order_consistency(choice, shown_first, np.arange(4)).value is None


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


def test_self_preference_without_a_reference_is_only_a_share():
    estimates = bias.side_preference(np.array([1.0, 1, 2, 1]), np.array([1, 1, 1, 0]), None, None, "")
    assert list(estimates) == ["judge"]
    assert estimates["judge"].value == pytest.approx(2 / 3)


def test_no_decided_verdict_is_the_reason():
    assert length_bias(np.array([0.0, np.nan]), np.array([1, 2]))["judge"].reason == "no decided verdict"


def test_an_undefined_preference_has_its_own_reason() -> None:
    no_side = length_bias(np.array([1.0, 2]), np.array([0, 0]), np.array([1.0, 2]))
    assert {estimate.reason for estimate in no_side.values()} == {"no two responses differ in length"}
    tie = length_bias(np.array([1.0, 2]), np.array([1, 1]), np.array([0.0, np.nan]))
    assert tie["reference"].reason == "the reference prefers no response"
    assert tie["difference"].reason == "no pair on which the judge and the reference both prefer a response"
    one_order = bias.order_consistency(np.array([1.0]), np.array([1]), np.array([0]))
    assert one_order.reason == "no pair was judged in both orders"
