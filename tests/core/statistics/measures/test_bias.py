"""What moves a judge besides quality."""

import numpy as np
import pytest

from core.statistics.measures import bias


def test_a_judge_that_picks_what_it_sees_first_is_found_out():
    item, shown = np.repeat(np.arange(100), 2), np.tile([1, 2], 100)
    found = bias.position(shown.astype(float), shown, item)
    assert found.first.value == 1
    assert found.first.low > 0.95
    assert found.consistent.value == 0
    assert found.consistent.items == 100


def test_a_consistent_judge_is_not():
    item, shown = np.repeat(np.arange(100), 2), np.tile([1, 2], 100)
    choice = np.repeat(np.where(np.arange(100) % 2, 1.0, 2.0), 2)
    found = bias.position(choice, shown, item)
    assert (found.first.value, found.consistent.value) == (0.5, 1)


def test_ties_and_no_verdicts_are_no_choice_and_are_counted():
    choice, shown = np.array([1.0, 0.0, np.nan, 2.0]), np.array([1, 1, 1, 1])
    found = bias.position(choice, shown, np.arange(4))
    assert (found.first.value, found.first.items, found.first.items_there) == (0.5, 2, 4)
    assert found.consistent.value is None


def test_length_bias_is_what_the_judge_has_beyond_people():
    longer = np.tile([1, 2, 1, 2, 0], 40)
    people = np.where(np.arange(200) % 4 < 3, longer, 3 - longer).astype(float)
    found = bias.length(np.where(longer == 0, 1, longer).astype(float), longer, people)
    assert found["judge"].value == 1
    assert found["people"].value == pytest.approx(0.75)
    excess = found["judge less people"]
    assert excess.value == pytest.approx(0.25)
    assert 0 < excess.low < excess.high
    assert excess.items == 160


def test_self_preference_without_people_is_only_a_share():
    found = bias.own_kin(np.array([1.0, 1, 2, 1]), np.array([1, 1, 1, 0]))
    assert list(found) == ["judge"]
    assert found["judge"].value == pytest.approx(2 / 3)


def test_nothing_decided_is_said():
    assert bias.length(np.array([0.0, np.nan]), np.array([1, 2]))["judge"].reason == "no decided verdict"
