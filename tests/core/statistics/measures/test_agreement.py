"""Estimates of agreement."""

from itertools import combinations

import numpy as np
import pytest

from core.statistics import catalogue
from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement
from core.statistics.measures.agreement import (
    AS_SAMPLE,
    FEW_RATERS,
    estimate_statistics,
    pair_values,
    with_raters_as_sample,
)
from core.statistics.measures.pairwise import overlapping_pairs
from tests.bench.bench_coverage import biased_ratings
from tests.core.statistics.builders import estimate_statistic, random_ratings, ratings_from_codes


def test_the_krippendorff_package_and_the_closed_form_give_the_same_alpha(monkeypatch):
    ratings = random_ratings(np.random.default_rng(0), 60, 4, 5, 0.3)
    names = [f"krippendorff_alpha_{level}" for level in ("nominal", "ordinal", "interval")]
    by_package = agreement.estimate_statistics(ratings, names, resamples=0)
    monkeypatch.setattr(agreement, "MAX_PACKAGE_CELLS", 0)
    by_formula = agreement.estimate_statistics(ratings, names, resamples=0)
    for name in names:
        assert by_package[name].value == pytest.approx(by_formula[name].value, abs=1e-9)


def test_items_without_a_pair_of_labels_give_no_statistic_and_a_reason():
    estimate = estimate_statistic(ratings_from_codes(np.array([[0, -1], [-1, 1]]), 2), "percent")
    assert (estimate.value, estimate.items, estimate.items_total) == (None, 0, 2)
    assert "no item was labelled by two annotators" in estimate.reason
    scores = Ratings(("a", "b"), np.array([[1.5, np.nan]]))
    assert {one.value for one in agreement.estimate_score_statistics(scores).values()} == {None}


def test_mean_over_pairs_that_share_few_items_has_no_interval():
    """Kappas of four items are biased by more than the width of the interval of their mean."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, (300, 1))
    codes = np.where(rng.random((300, 40)) < 0.7, truth, rng.integers(0, 3, (300, 40)))
    few = np.where(rng.random(codes.shape).argsort(axis=1) < 5, codes, -1)
    found = agreement.estimate_statistics(
        ratings_from_codes(few, 3), ("cohen_kappa", "spearman", "fleiss_kappa"), resamples=50
    )
    for name in ("cohen_kappa", "spearman"):
        assert found[name].value is not None and found[name].low is None and found[name].high is None
        assert "two annotators share 3.9 items on average" in found[name].reason
    assert found["fleiss_kappa"].low is not None
    full = agreement.estimate_statistics(ratings_from_codes(codes[:, :5], 3), ("cohen_kappa", "spearman"), resamples=50)
    assert all(one.low is not None and "share" not in one.reason for one in full.values())


@pytest.mark.parametrize(("annotators", "has_interval"), [(5, True), (6, False)])
def test_two_annotators_need_three_times_the_root_of_the_items(annotators, has_interval):
    """100 items with all combinations of three annotators alike: two of five share 30 items, two of six share 20."""
    chosen = list(combinations(range(annotators), 3))
    rng = np.random.default_rng(0)
    codes = np.full((100, annotators), -1)
    for item in range(100):
        codes[item, chosen[item % len(chosen)]] = rng.integers(0, 3, 3)
    (found,) = agreement.estimate_statistics(ratings_from_codes(codes, 3), ("cohen_kappa",), resamples=50).values()
    assert found.value is not None and (found.low is not None) == has_interval


# Values of many rater pairs at once are those of each pair alone.


ORDERED = catalogue.of_level("ordinal")


@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_values_equal_those_of_each_pair_alone(missing):
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, (30, 1))
    codes = np.where(rng.random((30, 5)) < 0.5, truth, rng.integers(0, 4, (30, 5)))
    codes = np.where(rng.random((30, 5)) < missing, -1, codes).astype(np.int16)
    codes[:, 4] = np.where(codes[:, 4] >= 0, 2, -1)  # one category only: some statistics are undefined
    categories = (1, 2, 4, 8)
    pairs = overlapping_pairs(codes)
    chunks = list(pair_values(codes, np.array(categories, float), ORDERED, pairs))
    shared, values = np.concatenate([n for n, _ in chunks]), np.concatenate([v for _, v in chunks], axis=1)
    for number, (a, b) in enumerate(pairs.tolist()):
        both = (codes[:, [a, b]] >= 0).all(axis=1)
        assert shared[number] == both.sum()
        alone = Ratings(("a", "b"), codes[both][:, [a, b]].astype(float), categories)
        for name, estimate in estimate_statistics(alone, ORDERED, resamples=0).items():
            value = values[ORDERED.index(name), number]
            if estimate.value is None:
                assert np.isnan(value), name
            else:
                assert value == pytest.approx(estimate.value, abs=1e-9), name


# Intervals of agreement with annotators as a sample.


def estimates(raters: int) -> tuple[Ratings, dict[str, object]]:
    drawn = biased_ratings(np.random.default_rng(3), raters)
    return drawn, estimate_statistics(drawn, ("fleiss_kappa", "percent"), resamples=200)  # type: ignore[return-value]


def test_intervals_for_other_annotators_are_wider() -> None:
    drawn, fixed = estimates(7)
    for name, one in with_raters_as_sample(drawn, fixed).items():  # type: ignore[arg-type]
        before = fixed[name]
        assert one.value == before.value and one.reason.startswith(AS_SAMPLE)  # type: ignore[attr-defined]
        assert one.low is not None and one.low < before.low and one.high > before.high  # type: ignore[attr-defined,operator]


def test_four_annotators_are_too_few_for_such_an_interval() -> None:
    found = with_raters_as_sample(*estimates(4))["fleiss_kappa"]  # type: ignore[arg-type]
    assert found.value is not None and (found.low, found.high) == (None, None) and found.reason.startswith(FEW_RATERS)


def test_the_interval_covers_where_that_of_fixed_annotators_does_not() -> None:
    rng = np.random.default_rng(1)
    truth = estimate_statistics(biased_ratings(rng, 200, 2000), ("fleiss_kappa",), resamples=0)["fleiss_kappa"].value
    assert truth is not None
    covered = {"fixed": 0, "sample": 0}
    for _ in range(24):
        drawn = biased_ratings(rng, 5)
        fixed = estimate_statistics(drawn, ("fleiss_kappa",), resamples=100)
        for kind, found in (("fixed", fixed), ("sample", with_raters_as_sample(drawn, fixed))):
            one = found["fleiss_kappa"]
            covered[kind] += one.low <= truth <= one.high  # type: ignore[operator]
    assert covered["sample"] >= 22 and covered["fixed"] <= 18


def test_agreement_of_one_item_has_no_value_beyond_chance() -> None:
    from core.labels import PREFERENCE
    from core.statistics.reports.agreement import LabelGroup, group_statistics

    one = Ratings(("ann", "ben"), np.array([[1.0, 2.0]]), (0, 1, 2))
    found = group_statistics(LabelGroup("preference", "", "all", PREFERENCE, one), 100)
    assert found["percent"].value == 0
    for name in ("fleiss_kappa", "cohen_kappa", "krippendorff_alpha_nominal", "gwet_ac1"):
        assert found[name].value is None and "not enough items to say" in found[name].reason
