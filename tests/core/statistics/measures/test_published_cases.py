"""Every published or independently computed case of the shared file, to its own tolerance."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from core.statistics.measures import agreement, critiques, dawid_skene, kernels, rankings
from core.statistics.measures.continuous import kendall, pearson, spearman
from tests.core.statistics import shared
from tests.core.statistics.build import of_codes, of_table, ratings

FILE = shared.DATA / "statistics_cases.json"
CASES: list[Any] = (
    [pytest.param(case, id=case["id"]) for case in json.loads(FILE.read_text())["cases"]]
    if FILE.exists()
    else [pytest.param({}, marks=pytest.mark.skip(reason=f"{FILE} is not there"))]
)
NAMES = {
    "po": "percent",
    "fleiss": "fleiss_kappa",
    "randolph": "brennan_prediger",
    "bp": "brennan_prediger",
    "ac1": "gwet_ac1",
    "ac2_linear": "gwet_ac2_linear",
    "ac2_quadratic": "gwet_ac2_quadratic",
    "alpha": "krippendorff_alpha_nominal",
    "nominal": "krippendorff_alpha_nominal",
    "ordinal": "krippendorff_alpha_ordinal",
    "interval": "krippendorff_alpha_interval",
    "ratio": "krippendorff_alpha_ratio",
    "cohen": "cohen_kappa",
    "cohen_linear": "cohen_kappa_linear",
    "cohen_quadratic": "cohen_kappa_quadratic",
}
OF_TWO = NAMES | {"linear": "cohen_kappa_linear", "quadratic": "cohen_kappa_quadratic"}


def of_ratings(rated, names: Mapping[str, str]) -> Callable[[str], float | None]:
    return lambda key: agreement.estimate(rated, names[key], resamples=0).value


def of_counts(counts: np.ndarray) -> Callable[[str], float | None]:
    made = {"fleiss": kernels.fleiss, "po": kernels.percent, "randolph": kernels.brennan_prediger}
    return lambda key: float(made[key](counts)(np.ones((1, len(counts))))[0])


def of_two_lists(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    p = {"K0": 0.0, "K_half": 0.5}
    return lambda key: rankings.top_k_distance(data["list1"], data["list2"], p[key])


def of_weights(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    both = [np.array(data[name], float) for name in ("weights1", "weights2")]
    return lambda key: {"Kprof": rankings.partial_distance}[key](*both)


def of_aius(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    rows = [
        (str(number), task == "recall_aius", bool(value))
        for task in ("precision_aius", "recall_aius")
        for number, values in enumerate(data[task])
        for value in values
    ]
    names, recall, true = (np.array(column) for column in zip(*rows, strict=True))
    found = critiques.scores(critiques.critiques(names, recall, true), resamples=0)
    how = {"P": "precision", "R": "recall", "F1": "f1"}
    return lambda key: found[f"{how[key[5:]]}_{key[:5]}"].value


def of_columns(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    x, y = (np.array(data[name], float) for name in "xy")
    made = {"tau_b": kendall, "spearman": spearman, "pearson": pearson}
    return lambda key: float(made[key](x, y)(np.ones((1, x.size)))[0])


def of_long(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    triples = np.array(data["long_item_rater_rating"]) - 1
    counts = np.zeros(triples.max(axis=0) + 1)
    np.add.at(counts, tuple(triples.T), 1)
    shares = dawid_skene.fit(counts).shares
    return lambda key: float(shares[int(key[1]) - 1])


def of_rows(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    return of_ratings(ratings(data["ratings"], data.get("n_categories", 2)), NAMES)


def of_items(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    return of_ratings(ratings(data["ratings_items_by_raters"], data["n_categories"]), NAMES)


def of_raters(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    items = list(zip(*data["ratings_raters_by_items"], strict=True))
    return of_ratings(ratings(items, data["n_categories"]), NAMES)


def of_two_raters(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    scale, both = data["categories"], zip(data["rater2"], data["rater3"], strict=True)
    codes = np.array([[scale.index(one), scale.index(other)] for one, other in both])
    return of_ratings(of_codes(codes, len(scale)), OF_TWO)


READERS: Mapping[str, Callable[[Mapping[str, Any]], Callable[[str], float | None]]] = {
    "ratings_items_by_raters": of_items,
    "ratings_raters_by_items": of_raters,
    "ratings": of_rows,
    "counts_items_by_categories": lambda data: of_counts(np.array(data["counts_items_by_categories"], float)),
    "table": lambda data: of_ratings(of_table(data["table"]), OF_TWO),
    "rater2": of_two_raters,
    "list1": of_two_lists,
    "weights1": of_weights,
    "precision_aius": of_aius,
    "x": of_columns,
    "long_item_rater_rating": of_long,
}
"""How a case is computed, by the first field of its data."""


def measured(data: Mapping[str, Any]) -> Callable[[str], float | None]:
    return next(read(data) for field, read in READERS.items() if field in data)


@pytest.mark.parametrize("case", CASES)
def test_the_case_comes_out_as_published(case):
    value = measured(case["data"])
    tolerance = case.get("tol", 6e-5)
    if case["metric"].startswith("Dawid"):
        tolerance = 0.005  # the paper gives two decimals
    for key, expected in case["expected"].items():
        assert value(key) == (None if expected is None else pytest.approx(expected, abs=tolerance)), key
