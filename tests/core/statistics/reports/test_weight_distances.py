"""Rank distances of weights, and mean weights by category."""

import pytest

from core.statistics.reports.weight_distances import (
    PEOPLE,
    OtherTotals,
    WeightUnit,
    annotator_weight_statistics,
    average_weights,
    judge_weight_statistics,
    other_totals,
    rank_distance,
    rater_distances,
    top_k_distance,
    unit_distances,
)
from tests.core.statistics.frames import make_frame


def make_unit(
    item: str, annotators: dict[str, list[float]], judges: dict[str, list[float]] | None = None, scenario="math"
) -> WeightUnit:
    def name_aspects(weights_by_rater):
        return {rater: dict(zip("xyz", weights, strict=False)) for rater, weights in weights_by_rater.items()}

    return WeightUnit(item, "", scenario, name_aspects(annotators), name_aspects(judges or {}))


def distances_by_pair(units, measure=rank_distance):
    rows = rater_distances(units, measure, resamples=0)
    return {(row.rater_a, row.rater_b): row for row in rows}


def test_annotators_are_compared_with_each_other_and_judges_with_annotators() -> None:
    rows = distances_by_pair([make_unit("i", {"a1": [50, 30, 20], "a2": [20, 30, 50]}, {"gpt": [40, 35, 25]})])
    assert {pair: row.distance.value for pair, row in rows.items()} == {
        ("a1", "a2"): 1,
        ("gpt", "a1"): 0,
        ("gpt", "a2"): 1,
        (PEOPLE, PEOPLE): 1,
        ("gpt", PEOPLE): 0.5,
    }
    assert [row.among_annotators for row in rows.values()] == [True, False, False, True, False]


def test_equal_weights_have_no_order_and_are_counted() -> None:
    units = [
        make_unit("i", {"a1": [50, 50, 0], "a2": [40, 40, 20]}),
        make_unit("j", {"a1": [34, 33, 33], "a2": [1, 1, 1]}),
    ]
    row = distances_by_pair(units)["a1", "a2"]
    assert (row.distance.value, row.distance_undefined_as_zero, row.units, row.undefined) == (0, 0, 2, 1)
    opposed = [make_unit("i", {"a1": [3, 2, 1], "a2": [1, 2, 3]}), units[1]]
    row = distances_by_pair(opposed)["a1", "a2"]
    assert (row.distance.value, row.distance_undefined_as_zero) == (1, 0.5)


def test_only_units_that_both_weighed_count() -> None:
    units = [
        make_unit("i", {"a1": [3, 2, 1], "a2": [3, 2, 1]}),
        make_unit("j", {"a1": [1, 2, 3]}, {"gpt": [3, 2, 1]}),
    ]
    rows = distances_by_pair(units)
    assert (rows["a1", "a2"].units, rows["gpt", "a1"].units) == (1, 1) and ("gpt", "a2") not in rows


def test_top_k_counts_pairs_out_of_order() -> None:
    units = [make_unit("i", {"a1": [50, 30, 20], "a2": [20, 30, 50]})]
    assert distances_by_pair(units, top_k_distance(1))["a1", "a2"].distance.value == 1
    assert distances_by_pair(units, top_k_distance(3))["a1", "a2"].distance.value == 3
    tied = [make_unit("i", {"a1": [50, 30, 20], "a2": [50, 25, 25]})]
    assert distances_by_pair(tied, top_k_distance(3, 0.5))["a1", "a2"].distance.value == 0.5
    assert distances_by_pair(tied, top_k_distance(3, 0))["a1", "a2"].distance.value == 0


def test_intervals_resample_items_and_not_their_units() -> None:
    near, far = {"a1": [3, 2, 1], "a2": [3, 2, 1]}, {"a1": [3, 2, 1], "a2": [1, 2, 3]}
    units = [make_unit(f"i{n}", far if n < 5 else near) for n in range(20)]
    repeated = [unit for unit in units for _ in range(4)]
    once, four_times = (
        next(row for row in rater_distances(sample) if row.rater_a == "a1").distance for sample in (units, repeated)
    )
    assert once.value == four_times.value == 0.25
    assert once.high - once.low == pytest.approx(four_times.high - four_times.low, abs=0.08)


def test_mean_weights_are_by_category_and_only_of_aspects_that_items_share() -> None:
    units = [
        make_unit("i", {"a1": [50, 50]}, {"gpt": [80, 20]}),
        make_unit("j", {"a1": [30, 70]}, scenario="writing"),
        WeightUnit("k", "", "math", {"a1": {"own": 100.0}}, {}),
    ]
    averages = average_weights(units, resamples=0)
    assert {(one.rater, one.is_judge, one.scenario, one.aspect): one.weight.value for one in averages} == {
        ("gpt", True, "all", "x"): 80,
        ("gpt", True, "all", "y"): 20,
        ("a1", False, "all", "x"): 40,
        ("a1", False, "all", "y"): 60,
        ("gpt", True, "math", "x"): 80,
        ("gpt", True, "math", "y"): 20,
        ("a1", False, "math", "x"): 50,
        ("a1", False, "math", "y"): 50,
        ("a1", False, "writing", "x"): 30,
        ("a1", False, "writing", "y"): 70,
    }


def test_the_largest_distance_comes_first_and_undefined_distances_last() -> None:
    units = [
        make_unit("same", {"a1": [3, 2, 1], "a2": [3, 2, 1]}),
        make_unit("flat", {"a1": [3, 2, 1], "a2": [1, 1, 1]}),
        make_unit("opposite", {"a1": [3, 2, 1], "a2": [1, 2, 3]}),
    ]
    rows = [(unit.item, distance) for unit, distance in unit_distances(units, "a1", "a2", True)]
    assert rows == [("opposite", 1), ("same", 0), ("flat", None)]


def test_a_judges_weightings_with_another_total_are_counted_and_scaled_for_averages() -> None:
    units = [
        make_unit("i", {}, {"gpt": [60, 50, 30], "other": [33, 33, 33]}),
        make_unit("j", {}, {"gpt": [50, 30, 20], "other": [40, 40, 20]}),
    ]
    assert other_totals(units) == [OtherTotals("gpt", 1, 2)]
    averages = {(row.rater, row.aspect): row.weight.value for row in average_weights(units, resamples=0)}
    assert averages["gpt", "x"] == pytest.approx((60 / 1.4 + 50) / 2)


# Agreement and distance of aspect weights.


def weights(item: str, rater: str, *values: float) -> tuple:
    return (item, "", "aspect_weights", "", None, rater, dict(zip("xyz", values, strict=False)))


LABELS = make_frame(weights("i", "a1", 50, 30, 20), weights("i", "a2", 20, 30, 50), weights("j", "a1", 60, 30, 10))


def test_annotators_are_compared_within_an_item():
    estimates = annotator_weight_statistics(LABELS, resamples=0)
    assert estimates["weights_distance"].value == pytest.approx(0.3)
    assert estimates["rank_distance"].value == 1
    assert estimates["kendall_w"].value == 0
    assert (estimates["kendall_w"].items, estimates["kendall_w"].items_total) == (1, 2)


def test_a_judge_is_compared_with_each_annotator():
    opinions = make_frame(weights("i", "gpt", 50, 30, 20), weights("j", "gpt", 1, 1, 1))
    opinions = opinions.rename(columns={"rater": "judge"})
    estimates = judge_weight_statistics(LABELS, opinions, resamples=0)
    assert estimates["rank_distance"].value == 0.5
    assert "undefined for 1 of 2 items" in estimates["rank_distance"].reason
    assert estimates["rank_distance_undefined_as_0"].value == 0.25
    assert estimates["rank_distance"].pairs == 3
