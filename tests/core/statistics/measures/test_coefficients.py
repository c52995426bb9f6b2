"""Agreement coefficients of many raters against published formulas and other implementations."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from nltk.metrics.agreement import AnnotationTask
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from core.statistics.data.patterns import category_counts
from core.statistics.data.ratings import Ratings, category_numbers
from core.statistics.measures import coefficients
from tests.core.statistics.oracles import estimate_values, is_equal, package_alpha
from tests.core.statistics.strategies import generated_ratings


@given(generated_ratings())
def test_alpha_equals_the_krippendorff_package(ratings):
    counts, numbers = category_counts(ratings.codes, len(ratings.categories)), category_numbers(ratings.categories)
    weights = np.ones((1, len(counts)))
    closed_forms = {
        "nominal": coefficients.alpha_nominal(counts),
        "ordinal": coefficients.alpha_ordinal(counts),
        "interval": coefficients.alpha_interval(counts, numbers),
    }
    estimated = estimate_values(ratings, *(f"krippendorff_alpha_{level}" for level in closed_forms))
    data = np.where(ratings.codes < 0, np.nan, ratings.codes + 1.0).T
    for (level, closed_form), value in zip(closed_forms.items(), estimated, strict=True):
        expected = package_alpha(data, level, value_domain=list(ratings.categories))
        assert float(closed_form(weights)[0]) == pytest.approx(expected, abs=1e-9, nan_ok=True), level
        assert is_equal(value, expected), level


@given(generated_ratings(missing=False))
def test_fleiss_kappa_equals_statsmodels_without_missing_labels(ratings):
    table = aggregate_raters(ratings.codes, n_cat=len(ratings.categories))[0]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = float(statsmodels_fleiss(table, method="fleiss"))
    assert is_equal(estimate_values(ratings, "fleiss_kappa")[0], expected)


@given(generated_ratings(items=(2, 10)))
def test_nominal_alpha_equals_nltk_with_missing_labels(ratings):
    triples = [
        (rater, item, int(code))
        for item, row in enumerate(ratings.codes)
        for rater, code in zip(ratings.raters, row, strict=True)
        if code >= 0
    ]
    (value,) = estimate_values(ratings, "krippendorff_alpha_nominal")
    if value is not None:  # if nothing varies nltk returns 1
        assert value == pytest.approx(AnnotationTask(data=triples).alpha(), abs=1e-9)


def gwet_by_item(ratings: Ratings, weights: np.ndarray) -> float:
    """Return AC2 as Gwet 2014 defines it, item by item; AC1 if the weights are the identity."""
    n_categories = len(ratings.categories)
    agreements, shares = [], []
    for row in ratings.codes:
        labels = [int(code) for code in row if code >= 0]
        if labels:
            shares.append([labels.count(k) / len(labels) for k in range(n_categories)])
        if len(labels) > 1:
            pairs = [weights[a, b] for i, a in enumerate(labels) for j, b in enumerate(labels) if i != j]
            agreements.append(np.mean(pairs))
    if not agreements:
        return np.nan
    share = np.mean(shares, axis=0)
    expected = weights.sum() * (share * (1 - share)).sum() / (n_categories * (n_categories - 1))
    return float((np.mean(agreements) - expected) / (1 - expected)) if expected < 1 - 1e-12 else np.nan


@given(generated_ratings())
def test_gwets_coefficients_equal_the_formula_item_by_item(ratings):
    n_categories = len(ratings.categories)
    agreement_weights = {
        "gwet_ac1": np.eye(n_categories),
        "gwet_ac2_quadratic": coefficients.quadratic_weights(n_categories),
    }
    values = estimate_values(ratings, *agreement_weights)
    for (name, weights), value in zip(agreement_weights.items(), values, strict=True):
        assert is_equal(value, gwet_by_item(ratings, weights)), name


def test_the_ends_of_a_scale_have_no_weight_and_two_categories_are_its_ends():
    for weights, middle in ((coefficients.linear_weights, 0.5), (coefficients.quadratic_weights, 0.75)):
        assert weights(2).tolist() == [[1, 0], [0, 1]]
        assert weights(3)[0].tolist() == [1, middle, 0]


def test_an_item_without_a_label_changes_nothing_and_one_category_has_no_value():
    counts = np.array([[2.0, 0], [1, 1], [0, 2], [0, 0]])
    for statistic in (coefficients.fleiss_kappa, coefficients.gwet_ac):
        with_it, without = statistic(counts)(np.array([[1.0, 2, 1, 1], [1, 2, 1, 0]]))
        assert with_it == without
    assert np.isnan(coefficients.gwet_ac(np.array([[2.0]]))(np.ones((1, 1)))).all()
