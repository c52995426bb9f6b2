"""Every published or independently computed case, to its own tolerance."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from core.statistics.data.ratings import Ratings
from core.statistics.measures import causes, coefficients, means, pairwise
from core.statistics.measures.continuous import kendall_tau_b, pearson, spearman
from tests.core.statistics.builders import estimate_statistic, ratings_from_codes, ratings_from_rows, ratings_from_table
from tests.core.statistics.oracles import top_k_distance
from tests.paths import DATA

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("published_cases.yaml").read_text("utf-8"))
MORE = DATA / "statistics_cases.json"
"""A larger file, in the same form, which is not part of the project."""
if MORE.exists():
    CASES += json.loads(MORE.read_text("utf-8"))["cases"]
NAMES = {
    "po": "percent",
    "fleiss": "fleiss_kappa",
    "ac1": "gwet_ac1",
    "ac2_quadratic": "gwet_ac2_quadratic",
    "alpha": "krippendorff_alpha_nominal",
    "nominal": "krippendorff_alpha_nominal",
    "ordinal": "krippendorff_alpha_ordinal",
    "interval": "krippendorff_alpha_interval",
    "cohen": "cohen_kappa",
    "cohen_linear": "cohen_kappa_linear",
    "cohen_quadratic": "cohen_kappa_quadratic",
}
NOT_OFFERED = {"randolph", "bp", "ac2_linear", "ratio"}
"""Values of the file whose statistics Tiebreak does not have."""
TWO_RATER_NAMES = NAMES | {"linear": "cohen_kappa_linear", "quadratic": "cohen_kappa_quadratic"}
Compute = Callable[[str], float | None]
"""The name of an expected value -> the value computed."""


def from_ratings(ratings: Ratings, names: Mapping[str, str]) -> Compute:
    return lambda key: estimate_statistic(ratings, names[key], resamples=0).value


def from_counts(counts: np.ndarray) -> Compute:
    functions = {
        "fleiss": coefficients.fleiss_kappa,
        "po": coefficients.percent_agreement,
    }
    return lambda key: float(functions[key](counts)(np.ones((1, len(counts))))[0])


def from_lists(data: Mapping[str, Any]) -> Compute:
    p = {"K0": 0.0, "K_half": 0.5}
    return lambda key: top_k_distance(data["list1"], data["list2"], p[key])


def from_weights(data: Mapping[str, Any]) -> Compute:
    x, y = (np.array(data[name], float) for name in ("weights1", "weights2"))
    return lambda key: {"Kprof": pairwise.partial_ranking_distance}[key](x, y)


def from_aius(data: Mapping[str, Any]) -> Compute:
    rows = [
        (str(number), task == "recall_aius", bool(value))
        for task in ("precision_aius", "recall_aius")
        for number, values in enumerate(data[task])
        for value in values
    ]
    names, recall, true = (np.array(column) for column in zip(*rows, strict=True))
    scores = means.critique_scores(means.count_aius(names, recall, true), resamples=0)
    measures = {"P": "precision", "R": "recall", "F1": "f1"}
    return lambda key: scores[f"{measures[key[5:]]}_{key[:5]}"].value


def from_columns(data: Mapping[str, Any]) -> Compute:
    x, y = (np.array(data[name], float) for name in "xy")
    functions = {"tau_b": kendall_tau_b, "spearman": spearman, "pearson": pearson}
    return lambda key: float(functions[key](x, y)(np.ones((1, x.size)))[0])


def from_long_rows(data: Mapping[str, Any]) -> Compute:
    triples = np.array(data["long_item_rater_rating"]) - 1
    counts = np.zeros(triples.max(axis=0) + 1)
    np.add.at(counts, tuple(triples.T), 1)
    shares = causes.fit_counts(counts).shares
    return lambda key: float(shares[int(key[1]) - 1])


def from_observers(data: Mapping[str, Any]) -> Compute:
    items = enumerate(text.split() for text in data["observers_of_items"])
    triples = [
        (item + 1, observer + 1, int(rating))
        for item, observers in items
        for observer, ratings in enumerate(observers)
        for rating in ratings
    ]
    return from_long_rows({"long_item_rater_rating": triples})


def from_raters_by_items(data: Mapping[str, Any]) -> Compute:
    items = list(zip(*data["ratings_raters_by_items"], strict=True))
    return from_ratings(ratings_from_rows(items, data["n_categories"]), NAMES)


def from_two_raters(data: Mapping[str, Any]) -> Compute:
    scale, pairs = data["categories"], zip(data["rater2"], data["rater3"], strict=True)
    codes = np.array([[scale.index(first), scale.index(second)] for first, second in pairs])
    return from_ratings(ratings_from_codes(codes, len(scale)), TWO_RATER_NAMES)


READERS: Mapping[str, Callable[[Mapping[str, Any]], Compute]] = {
    "ratings_items_by_raters": lambda data: from_ratings(
        ratings_from_rows(data["ratings_items_by_raters"], data["n_categories"]), NAMES
    ),
    "ratings_raters_by_items": from_raters_by_items,
    "ratings": lambda data: from_ratings(ratings_from_rows(data["ratings"], data.get("n_categories", 2)), NAMES),
    "counts_items_by_categories": lambda data: from_counts(np.array(data["counts_items_by_categories"], float)),
    "table": lambda data: from_ratings(ratings_from_table(data["table"]), TWO_RATER_NAMES),
    "rater2": from_two_raters,
    "list1": from_lists,
    "weights1": from_weights,
    "precision_aius": from_aius,
    "x": from_columns,
    "long_item_rater_rating": from_long_rows,
    "observers_of_items": from_observers,
}
"""How a case is computed, by the first field of its data that is a key here."""


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_the_case_has_the_published_value(case):
    compute = next(read(case["data"]) for field, read in READERS.items() if field in case["data"])
    tolerance = case.get("tol", 6e-5)
    for key in case["expected"].keys() - NOT_OFFERED:
        expected = case["expected"][key]
        assert compute(key) == (None if expected is None else pytest.approx(expected, abs=tolerance)), key
