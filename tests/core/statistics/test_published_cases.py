"""Every published or independently computed case, to its own tolerance."""

import ast
import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.labels import PREFERENCE, TRUTH
from core.statistics.data.ratings import Ratings
from core.statistics.measures import causes, coefficients, means, pairwise
from core.statistics.measures.continuous import kendall_tau_b, pearson, spearman
from tests.core.statistics.builders import estimate_statistic, ratings_from_codes, ratings_from_rows, ratings_from_table
from tests.core.statistics.frames import alignment_rows, make_frame
from tests.core.statistics.oracles import top_k_distance
from tests.core.statistics.public_data import public_path, read_public_json
from tests.paths import DATA, load_yaml

CASES: list[dict[str, Any]] = load_yaml(Path(__file__).with_name("published_cases.yaml"))
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


# Published figures of public data that the tests of storage do not recompute, by the functions that pages call


def parse_weights(text: str) -> list[float]:
    """Parse weights, which are written '35%', '40' and, in one row, '40$'."""
    return [float(str(weight).strip(" %$")) for weight in ast.literal_eval(text)]


def weight_frames(dataset: str, model: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the two annotators' weights and the model's, as labels and opinions."""
    file = public_path(f"dna_eval/weightings/{dataset}/{dataset}_{model}_human.csv")
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    labels, opinions = [], []
    for number, row in enumerate(rows):
        columns = [name for name in row if model in name and ("_w_" in name or re.search(r"_w\d$", name))]
        model_weights = [float(str(row[column]).rstrip("%")) for column in columns]
        labels.append(weight_row(number, "one", parse_weights(row["ann1"])))
        labels.append(weight_row(number, "two", parse_weights(row["ann2"])))
        opinions.append(weight_row(number, model, model_weights))
    return make_frame(*labels), make_frame(*opinions).rename(columns={"rater": "judge"})


def weight_row(item: int, rater: str, weights: list[float]) -> tuple:
    value = {f"aspect {number}": weight for number, weight in enumerate(weights)}
    return (str(item), "", "aspect_weights", "", None, rater, value)


def test_undefined_rank_distances_are_left_out_and_counted():
    labels, opinions = weight_frames("faireval", "gpt4")
    first = labels[labels["rater"] == "one"]
    rows = {row.statistic: row for row in alignment_rows(first, opinions, scales={}, resamples=50)}
    assert "undefined for 4 of 50 items" in rows["rank_distance"].reason
    as_zero = rows["rank_distance_undefined_as_0"]
    assert (as_zero.value, as_zero.items) == (pytest.approx(0.1492, abs=5e-5), 50)
    assert rows["rank_distance"].value == pytest.approx(as_zero.value * 50 / 46)


def preference_row(item: int, rater: str, value: int) -> tuple:
    return (str(item), "", "preference", "", None, rater, value)


def test_the_majority_of_pandalm_is_as_published():
    records = read_public_json("pandalm/testset-v1.json")
    labels = [
        preference_row(record["idx"], annotator, record[annotator])
        for record in records
        for annotator in ("annotator1", "annotator2", "annotator3")
    ]
    always_two = [preference_row(record["idx"], "two", 2) for record in records]
    rows = alignment_rows(
        make_frame(*labels),
        make_frame(*always_two).rename(columns={"rater": "judge"}),
        scales={("preference", ""): PREFERENCE},
        resamples=50,
    )
    accuracy = next(row for row in rows if row.statistic == "accuracy_majority")
    assert (round(accuracy.value * accuracy.items), accuracy.items) == (472, 999)


def test_aiu_verdicts_of_a_judge_are_scored_beside_gold():
    records = read_public_json("metacritique/annotation_data.json")
    labels = make_frame(
        *(
            (str(number), "", f"aiu_{task}", "", str(part), "gold", label)
            for number, record in enumerate(records)
            for task in ("precision", "recall")
            for part, label in enumerate(record["human_critique"][f"{task}_labels"])
        )
    )
    always_true = labels.assign(judge="yes", value=True).drop(columns="rater")
    scales = {("aiu_precision", ""): TRUTH, ("aiu_recall", ""): TRUTH}
    rows = {row.statistic: row for row in alignment_rows(labels, always_true, scales=scales) if row.kind == "aiu"}
    assert rows["f1_macro_people"].value == pytest.approx(0.5824, abs=5e-5)
    assert rows["f1_macro"].value == 1
    assert rows["precision_micro_people"].value == pytest.approx(0.8761, abs=5e-5)
