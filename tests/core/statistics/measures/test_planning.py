"""Planning of further labels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics.measures import planning
from core.statistics.measures.planning import plan_separation
from tests.core.statistics.builders import estimate_statistic, random_ratings, ratings_from_codes


def test_entropy_runs_from_unanimous_to_evenly_spread():
    values = planning.entropy(np.array([[3.0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 0]]))
    assert values[:3] == pytest.approx([0, 1, np.log(2) / np.log(3)])
    assert np.isnan(values[3])


def test_the_most_disputed_target_comes_first():
    annotators = np.array([[1.0, 0], [1, 0], [1, 1], [0, 0], [2, 0]])
    judges = np.array([[3.0, 0], [0, 3], [2, 1], [0, 0], [1, 2]])
    assert planning.next_targets(annotators, judges) == [1, 2, 4, 3, 0]


def test_the_planned_labels_bring_the_interval_under_the_target_width():
    """Plan from 100 items, then label that many more of the same kind."""
    study = random_ratings(np.random.default_rng(0), 4000, 3, 3, 0.0)
    plan = planning.plan_labels(ratings_from_codes(study.codes[:100], 3), "fleiss_kappa", 0.1)
    assert plan.items > 100
    assert plan.labels == 3 * plan.items
    estimate = estimate_statistic(ratings_from_codes(study.codes[: 100 + plan.items], 3), "fleiss_kappa")
    assert estimate.high - estimate.low == pytest.approx(0.1, rel=0.2)


def test_a_plan_is_a_sentence():
    ratings = random_ratings(np.random.default_rng(0), 100, 3, 3, 0.0)
    assert "more labels" in str(planning.plan_labels(ratings, "fleiss_kappa", 0.1))
    assert "already" in str(planning.plan_labels(ratings, "fleiss_kappa", 0.9))
    grouped = replace(ratings, groups=tuple(str(number // 2) for number in range(100)))
    assert str(planning.plan_labels(grouped, "fleiss_kappa", 0.9)).endswith(f"already ({planning.GROUPED})")
    unanimous = ratings_from_codes(np.zeros((30, 3)), 2)
    assert "nothing varies yet" in str(planning.plan_labels(unanimous, "fleiss_kappa", 0.1))
    assert "would be needed" in str(planning.plan_labels(ratings, "fleiss_kappa", 0.0001))


# The number of labels that separate two judges.


def scores(wins: int, losses: int, neither: int = 0) -> np.ndarray:
    return np.repeat([1.0, -1.0, 0.0], [wins, losses, neither])


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
def test_the_plan_does_not_depend_on_the_order_of_the_judges(wins, losses, neither):
    plan, opposite = plan_separation(scores(wins, losses, neither)), plan_separation(scores(losses, wins, neither))
    assert (plan.targets, plan.separated, plan.reason) == (opposite.targets, opposite.separated, opposite.reason)
    assert (plan.targets == 0) == plan.separated
    if plan.advantage is not None:
        assert plan.advantage == pytest.approx(-opposite.advantage)


def test_few_targets_are_not_enough_for_a_plan():
    assert not plan_separation(scores(5, 0)).separated and plan_separation(scores(6, 0)).separated
    few, enough = plan_separation(scores(5, 4)), plan_separation(scores(6, 4))
    assert few.targets is None and few.reason.startswith("9 labelled targets have") and enough.targets
    documents = [str(number % 4) for number in range(10)]
    assert plan_separation(scores(6, 4), documents).reason.startswith("only 4 groups of items")
    separated = plan_separation(scores(10, 0), documents)
    assert separated.separated and separated.reason.startswith("only 4 groups of items")


def test_the_formula_by_hand():
    plan = plan_separation(scores(18, 12))
    # 19 wins and 13 losses: d = 6/32, s = sqrt(1 - d^2) / sqrt(32); N' = 32 (2.8016 s / d)^2.
    advantage = 6 / 32
    expected = (2.8015852 / advantage) ** 2 * (1 - advantage**2)
    assert plan.advantage == advantage
    assert plan.targets == int(np.ceil(expected)) - 30


def test_dialogues_with_equal_scores_need_more_targets():
    differences = np.repeat(scores(12, 9), 4)
    dialogues = [str(number) for number in np.repeat(np.arange(21), 4)]
    independent, clustered = plan_separation(differences), plan_separation(differences, dialogues)
    assert clustered.targets > 3 * independent.targets


def test_the_planned_number_has_the_planned_power():
    rng = np.random.default_rng(0)
    plan = plan_separation(scores(560, 510))  # a study so large that its estimate is the truth
    total, true = plan.labelled + plan.targets, 561 / 1072
    found = [plan_separation(np.where(rng.random(total) < true, 1.0, -1.0)).separated for _ in range(500)]
    assert 0.75 <= np.mean(found) <= 0.85


def test_labels_are_allocated_to_the_strata_that_vary() -> None:
    """A judge that is right on 95 % of 700 agreed and 55 % of 300 disputed targets; 20 labels of each are known."""
    targets, labelled, hits = np.array([300, 700]), np.array([20, 20]), np.array([11, 19])
    plan = planning.plan_strata(targets, labelled, hits, 0.1)
    sizes = np.array(plan.more) + labelled
    assert sizes[0] / 300 > 1.5 * sizes[1] / 700 and plan.width is not None and plan.width > 0.1
    rng = np.random.default_rng(0)
    truth = [rng.random(300) < 0.55, rng.random(700) < 0.95]
    errors = [
        sum(len(t) * rng.choice(t, n, replace=False).mean() for t, n in zip(truth, sizes, strict=True)) / 1000
        for _ in range(2000)
    ]
    width = 2 * 1.96 * np.std(errors)
    assert width < 0.11 and sum(plan.more) < 0.85 * plan.at_random
    assert not any(planning.plan_strata(targets, np.array([200, 300]), np.array([110, 285]), 0.1).more)
