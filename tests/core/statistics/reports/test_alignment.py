"""Rows about judges, as the alignment page and the command line get them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from core.labels import PREFERENCE, TRUTH, Scale
from core.statistics.reports.agreement import table
from core.statistics.reports.alignment import AlignmentRow, alignment
from core.statistics.reports.judge_comparison import versus

COLUMNS = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
SCALES = {("preference", ""): PREFERENCE}
STARS = {("score", ""): Scale(level="ordinal", categories=(1, 2, 3, 4, 5))}


def frame(words: dict[str, str], kind: str = "preference", who: str = "rater") -> pd.DataFrame:
    """Each name's labels, a character an item; '-' was not asked, '?' gave no verdict."""
    rows = [
        (f"i{item}", f"s{item % 2}", kind, "", None, name, None if char == "?" else int(char))
        for name, word in words.items()
        for item, char in enumerate(word)
        if char != "-"
    ]
    made = pd.DataFrame(rows, columns=COLUMNS)
    made["value"] = made["value"].astype(object).where(made["value"].notna(), None)
    return made.rename(columns={"rater": who})


def rows_of(people: dict[str, str], judges: dict[str, str], **more) -> dict[tuple[str, str], AlignmentRow]:
    kind = more.pop("kind", "preference")
    found = alignment(frame(people, kind), frame(judges, kind, "judge"), **{"scales": SCALES, **more})
    return {(row.judge, row.statistic): row for row in found}


PEOPLE = {"ann": "1122110012", "bob": "1122120012", "cy": "1112110022"}


def test_accuracy_and_kappa_with_the_majority():
    verdicts, majority = "1122220012", "1122110012"
    found = rows_of(PEOPLE, {"gpt": verdicts})
    assert found["gpt", "accuracy_majority"].value == pytest.approx(0.8)
    assert found["gpt", "cohen_kappa_majority"].value == pytest.approx(
        cohen_kappa_score(list(majority), list(verdicts))
    )
    assert found["gpt", "accuracy_gold"].value == found["gpt", "accuracy_majority"].value
    assert "gold is the majority" in found["gpt", "accuracy_gold"].reason


def test_adjudicated_gold_is_another_thing_than_the_majority():
    gold = frame({"lea": "2222222222"}).drop(columns="rater")
    found = rows_of(PEOPLE, {"gpt": "2222222222"}, gold=gold)
    assert found["gpt", "accuracy_gold"].value == 1
    assert found["gpt", "accuracy_gold"].low > 0.6  # Wilson: no resample differs
    assert found["gpt", "accuracy_majority"].value == pytest.approx(0.3)
    assert found["gpt", "cohen_kappa_gold"].value is None
    assert "one and the same category" in found["gpt", "cohen_kappa_gold"].reason


def test_no_verdict_is_a_rate_and_never_a_tie():
    found = rows_of(PEOPLE, {"gpt": "1122??00??"})
    assert found["gpt", "no_verdict_rate"].value == pytest.approx(0.4)
    assert found["gpt", "accuracy_majority"].value == 1
    assert found["gpt", "accuracy_majority"].items == 6
    assert found["gpt", "example_level_agreement"].value == pytest.approx(0.6)


def test_targets_that_a_judge_was_not_asked_about_do_not_count():
    found = rows_of(PEOPLE, {"gpt": "11--------"})
    assert found["gpt", "no_verdict_rate"].items == 2
    assert found["gpt", "example_level_agreement"].items == 2


def test_ties_among_people_are_no_majority():
    found = rows_of({"ann": "1122", "bob": "1212"}, {"gpt": "1112"})
    assert found["gpt", "accuracy_majority"].items == 2
    assert "2 items have no majority" in found["gpt", "accuracy_majority"].reason


def test_scaleevals_system_level_rate_is_one_or_zero_a_scenario():
    """Even items (s0): people mostly 1, judge mostly 1. Odd items: people 2, judge 1."""
    found = rows_of({"ann": "121212", "bob": "121210"}, {"gpt": "111121"})
    assert found["gpt", "system_level_agreement"].value == pytest.approx(0.5)
    alone = rows_of({"ann": "121212", "bob": "121210"}, {"gpt": "111121"}, by="scenario")
    assert alone["gpt", "system_level_agreement"].group in ("s0", "s1")


def test_a_scenario_with_two_modes_is_left_out():
    found = rows_of({"ann": "1122"}, {"gpt": "1111"})
    assert found["gpt", "system_level_agreement"].value is None
    assert "no scenario" in found["gpt", "system_level_agreement"].reason


def test_win_rates_stand_side_by_side_with_ties_as_a_half():
    found = rows_of({"ann": "1120"}, {"gpt": "1110"})
    assert found["gpt", "win_rate_1"].value == pytest.approx(3.5 / 4)
    assert found["gpt", "win_rate_1_people"].value == pytest.approx(2.5 / 4)


def test_the_ceiling_stands_beside_every_judge():
    words = {name: word * 12 for name, word in PEOPLE.items()}
    found = rows_of(words, {"gpt": words["ann"], "bad": "0" * 120})
    for judge in ("gpt", "bad"):
        assert found[judge, "human_ceiling"].raters == 3
    assert found["gpt", "judge_less_ceiling"].value == pytest.approx(
        found["gpt", "judge_against_others"].value - found["gpt", "human_ceiling"].value
    )
    assert found["gpt", "winning_rate"].value == 1
    assert found["bad", "winning_rate"].value == 0
    assert found["bad", "judge_less_ceiling"].high < 0
    assert found["gpt", "dawid_skene_accuracy"].value > found["bad", "dawid_skene_accuracy"].value


def test_few_items_cannot_be_tested():
    found = rows_of(PEOPLE, {"gpt": "1122220012"})
    assert found["gpt", "winning_rate"].value is None
    assert "needs 30 items" in found["gpt", "winning_rate"].reason


def test_scores_are_correlated_with_the_mean_of_people():
    people = {"ann": "1234512345", "bob": "1334522345"}
    found = rows_of(people, {"gpt": "1224513354"}, kind="score", scales=STARS)
    mean = np.array([[int(c) for c in word] for word in people.values()]).mean(axis=0)
    judge = [int(c) for c in "1224513354"]
    assert found["gpt", "spearman"].value == pytest.approx(stats.spearmanr(judge, mean).statistic)
    assert found["gpt", "pearson"].value == pytest.approx(stats.pearsonr(judge, mean).statistic)
    assert found["gpt", "spearman"].raters == 2
    others = [[int(c) for c in word] for word in people.values()]
    ceiling = stats.spearmanr(*others).statistic
    assert found["gpt", "human_ceiling_spearman"].value == pytest.approx(ceiling)
    against = np.mean([stats.spearmanr(judge, other).statistic for other in others])
    assert found["gpt", "judge_against_others_spearman"].value == pytest.approx(against)


def test_documents_and_systems_add_their_levels():
    words = {"ann": "123451234512", "bob": "124451235511"}
    labels, opinions = frame(words, "score"), frame({"gpt": "113451244512"}, "score", "judge")
    number = opinions["item"].str[1:].astype(int)
    opinions = opinions.assign(system=(number % 4).astype(str), group=(number // 4).astype(str))
    found = {row.statistic: row for row in alignment(labels, opinions, scales=STARS)}
    assert found["pearson_within_groups"].value is not None
    assert "4 systems" in found["pearson_between_systems"].reason


def test_continuous_scores_have_correlations_and_no_kappa():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=60)
    rows = [
        (f"i{i}", "", "score", "", None, who, float(truth[i] + 0.5 * rng.normal()))
        for who in ("ann", "bob", "gpt")
        for i in range(60)
    ]
    made = pd.DataFrame(rows, columns=COLUMNS)
    labels = made[made["rater"] != "gpt"]
    opinions = made[made["rater"] == "gpt"].rename(columns={"rater": "judge"})
    found = {row.statistic for row in alignment(labels, opinions, scales={("score", ""): Scale(level="interval")})}
    assert {"pearson", "human_ceiling_spearman", "winning_rate", "no_verdict_rate"} <= found
    assert not {name for name in found if "kappa" in name or "accuracy" in name}


def test_criteria_on_one_scale_are_pooled():
    one = frame(PEOPLE)
    labels = pd.concat([one, one.assign(criterion="depth")])
    judge = frame({"gpt": "1122220012"}, who="judge")
    opinions = pd.concat([judge, judge.assign(criterion="depth")])
    scales = {("preference", ""): PREFERENCE, ("preference", "depth"): PREFERENCE}
    found = {
        (row.criterion, row.items)
        for row in alignment(labels, opinions, scales=scales)
        if row.statistic == "accuracy_majority"
    }
    assert found == {("", 10), ("depth", 10), ("all", 20)}


def test_a_missing_part_and_an_empty_one_are_the_same_target():
    opinions = frame({"gpt": "1122220012"}, who="judge").assign(part="")
    found = alignment(frame(PEOPLE), opinions, scales=SCALES)
    assert next(row.items for row in found if row.statistic == "accuracy_majority") == 10


def test_aius_belong_to_their_critiques():
    rows = [("q", "", "aiu_precision", "", f"{c}{n}", "ann", n > 0, c) for c in "ab" for n in range(2)]
    labels = pd.DataFrame(rows, columns=[*COLUMNS, "critique"])
    opinions = labels.rename(columns={"rater": "judge"}).assign(value=[True, True, False, True])
    found = {r.statistic: r for r in alignment(labels, opinions, scales={("aiu_precision", ""): TRUTH})}
    assert found["precision_macro"].value == found["precision_micro"].value == 0.75
    assert found["precision_macro_people"].value == 0.5
    assert found["precision_macro"].items == 2
    assert found["f1_macro"].value is None


def test_judges_are_compared_with_each_other():
    words = {name: word * 12 for name, word in PEOPLE.items()}
    judges = {"good": words["ann"], "fair": words["cy"], "bad": "0" * 120}
    found = versus(frame(words), frame(judges, who="judge"), scales=SCALES)
    pairs = {(row.one, row.other): row for row in found}
    assert list(pairs) == [("bad", "fair"), ("bad", "good"), ("fair", "good")]
    assert pairs["bad", "good"].high < 0
    assert all(row.p_bootstrap <= row.p_corrected for row in found)


def test_scoring_judges_are_compared_by_correlation_and_williams():
    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, 80)
    near = np.clip(stars + rng.integers(-1, 2, 80), 1, 5)
    words = {"ann": "".join(map(str, stars))}
    judges = {"near": "".join(map(str, near)), "far": "".join(map(str, rng.integers(1, 6, 80)))}
    (row,) = versus(frame(words, "score"), frame(judges, "score", "judge"), scales=STARS)
    assert (row.statistic, row.one, row.other) == ("pearson", "far", "near")
    assert row.high < 0
    assert max(row.p_bootstrap, row.p_t) < 0.01


def test_nobody_asked_gives_no_rows():
    empty = frame({}, who="judge")
    assert alignment(frame(PEOPLE), empty, scales=SCALES) == []
    assert versus(frame(PEOPLE), empty, scales=SCALES) == []


def test_a_judge_without_people_still_has_its_rate_of_no_verdict():
    opinions = frame({"gpt": "12?"}, who="judge")
    for labels in (frame({}), pd.DataFrame()):
        found = {r.statistic: r for r in alignment(labels, opinions, scales=SCALES)}
        assert found["no_verdict_rate"].value == pytest.approx(1 / 3)
        assert found["accuracy_gold"].value is None
        assert "no item has both" in found["accuracy_gold"].reason


def test_the_columns_are_the_ones_promised():
    rows = list(rows_of(PEOPLE, {"gpt": "1122220012"}).values())
    assert list(table(rows).columns) == [
        "judge", "kind", "criterion", "group", "statistic", "value",
        "low", "high", "items", "raters", "pairs", "reason",
    ]  # fmt: skip


def test_what_a_judges_preferences_lean_to_is_told_where_it_is_known():
    opinions = frame({"gpt": "11112222??"}, who="judge")
    opinions = opinions.assign(longer=[1, 1, 1, 1, 2, 2, 1, 0, 1, 1], shown_first=[1, 2] * 5)
    found = {row.statistic: row for row in alignment(frame({"ann": "1122222211"}), opinions, scales=SCALES)}
    assert found["longer_preferred"].value == pytest.approx(6 / 7)
    assert found["longer_preferred"].items == 7
    assert found["longer_preferred_people"].value == pytest.approx(6 / 9)
    assert found["longer_preferred_less_people"].value == pytest.approx(6 / 7 - 4 / 7)
    assert found["first_shown_preferred"].value == pytest.approx(0.5)
    assert not {name for name in found if name.startswith("own")}


def test_epsilon_decides_how_much_worse_a_judge_may_be():
    words = {name: word * 12 for name, word in PEOPLE.items()}
    judge = "".join("2" if at % 6 == 0 else char for at, char in enumerate(words["bob"]))
    strict = rows_of(words, {"gpt": judge}, epsilon=0.0)["gpt", "winning_rate"].value
    kind = rows_of(words, {"gpt": judge}, epsilon=0.5)["gpt", "winning_rate"].value
    assert strict < kind == 1
