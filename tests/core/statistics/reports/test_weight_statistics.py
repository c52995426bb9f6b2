"""Agreement and distance of aspect weights."""

import pytest

from core.statistics.reports.weight_distances import annotator_weight_statistics, judge_weight_statistics
from tests.core.statistics.frames import make_frame


def weights(item: str, rater: str, *values: float) -> tuple:
    return (item, "", "aspect_weights", "", None, rater, dict(zip("xyz", values, strict=False)))


LABELS = make_frame(weights("i", "a1", 50, 30, 20), weights("i", "a2", 20, 30, 50), weights("j", "a1", 60, 30, 10))


def test_annotators_are_compared_within_an_item():
    estimates = annotator_weight_statistics(LABELS, resamples=0)
    assert estimates["weights_distance"].value == pytest.approx(0.3)
    assert estimates["rank_distance"].value == 1
    assert estimates["kendall_w"].value == 0
    assert (estimates["kendall_w"].items, estimates["kendall_w"].items_total) == (1, 2)


def test_a_judge_is_compared_with_each_annotator():
    opinions = make_frame(weights("i", "gpt", 50, 30, 20), weights("j", "gpt", 1, 1, 1))
    opinions = opinions.rename(columns={"rater": "judge"})
    estimates = judge_weight_statistics(LABELS, opinions, resamples=0)
    assert estimates["rank_distance"].value == 0.5
    assert "undefined for 1 of 2 items" in estimates["rank_distance"].reason
    assert estimates["rank_distance_undefined_as_0"].value == 0.25
    assert estimates["rank_distance"].pairs == 3
