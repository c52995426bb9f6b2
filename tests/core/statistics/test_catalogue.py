"""The catalogue of statistics: names, the table of the docs, and functions within their bounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics import catalogue, notes
from core.statistics.catalogue import ENTRIES, Role
from core.statistics.data.patterns import distinct_patterns
from core.statistics.measures import agreement
from core.statistics.measures.agreement import estimate_statistics
from core.statistics.measures.pairwise import pairwise_preferences, preference_of_scores, win
from tests.core.statistics.builders import random_ratings, ratings_from_codes
from tests.paths import ROOT

ITEMS = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=12)


def test_every_statistic_has_one_entry():
    ids = [entry.id for entry in ENTRIES]
    assert len(ids) == len(set(ids))
    assert all(entry.help.endswith(".") and entry.name and entry.short for entry in ENTRIES)


def test_ordered_scales_are_offered_ac2_and_categories_without_order_ac1():
    assert "gwet_ac2_quadratic" in catalogue.table_of("ordinal")
    assert "gwet_ac1" not in catalogue.table_of("ordinal")
    assert "gwet_ac2_quadratic" not in catalogue.of_level("nominal")


@given(ITEMS)
def test_values_of_complete_tables_are_within_the_bounds(items):
    ratings = ratings_from_codes(np.array(items), 4)
    for id, estimate in estimate_statistics(ratings, catalogue.of_level("ordinal"), resamples=0).items():
        low, high = catalogue.BY_ID[id].bounds
        assert estimate.value is None or low - 1e-9 <= estimate.value <= high + 1e-9, id


def test_an_unknown_statistic_names_itself():
    assert catalogue.name("quality_of_a_plug_in") == "quality of a plug in"


def test_the_table_of_the_docs_is_that_of_the_catalogue():
    entries = [entry for entry in ENTRIES if entry.role in (Role.raters, Role.pairs)]
    lines = [
        f"| `{e.id}` | {e.name} | {e.role.value} | {', '.join(sorted(e.levels)) or '-'} | {e.reference} |"
        for e in entries
    ]
    assert "\n".join(lines) in (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")


# Reasons and caveats are true statements about the labels


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


# The rules that make scorers of different kinds comparable


SCORES = st.floats(-100, 100)


def test_the_higher_score_is_preferred_and_equal_scores_are_a_tie():
    assert [preference_of_scores(*pair) for pair in ((7, 5), (5, 7), (5, 5), (0.1 + 0.2, 0.3))] == [1, 2, 0, 0]


def test_a_missing_score_is_no_preference():
    assert preference_of_scores(None, 3) is None and preference_of_scores(3, math.nan) is None


@given(SCORES, SCORES)
def test_swapping_the_scores_swaps_the_preference(first, second):
    assert preference_of_scores(second, first) == {1: 2, 2: 1, 0: 0}[preference_of_scores(first, second)]


def test_a_ranking_is_its_pairs():
    assert pairwise_preferences([3, 9, 3]) == {(1, 2): 2, (1, 3): 0, (2, 3): 1}


def test_a_choice_wins_for_its_own_side():
    assert [win(choice, 2) for choice in (2, 1, 0)] == [1.0, 0.0, 0.5]
