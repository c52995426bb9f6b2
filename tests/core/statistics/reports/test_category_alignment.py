"""Alignment of judges with categorical verdicts."""

import pytest
from sklearn.metrics import cohen_kappa_score

from tests.core.statistics.frames import ANNOTATORS, alignment_by_name, frame_from_words


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


def test_a_tie_is_half_a_win():
    rows = alignment_by_name({"a1": "1120"}, {"gpt": "1110"})
    assert rows["gpt", "win_rate_1"].value == pytest.approx(3.5 / 4)
    assert rows["gpt", "win_rate_1_people"].value == pytest.approx(2.5 / 4)


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


def test_annotators_with_few_items_cannot_be_tested():
    rows = alignment_by_name(ANNOTATORS, {"gpt": "1122220012"})
    assert rows["gpt", "winning_rate"].value is None
    assert "needs 30 items" in rows["gpt", "winning_rate"].reason


def test_epsilon_is_what_the_test_concedes_to_the_judge():
    words = {name: word * 12 for name, word in ANNOTATORS.items()}
    judge = "".join("2" if item % 6 == 0 else char for item, char in enumerate(words["a2"]))
    strict = alignment_by_name(words, {"gpt": judge}, epsilon=0.0)["gpt", "winning_rate"].value
    lenient = alignment_by_name(words, {"gpt": judge}, epsilon=0.5)["gpt", "winning_rate"].value
    assert strict < lenient == 1
