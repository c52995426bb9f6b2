"""Statistics of merged patterns, which equal those of the patterns of each item to the last digit."""

from dataclasses import replace

import numpy as np
import pytest

from core.statistics.data.patterns import MERGE_FROM, JudgedPatterns, judged_patterns
from core.statistics.data.ratings import Ratings
from core.statistics.measures.alternative_annotator import human_ceiling
from core.statistics.reports.judges import ceiling_difference
from tests.core.statistics.builders import random_ratings
from tests.core.statistics.frames import alignment_by_name

ITEMS = 1243
"""More than `MERGE_FROM` patterns, and few enough that some of the merged ones are fewer."""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def random_word(rng: np.random.Generator, truth: np.ndarray, missing: str, share: float) -> str:
    """Return a label for each item, of which 7 in 10 are the truth and a share is missing."""
    labels = np.where(rng.random(ITEMS) < 0.7, truth, rng.choice(list("120"), ITEMS))
    return "".join(np.where(rng.random(ITEMS) < share, missing, labels))


def make_patterns(rng: np.random.Generator, raters: int, groups: tuple[str, ...] | None = None) -> JudgedPatterns:
    """Return the patterns of a judge that is often right, without a verdict on some items."""
    ratings: Ratings = replace(random_ratings(rng, ITEMS, raters, 3, missing=0.8), groups=groups)
    first = ratings.codes.max(axis=1)
    judge = np.where(rng.random(ITEMS) < 0.6, first, rng.integers(-1, 3, ITEMS))
    return judged_patterns(ratings, judge, np.where(rng.random(ITEMS) < 0.9, first, -1))


@pytest.mark.parametrize("raters", [8, 40])
def test_merged_patterns_count_items_and_annotators(rng: np.random.Generator, raters: int) -> None:
    patterns = make_patterns(rng, raters)
    merged = patterns.merged
    assert merged.units.frequencies.size < patterns.units.frequencies.size
    columns = [(one.judge, one.gold, one.labels.majority) for one in (patterns, merged)]
    for of_patterns, of_merged in zip(*columns, strict=True):
        for code in range(-1, 3):
            own, other = of_patterns == code, of_merged == code
            assert merged.count_items(other) == patterns.count_items(own)
            assert merged.labels.count_raters(other) == patterns.labels.count_raters(own)
            assert merged.labels.count_compared_raters(other) == patterns.labels.count_compared_raters(own)
    ceiling, other = human_ceiling(patterns), human_ceiling(merged)
    assert ceiling is not None and other is not None
    assert (ceiling.raters, ceiling.comparisons) == (other.raters, other.comparisons)


def test_few_patterns_and_clusters_are_not_merged(rng: np.random.Generator) -> None:
    few = judged_patterns(random_ratings(rng, MERGE_FROM, 40, 3, 0.8), np.zeros(MERGE_FROM), np.zeros(MERGE_FROM))
    assert few.merged is few
    clusters = make_patterns(rng, 40, tuple(str(item // 3) for item in range(ITEMS)))
    assert clusters.merged is clusters


@pytest.mark.parametrize("raters", [8, 40])
def test_rows_of_judges_are_those_of_the_patterns_of_each_item(
    rng: np.random.Generator, raters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = rng.choice(list("120"), ITEMS)
    annotators = {f"a{number}": random_word(rng, truth, "-", 0.8) for number in range(raters)}
    judges = {f"j{number}": random_word(rng, truth, "?", 0.1) for number in range(3)}
    fast = alignment_by_name(annotators, judges)
    monkeypatch.setattr(JudgedPatterns, "merged", property(lambda patterns: patterns))
    assert alignment_by_name(annotators, judges) == fast
    for statistic in ("accuracy_gold", "cohen_kappa_gold", "human_ceiling", "win_rate_1", "accuracy_gold_lowest"):
        assert fast["j0", statistic].value is not None


@pytest.mark.parametrize("raters", [8, 40])
def test_the_difference_from_the_ceiling_is_that_of_the_patterns_of_each_item(
    rng: np.random.Generator, raters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns = make_patterns(rng, raters)
    fast = ceiling_difference(patterns, 300, 0)
    monkeypatch.setattr(JudgedPatterns, "merged", property(lambda patterns: patterns))
    assert ceiling_difference(patterns, 300, 0) == fast
