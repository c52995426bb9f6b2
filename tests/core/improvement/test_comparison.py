import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.improvement.comparison import LEVEL, AcceptanceRule, PairedResult, compare, decide, score
from core.labels import PREFERENCE, Scale
from core.statistics.measures.comparison import correct_p_values
from core.statistics.measures.resampling import MAX_EXACT, sign_flip_p_value

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Differences in height of 15 pairs of maize plants, in eighths of an inch (Fisher 1935, section 17)."""
STARS = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def result(p: float, low: float | None = 0.1) -> PairedResult:
    return PairedResult(
        targets=50, sets=50, current=0.5, variant=0.7, current_missing=0, variant_missing=0,
        difference=0.2, low=low, high=0.3, p=p,
    )  # fmt: skip


def test_signs_of_fishers_pairs():
    """Fisher (1935, section 21): 1,726 of the 32,768 sums are as large, 5.267 %."""
    drawn = sign_flip_p_value(np.array(DARWIN), resamples=200_000)
    assert len(DARWIN) > MAX_EXACT and drawn == pytest.approx(1726 / 32768, abs=0.002)


@pytest.mark.parametrize(("better", "worse", "p"), [(5, 0, 2 / 32), (8, 1, 20 / 512), (0, 0, 1.0), (3, 3, 1.0)])
def test_the_exact_test_of_right_and_wrong_is_that_of_mcnemar(better, worse, p):
    differences = np.array([1.0] * better + [-1.0] * worse + [0.0] * 30)
    assert sign_flip_p_value(differences) == pytest.approx(p)


def test_up_to_14_differences_are_enumerated():
    assert sign_flip_p_value(np.ones(14)) == 2 / 2**14


def test_drawn_signs_that_are_all_as_extreme_give_p_1():
    assert sign_flip_p_value(np.array([1.0, -1.0] * 8)) == 1


def test_the_signs_of_a_group_change_together():
    differences, groups = np.array([1.0] * 6), ["a", "a", "a", "b", "b", "b"]
    assert sign_flip_p_value(differences, groups) == 0.5
    assert sign_flip_p_value(differences) == 2 / 64


def test_a_score_is_the_distance_from_gold_and_0_without_a_verdict():
    assert [score(verdict, 1, PREFERENCE) for verdict in (1, 2, 0, None)] == [1, 0, 0, 0]
    assert [score(verdict, 4.5, STARS) for verdict in (4.5, 4, 1, None)] == [1, 0.875, 0.125, 0]


def test_a_variant_gains_nothing_by_missing_verdicts_on_difficult_targets():
    gold, sets = [1] * 20, [str(n) for n in range(20)]
    current, variant = [1] * 10 + [2] * 10, [1] * 10 + [None] * 10
    compared = compare(current, variant, gold, sets, PREFERENCE)
    assert compared is not None
    assert (compared.difference, compared.p, compared.variant_missing) == (0.0, 1.0, 10)
    assert compare([], [], [], [], PREFERENCE) is None


@pytest.mark.parametrize(
    ("p", "low", "others", "accepted"),
    [
        (0.009, 0.1, [], True),
        (0.011, 0.1, [], False),
        (0.012, 0.1, [0.001], True),
        (0.001, 0.0, [], False),
        (0.009, 0.1, [1.0] * 5, False),
    ],
)
def test_p_is_corrected_for_the_planned_evaluations(p, low, others, accepted):
    assert decide(AcceptanceRule(), result(p, low), others).accepted is accepted


def test_the_margin_is_that_of_the_lower_bound():
    decision = decide(AcceptanceRule(margin=0.1), result(0.0001, 0.1), [])
    assert not decision.accepted
    assert decision.reason == (
        "The lower bound of the difference, 0.100, is not above 0.1; p, corrected for 5 planned evaluations, is "
        "< 0.001, not above 0.05."
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(0, 5))
def test_a_decision_never_changes_with_later_evaluations(p_values, place):
    rule, place = AcceptanceRule(evaluations=len(p_values)), min(place, len(p_values) - 1)
    now = decide(rule, result(p_values[place]), p_values[:place])
    final = correct_p_values(p_values)[place]
    assert now.p_corrected >= final - 1e-12
    assert not now.accepted or final <= LEVEL


def test_useless_variants_are_accepted_in_at_most_the_nominal_rate_and_a_better_one_is_found():
    """100 judges with 5 variants each on 60 held-out targets; the variants change one verdict in four."""
    rng, rule, families = np.random.default_rng(7), AcceptanceRule(), 100
    wrongly, harmful, found = 0, 0, 0
    for _ in range(families):
        current = rng.random(60) < 0.6
        useless = [np.where(rng.random(60) < 0.25, rng.random(60) < 0.6, current) for _ in range(4)]
        current = np.where(rng.random(60) < 0.25, rng.random(60) < 0.6, current)
        wrongly += any(accepted_in_turn(rule, current, useless))
        harmful += any(accepted_in_turn(rule, current, [current & (rng.random(60) < 0.9)]))
        better = current | (rng.random(60) < 0.7)
        found += accepted_in_turn(rule, current, [useless[0], better])[1]
    nominal = LEVEL / 2
    assert wrongly / families <= nominal + 2 * (nominal * (1 - nominal) / families) ** 0.5
    assert harmful == 0
    assert found / families > 0.9


def accepted_in_turn(rule: AcceptanceRule, current: np.ndarray, variants: list[np.ndarray]) -> list[bool]:
    gold, sets = [1] * len(current), [str(n) for n in range(len(current))]
    results = [compare(*as_verdicts(current, variant), gold, sets, PREFERENCE, resamples=100) for variant in variants]
    known = [compared for compared in results if compared is not None]
    return [decide(rule, compared, [c.p for c in known[:place]]).accepted for place, compared in enumerate(known)]


def as_verdicts(*judges: np.ndarray) -> list[list[int]]:
    return [[1 if right else 2 for right in judge] for judge in judges]
