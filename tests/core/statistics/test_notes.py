"""Reasons and caveats are true statements about the labels."""

import numpy as np
import pytest

from core.statistics import notes
from core.statistics.data.patterns import distinct_patterns
from core.statistics.measures import agreement
from tests.core.statistics.builders import random_ratings, ratings_from_codes

ORDERED = ("percent", "krippendorff_alpha_ordinal", "spearman", "kendall_tau_b")


def test_raters_shifted_by_one_category_do_not_agree_although_their_correlation_is_one():
    """Percent agreement 0, Spearman's rho 1."""
    codes = np.random.default_rng(0).integers(0, 4, 80)
    ratings = ratings_from_codes(np.column_stack([codes, codes + 1]), 5)
    estimates = agreement.estimate_statistics(ratings, ORDERED, resamples=200)
    assert estimates["percent"].value == 0
    assert estimates["spearman"].value == estimates["kendall_tau_b"].value == 1
    assert not [estimate for estimate in estimates.values() if "every item agrees" in estimate.reason]
    assert "every resample gives the same value" in estimates["spearman"].reason


def test_unanimous_items_are_stated_with_the_rule_of_three():
    codes = np.random.default_rng(0).integers(0, 4, 80)
    ratings = ratings_from_codes(np.column_stack([codes, codes, codes]), 5)
    for estimate in agreement.estimate_statistics(ratings, ORDERED, resamples=200).values():
        assert (estimate.value, estimate.low) == (1, None)
        assert "every item agrees" in estimate.reason
        assert "3.8 % of further items may disagree" in estimate.reason


def test_items_with_one_label_do_not_decide_unanimity():
    assert notes.is_unanimous(np.array([[1.0, 1, np.nan], [2, 2, 2]]))
    assert not notes.is_unanimous(np.array([[1.0, 1, np.nan], [2, np.nan, 3]]))
    assert not notes.is_unanimous(np.empty((0, 3)))


@pytest.mark.parametrize("missing", [0.0, 0.4, 0.8])
def test_undefined_pairs_equal_a_loop_over_pairs(missing):
    ratings = random_ratings(np.random.default_rng(0), 12, 7, 2, missing)
    patterns = distinct_patterns(ratings)
    rows = np.where(patterns.codes >= 0, patterns.codes, np.nan)
    summary = notes.summarize(ratings, rows, patterns.units.frequencies)
    without_kappa = without_correlation = 0
    for a in range(7):
        for b in range(a + 1, 7):
            x, y = ratings.codes[(ratings.codes[:, [a, b]] >= 0).all(axis=1)][:, [a, b]].T
            if x.size:
                without_kappa += len({*x, *y}) == 1
                without_correlation += len(set(x)) == 1 or len(set(y)) == 1 or x.size < 3
    assert (summary.pairs_without_kappa, summary.pairs_without_correlation) == (without_kappa, without_correlation)


def test_the_winning_caveats_name_winners_and_tests_without_variance():
    text = notes.winning_caveats([("a1", True, 0.01), ("a2", False, None)], ("a3",))
    assert text == (
        "won against a1 of 2; no interval; no variance against a2: a t-test does not apply; "
        "a3 left out: fewer than 30 shared items"
    )


def test_a_note_lists_five_names_at_most():
    names = tuple(f"a{number}" for number in range(39))
    assert notes.skipped_caveats(names) == "a0, a1, a2, a3, a4 and 34 more left out: fewer than 30 shared items"
    assert notes.why_untested(names).endswith("a4 and 34 more")
    assert notes.winning_caveats([(name, True, None) for name in names], names).count("and 34 more") == 3
