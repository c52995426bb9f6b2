"""Tables of labels: pooling, splitting, selection, and codes equal to those of pandas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics.data import label_table
from core.statistics.data.label_table import LabelTable
from tests.core.statistics.data.test_arrays import FIVE, LABELS, SCALES
from tests.core.statistics.frames import make_frame

TABLE = LabelTable.from_frame(LABELS)
NAMES = st.lists(st.one_of(st.none(), st.text("ab1", max_size=2)), max_size=12)


def test_pooled_labels_stay_one_target_for_each_criterion():
    labels, scales = label_table.with_pooled_criteria(TABLE, SCALES)
    pooled = label_table.select_rows(labels, "score", "all")
    assert scales["score", "all"] == FIVE
    assert pooled["value"].tolist() == [1, 2, 3]
    assert pooled["part"].tolist() == ["depth\n", "style\n", "style\np"]
    assert len(set(label_table.target_codes(pooled).tolist())) == 3
    assert len(labels) == len(TABLE) + 3


def test_pooled_targets_of_one_item_are_resampled_together():
    labels, _ = label_table.with_pooled_criteria(TABLE, SCALES)
    pooled = label_table.select_rows(labels, "score", "all")
    groups = label_table.resampling_groups(pooled, label_table.target_codes(pooled))
    assert groups.tolist() == ["i", "i", "j"]


def test_a_document_is_the_group_of_its_items_and_another_item_its_own():
    table = TABLE.assign(group=label_table.Column.of(["d", "d", None, None]))
    assert label_table.resampling_groups(table, label_table.target_codes(table)).tolist() == ["d", "d", "j", "j"]


def test_rows_are_split_by_scenario_by_pair_or_not_at_all():
    sizes = {by: [(name, len(rows)) for name, rows in label_table.split_table(TABLE, by)] for by in ("all", "raters")}
    assert sizes == {"all": [("all", 4)], "raters": [("a × b", 4)]}
    table = TABLE.assign(scenario=label_table.Column.of(["t", None, "s", "t"]))
    parts = [(name, rows["value"].tolist()) for name, rows in label_table.split_table(table, "scenario")]
    assert parts == [("s", [3]), ("t", [1, 1]), ("", [2])]


def test_rows_are_selected_by_kind_criterion_and_scenario():
    assert label_table.select_rows(TABLE, "score")["value"].tolist() == [1, 2, 3]
    assert label_table.select_rows(TABLE, "score", "style")["value"].tolist() == [2, 3]
    assert label_table.select_rows(TABLE, "score", "style", "t")["value"].tolist() == [3]
    assert not len(label_table.select_rows(LabelTable.from_frame(make_frame()), "score"))


def test_a_missing_part_and_an_empty_one_are_the_same_target():
    labels = make_frame(("i", "", "score", "", None, "a", 1), ("i", "", "score", "", "", "b", 1))
    assert set(label_table.target_codes(LabelTable.from_frame(labels)).tolist()) == {0}


def test_a_table_becomes_the_frame_that_it_was_made_of():
    pd.testing.assert_frame_equal(
        TABLE.to_frame().astype(object).where(TABLE.to_frame().notna(), None),
        LABELS.astype(object).where(LABELS.notna(), None),
    )


def test_mappings_are_values_that_are_never_equal():
    column = label_table.Column.of([{"a": 1}, None, {"a": 1}])
    assert column.tolist() == [{"a": 1}, None, {"a": 1}]
    assert column.present().tolist() == [True, False, True]


@given(NAMES)
@pytest.mark.parametrize("sort", [False, True])
def test_codes_of_names_are_those_of_pandas(sort, names):
    codes, distinct = label_table.factorize(names, sort=sort)
    expected, values = pd.factorize(np.array(names, object), sort=sort)
    assert codes.tolist() == expected.tolist()
    assert distinct == values.tolist()


@given(st.lists(st.integers(-(10**12), 10**12) | st.integers(0, 5), max_size=12))
def test_codes_of_numbers_are_those_of_pandas(numbers):
    codes, distinct = label_table.number_by_appearance(np.array(numbers, np.int64))
    expected, values = pd.factorize(np.array(numbers, np.int64))
    assert codes.tolist() == expected.tolist()
    assert distinct.tolist() == values.tolist()


@given(NAMES, st.randoms())
def test_columns_of_selected_rows_have_the_values_of_these_rows(names, random):
    column = label_table.Column.of(names)
    rows = np.array([row for row in range(len(names)) if random.random() < 0.5], np.int64)
    taken = column.take(rows)
    assert taken.tolist() == taken.unified().tolist() == taken.array().tolist() == [names[row] for row in rows]
    assert taken.distinct() == list(dict.fromkeys(names[row] for row in rows))
    assert taken.equals("a").tolist() == [names[row] == "a" for row in rows]
