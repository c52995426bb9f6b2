"""Weights compared by rank, and averaged by category."""

import pytest

from core.statistics.reports.weight_distances import PEOPLE, Unit, averages, behind, compared, kendall, top_k


def unit(
    item: str, people: dict[str, list[float]], judges: dict[str, list[float]] | None = None, scenario="math"
) -> Unit:
    def named(given):
        return {who: dict(zip("xyz", weights, strict=False)) for who, weights in given.items()}

    return Unit(item, "", scenario, named(people), named(judges or {}))


def found(units, measure=kendall):
    rows = compared(units, measure, resamples=0)
    return {(row.rater_a, row.rater_b): row for row in rows}


def test_people_are_compared_with_each_other_and_judges_with_people() -> None:
    rows = found([unit("i", {"ann": [50, 30, 20], "bob": [20, 30, 50]}, {"gpt": [40, 35, 25]})])
    assert {pair: row.distance.value for pair, row in rows.items()} == {
        ("ann", "bob"): 1,
        ("gpt", "ann"): 0,
        ("gpt", "bob"): 1,
        (PEOPLE, PEOPLE): 1,
        ("gpt", PEOPLE): 0.5,
    }
    assert [row.among_people for row in rows.values()] == [True, False, False, True, False]


def test_equal_weights_have_no_order_and_are_counted() -> None:
    units = [unit("i", {"ann": [50, 50, 0], "bob": [40, 40, 20]}), unit("j", {"ann": [34, 33, 33], "bob": [1, 1, 1]})]
    row = found(units)["ann", "bob"]
    assert (row.distance.value, row.distance_undefined_as_zero, row.items, row.undefined) == (0, 0, 2, 1)


def test_undefined_as_zero_is_lower_than_the_right_number() -> None:
    units = [unit("i", {"ann": [3, 2, 1], "bob": [1, 2, 3]}), unit("j", {"ann": [3, 2, 1], "bob": [1, 1, 1]})]
    row = found(units)["ann", "bob"]
    assert (row.distance.value, row.distance_undefined_as_zero) == (1, 0.5)


def test_only_units_that_both_weighed_count() -> None:
    units = [unit("i", {"ann": [3, 2, 1], "bob": [3, 2, 1]}), unit("j", {"ann": [1, 2, 3]}, {"gpt": [3, 2, 1]})]
    rows = found(units)
    assert (rows["ann", "bob"].items, rows["gpt", "ann"].items) == (1, 1) and ("gpt", "bob") not in rows


def test_one_person_alone_has_no_human_line() -> None:
    assert list(found([unit("i", {"ann": [3, 2, 1]}, {"gpt": [3, 2, 1]})])) == [("gpt", "ann")]


def test_the_top_of_two_rankings_in_pairs_out_of_order() -> None:
    units = [unit("i", {"ann": [50, 30, 20], "bob": [20, 30, 50]})]
    assert found(units, top_k(1))["ann", "bob"].distance.value == 1
    assert found(units, top_k(3))["ann", "bob"].distance.value == 3
    tied = [unit("i", {"ann": [50, 30, 20], "bob": [50, 25, 25]})]
    assert found(tied, top_k(3, 0.5))["ann", "bob"].distance.value == 0.5
    assert found(tied, top_k(3, 0))["ann", "bob"].distance.value == 0


def test_an_interval_resamples_items_and_not_their_units() -> None:
    near, far = {"ann": [3, 2, 1], "bob": [3, 2, 1]}, {"ann": [3, 2, 1], "bob": [1, 2, 3]}
    units = [unit(f"i{n}", far if n < 5 else near) for n in range(20)]
    apart = next(row for row in compared(units) if row.rater_a == "ann").distance
    twice = [unit(one.item, {}) if not one.people else one for one in units for _ in range(4)]
    together = next(row for row in compared(twice) if row.rater_a == "ann").distance
    assert apart.value == together.value == 0.25
    assert apart.high - apart.low == pytest.approx(together.high - together.low, abs=0.08)


def test_averages_are_by_category_and_only_of_aspects_that_items_share() -> None:
    units = [
        unit("i", {"ann": [50, 50]}, {"gpt": [80, 20]}),
        unit("j", {"ann": [30, 70]}, scenario="writing"),
        Unit("k", "", "math", {"ann": {"own": 100.0}}, {}),
    ]
    told = {
        (one.rater, one.is_judge, one.scenario, one.aspect): one.weight.value for one in averages(units, resamples=0)
    }
    assert told == {
        ("gpt", True, "all", "x"): 80,
        ("gpt", True, "all", "y"): 20,
        ("ann", False, "all", "x"): 40,
        ("ann", False, "all", "y"): 60,
        ("gpt", True, "math", "x"): 80,
        ("gpt", True, "math", "y"): 20,
        ("ann", False, "math", "x"): 50,
        ("ann", False, "math", "y"): 50,
        ("ann", False, "writing", "x"): 30,
        ("ann", False, "writing", "y"): 70,
    }


def test_one_category_is_told_once() -> None:
    told = averages([unit("i", {"ann": [50, 50]}), unit("j", {"ann": [30, 70]})], resamples=0)
    assert {(one.scenario, one.aspect): one.weight.value for one in told} == {("all", "x"): 40, ("all", "y"): 60}


def test_what_is_farthest_apart_stands_first_behind_a_row() -> None:
    units = [
        unit("same", {"ann": [3, 2, 1], "bob": [3, 2, 1]}),
        unit("flat", {"ann": [3, 2, 1], "bob": [1, 1, 1]}),
        unit("opposite", {"ann": [3, 2, 1], "bob": [1, 2, 3]}),
    ]
    told = [(one.unit.item, one.distance) for one in behind(units, "ann", "bob", True)]
    assert told == [("opposite", 1), ("same", 0), ("flat", None)]
