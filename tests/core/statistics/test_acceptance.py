"""The papers' figures that public data gives again, through the functions that a page would call."""

import ast
import csv
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from core.labels import PREFERENCE, TRUTH
from core.statistics.data.ratings import Ratings
from core.statistics.measures import agreement, critiques
from core.statistics.reports.agreement import agreement as agreement_rows
from core.statistics.reports.agreement import alignment
from tests.core.statistics.shared import path, read

KINDS = {"human": ["human_critique"], "llm": ["llm1_critique", "llm2_critique"]}


def of_critiques(records: list[dict], names: list[str]) -> critiques.Critiques:
    rows = [
        (f"{number} {name}", task == "recall_labels", label)
        for number, record in enumerate(records)
        for name in names
        for task in ("precision_labels", "recall_labels")
        for label in record[name][task]
    ]
    critique, recall, true = (np.array(column) for column in zip(*rows, strict=True))
    return critiques.critiques(critique, recall, true)


@pytest.mark.parametrize(
    ("which", "aius", "published"),
    [
        ("human", (331, 702), (87.61, 48.72, 62.62, 85.37, 50.97, 58.24)),
        ("llm", (1620, 1404), (71.85, 53.28, 61.19, 71.07, 54.37, 58.20)),
    ],
)
def test_metacritique_scores_are_the_published_ones(which, aius, published):
    found = of_critiques(read("metacritique/annotation_data.json"), KINDS[which])
    assert (found.precise[:, 1].sum(), found.recalled[:, 1].sum()) == aius
    scores = critiques.scores(found, resamples=50)
    values = [100 * (scores[name].value or 0) for name in critiques.NAMES]
    assert values == pytest.approx(published, abs=0.005)
    assert all(one.low < one.value < one.high for one in scores.values())


def test_metacritique_pairs_are_won_as_published():
    records = read("metacritique/annotation_data.json")
    first, second = (of_critiques(records, [name]) for name in KINDS["llm"])
    won = Counter(np.sign(first.f1 - second.f1).tolist())
    assert (won[1.0], won[-1.0], won[0.0]) == (58, 39, 3)


def weights(text: str) -> list[float]:
    """Weights come as '35%', '40' and, once, '40$'."""
    return [float(str(part).strip(" %$")) for part in ast.literal_eval(text)]


def weight_frames(dataset: str, model: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    file = path(f"dna_eval/weightings/{dataset}/{dataset}_{model}_human.csv")
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    given = {"one": [], "two": [], model: []}
    for number, row in enumerate(rows):
        columns = [c for c in row if model in c and ("_w_" in c or re.search(r"_w\d$", c))]
        judged = [float(str(row[column]).rstrip("%")) for column in columns]
        for who, values in (("one", weights(row["ann1"])), ("two", weights(row["ann2"])), (model, judged)):
            value = {f"aspect {place}": weight for place, weight in enumerate(values)}
            given[who].append((str(number), "", "aspect_weights", "", None, who, value))
    names = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
    people = pd.DataFrame(given["one"] + given["two"], columns=names)
    return people, pd.DataFrame(given[model], columns=names).rename(columns={"rater": "judge"})


DNA_EVAL = {
    "faireval": (0.1169, {"gpt35": 0.1516, "gpt4": 0.1492, "llama2": 0.1804, "mistral": 0.2217}),
    "llmbar": (0.2094, {"gpt35": 0.3273, "gpt4": 0.1624, "llama2": 0.1734, "mistral": 0.2114}),
}
"""People with each other, each model with the first person."""
AS_0 = "rank_distance_undefined_as_0"


@pytest.mark.parametrize(("dataset", "model"), [(d, m) for d, (_, of) in DNA_EVAL.items() for m in of])
def test_a_model_is_as_far_from_people_as_the_right_ranks_say(dataset, model):
    labels, opinions = weight_frames(dataset, model)
    first = labels[labels["rater"] == "one"]
    rows = {row.statistic: row for row in alignment(first, opinions, scales={}, resamples=50)}
    assert rows[AS_0].value == pytest.approx(DNA_EVAL[dataset][1][model], abs=5e-5)
    assert rows[AS_0].items == 50


@pytest.mark.parametrize("dataset", DNA_EVAL)
def test_people_are_as_far_from_each_other_as_the_right_ranks_say(dataset):
    """LLMBar's aspects, and so people's weights, differ between the models' files: their mean."""
    published, models = DNA_EVAL[dataset]
    found = []
    for model in models:
        rows = agreement_rows(weight_frames(dataset, model)[0], by="all", scales={}, resamples=50)
        found += [row.value for row in rows if row.statistic == AS_0]
    assert np.mean(found) == pytest.approx(published, abs=5e-5)


def test_undefined_rank_distances_are_left_out_and_counted():
    labels, opinions = weight_frames("faireval", "gpt4")
    first = labels[labels["rater"] == "one"]
    rows = {row.statistic: row for row in alignment(first, opinions, scales={}, resamples=50)}
    assert "undefined for 4 of 50 items" in rows["rank_distance"].reason
    assert rows["rank_distance"].value == pytest.approx(rows[AS_0].value * 50 / 46)


def debates() -> list[dict]:
    folder = path("scaleeval/results/gpt3.5_vs_claude")
    files = sorted(folder.glob("*/multiagent_score/*.jsonl"))
    return [debate for file in files for debate in read(str(file))]


def test_scaleeval_debates_give_the_published_kappas():
    usable = []
    for debate in debates():
        turns = [value for key, value in debate.items() if key.startswith("Speaker")]
        scores = [str(turn["score"]) for turn in turns[:3] + turns[-3:]]
        if set(scores) <= {"0", "1", "2"}:
            usable.append([int(score) for score in scores])
    votes = np.array(usable, np.int16)
    assert len(votes) == 543
    for stage, published in ((votes[:, :3], 0.1529), (votes[:, 3:], 0.3781)):
        items = tuple(map(str, range(len(votes))))
        rated = Ratings(items, ("1", "2", "3"), stage, (0, 1, 2))
        assert agreement.estimate(rated, "fleiss_kappa").value == pytest.approx(published, abs=5e-5)


def said(reply: str) -> int:
    """1 or 2 as ChatEval's own readers take it; what cannot be read is a tie, as in row 15."""
    found = re.findall(r"Assistant ([12])\b", reply.rsplit("Answer:", 1)[-1])
    return int(found[-1]) if len(set(found)) == 1 else 0


@pytest.mark.parametrize(
    ("name", "accuracy", "kappa"),
    [
        ("multi_role_two_turns_sequential_direct_pair_comparison_results", 0.5375, 0.170),
        ("multi_role_three_turns_sequential_direct_pair_comparison_results", 0.5500, 0.187),
        ("single_role_test_pair_comparison_results", 0.4750, 0.131),
    ],
)
def test_chateval_agrees_with_people_as_published(name, accuracy, kappa):
    people = read("chateval/faireval_test_80_human_majority.json")
    values = {"gpt35": 1, "vicuna": 2, "tie": 0}
    names = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
    shape = lambda number, who, value: (str(number), "", "preference", "", None, who, value)  # noqa: E731
    labels = [shape(n, "majority", values[p["human_results"]]) for n, p in enumerate(people)]
    opinions = []
    for number, record in enumerate(read(f"chateval/history_outputs/{name}.json")):
        votes = Counter(said(turn["evaluation"]) for turn in record["evaluation"]).most_common()
        clear = len(votes) == 1 or votes[0][1] > votes[1][1]
        opinions.append(shape(number, "chateval", votes[0][0] if clear else 0))
    rows = alignment(
        pd.DataFrame(labels, columns=names),
        pd.DataFrame(opinions, columns=names).rename(columns={"rater": "judge"}),
        scales={("preference", ""): PREFERENCE},
    )
    found = {row.statistic: row.value for row in rows}
    assert found["accuracy_gold"] == pytest.approx(accuracy, abs=5e-5)
    assert found["cohen_kappa_gold"] == pytest.approx(kappa, abs=6e-4)  # .1695, listed as .170


def test_the_majority_of_pandalm_is_as_published():
    records = read("pandalm/testset-v1.json")
    names = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
    rows = [
        (str(r["idx"]), "", "preference", "", None, who, r[who])
        for r in records
        for who in ("annotator1", "annotator2", "annotator3")
    ]
    always_two = [(str(r["idx"]), "", "preference", "", None, "two", 2) for r in records]
    found = alignment(
        pd.DataFrame(rows, columns=names),
        pd.DataFrame(always_two, columns=names).rename(columns={"rater": "judge"}),
        scales={("preference", ""): PREFERENCE},
        resamples=50,
    )
    accuracy = next(row for row in found if row.statistic == "accuracy_majority")
    assert (round(accuracy.value * accuracy.items), accuracy.items) == (472, 999)


def test_aiu_verdicts_of_a_judge_are_scored_beside_the_gold():
    records = read("metacritique/annotation_data.json")
    names = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
    rows = [
        (str(number), "", f"aiu_{task}", "", str(part), "gold", label)
        for number, record in enumerate(records)
        for task in ("precision", "recall")
        for part, label in enumerate(record["human_critique"][f"{task}_labels"])
    ]
    labels = pd.DataFrame(rows, columns=names)
    yes = labels.assign(judge="yes", value=True).drop(columns="rater")
    scales = {("aiu_precision", ""): TRUTH, ("aiu_recall", ""): TRUTH}
    found = {row.statistic: row for row in alignment(labels, yes, scales=scales) if row.kind == "aiu"}
    assert found["f1_macro_people"].value == pytest.approx(0.5824, abs=5e-5)
    assert found["f1_macro"].value == 1
    assert found["precision_micro_people"].value == pytest.approx(0.8761, abs=5e-5)
