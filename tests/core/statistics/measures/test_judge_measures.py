"""What is said of a judge beside people: the ceiling, the alternative-annotator test, comparisons."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.statistics.data.panel import majority, panel
from core.statistics.data.patterns import Units
from core.statistics.measures import alternative_annotator, comparison
from core.statistics.measures.ceiling import ceiling
from core.statistics.reports import category_alignment
from tests.core.statistics.build import of_codes
from tests.paths import ROOT


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def seats(people: list[str], judge: str, gold: str | None = None, kinds: int = 3):
    """One word of digits for each person, one for the judge; '-' is missing."""
    codes = np.array([[-1 if v == "-" else int(v) for v in word] for word in [*people, judge, gold or judge]])
    return panel(of_codes(codes[:-2].T, kinds), codes[-2], codes[-1])


def value(statistic, here) -> float:
    return float(statistic(here.units.times[None])[0])


def test_a_majority_is_more_than_half_and_a_tie_is_none():
    counts = np.array([[2, 1, 0], [1, 1, 0], [2, 1, 1], [0, 0, 0], [0, 0, 1]])
    assert majority(counts).tolist() == [0, -1, -1, -1, 2]


def test_the_ceiling_by_hand():
    """Three people; each is held against the other two where those agree."""
    here = seats(["0000", "0011", "0101"], "0100")
    found = ceiling(here)
    # a: the others agree on items 0 (0) and 3 (1): a is right once; the judge once.
    # b: others agree on 0 (0), 2 (0): b once, the judge twice. c: on 0 (0), 1 (0): c once, the judge once.
    assert value(found.people, here) == pytest.approx((1 / 2 + 1 / 2 + 1 / 2) / 3)
    assert value(found.judge, here) == pytest.approx((1 / 2 + 2 / 2 + 1 / 2) / 3)
    assert value(found.above, here) == pytest.approx(1 / 6)
    assert (found.raters, found.tests) == (3, 6)


def test_the_ceiling_leaves_out_what_the_judge_did_not_decide():
    here = seats(["00", "01"], "0-")
    found = ceiling(here)
    assert (found.tests, here.items(found.used)) == (2, 1)
    assert value(found.people, here) == value(found.judge, here) == 1


def test_one_person_has_no_ceiling():
    assert ceiling(seats(["01"], "01")) is None


def naive_alternative(people: np.ndarray, judge: np.ndarray, epsilon: float) -> tuple[float, float]:
    """The test as the paper's section 3 tells it, item by item."""
    p, held = [], []
    for rater in range(people.shape[1]):
        lost, ours_held = [], []
        for row, verdict in zip(people, judge, strict=True):
            others = [v for other, v in enumerate(row) if other != rater and not np.isnan(v)]
            if np.isnan(row[rater]) or np.isnan(verdict) or not others:
                continue
            ours = np.mean([verdict == other for other in others])
            theirs = np.mean([row[rater] == other for other in others])
            ours_held.append(ours >= theirs)
            lost.append(int(theirs >= ours) - int(ours >= theirs))
        if len(lost) >= 30:
            p.append(stats.ttest_1samp(lost, epsilon, alternative="less").pvalue)
            held.append(np.mean(ours_held))
    won = stats.false_discovery_control(p, method="by") <= 0.05
    return float(np.mean(won)), float(np.mean(held))


@pytest.mark.parametrize("seed", range(8))
def test_the_alternative_annotator_test_is_the_papers_loop(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 120)
    see = lambda how: np.where(rng.random(120) < how, truth, rng.integers(0, 3, 120)).astype(float)  # noqa: E731
    people = np.column_stack([see(0.75) for _ in range(4)])
    people[rng.random(people.shape) < 0.3] = np.nan
    judge = see(0.5 + 0.05 * seed)
    test = alternative_annotator.alternative_test(
        people, judge, tuple("abcd"), numeric=False, units=Units(np.ones(120)), epsilon=0.1
    )
    winning, advantage = naive_alternative(people, judge, 0.1)
    assert test.winning_rate == pytest.approx(winning)
    assert test.advantage(np.ones((1, 120)))[0] == pytest.approx(advantage)


def test_scores_are_tested_by_their_distance():
    people = np.column_stack([np.arange(40.0), np.arange(40.0) + 2, np.arange(40.0) - 2])
    near, far = np.arange(40.0) + 0.5, np.arange(40.0) + 9
    rates = [
        alternative_annotator.alternative_test(people, judge, tuple("abc"), numeric=True, units=Units(np.ones(40)))
        for judge in (near, far)
    ]
    assert rates[1].winning_rate == 0
    assert rates[0].winning_rate == pytest.approx(2 / 3)  # b and c, never the one in the middle


def test_annotators_with_fewer_than_thirty_items_are_not_tested():
    people = np.zeros((40, 3))
    people[25:, 2] = np.nan
    test = alternative_annotator.alternative_test(
        people, np.zeros(40), tuple("abc"), numeric=False, units=Units(np.ones(40))
    )
    assert test.skipped == ("c",)


def test_total_certainty_of_a_t_test_is_flagged():
    """All items alike have no variance: scipy would call p exactly 0."""
    test = alternative_annotator.alternative_test(
        np.zeros((40, 2)), np.zeros(40), ("a", "b"), numeric=False, units=Units(np.ones(40))
    )
    assert [contest.p for contest in test.contests] == [None, None]
    assert test.winning_rate == 1
    told = category_alignment.of_test(test, 40, 50, 0)["winning_rate"]
    assert "came out alike" in told.reason


def test_a_paired_comparison_sees_what_two_intervals_hide(rng):
    """Two judges err together on hard items: their accuracies overlap, their difference does not."""
    hard = rng.random(300) < 0.4
    one = (~hard).astype(float)
    other = np.where(rng.random(300) < 0.05, 1 - one, one)
    other = np.minimum(one, other)
    (found,) = comparison.compare({"one": one, "other": other})
    assert 0 < found.low < found.difference < found.high
    assert found.p_bootstrap < 0.05
    assert found.p_t == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert found.p_corrected == found.p_bootstrap


def test_comparisons_are_corrected_for_how_many_there_are(rng):
    scores = {name: (rng.random(200) < 0.7).astype(float) for name in "abcd"}
    found = comparison.compare(scores)
    assert len(found) == 6
    assert [c.p_corrected for c in found] == comparison.corrected([c.p_bootstrap for c in found])


def test_the_paired_bootstrap_is_honest_when_judges_are_equal():
    """Under no difference a p under 0.05 should be rare: 5 % of studies, within four standard errors."""
    rng = np.random.default_rng(3)
    found = [
        comparison.compare({"a": (rng.random(80) < 0.7) * 1.0, "b": (rng.random(80) < 0.7) * 1.0}, resamples=200)
        for _ in range(300)
    ]
    rate = np.mean([one[0].p_bootstrap < 0.05 for one in found])
    assert rate < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)


def test_judges_that_never_differ_get_a_sentence_instead_of_a_test():
    (found,) = comparison.compare({"a": np.ones(50), "b": np.ones(50)})
    assert (found.difference, found.p_bootstrap) == (0, None)
    assert "no test can be made" in found.reason


def test_williams_needs_two_different_judges():
    assert comparison.williams(0.5, 0.5, 1.0, 100) is None
    assert comparison.williams(0.5, 0.4, 0.3, 3) is None


def test_williams_holds_its_level():
    """Two equally good judges of correlated errors: p under 0.05 in about 5 % of 800 studies."""
    rng = np.random.default_rng(5)
    low = 0
    for _ in range(800):
        people, shared = rng.normal(size=60), rng.normal(size=60)
        one, other = (people + shared + rng.normal(size=60) for _ in range(2))
        r = np.corrcoef([people, one, other])
        low += comparison.williams(r[0, 1], r[0, 2], r[1, 2], 60)[1] < 0.05
    assert abs(low / 800 - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 800)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_false_discovery_corrections_are_scipys(p):
    for how, method in (("benjamini-hochberg", "bh"), ("benjamini-yekutieli", "by")):
        assert comparison.corrected(p, how) == pytest.approx(stats.false_discovery_control(p, method=method))


def test_the_statistics_do_not_wait_for_scipys_distributions():
    """They are asked for on every saved label, and importing scipy.stats takes a third of a second."""
    code = "import sys, core.statistics.reports.agreement; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
