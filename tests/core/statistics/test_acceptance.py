"""Published figures of public data that the tests of storage do not recompute, by the functions that pages call."""

import ast
import csv
import re

import pandas as pd
import pytest

from core.labels import PREFERENCE, TRUTH
from tests.core.statistics.frames import alignment_rows, make_frame
from tests.core.statistics.public_data import public_path, read_public_json


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
