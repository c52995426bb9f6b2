"""A share has the same interval in every report."""

from dataclasses import replace
from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.critiques import score_critique
from core.statistics.measures.means import possible_range, share_estimate, wilson_interval, wilson_proportion
from core.statistics.reports.alignment import judge_statistics
from core.statistics.reports.judges import rank_judges
from tests.bench.studies import dataset_of


def test_wilsons_interval_equals_the_published_examples():
    """Newcombe 1998 (Statistics in Medicine 17), Table I: 81 of 263: 0.2553 to 0.3662; 0 of 20: 0 to 0.1611."""
    assert wilson_proportion(81, 263) == pytest.approx((81 / 263, 0.2553, 0.3662), abs=5e-5)
    assert wilson_proportion(0, 20) == pytest.approx((0, 0, 0.1611), abs=5e-5)
    assert wilson_proportion(0, 0) == (None, None, None)


def test_copies_of_an_item_in_a_dialogue_add_no_information():
    hits = np.array([True] * 30 + [False] * 10)
    groups = [str(number) for number in range(40)]
    single, repeated = share_estimate(hits, groups), share_estimate(np.repeat(hits, 5), np.repeat(groups, 5).tolist())
    assert (single.low, single.high) == wilson_interval(30, 40)
    assert repeated.value == single.value and repeated.items == 200
    assert (repeated.low, repeated.high) == pytest.approx((single.low, single.high), abs=0.005)
    assert "only 4 groups" in share_estimate(hits, ["a", "b", "c", "d"] * 10).reason
    assert share_estimate([], reason="none").reason == "none"


@pytest.mark.parametrize("clustered", [False, True])
def test_the_pages_judges_and_alignment_have_the_same_interval(clustered: bool):
    rng = np.random.default_rng(3)
    truths = rng.integers(1, 3, 90)
    verdicts = np.where(rng.random(90) < 0.8, truths, 3 - truths)
    dataset = dataset_of(dict.fromkeys("abc", truths), {"judge": verdicts})
    if clustered:
        groups = tuple(f"d{n // 3}" for n in range(90))
        dataset = replace(dataset, ratings=replace(dataset.ratings, groups=groups))
    (ranked,) = rank_judges(dataset, resamples=50).judges
    aligned = judge_statistics(dataset, dataset.judges["judge"], 0.15, 50)["accuracy_gold"]
    assert (ranked.accuracy.value, ranked.accuracy.low, ranked.accuracy.high) == (
        aligned.value,
        aligned.low,
        aligned.high,
    )


# The range of a figure with unreadable replies, against every way in which they could have been read.


Truths = st.lists(st.sampled_from([True, False, None]), max_size=4)


def filled(values, replacements):
    """Return the values with each None replaced by the next replacement."""
    return [next(replacements) if value is None else value for value in values]


def assigned(lists, value):
    return [[value if truth is None else truth for truth in truths] for truths in lists]


def every_assignment(lists):
    unread = sum(truths.count(None) for truths in lists)
    for assignment in product((True, False), repeat=unread):
        replacements = iter(assignment)
        yield [filled(truths, replacements) for truths in lists]


def check(statistic, lists):
    """The range is exactly that of all assignments."""
    values = [statistic(complete) for complete in every_assignment(lists)]
    found = possible_range(lambda value: statistic(assigned(lists, value)))
    if any(value is None for value in values):
        assert found is None
    else:
        assert found == (min(values), max(values))


def share(lists):
    (truths,) = lists
    return fmean(truths) if truths else None


def f1(lists):
    return score_critique(*lists).f1


def macro_f1(lists):
    scores = [score_critique(*lists[index : index + 2]).f1 for index in range(0, len(lists), 2)]
    defined = [score for score in scores if score is not None]
    return fmean(defined) if defined else None


def test_a_share():
    assert possible_range(lambda value: share(assigned([[True, True, False, None]], value))) == (0.5, 0.75)


@given(Truths)
def test_a_share_against_every_assignment(truths):
    check(share, [truths])


@given(Truths, Truths)
def test_f1_against_every_assignment(factual, covered):
    check(f1, [factual, covered])


@given(st.lists(st.sampled_from([True, False, None]), max_size=3), Truths, Truths, Truths)
def test_macro_f1_against_every_assignment(factual, covered, other_factual, other_covered):
    check(macro_f1, [factual, covered, other_factual, other_covered])
