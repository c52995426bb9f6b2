"""Planning of further labels."""

from dataclasses import replace

import numpy as np
import pytest

from core.statistics.measures import planning
from tests.core.statistics.builders import estimate_statistic, random_ratings, ratings_from_codes


def test_entropy_runs_from_unanimous_to_evenly_spread():
    values = planning.entropy(np.array([[3.0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 0]]))
    assert values[:3] == pytest.approx([0, 1, np.log(2) / np.log(3)])
    assert np.isnan(values[3])


def test_the_most_disputed_target_comes_first_and_complete_targets_never():
    annotators = np.array([[1.0, 0], [1, 0], [1, 1], [0, 0], [2, 0]])
    judges = np.array([[3.0, 0], [0, 3], [2, 1], [0, 0], [1, 2]])
    assert planning.next_targets(annotators, judges, overlap=2) == [1, 3, 0]
    assert planning.next_targets(annotators, judges, overlap=3)[:2] == [1, 2]


def test_many_judges_do_not_outweigh_one_annotator():
    annotators, judges = np.array([[1.0, 0], [1, 0]]), np.array([[0.0, 9], [5, 4]])
    assert planning.next_targets(annotators, judges, overlap=2) == [0, 1]


def test_among_equal_targets_fewer_labels_come_first():
    annotators, judges = np.array([[2.0, 0], [1, 0]]), np.zeros((2, 2))
    assert planning.next_targets(annotators, judges, overlap=3) == [1, 0]


def test_the_planned_labels_bring_the_interval_under_the_target_width():
    """Plan from 100 items, then label that many more of the same kind."""
    study = random_ratings(np.random.default_rng(0), 4000, 3, 3, 0.0)
    plan = planning.plan_labels(ratings_from_codes(study.codes[:100], 3), "fleiss_kappa", 0.1)
    assert plan.items > 100
    assert plan.labels == 3 * plan.items
    estimate = estimate_statistic(ratings_from_codes(study.codes[: 100 + plan.items], 3), "fleiss_kappa")
    assert estimate.high - estimate.low == pytest.approx(0.1, rel=0.2)
    assert plan.expected_width == pytest.approx(0.1, rel=0.05)


def test_a_plan_is_a_sentence():
    ratings = random_ratings(np.random.default_rng(0), 100, 3, 3, 0.0)
    assert "more labels" in str(planning.plan_labels(ratings, "fleiss_kappa", 0.1))
    assert "already" in str(planning.plan_labels(ratings, "fleiss_kappa", 0.9))
    grouped = replace(ratings, groups=tuple(str(number // 2) for number in range(100)))
    assert str(planning.plan_labels(grouped, "fleiss_kappa", 0.9)).endswith(f"already ({planning.GROUPED})")
    unanimous = ratings_from_codes(np.zeros((30, 3)), 2)
    assert "nothing varies yet" in str(planning.plan_labels(unanimous, "fleiss_kappa", 0.1))
    assert "would be needed" in str(planning.plan_labels(ratings, "cohen_kappa", 0.0001))
