"""Labels in long form become arrays, and what is wrong is refused."""

import numpy as np
import pandas as pd
import pytest

from core.statistics.data.ratings import Ratings, Scores


def test_rows_become_items_by_raters():
    found = Ratings.from_rows(["x", "x", "y"], ["bea", "al", "bea"], [2, 1, 2], [1, 2])
    assert (found.items, found.raters) == (("x", "y"), ("al", "bea"))
    assert found.codes.tolist() == [[0, 1], [-1, 1]]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_none_and_nan_are_missing(missing):
    found = Ratings.from_rows(["x", "y"], ["a", "a"], [missing, 1], [1, 2])
    assert found.codes.tolist() == [[-1], [0]]


def test_a_whole_float_is_its_integer_and_true_is_not_one():
    assert Ratings.from_rows(["x"], ["a"], [2.0], [1, 2]).codes.tolist() == [[1]]
    with pytest.raises(ValueError, match="True is not on the declared scale"):
        Ratings.from_rows(["x"], ["a"], [True], [1, 2])
    with pytest.raises(ValueError, match="1 is not on the declared scale"):
        Ratings.from_rows(["x"], ["a"], [1], [True, False])


def test_the_text_1_is_not_the_number_1():
    with pytest.raises(ValueError, match="'1' is not on the declared scale"):
        Ratings.from_rows(["x", "y"], ["a", "a"], [1, "1"], [1, 2])


def test_words_named_nan_and_none_are_categories():
    found = Ratings.from_rows(["x", "y"], ["a", "a"], ["nan", "None"], ["nan", "None"])
    assert found.codes.tolist() == [[0], [1]]


def test_two_labels_of_one_rater_for_an_item_are_refused():
    with pytest.raises(ValueError, match="two labels for the same item"):
        Ratings.from_rows(["x", "x"], ["a", "a"], [1, 2], [1, 2])


def test_a_scale_that_repeats_itself_is_refused():
    with pytest.raises(ValueError, match="names a category twice"):
        Ratings.from_rows(["x"], ["a"], [1], [1, 1.0])


def test_pandas_columns_are_as_good_as_lists():
    values = pd.Series([1, None, 2], dtype="Int64")
    found = Ratings.from_rows(pd.Series(["x", "y", "x"]), pd.Series(["a", "a", "b"]), values, [1, 2])
    assert found.codes.tolist() == [[0, 1], [-1, -1]]


def test_items_without_a_group_stand_alone():
    found = Ratings.from_rows(list("xyz"), ["a"] * 3, [1, 1, 1], [1], groups=["d", None, "d"])
    assert found.groups == ("d", "(item 1)", "d")
    assert Ratings.from_rows(["x"], ["a"], [1], [1], groups=[None]).groups is None


def test_selecting_keeps_items_raters_and_groups_together():
    found = Ratings.from_rows(list("xxyz"), list("abab"), [1, 2, 1, 2], [1, 2], groups=list("ddee"))
    assert found.select(raters=["b"]).codes.tolist() == [[1], [-1], [1]]
    only = found.complete()
    assert (only.items, only.groups, only.codes.tolist()) == (("x",), ("d",), [[0, 1]])


def test_scores_are_numbers():
    found = Scores.from_rows(["x", "x", "y"], ["b", "a", "b"], [2.5, "3", None])
    assert found.raters == ("a", "b")
    assert found.values[0].tolist() == [3, 2.5]
    assert np.isnan(found.values[1]).all()
    assert found.complete().items == ("x",)
    assert found.select(raters=["b"]).values.shape == (2, 1)
