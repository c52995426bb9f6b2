"""Frames of labels: pooling, splitting, selection."""

from itertools import product

import pandas as pd
import pytest

from core.labels import PREFERENCE, TRUTH, Scale
from core.statistics.data import frames

COLUMNS = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def make_frame(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=COLUMNS)


LABELS = make_frame(
    ("i", "s", "score", "depth", None, "a", 1),
    ("i", "s", "score", "style", None, "a", 2),
    ("j", "t", "score", "style", "p", "b", 3),
    ("j", "t", "preference", "", None, "b", 1),
)
SCALES = {("score", "depth"): FIVE, ("score", "style"): FIVE, ("preference", ""): PREFERENCE}


def test_criteria_of_a_kind_on_one_scale_form_a_pool():
    (pool,) = frames.find_pools(LABELS, SCALES)
    assert (pool.kind, pool.criteria, pool.scale) == ("score", {"depth", "style"}, FIVE)


def test_criteria_on_different_scales_or_without_a_scale_are_not_pooled():
    assert frames.find_pools(LABELS, {**SCALES, ("score", "style"): TRUTH}) == []
    assert frames.find_pools(LABELS, {("score", "depth"): FIVE}) == []
    assert frames.find_pools(make_frame(), SCALES) == []


def test_rows_are_selected_by_kind_criterion_and_scenario():
    assert frames.select_rows(LABELS, "score")["value"].tolist() == [1, 2, 3]
    assert frames.select_rows(LABELS, "score", "style")["value"].tolist() == [2, 3]
    assert frames.select_rows(LABELS, "score", "style", "t")["value"].tolist() == [3]
    assert frames.select_rows(pd.DataFrame(), "score").empty


def test_a_missing_part_and_an_empty_one_are_the_same_target():
    labels = make_frame(("i", "", "score", "", None, "a", 1), ("i", "", "score", "", "", "b", 1))
    assert len(set(frames.target_codes(labels))) == 1


@pytest.mark.parametrize("types", list(product([object, "str", "category"], repeat=2)))
def test_targets_of_several_frames_have_equal_numbers_in_columns_of_any_type(types):
    first = make_frame(("i", "", "score", "", None, "a", 1), ("j", "", "score", "x", "p", "a", 1))
    second = make_frame(("k", "", "score", "x", "", "b", 1), ("j", "", "score", "x", "p", "b", 1)).drop(columns="part")
    third = make_frame(("j", "", "score", "x", "p", "b", 1), ("k", "", "score", "x", "", "c", 1))
    typed = [frame.astype({"item": type_}) for frame, type_ in zip((first, second), types, strict=True)]
    codes = frames.target_codes(*typed, third, make_frame()).tolist()
    numbers = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    assert [numbers[code] for code in codes] == [0, 1, 2, 3, 1, 2]
