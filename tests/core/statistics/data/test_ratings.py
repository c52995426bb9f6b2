"""Labels in long form as arrays."""

import numpy as np
import pandas as pd
import pytest

from core.statistics.data.ratings import Ratings, Scores


def test_rows_become_an_array_of_items_by_raters():
    ratings = Ratings.from_rows(["x", "x", "y"], ["r2", "r1", "r2"], [2, 1, 2], [1, 2])
    assert (ratings.items, ratings.raters) == (("x", "y"), ("r1", "r2"))
    assert ratings.codes.tolist() == [[0, 1], [-1, 1]]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_none_and_nan_are_missing(missing):
    ratings = Ratings.from_rows(["x", "y"], ["a", "a"], [missing, 1], [1, 2])
    assert ratings.codes.tolist() == [[-1], [0]]


def test_2_and_2_0_are_equal_and_true_is_not_1():
    assert Ratings.from_rows(["x"], ["a"], [2.0], [1, 2]).codes.tolist() == [[1]]
    with pytest.raises(ValueError, match="True is not on the declared scale"):
        Ratings.from_rows(["x"], ["a"], [True], [1, 2])
    with pytest.raises(ValueError, match="1 is not on the declared scale"):
        Ratings.from_rows(["x"], ["a"], [1], [True, False])


def test_the_text_1_is_not_the_number_1():
    with pytest.raises(ValueError, match="'1' is not on the declared scale"):
        Ratings.from_rows(["x", "y"], ["a", "a"], [1, "1"], [1, 2])


def test_the_texts_nan_and_none_are_categories():
    ratings = Ratings.from_rows(["x", "y"], ["a", "a"], ["nan", "None"], ["nan", "None"])
    assert ratings.codes.tolist() == [[0], [1]]


def test_two_labels_of_one_rater_for_an_item_are_refused():
    with pytest.raises(ValueError, match="two labels for the same item"):
        Ratings.from_rows(["x", "x"], ["a", "a"], [1, 2], [1, 2])


def test_a_scale_that_repeats_a_category_is_refused():
    with pytest.raises(ValueError, match="names a category twice"):
        Ratings.from_rows(["x"], ["a"], [1], [1, 1.0])


def test_pandas_columns_are_read_like_lists():
    values = pd.Series([1, None, 2], dtype="Int64")
    ratings = Ratings.from_rows(pd.Series(["x", "y", "x"]), pd.Series(["a", "a", "b"]), values, [1, 2])
    assert ratings.codes.tolist() == [[0, 1], [-1, -1]]


def test_items_without_a_group_are_groups_of_their_own():
    ratings = Ratings.from_rows(list("xyz"), ["a"] * 3, [1, 1, 1], [1], groups=["d", None, "d"])
    assert ratings.groups == ("d", "(item 1)", "d")
    assert Ratings.from_rows(["x"], ["a"], [1], [1], groups=[None]).groups is None


def test_selections_apply_to_items_raters_and_groups():
    ratings = Ratings.from_rows(list("xxyz"), list("abab"), [1, 2, 1, 2], [1, 2], groups=list("ddee"))
    assert ratings.select(raters=["b"]).codes.tolist() == [[1], [-1], [1]]
    complete = ratings.complete()
    assert (complete.items, complete.groups, complete.codes.tolist()) == (("x",), ("d",), [[0, 1]])


def test_scores_are_read_as_numbers():
    scores = Scores.from_rows(["x", "x", "y"], ["b", "a", "b"], [2.5, "3", None])
    assert scores.raters == ("a", "b")
    assert scores.values[0].tolist() == [3, 2.5]
    assert np.isnan(scores.values[1]).all()
    assert scores.complete().items == ("x",)
    assert scores.select(raters=["b"]).values.shape == (2, 1)
