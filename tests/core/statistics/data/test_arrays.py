"""Division and scaling of arrays."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from core.labels import PREFERENCE, TRUTH, Scale
from core.statistics.data import frames
from core.statistics.data.arrays import (
    chance_corrected,
    clipped_correlation,
    mean_of_defined,
    normal_cdf,
    normal_quantile,
    rescale,
    students_t_cdf,
)
from core.statistics.data.ratings import Ratings, Scores
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


@pytest.mark.parametrize("z", [-37.0, -12.5, -8.4, -3.0, -0.1, 0.0, 1.0, 5.0])
def test_normal_probabilities_are_precise_in_the_tails(z):
    assert normal_cdf(z) == pytest.approx(float(special.ndtr(z)), rel=1e-12, abs=0)
    assert normal_cdf(z) > 0


@pytest.mark.parametrize("probability", [1e-300, 1e-12, 0.025, 0.5, 0.975, 1 - 1e-12])
def test_normal_quantiles(probability):
    assert normal_quantile(probability) == pytest.approx(float(stats.norm.ppf(probability)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("degrees", "t"), [(1, -40.0), (4.5, -2.0), (99, 0.0), (10_000, -20.0)])
def test_probabilities_of_students_t(degrees, t):
    assert students_t_cdf(degrees, t) == pytest.approx(float(stats.t.cdf(t, degrees)), rel=1e-9, abs=0)


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


# Labels in long form as arrays


def test_2_and_2_0_are_equal_and_true_is_not_1():
    assert Ratings.from_rows(["x"], ["a"], [2.0], [1, 2]).codes.tolist() == [[1]]
    with pytest.raises(ValueError, match="True is not on the declared scale"):
        Ratings.from_rows(["x"], ["a"], [True], [1, 2])
    with pytest.raises(ValueError, match="1 is not on the declared scale"):
        Ratings.from_rows(["x"], ["a"], [1], [True, False])


def test_the_text_1_is_not_the_number_1():
    with pytest.raises(ValueError, match="'1' is not on the declared scale"):
        Ratings.from_rows(["x", "y"], ["a", "a"], [1, "1"], [1, 2])


def test_two_labels_of_one_rater_for_an_item_are_refused():
    with pytest.raises(ValueError, match="two labels for the same item"):
        Ratings.from_rows(["x", "x"], ["a", "a"], [1, 2], [1, 2])


def test_a_scale_that_repeats_a_category_is_refused():
    with pytest.raises(ValueError, match="names a category twice"):
        Ratings.from_rows(["x"], ["a"], [1], [1, 1.0])


def test_items_without_a_group_are_groups_of_their_own():
    ratings = Ratings.from_rows(list("xyz"), ["a"] * 3, [1, 1, 1], [1], groups=["d", None, "d"])
    assert ratings.groups == ("d", "(item 1)", "d")
    assert Ratings.from_rows(["x"], ["a"], [1], [1], groups=[None]).groups is None


def test_selections_apply_to_items_raters_and_groups():
    ratings = Ratings.from_rows(list("xxyz"), list("abab"), [1, 2, 1, 2], [1, 2], groups=list("ddee"))
    assert ratings.select(raters=["b"]).codes.tolist() == [[1], [-1], [1]]
    complete = ratings.complete()
    assert (complete.items, complete.groups, complete.codes.tolist()) == (("x",), ("d",), [[0, 1]])


def test_drawn_items_that_every_rater_labelled_stand_for_their_whole_stratum():
    """Two of three items of the first stratum, which has 9, and the only one of the second, which has 4."""
    ratings = Ratings.from_rows(list("wwxxyzz"), list("abababa"), [1] * 7, [1])
    strata, ones = np.array([0, 0, 0, 1]), np.ones(4)
    sample = Sample.of_labelled(strata, ones, ones.astype(bool), ones.astype(bool))
    drawn = replace(ratings, sample=replace(sample, weights=np.array([3.0, 3, 3, 4])))
    assert drawn.complete().sample.weights.tolist() == [4.5, 4.5, 4]


def test_scores_are_read_as_numbers():
    scores = Scores.from_rows(["x", "x", "y"], ["b", "a", "b"], [2.5, "3", None])
    assert scores.raters == ("a", "b")
    assert scores.values[0].tolist() == [3, 2.5]
    assert np.isnan(scores.values[1]).all()
    assert scores.complete().items == ("x",)
    assert scores.select(raters=["b"]).values.shape == (2, 1)
