"""Labels, opinions and gold aligned by target."""

import numpy as np
import pandas as pd

from core.statistics.data.dataset import Frames, build_datasets, source_mix
from tests.core.statistics.frames import SCALES, STARS, frame_from_words

LABELS = frame_from_words({"a1": "112-", "a2": "121-"})
OPINIONS = frame_from_words({"judge": "12?0"}, name_column="judge")


def test_labels_and_opinions_are_aligned_by_target():
    (dataset,) = build_datasets(Frames(LABELS, OPINIONS, None, SCALES), "all")
    order = np.argsort(dataset.item)
    assert dataset.item[order].tolist() == ["i0", "i1", "i2", "i3"]
    np.testing.assert_array_equal(dataset.to_numbers(dataset.labels)[order], [[1, 1], [1, 2], [2, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(dataset.to_numbers(dataset.judges["judge"].values)[order], [1, 2, np.nan, 0])
    assert dataset.judges["judge"].asked.all()


def test_gold_is_the_majority_where_nothing_was_adjudicated():
    (dataset,) = build_datasets(Frames(LABELS, OPINIONS, None, SCALES), "all")
    order = np.argsort(dataset.item)
    assert not dataset.adjudicated
    np.testing.assert_array_equal(dataset.to_numbers(dataset.gold)[order], [1, np.nan, np.nan, np.nan])


def test_gold_is_the_adjudicated_label_where_one_is_passed():
    gold = frame_from_words({"adjudicator": "-2--"}).drop(columns="rater")
    (dataset,) = build_datasets(Frames(LABELS, OPINIONS, gold, SCALES), "all")
    order = np.argsort(dataset.item)
    assert dataset.adjudicated
    np.testing.assert_array_equal(dataset.to_numbers(dataset.gold)[order], [np.nan, 2, np.nan, np.nan])


def test_gold_without_a_source_is_adjudicated_and_not_disputed():
    gold = frame_from_words({"adjudicator": "121-"}).drop(columns="rater")
    optional = {"source": [None, np.nan, "by people"], "disputed": [None, False, True]}
    for columns in ({}, optional):
        (dataset,) = build_datasets(Frames(LABELS, OPINIONS, gold.assign(**columns), SCALES), "all")
        expected = "2 adjudicated, 1 by people" if columns else "3 adjudicated"
        assert source_mix(dataset, ~np.isnan(dataset.gold)) == expected
        assert dataset.disputed[np.argsort(dataset.item)].tolist() == [False, False, bool(columns), False]


def test_a_scenario_has_its_own_targets():
    datasets = {
        dataset.group: dataset for dataset in build_datasets(Frames(LABELS, OPINIONS, None, SCALES), "scenario")
    }
    assert set(datasets) == {"s0", "s1"}
    assert sorted(datasets["s1"].item) == ["i1", "i3"]


def test_criteria_without_a_scale_or_an_opinion_have_no_dataset():
    assert list(build_datasets(Frames(LABELS, OPINIONS, None, STARS), "all")) == []
    assert list(build_datasets(Frames(LABELS, pd.DataFrame(), None, SCALES), "all")) == []
