"""The leave-one-annotator-out ceiling."""

import numpy as np
import pytest

from core.statistics.data.patterns import JudgedPatterns, judged_patterns
from core.statistics.measures.alternative_annotator import human_ceiling
from tests.core.statistics.builders import ratings_from_codes


def make_patterns(annotators: list[str], judge: str, n_categories: int = 3) -> JudgedPatterns:
    """One word of digits for each annotator and one for the judge; '-' is missing."""
    codes = np.array([[-1 if char == "-" else int(char) for char in word] for word in [*annotators, judge]])
    return judged_patterns(ratings_from_codes(codes[:-1].T, n_categories), codes[-1], codes[-1])


def value(statistic, patterns: JudgedPatterns) -> float:
    return float(statistic(patterns.units.frequencies[None])[0])


def test_the_ceiling_computed_by_hand():
    """Three annotators; each is compared with the other two if those agree."""
    patterns = make_patterns(["0000", "0011", "0101"], "0100")
    ceiling = human_ceiling(patterns)
    # a: the others agree on items 0 (0) and 3 (1): a is right once; the judge once.
    # b: others agree on 0 (0), 2 (0): b once, the judge twice. c: on 0 (0), 1 (0): c once, the judge once.
    assert value(ceiling.annotators, patterns) == pytest.approx((1 / 2 + 1 / 2 + 1 / 2) / 3)
    assert value(ceiling.judge, patterns) == pytest.approx((1 / 2 + 2 / 2 + 1 / 2) / 3)
    assert value(ceiling.difference, patterns) == pytest.approx(1 / 6)
    assert (ceiling.raters, ceiling.comparisons) == (3, 6)


def test_the_ceiling_leaves_out_items_without_a_verdict():
    patterns = make_patterns(["00", "01"], "0-")
    ceiling = human_ceiling(patterns)
    assert (ceiling.comparisons, patterns.count_items(ceiling.used)) == (2, 1)
    assert value(ceiling.annotators, patterns) == value(ceiling.judge, patterns) == 1


def test_one_annotator_has_no_ceiling():
    assert human_ceiling(make_patterns(["01"], "01")) is None


def test_an_annotator_with_few_labels_changes_the_ceiling_little():
    """Another annotator's three labels, all wrong, would lower a mean over annotators by a quarter."""
    others = ["0" * 60, "0" * 60, "0" * 60]
    patterns = make_patterns([*others, "111" + "-" * 57], "0" * 60)
    ceiling = human_ceiling(patterns)
    assert value(ceiling.annotators, patterns) == pytest.approx(180 / 183)
    assert value(ceiling.judge, patterns) == 1
