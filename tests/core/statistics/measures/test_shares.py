"""A share has the same interval in every report."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.labels import PREFERENCE
from core.statistics.measures.shares import share_estimate, wilson_interval, wilson_proportion
from core.statistics.reports.alignment import judge_statistics
from core.statistics.reports.judges import rank_judges
from tests.core.statistics.one_dataset import build_dataset


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
    rows = {"item": [f"i{n}" for n in range(90)], "kind": "preference", "criterion": "", "part": ""}
    labels = pd.concat(pd.DataFrame(rows | {"rater": rater, "value": truths}) for rater in "abc")
    opinions = pd.DataFrame(rows | {"judge": "judge", "value": verdicts})
    dataset = build_dataset("preference", "", PREFERENCE, labels, opinions, None)
    if clustered:
        groups = tuple(f"d{n // 3}" for n in range(90))
        dataset = replace(dataset, ratings=replace(dataset.ratings, groups=groups))
    (ranked,) = rank_judges(dataset, resamples=50).judges
    aligned = judge_statistics(dataset, dataset.judges["judge"], 0.15, 50, 0)["accuracy_gold"]
    assert (ranked.accuracy.value, ranked.accuracy.low, ranked.accuracy.high) == (
        aligned.value,
        aligned.low,
        aligned.high,
    )
