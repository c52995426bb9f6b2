"""The statistics against other people's code, on thousands of generated tables."""

import warnings
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from nltk.metrics.agreement import AnnotationTask
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from core.statistics.data.patterns import by_counts, by_rows, tally
from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement, continuous, kernels
from tests.core.statistics.build import of_codes

MANY = settings(max_examples=1000, deadline=None)


@st.composite
def rated(draw, *, raters=(2, 5), missing=True, items=(1, 14)) -> Ratings:
    """Ratings of any shape: few or many categories, all alike or all different, some missing."""
    kinds = draw(st.integers(2, 6))
    shape = draw(st.integers(*items)), draw(st.integers(*raters))
    lowest = -1 if missing else 0
    used = draw(st.integers(lowest, kinds - 1))
    codes = draw(arrays.arrays(np.int16, shape, elements=st.integers(lowest, max(used, 0))))
    return of_codes(codes, kinds)


def values(ratings: Ratings, *names: str) -> list[float | None]:
    found = agreement.estimates(ratings, names, resamples=0)
    return [found[name].value for name in names]


def value(ratings: Ratings, name: str) -> float | None:
    return values(ratings, name)[0]


def same(ours: float | None, theirs: float) -> bool:
    """Equal to 1e-9, an undefined value being nan on their side."""
    return np.isnan(theirs) if ours is None else ours == pytest.approx(theirs, abs=1e-9)


def in_package(ratings: Ratings, level: str) -> float:
    data = np.where(ratings.codes < 0, np.nan, ratings.codes + 1.0).T
    return package(data, level, value_domain=list(ratings.categories))


def package(data: np.ndarray, level: str, **more) -> float:
    """The krippendorff package's alpha, nan where it gives up."""
    try:
        with np.errstate(all="ignore"):
            return float(krippendorff.alpha(data, level_of_measurement=level, **more))
    except ValueError:
        return np.nan


@MANY
@given(rated())
def test_alpha_is_the_krippendorff_packages(ratings):
    counts, numbers = tally(ratings.codes, len(ratings.categories)), agreement.numbers_of(ratings)
    weights = np.ones((1, len(counts)))
    ours = {
        "nominal": kernels.alpha_nominal(counts),
        "ordinal": kernels.alpha_ordinal(counts),
        "interval": kernels.alpha_interval(counts, numbers),
        "ratio": kernels.alpha_ratio(counts, numbers),
    }
    told = values(ratings, *(f"krippendorff_alpha_{level}" for level in ours))
    for (level, closed_form), one in zip(ours.items(), told, strict=True):
        expected = in_package(ratings, level)
        assert float(closed_form(weights)[0]) == pytest.approx(expected, abs=1e-9, nan_ok=True), level
        assert same(one, expected), level


@settings(max_examples=300, deadline=None)
@given(arrays.arrays(float, (9, 3), elements=st.floats(-50, 50, width=16) | st.just(np.nan)))
def test_alpha_of_scores_is_the_krippendorff_packages(values):
    weights = np.ones((1, len(values)))
    for level, made in (("interval", continuous.alpha_interval), ("ordinal", continuous.alpha_ordinal)):
        expected = package(values.T, level)
        found = float(made(values)(weights)[0]) if not np.isnan(values).all() else np.nan
        assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)


@settings(max_examples=600, deadline=None)
@given(rated(missing=False))
def test_fleiss_is_statsmodels_where_all_raters_judged_everything(ratings):
    table = aggregate_raters(ratings.codes, n_cat=len(ratings.categories))[0]
    for name, method in (("fleiss_kappa", "fleiss"), ("brennan_prediger", "randolph")):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = float(statsmodels_fleiss(table, method=method))
        assert same(value(ratings, name), theirs)


@settings(max_examples=400, deadline=None)
@given(rated(raters=(2, 2), missing=False))
def test_cohens_kappa_is_scikit_learns_on_the_declared_scale(ratings):
    a, b = ratings.codes.T
    labels = list(range(len(ratings.categories)))
    names = {"cohen_kappa": None, "cohen_kappa_linear": "linear", "cohen_kappa_quadratic": "quadratic"}
    for (name, weights), ours in zip(names.items(), values(ratings, *names), strict=True):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = float(cohen_kappa_score(a, b, labels=labels, weights=weights))
        assert same(ours, theirs), name


def test_cohens_kappa_is_statsmodels():
    rng = np.random.default_rng(0)
    for _ in range(200):
        table = rng.integers(1, 9, (4, 4))
        rows = [(k, m) for k in range(4) for m in range(4) for _ in range(table[k, m])]
        ratings = of_codes(np.array(rows), 4)
        for name, weights in (("cohen_kappa", None), ("cohen_kappa_quadratic", "quadratic")):
            theirs = cohens_kappa(table, wt=weights, return_results=False)
            assert same(value(ratings, name), float(theirs))


@settings(max_examples=400, deadline=None)
@given(rated(raters=(2, 4), missing=False, items=(2, 10)))
def test_the_mean_over_rater_pairs_is_nltks(ratings):
    triples = [
        (rater, item, int(code))
        for item, row in zip(ratings.items, ratings.codes, strict=True)
        for rater, code in zip(ratings.raters, row, strict=True)
    ]
    task = AnnotationTask(data=triples)
    assert same(value(ratings, "percent"), task.avg_Ao())
    assume((np.ptp(ratings.codes, axis=0) > 0).all())  # nltk takes a rater's one label for kappa 1
    assert same(value(ratings, "cohen_kappa"), task.kappa())


@settings(max_examples=400, deadline=None)
@given(rated(items=(2, 10)))
def test_nominal_alpha_is_nltks_with_labels_missing(ratings):
    triples = [
        (rater, item, int(code))
        for item, row in zip(ratings.items, ratings.codes, strict=True)
        for rater, code in zip(ratings.raters, row, strict=True)
        if code >= 0
    ]
    ours = value(ratings, "krippendorff_alpha_nominal")
    if ours is not None:  # where nothing varies nltk says 1
        assert ours == pytest.approx(AnnotationTask(data=triples).alpha(), abs=1e-9)


def mean_over_pairs(values: np.ndarray, statistic) -> float:
    """scipy on each two raters' shared items, three at least, averaged over the pairs that are defined."""
    found = []
    for a, b in combinations(values.T, 2):
        both = ~np.isnan(a) & ~np.isnan(b)
        x, y = a[both], b[both]
        if x.size > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
            found.append(statistic(x, y).statistic)
    return float(np.mean(found)) if found else np.nan


SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_tau_b": stats.kendalltau}


@settings(max_examples=500, deadline=None)
@given(rated(raters=(2, 4), items=(3, 14)))
def test_correlations_of_categories_are_scipys_matched_by_item(ratings):
    labels = np.where(ratings.codes < 0, np.nan, ratings.codes)
    for (name, statistic), ours in zip(SCIPY.items(), values(ratings, *SCIPY), strict=True):
        assert same(ours, mean_over_pairs(labels, statistic)), name


@settings(max_examples=300, deadline=None)
@given(arrays.arrays(float, (9, 3), elements=st.floats(-9, 9, width=16) | st.just(np.nan)))
def test_correlations_of_scores_are_scipys_matched_by_item(scores):
    family = continuous.over_pairs(scores, list(SCIPY))
    found = family(np.ones((1, len(scores))))[:, 0]
    for ours, statistic in zip(found, SCIPY.values(), strict=True):
        theirs = mean_over_pairs(scores, statistic)
        assert ours == pytest.approx(theirs, abs=1e-6, nan_ok=True)


def gwet_by_hand(ratings: Ratings, weights: np.ndarray) -> float:
    """AC2 as Gwet 2014 writes it, item by item; AC1 where the weights are the identity."""
    kinds = len(ratings.categories)
    agreeing, shares = [], []
    for row in ratings.codes:
        labels = [int(code) for code in row if code >= 0]
        if labels:
            shares.append([labels.count(k) / len(labels) for k in range(kinds)])
        if len(labels) > 1:
            pairs = [weights[a, b] for i, a in enumerate(labels) for j, b in enumerate(labels) if i != j]
            agreeing.append(np.mean(pairs))
    if not agreeing:
        return np.nan
    share = np.mean(shares, axis=0)
    expected = weights.sum() * (share * (1 - share)).sum() / (kinds * (kinds - 1))
    return float((np.mean(agreeing) - expected) / (1 - expected)) if expected < 1 - 1e-12 else np.nan


@MANY
@given(rated())
def test_gwets_coefficients_are_the_formula_item_by_item(ratings):
    kinds = len(ratings.categories)
    weights = {
        "gwet_ac1": np.eye(kinds),
        "gwet_ac2_linear": kernels.linear(kinds),
        "gwet_ac2_quadratic": kernels.quadratic(kinds),
        "gwet_ac2_ordinal": kernels.ordinal(kinds),
    }
    for (name, agree), ours in zip(weights.items(), values(ratings, *weights), strict=True):
        assert same(ours, gwet_by_hand(ratings, agree)), name


@settings(max_examples=300, deadline=None)
@given(rated(items=(2, 14)), st.integers(0, 2**32))
def test_weighted_patterns_are_the_resampled_items(ratings, seed):
    """What the fast bootstrap stands on: weights over patterns give what the drawn items give."""
    drawn = np.random.default_rng(seed).integers(0, len(ratings.items), len(ratings.items))
    resample = of_codes(ratings.codes[drawn], len(ratings.categories))
    numbers = agreement.numbers_of(ratings)
    for make, order in ((by_counts, sorted), (by_rows, list)):
        patterns, again = make(ratings), make(resample)
        place = {tuple(order(row)): at for at, row in enumerate(patterns.codes.tolist())}
        weights = np.zeros((1, patterns.units.times.size))
        for row, times in zip(again.codes.tolist(), again.units.times, strict=True):
            weights[0, place[tuple(order(row))]] = times
        assert weights.sum() == again.units.number
        if make is by_counts and again.units.number:
            for made in agreement.OF_COUNTS.values():
                ours = made(patterns.counts, numbers)(weights)
                theirs = made(again.counts, numbers)(again.units.times[None])
                np.testing.assert_allclose(ours, theirs, atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(rated(raters=(2, 4), items=(2, 14)))
def test_many_categories_go_another_way_to_the_same_value(ratings):
    patterns, numbers = by_rows(ratings), agreement.numbers_of(ratings)
    weights = np.random.default_rng(0).integers(0, 3, (3, patterns.units.times.size)).astype(float)
    names = ["cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic", *SCIPY]
    by_tables = agreement.over_pairs(patterns.codes, numbers, names)(weights)
    for name, found in zip(names, by_tables, strict=True):
        other = agreement.over_pairs_of_many_kinds(patterns.codes, numbers, name)(weights)
        np.testing.assert_allclose(found, other, atol=1e-9, err_msg=name)
