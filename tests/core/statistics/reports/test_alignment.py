"""Rows of alignment of judges with annotators."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from core.labels import PREFERENCE, TRUTH, Scale
from core.statistics.data.dataset import Frames, build_datasets
from core.statistics.reports.alignment import judge_statistics
from tests.core.statistics.frames import (
    ANNOTATORS,
    COLUMNS,
    SCALES,
    STARS,
    alignment_by_name,
    alignment_rows,
    frame_from_words,
    make_frame,
)


def test_documents_and_systems_add_their_levels():
    labels = frame_from_words({"a1": "123451234512", "a2": "124451235511"}, "score")
    opinions = frame_from_words({"gpt": "113451244512"}, "score", "judge")
    number = opinions["item"].str[1:].astype(int)
    opinions = opinions.assign(system=(number % 4).astype(str), group=(number // 4).astype(str))
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales=STARS)}
    assert rows["pearson_within_groups"].value is not None
    assert "4 systems" in rows["pearson_between_systems"].reason


@pytest.mark.parametrize(
    ("scale", "gold", "given"),
    [
        (Scale(level="nominal", categories=("A", "B", "C")), ("A", "B", "C", "A"), ("A", "B", "A", None)),
        (Scale(level="interval"), (1, 2.5, 1000, 4), (1, 2.5, 1001, None)),
    ],
)
def test_answers_to_problems_have_an_accuracy(scale: Scale, gold: tuple, given: tuple) -> None:
    """Letters and numbers, as of ReFeR's reasoning tasks; an unreadable answer is left out."""
    labels = make_frame(*((f"i{n}", "", "answer", "", None, "key", value) for n, value in enumerate(gold)))
    opinions = make_frame(*((f"i{n}", "", "answer", "", None, "gpt", value) for n, value in enumerate(given)))
    rows = alignment_rows(labels, opinions.rename(columns={"rater": "judge"}), scales={("answer", ""): scale})
    found = {row.statistic: row for row in rows}
    assert (found["accuracy_gold"].value, found["accuracy_gold"].items) == (pytest.approx(2 / 3), 3)
    assert found["no_verdict_rate"].value == 0.25


def test_criteria_on_one_scale_are_also_pooled():
    first = frame_from_words(ANNOTATORS)
    labels = pd.concat([first, first.assign(criterion="depth")])
    judge = frame_from_words({"gpt": "1122220012"}, name_column="judge")
    opinions = pd.concat([judge, judge.assign(criterion="depth")])
    scales = {("preference", ""): PREFERENCE, ("preference", "depth"): PREFERENCE}

    def accuracy_rows(by: str) -> list[tuple[str, str, int]]:
        rows = alignment_rows(labels, opinions, scales=scales, by=by)
        return [(row.criterion, row.group, row.items) for row in rows if row.statistic == "accuracy_majority"]

    assert accuracy_rows("all") == [("", "all", 10), ("depth", "all", 10), ("all", "all", 20)]
    assert accuracy_rows("criterion") == [("", "all", 10), ("depth", "all", 10)]
    assert accuracy_rows("scenario")[-2:] == [("all", "s0", 10), ("all", "s1", 10)]


def test_aius_are_counted_by_critique():
    rows = [("q", "", "aiu_precision", "", f"{c}{n}", "a1", n > 0, c) for c in "ab" for n in range(2)]
    labels = pd.DataFrame(rows, columns=[*COLUMNS, "critique"])
    opinions = labels.rename(columns={"rater": "judge"}).assign(value=[True, True, False, True])
    scales = {("aiu_precision", ""): TRUTH}
    by_name = {row.statistic: row for row in alignment_rows(labels, opinions, scales=scales)}
    assert by_name["precision_macro"].value == by_name["precision_micro"].value == 0.75
    assert by_name["precision_macro_people"].value == 0.5
    assert by_name["precision_macro"].items == 2
    assert by_name["f1_macro"].value is None


def test_a_judge_without_annotators_still_has_its_no_verdict_rate():
    opinions = frame_from_words({"gpt": "12?"}, name_column="judge")
    for labels in (frame_from_words({}), pd.DataFrame()):
        rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales=SCALES)}
        assert rows["no_verdict_rate"].value == pytest.approx(1 / 3)
        assert rows["accuracy_gold"].value is None
        assert "no item has both" in rows["accuracy_gold"].reason


def test_other_numbers_of_opinions_change_no_bias():
    opinions = frame_from_words({"gpt": "112122"}, name_column="judge")
    opinions = opinions.assign(shown_first=[1, 2, 1, 2, 1, 2], longer=[1, 1, 1, 2, 2, 0], own=[1, 2, 2, 2, 0, 1])
    expected = {
        "first_shown_preferred": 2 / 6,
        "longer_preferred": 3 / 5, "longer_preferred_people": 2 / 5, "longer_preferred_less_people": 1 / 5,
        "own_preferred": 2 / 5, "own_preferred_people": 3 / 5, "own_preferred_less_people": -1 / 5,
    }  # fmt: skip
    people = frame_from_words({"a1": "121111"})
    for trace, gap in (([1] * 6, [1.0] * 6), ([2, 1, 2, 1, 2, 1], [2.4] * 6), (range(7, 13), [1.5, 2.5] * 3)):
        rows = alignment_rows(people, opinions.assign(length_gap=gap, trace=list(trace)), scales=SCALES)
        assert {row.statistic: row.value for row in rows if "_preferred" in row.statistic} == pytest.approx(expected)
    rows = alignment_rows(people, opinions.drop(columns="own").assign(length_gap=2.0, trace=1), scales=SCALES)
    assert not [row for row in rows if row.statistic.startswith("own")]


def every_verdict(verdicts, categories="120"):
    """Yield the verdicts with each "?" replaced by every category, in every combination."""
    if "?" not in verdicts:
        yield verdicts
        return
    for category in categories:
        yield from every_verdict(verdicts.replace("?", category, 1), categories)


@pytest.mark.parametrize("statistic", ["accuracy_gold", "accuracy_majority", "win_rate_1"])
def test_the_range_is_that_of_every_verdict_that_is_missing(statistic):
    labels = {"a1": "1122201", "a2": "1121201", "a3": "1122101"}
    verdicts = "112?2?0"

    def rows(word):
        by_name = alignment_by_name(labels, {"gpt": word}, resamples=0)
        return {name: row for (judge, name), row in by_name.items() if judge == "gpt"}

    observed = rows(verdicts)
    possible = [rows(word)[statistic].value for word in every_verdict(verdicts)]
    low, high = observed[f"{statistic}_lowest"], observed[f"{statistic}_highest"]
    assert (low.value, high.value) == pytest.approx((min(possible), max(possible)))
    assert low.value < observed[statistic].value < high.value
    assert (low.items, low.reason) == (7, "2 of 7 items have no verdict; all of them count one way")
    assert f"{statistic}_lowest" not in rows("1122201"), "nothing is missing"


def test_the_reference_has_the_number_of_targets_of_the_statistic() -> None:
    """Of four scores two have a majority, and all have a mean; one of the judge's scores is missing."""
    labels = make_frame(
        *((f"i{n}", "", "score", "", None, name, given[n]) for name, given in VOTES.items() for n in range(4))
    )
    opinions = make_frame(*((f"i{n}", "", "score", "", None, "gpt", given) for n, given in enumerate((1, 2, 3, None))))
    opinions = opinions.rename(columns={"rater": "judge"})
    gold = make_frame(*((f"i{n}", "", "score", "", None, "", value) for n, value in enumerate((1, 2, None, 4))))
    gold = gold.assign(number=[1.0, 2.0, 2.5, 4.0], source="by people")
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales=STARS, gold=gold, resamples=2)}
    for name, targets in (("accuracy_gold", 2), ("example_level_agreement", 3), ("spearman", 3)):
        assert (rows[name].items, rows[name].reference) == (targets, f"{targets} by people")


VOTES = {"a1": (1, 2, 2, 4), "a2": (1, 2, 3, 4)}


# Alignment of judges with categorical verdicts.


def test_accuracy_and_kappa_with_the_majority():
    verdicts, majority = "1122220012", "1122110012"
    rows = alignment_by_name(ANNOTATORS, {"gpt": verdicts})
    assert rows["gpt", "accuracy_majority"].value == pytest.approx(0.8)
    assert rows["gpt", "cohen_kappa_majority"].value == pytest.approx(cohen_kappa_score(list(majority), list(verdicts)))
    assert rows["gpt", "accuracy_gold"].value == rows["gpt", "accuracy_majority"].value
    assert "gold is the majority" in rows["gpt", "accuracy_gold"].reason


def test_adjudicated_gold_replaces_the_majority():
    gold = frame_from_words({"adjudicator": "2222222222"}).drop(columns="rater")
    rows = alignment_by_name(ANNOTATORS, {"gpt": "2222222222"}, gold=gold)
    assert rows["gpt", "accuracy_gold"].value == 1
    assert rows["gpt", "accuracy_gold"].low > 0.6  # Wilson's interval: no resample differs
    assert rows["gpt", "accuracy_majority"].value == pytest.approx(0.3)
    assert rows["gpt", "cohen_kappa_gold"].value is None
    assert "one and the same category" in rows["gpt", "cohen_kappa_gold"].reason


def test_no_verdict_is_a_rate_and_never_a_tie():
    rows = alignment_by_name(ANNOTATORS, {"gpt": "1122??00??"})
    assert rows["gpt", "no_verdict_rate"].value == pytest.approx(0.4)
    assert rows["gpt", "accuracy_majority"].value == 1
    assert rows["gpt", "accuracy_majority"].items == 6
    assert rows["gpt", "example_level_agreement"].value == pytest.approx(0.6)


def test_targets_that_a_judge_was_not_asked_about_do_not_count():
    rows = alignment_by_name(ANNOTATORS, {"gpt": "11--------"})
    assert rows["gpt", "no_verdict_rate"].items == 2
    assert rows["gpt", "example_level_agreement"].items == 2


def test_ties_among_annotators_are_no_majority():
    rows = alignment_by_name({"a1": "1122", "a2": "1212"}, {"gpt": "1112"})
    assert rows["gpt", "accuracy_majority"].items == 2
    assert "2 items have no majority" in rows["gpt", "accuracy_majority"].reason


def test_scaleevals_system_level_rate_is_one_or_zero_for_each_scenario():
    """Even items (s0): annotators mostly 1, judge mostly 1. Odd items: annotators 2, judge 1."""
    annotators, judges = {"a1": "121212", "a2": "121210"}, {"gpt": "111121"}
    rows = alignment_by_name(annotators, judges)
    assert rows["gpt", "system_level_agreement"].value == pytest.approx(0.5)
    by_scenario = alignment_by_name(annotators, judges, by="scenario")
    assert by_scenario["gpt", "system_level_agreement"].group in ("s0", "s1")


def test_a_scenario_with_two_modes_is_left_out():
    rows = alignment_by_name({"a1": "1122"}, {"gpt": "1111"})
    assert rows["gpt", "system_level_agreement"].value is None
    assert "no scenario" in rows["gpt", "system_level_agreement"].reason


def test_every_judge_has_the_human_ceiling():
    words = {name: word * 12 for name, word in ANNOTATORS.items()}
    rows = alignment_by_name(words, {"gpt": words["a1"], "bad": "0" * 120})
    for judge in ("gpt", "bad"):
        assert rows[judge, "human_ceiling"].raters == 3
    assert rows["gpt", "judge_less_ceiling"].value == pytest.approx(
        rows["gpt", "judge_against_others"].value - rows["gpt", "human_ceiling"].value
    )
    assert rows["gpt", "winning_rate"].value == 1
    assert rows["bad", "winning_rate"].value == 0
    assert rows["bad", "judge_less_ceiling"].high < 0
    assert rows["gpt", "dawid_skene_accuracy"].value > rows["bad", "dawid_skene_accuracy"].value


def test_epsilon_is_what_the_test_concedes_to_the_judge():
    words = {name: word * 12 for name, word in ANNOTATORS.items()}
    judge = "".join("2" if item % 6 == 0 else char for item, char in enumerate(words["a2"]))
    frames = Frames(frame_from_words(words), frame_from_words({"gpt": judge}, name_column="judge"), None, SCALES)
    (dataset,) = build_datasets(frames, "all")
    strict, lenient = (judge_statistics(dataset, dataset.judges["gpt"], epsilon, 0) for epsilon in (0.0, 0.5))
    assert strict["winning_rate"].value < lenient["winning_rate"].value == 1


# Alignment of judges with numeric verdicts.


def test_scores_are_correlated_with_the_mean_of_annotators():
    annotators, verdicts = {"a1": "1234512345", "a2": "1334522345"}, "1224513354"
    labels, opinions = frame_from_words(annotators, "score"), frame_from_words({"gpt": verdicts}, "score", "judge")
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales=STARS)}
    scores = np.array([[int(char) for char in word] for word in annotators.values()])
    judge = [int(char) for char in verdicts]
    assert rows["spearman"].value == pytest.approx(stats.spearmanr(judge, scores.mean(axis=0)).statistic)
    assert rows["pearson"].value == pytest.approx(stats.pearsonr(judge, scores.mean(axis=0)).statistic)
    assert rows["spearman"].raters == 2
    assert rows["human_ceiling_spearman"].value == pytest.approx(stats.spearmanr(*scores).statistic)
    against_others = np.mean([stats.spearmanr(judge, other).statistic for other in scores])
    assert rows["judge_against_others_spearman"].value == pytest.approx(against_others)


def test_one_annotator_has_no_ceiling_and_the_reason_says_so():
    labels = frame_from_words({"a1": "1234512345"}, "score")
    opinions = frame_from_words({"gpt": "1224513354"}, "score", "judge")
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales=STARS)}
    assert rows["human_ceiling_spearman"].value is None
    assert "no annotator shares 3 items" in rows["human_ceiling_spearman"].reason


def test_a_problem_without_an_answer_is_a_wrong_one_in_the_agreement_of_all_problems():
    target = {"kind": "answer", "criterion": "", "part": ""}
    labels = pd.DataFrame([target | {"item": f"i{n}", "rater": "gold", "value": 12.5} for n in range(4)])
    answers = [12.5, 12.5, 3, None]
    opinions = pd.DataFrame([target | {"item": f"i{n}", "judge": "j", "value": v} for n, v in enumerate(answers)])
    scale = Scale(level="interval", low=-1e12, high=1e12)
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales={("answer", ""): scale})}
    assert (rows["accuracy_gold"].value, rows["accuracy_gold"].items) == (pytest.approx(2 / 3), 3)
    assert (rows["example_level_agreement"].value, rows["example_level_agreement"].items) == (0.5, 4)
