"""Planning of further labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics.measures import planning
from core.statistics.measures.planning import plan_separation


def test_entropy_runs_from_unanimous_to_evenly_spread():
    values = planning.entropy(np.array([[3.0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 0]]))
    assert values[:3] == pytest.approx([0, 1, np.log(2) / np.log(3)])
    assert np.isnan(values[3])


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
