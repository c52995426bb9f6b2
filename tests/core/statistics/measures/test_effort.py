"""Where the next label is worth most, and how many are enough."""

import numpy as np
import pytest

from core.statistics.measures import agreement, effort
from tests.core.statistics.build import of_codes, random_ratings


def test_entropy_runs_from_all_alike_to_evenly_spread():
    found = effort.entropy(np.array([[3.0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 0]]))
    assert found[:3] == pytest.approx([0, 1, np.log(2) / np.log(3)])
    assert np.isnan(found[3])


def test_the_most_disputed_target_comes_first_and_full_ones_never():
    people = np.array([[1.0, 0], [1, 0], [1, 1], [0, 0], [2, 0]])
    judges = np.array([[3.0, 0], [0, 3], [2, 1], [0, 0], [1, 2]])
    assert effort.next_targets(people, judges, wanted=2) == [1, 3, 0]
    assert effort.next_targets(people, judges, wanted=3)[:2] == [1, 2]


def test_many_judges_do_not_drown_one_person():
    people, judges = np.array([[1.0, 0], [1, 0]]), np.array([[0.0, 9], [5, 4]])
    assert effort.next_targets(people, judges, wanted=2) == [0, 1]


def test_fewer_human_labels_go_first_among_equals():
    people, judges = np.array([[2.0, 0], [1, 0]]), np.zeros((2, 2))
    assert effort.next_targets(people, judges, wanted=3) == [1, 0]


def test_the_plan_brings_the_interval_under_what_was_wanted():
    """Plan from 100 items, then label that many more of the same kind: the width comes out."""
    whole = random_ratings(np.random.default_rng(0), 4000, 3, 3, 0.0)
    first = of_codes(whole.codes[:100], 3)
    plan = effort.plan(first, "fleiss_kappa", 0.1)
    assert plan.items > 100
    assert plan.labels == 3 * plan.items
    found = agreement.estimate(of_codes(whole.codes[: 100 + plan.items], 3), "fleiss_kappa")
    assert found.high - found.low == pytest.approx(0.1, rel=0.2)
    assert plan.expected == pytest.approx(0.1, rel=0.05)


def test_the_plan_speaks():
    ratings = random_ratings(np.random.default_rng(0), 100, 3, 3, 0.0)
    assert "more labels" in str(effort.plan(ratings, "fleiss_kappa", 0.1))
    assert "already" in str(effort.plan(ratings, "fleiss_kappa", 0.9))
    alike = of_codes(np.zeros((30, 3)), 2)
    assert "nothing varies yet" in str(effort.plan(alike, "fleiss_kappa", 0.1))
    assert "would be needed" in str(effort.plan(ratings, "cohen_kappa", 0.0001))


def test_widths_fall_with_the_root_of_the_items():
    ratings = random_ratings(np.random.default_rng(0), 300, 3, 3, 0.0)
    found = effort.widths(ratings, "gwet_ac1", [300, 1200, 4800])
    assert found[0] / found[1] == pytest.approx(2, rel=0.12)
    assert found[1] / found[2] == pytest.approx(2, rel=0.12)
