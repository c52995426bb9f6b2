"""Patterns of annotators, judge and gold."""

import numpy as np

from core.statistics.data.patterns import judged_patterns
from tests.core.statistics.builders import ratings_from_codes


def test_items_with_equal_labels_verdict_and_gold_are_one_pattern():
    labels = ratings_from_codes(np.array([[0, 1], [0, 1], [0, 1], [1, 1]]), 2)
    patterns = judged_patterns(labels, np.array([0, 0, 1, 1]), np.array([0, 0, 0, -1]))
    assert patterns.units.frequencies.sum() == 4
    assert sorted(patterns.units.frequencies) == [1, 1, 2]
    assert patterns.count_items(patterns.judge == 1) == 2


def test_the_majority_of_others_excludes_the_annotator():
    labels = ratings_from_codes(np.array([[0, 1, 1], [0, 0, 1], [-1, 1, 1]]), 2)
    patterns = judged_patterns(labels, np.zeros(3), np.zeros(3))
    by_row = dict(
        zip(
            map(tuple, patterns.labels.codes.tolist()), patterns.labels.majorities_of_others[:, 0].tolist(), strict=True
        )
    )
    assert by_row == {(0, 1, 1): 1, (0, 0, 1): -1, (-1, 1, 1): -1}


def test_another_judge_of_the_same_rows_shares_what_depends_on_the_labels_only():
    labels = ratings_from_codes(np.array([[0, 1, 1], [0, 0, 1], [-1, 1, 1]]), 2)
    first = judged_patterns(labels, np.zeros(3), np.zeros(3))
    second = judged_patterns(labels, np.ones(3), np.zeros(3), first)
    assert second.labels.majorities_of_others is first.labels.majorities_of_others
    assert second.judge.tolist() == [1, 1, 1]


def test_another_judge_of_other_rows_or_categories_shares_nothing():
    labels = ratings_from_codes(np.array([[0, 1], [0, 1], [1, 1]]), 2)
    first = judged_patterns(labels, np.array([0, 0, 1]), np.zeros(3))
    second = judged_patterns(labels, np.array([0, 1, 1]), np.zeros(3), first)
    assert second.labels.codes.shape == (3, 2)  # the first has 2 patterns
    assert second.labels.majorities_of_others.shape == (3, 2)
    three_categories = ratings_from_codes(np.array([[0, 1], [0, 1], [1, 1]]), 3)
    third = judged_patterns(three_categories, np.array([0, 1, 1]), np.zeros(3), second)
    assert third.labels.counts.shape == (3, 3)
