"""Division and scaling of arrays."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from core.labels import PREFERENCE, TRUTH, Scale
from core.statistics.data import frames
from core.statistics.data.arrays import (
    chance_corrected,
    clipped_correlation,
    mean_of_defined,
    rescale,
)
from core.statistics.data.dataset import attributes_of, target_groups
from core.statistics.data.ratings import Ratings, ratings_of
from core.statistics.data.sample import Sample
from tests.core.statistics.frames import make_frame


def test_a_quotient_above_one_by_rounding_is_one_and_an_undefined_one_stays_nan():
    values = clipped_correlation(np.array([1 + 1e-15, -1 - 1e-15, 0.5, 1.0]), np.array([1.0, 1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(values, [1, -1, 0.5, np.nan])


def test_rescaled_values_are_centred_with_largest_deviation_one():
    assert rescale(np.array([1e9, 1e9 + 2, 1e9 + 4])).tolist() == [-1, 0, 1]
    assert rescale(np.array([5.0, 5.0])).tolist() == [0, 0]
    assert rescale(np.empty(0)).size == 0


def test_chance_corrected_agreement_is_zero_at_chance_and_undefined_at_certain_chance():
    values = chance_corrected(np.array([0.5, 1.0, 1.0]), np.array([0.5, 0.5, 1.0]))
    np.testing.assert_array_equal(values, [0, 1, np.nan])


def test_the_mean_leaves_out_nan():
    assert mean_of_defined(np.array([[1.0, np.nan, 3.0]])) == pytest.approx([2])
    assert np.isnan(mean_of_defined(np.array([[np.nan]]))).all()


# The distributions equal SciPy's, in the tails too: p-values come from there.


# Frames of labels: pooling, splitting, selection


FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
LABELS = make_frame(
    ("i", "s", "score", "depth", None, "a", 1),
    ("i", "s", "score", "style", None, "a", 2),
    ("j", "t", "score", "style", "p", "b", 3),
    ("j", "t", "preference", "", None, "b", 1),
)
SCALES = {("score", "depth"): FIVE, ("score", "style"): FIVE, ("preference", ""): PREFERENCE}


def test_criteria_on_different_scales_or_without_a_scale_are_not_pooled():
    assert frames.find_pools(LABELS, {**SCALES, ("score", "style"): TRUTH}) == []
    assert frames.find_pools(LABELS, {("score", "depth"): FIVE}) == []
    assert frames.find_pools(make_frame(), SCALES) == []


def test_rows_are_selected_by_kind_criterion_and_scenario():
    assert frames.select_rows(LABELS, "score")["value"].tolist() == [1, 2, 3]
    assert frames.select_rows(LABELS, "score", "style")["value"].tolist() == [2, 3]
    assert frames.select_rows(LABELS, "score", "style", "t")["value"].tolist() == [3]
    assert frames.select_rows(pd.DataFrame(), "score").empty


@pytest.mark.parametrize("types", list(product([object, "str", "category"], repeat=2)))
def test_targets_of_several_frames_have_equal_numbers_in_columns_of_any_type(types):
    first = make_frame(("i", "", "score", "", None, "a", 1), ("j", "", "score", "x", "p", "a", 1))
    second = make_frame(("k", "", "score", "x", "", "b", 1), ("j", "", "score", "x", "p", "b", 1)).drop(columns="part")
    third = make_frame(("j", "", "score", "x", "p", "b", 1), ("k", "", "score", "x", "", "c", 1))
    typed = [frame.astype({"item": type_}) for frame, type_ in zip((first, second), types, strict=True)]
    codes = frames.target_codes(*typed, third, make_frame()).tolist()
    numbers = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    assert [numbers[code] for code in codes] == [0, 1, 2, 3, 1, 2]


def test_pooled_criteria_stay_one_target_each_and_are_resampled_with_their_item():
    pools = frames.find_pools(LABELS, SCALES)
    assert frames.pooled_scales(pools) == {("score", "all"): FIVE}
    pooled = frames.pool_criteria(LABELS, pools)
    assert pooled["value"].tolist() == [1, 2, 3] and set(pooled["criterion"]) == {"all"}
    assert pooled["part"].tolist() == ["depth\n", "style\n", "style\np"]
    targets = frames.target_codes(pooled)
    assert targets.tolist() == [0, 1, 2]
    assert target_groups(attributes_of(3, [(pooled, targets)]), 3) == ("i", "i", "j")


def test_a_document_is_the_group_of_its_items_and_another_item_its_own():
    labels = LABELS.assign(group=["d", "d", None, None])
    targets = frames.target_codes(labels)
    assert target_groups(attributes_of(4, [(labels, targets)]), 4) == ("d", "d", "j", "j")
    alone = LABELS.iloc[1:3]
    assert target_groups(attributes_of(2, [(alone, frames.target_codes(alone))]), 2) is None


def test_rows_are_split_by_scenario_by_pair_or_not_at_all():
    sizes = {by: [(name, len(rows)) for name, rows in frames.split_frame(LABELS, by)] for by in ("all", "raters")}
    assert sizes == {"all": [("all", 4)], "raters": [("a × b", 4)]}
    labels = LABELS.assign(scenario=["t", None, "s", "t"])
    parts = [(name, rows["value"].tolist()) for name, rows in frames.split_frame(labels, "scenario")]
    assert parts == [("s", [3]), ("t", [1, 1]), ("", [2])]


# Labels as an array


def read_labels(values: list[object], categories: tuple[object, ...], raters: str = "a", targets: str = "") -> Ratings:
    """Return the array of labels; the targets are those of the letters, by default one each."""
    frame = pd.DataFrame({"rater": list(raters), "value": pd.Series(values, dtype=object)})
    codes = pd.factorize(np.array(list(targets or "".join(map(str, range(len(values))))), object))[0]
    scale = Scale.model_construct(level="nominal", categories=categories)
    return ratings_of(frame, codes.astype(np.int64), int(codes.max()) + 1, scale)


def test_2_and_2_0_are_equal():
    assert read_labels([2.0], (1, 2)).codes.tolist() == [[1]]


@pytest.mark.parametrize(
    ("values", "categories", "raters", "targets", "problem"),
    [
        ([True], (1, 2), "a", "", "True is not on the declared scale"),
        ([1], (True, False), "a", "", "1 is not on the declared scale"),
        ([1, "1"], (1, 2), "aa", "", "'1' is not on the declared scale"),
        ([1, 2], (1, 2), "aa", "xx", "two labels for the same item"),
        ([1], (1, 1.0), "a", "", "names a category twice"),
    ],
)
def test_values_outside_the_scale_and_second_labels_are_refused(values, categories, raters, targets, problem):
    with pytest.raises(ValueError, match=problem):
        read_labels(values, categories, raters, targets)


def test_selections_apply_to_targets_raters_and_groups():
    ratings = replace(read_labels([1, 2, 1, 2], (1, 2), "abab", "xxyz"), groups=("d", "e", "e"))
    assert ratings.select(raters=["b"]).codes.tolist() == [[1], [-1], [1]]
    complete = ratings.complete()
    assert (complete.groups, complete.codes.tolist()) == (("d",), [[0, 1]])


def test_drawn_targets_that_every_rater_labelled_stand_for_their_whole_stratum():
    """Two of three targets of the first stratum, which has 9, and the only one of the second, which has 4."""
    ratings = read_labels([1] * 7, (1,), "abababa", "wwxxyzz")
    strata, ones = np.array([0, 0, 0, 1]), np.ones(4)
    sample = Sample.of_labelled(strata, ones, ones.astype(bool), ones.astype(bool))
    drawn = replace(ratings, sample=replace(sample, weights=np.array([3.0, 3, 3, 4])))
    assert drawn.complete().sample.weights.tolist() == [4.5, 4.5, 4]


def test_numbers_are_read_without_categories():
    scores = read_labels([2.5, "3", None], (), "bab", "xxy")
    assert scores.raters == ("a", "b")
    assert scores.labels[0].tolist() == [3, 2.5] and np.isnan(scores.labels[1]).all()
    assert len(scores.complete().labels) == 1
