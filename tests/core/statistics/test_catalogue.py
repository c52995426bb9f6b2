"""The catalogue of statistics: names, the table of the docs, and functions within their bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statistics import catalogue
from core.statistics.catalogue import ENTRIES, Role
from core.statistics.measures.agreement import estimate_statistics
from tests.core.statistics.builders import ratings_from_codes
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


def test_ac2_with_quadratic_weights_of_two_raters_is_that_of_the_formula():
    """Two raters, categories 1 to 3, table [[5, 1, 0], [1, 4, 1], [0, 1, 7]]: p_a = 19 / 20, p_e = 5 / 6 x .6641."""
    table = np.array([[5, 1, 0], [1, 4, 1], [0, 1, 7]])
    codes = np.array([[i, j] for i in range(3) for j in range(3) for _ in range(table[i, j])])
    value = estimate_statistics(ratings_from_codes(codes, 3), ["gwet_ac2_quadratic"], resamples=0)
    shares = np.array([6, 6, 8]) / 20
    observed, expected = 1 - 4 * 0.25 / 20, (3 + 4 * 0.75) / 6 * (shares * (1 - shares)).sum()
    assert value["gwet_ac2_quadratic"].value == pytest.approx((observed - expected) / (1 - expected), abs=1e-12)


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
