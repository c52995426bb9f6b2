"""Agreement as pages and the command line ask for it."""

from itertools import pairwise

import pandas as pd
import pytest

from core.labels import PREFERENCE, TRUTH, Scale
from core.statistics.reports.agreement import Row, agreement
from tests.core.statistics.shared import read

COLUMNS = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def frame(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=COLUMNS)


def preferences(votes: list[str], raters: str = "abcdef") -> pd.DataFrame:
    """One item for each word: a digit for each rater in order, '-' for no label."""
    return frame(
        *(
            (f"i{number}", "writing", "preference", "", None, rater, int(vote))
            for number, word in enumerate(votes)
            for rater, vote in zip(raters, word, strict=False)
            if vote != "-"
        )
    )


def ask(labels: pd.DataFrame, statistic: str, scale: Scale = PREFERENCE, by: str = "all", **more) -> list[Row]:
    scales = {(kind, criterion): scale for kind, criterion in zip(labels.kind, labels.criterion, strict=True)}
    return [row for row in agreement(labels, by=by, scales=scales, **more) if row.statistic == statistic]


def test_pandalm_gives_the_published_kappas():
    records = read("pandalm/testset-v1.json")
    labels = frame(
        *(
            (str(record["idx"]), "", "preference", "", None, person, record[person])
            for record in records
            for person in ("annotator1", "annotator2", "annotator3")
        )
    )
    (fleiss,) = ask(labels, "fleiss_kappa")
    assert fleiss.value == pytest.approx(0.8642, abs=5e-5)
    assert (fleiss.items, fleiss.raters, fleiss.pairs) == (999, 3, 2997)
    pairs = {row.group: row.value for row in ask(labels, "cohen_kappa", by="raters")}
    assert pairs == {
        "annotator1 × annotator2": pytest.approx(0.8520, abs=5e-5),
        "annotator1 × annotator3": pytest.approx(0.8789, abs=5e-5),
        "annotator2 × annotator3": pytest.approx(0.8617, abs=5e-5),
    }


TOPICAL_CHAT = {
    "Understandable": ((0, 1), 0.5102, 0.4828),
    "Natural": ((1, 2, 3), 0.4871, 0.4214),
    "Maintains Context": ((1, 2, 3), 0.5599, 0.5191),
    "Engaging": ((1, 2, 3), 0.5811, 0.5465),
    "Uses Knowledge": ((0, 1), 0.7090, 0.7090),
    "Overall": ((1, 2, 3, 4, 5), 0.7183, 0.6647),
}


@pytest.mark.parametrize("criterion", TOPICAL_CHAT)
def test_topical_chat_gives_the_published_correlations_and_alphas(criterion):
    categories, spearman, alpha = TOPICAL_CHAT[criterion]
    labels = frame(
        *(
            (f"{dialogue}-{number}", "", "likert", criterion, None, f"rater {rater}", value)
            for dialogue, record in enumerate(read("topical_chat/usr_topical_chat.json"))
            for number, response in enumerate(record["responses"])
            for rater, value in enumerate(response[criterion])
        )
    )
    scale = Scale(level="ordinal", categories=categories)
    assert ask(labels, "spearman", scale)[0].value == pytest.approx(spearman, abs=5e-5)
    assert ask(labels, "krippendorff_alpha_ordinal", scale)[0].value == pytest.approx(alpha, abs=5e-5)


def test_three_of_five_raters_in_full_agreement_correlate_perfectly():
    labels = frame(
        *(
            (f"i{item}", "", "score", "", None, f"r{(item + shift) % 5}", 1 + item % 5)
            for item in range(60)
            for shift in range(3)
        )
    )
    for statistic in ("cohen_kappa", "spearman", "pearson", "kendall_tau_b"):
        assert ask(labels, statistic, FIVE)[0].value == pytest.approx(1)


def test_unequal_raters_are_weighed_by_item():
    split = ["111"] * 5 + ["222"] * 5 + ["12"] * 9
    assert ask(preferences(split), "fleiss_kappa")[0].value == pytest.approx(1 / 19)
    disputed = ["11"] * 35 + ["22"] * 35 + ["1122"] * 30
    assert ask(preferences(disputed), "fleiss_kappa")[0].value == pytest.approx(0.6)


def test_one_category_only_is_explained_with_the_raw_agreement():
    rows = agreement(preferences(["111"] * 60), by="all", scales={("preference", ""): PREFERENCE})
    named = {row.statistic: row for row in rows}
    for statistic in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha_nominal"):
        assert named[statistic].value is None
        assert "all raters chose 1" in named[statistic].reason
        assert "raw agreement 100 %" in named[statistic].reason
    assert named["percent"].value == named["gwet_ac1"].value == 1
    assert named["percent"].low is None
    assert "rule of three" in named["percent"].reason


def test_items_judged_once_give_no_agreement_and_a_reason():
    (row,) = ask(preferences(["1--", "-2-", "--0"]), "fleiss_kappa")
    assert (row.value, row.low, row.high, row.items, row.pairs) == (None, None, None, 0, 0)
    assert "no item was judged by two people" in row.reason


def test_few_items_are_flagged_and_many_are_not():
    assert "fewer than 50 items" in ask(preferences(["111", "122", "120", "222"] * 5), "percent")[0].reason
    assert ask(preferences(["111", "122", "120", "222"] * 20), "percent")[0].reason == ""


def test_two_items_are_too_few_for_a_correlation():
    (row,) = ask(preferences(["11", "22"]), "pearson", Scale(level="interval", categories=(1, 2)))
    assert row.value is None
    assert "needs 3 items" in row.reason


def test_equal_scores_of_one_rater_are_explained():
    labels = preferences(["12", "13", "11", "15"])
    (row,) = ask(labels, "spearman", FIVE)
    assert row.value is None
    assert "the same score" in row.reason
    (kappa,) = ask(labels, "cohen_kappa", FIVE)
    assert kappa.value == pytest.approx(0)
    assert "a used one label only" in kappa.reason


def test_pairs_that_share_no_item_are_counted_in_the_reason():
    labels = preferences(["11-", "22-", "12-", "00-", "--1"])
    (row,) = ask(labels, "cohen_kappa")
    assert "mean of 1 rater pair; undefined for 2 more" in row.reason


def test_scenarios_have_rows_of_their_own():
    labels = preferences(["11", "22", "12"] * 3)
    labels["scenario"] = ["math" if vote == 2 else "writing" for vote in labels["value"]]
    labels["scenario"] = labels.groupby("item")["scenario"].transform("max")
    rows = ask(labels, "percent", by="scenario")
    assert [(row.group, row.items, row.value) for row in rows] == [("math", 3, 1), ("writing", 6, 0.5)]


def test_criteria_on_one_scale_are_also_pooled():
    one = preferences(["11", "22", "12"])
    two = one.assign(criterion="depth")
    rows = ask(pd.concat([one, two]), "percent")
    assert [(row.criterion, row.items) for row in rows] == [("", 3), ("depth", 3), ("all", 6)]


def test_parts_of_an_item_are_units_of_their_own():
    labels = frame(
        *(
            ("i", "", "aiu_precision", "", part, rater, value)
            for part, value in (("1", True), ("2", False), ("3", True))
            for rater in "ab"
        )
    )
    (row,) = ask(labels, "krippendorff_alpha_nominal", TRUTH)
    assert (row.value, row.items) == (1, 3)


def test_scores_without_categories_are_numbers():
    labels = frame(
        *(
            (f"i{item}", "", "score", "", None, rater, item * 0.137 + shift)
            for item in range(80)
            for rater, shift in (("a", 0.0), ("b", 0.5 * (item % 3)), ("c", -0.2 * (item % 2)))
        )
    )
    rows = agreement(labels, by="all", scales={("score", ""): Scale(level="interval", low=0, high=12)})
    assert [row.statistic for row in rows] == [
        "krippendorff_alpha_ordinal",
        "krippendorff_alpha_interval",
        "pearson",
        "spearman",
        "kendall_tau_b",
    ]
    for row in rows:
        assert row.low < row.value < row.high


def test_a_value_off_the_declared_scale_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="3 is not on the declared scale"):
        ask(preferences(["13"]), "percent")


def test_groups_of_items_widen_the_interval():
    """Items that repeat their dialogue's label are worth no more than the dialogue."""
    words = [word for word in ("11", "22", "12", "10", "00", "11") for _ in range(40)]
    labels = preferences(words)
    labels["group"] = [f"dialogue {int(item[1:]) // 10}" for item in labels["item"]]
    alone, grouped = (ask(part, "percent")[0] for part in (labels.drop(columns="group"), labels))
    assert alone.value == grouped.value
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


def test_parts_of_one_item_are_resampled_together():
    rows = [
        (f"i{item}", "", "aiu_precision", "", f"{part}", rater, (item % 3 > 0) == (rater == "a"))
        for item in range(60)
        for part in range(8)
        for rater in "ab"
    ]
    labels = frame(*rows)
    labels.loc[labels["item"].str[1:].astype(int) % 2 == 0, "value"] = True
    apart = labels.assign(item=labels["item"] + "-" + labels["part"])
    together, alone = (ask(part, "percent", TRUTH)[0] for part in (labels, apart))
    assert together.items == alone.items == 480
    assert together.value == alone.value
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_two_shared_items_do_not_enter_a_mean_of_correlations():
    labels = preferences(["121", "232", "311", "453", "51-", "2--", "34-"])
    (row,) = ask(labels, "pearson", FIVE)
    full = [ask(labels[labels["rater"].isin([a, b])], "pearson", FIVE)[0].value for a, b in ("ab", "ac", "bc")]
    assert row.value == pytest.approx(sum(full) / 3)
    few = labels.drop(labels[(labels["rater"] == "c") & ~labels["item"].isin(["i0", "i1"])].index)
    (row,) = ask(few, "pearson", FIVE)
    assert row.value == pytest.approx(full[0])
    assert "mean of 1 rater pair; undefined for 2 more" in row.reason


def test_the_same_seed_gives_the_same_interval_and_rows_do_not_matter():
    labels = preferences(["11", "22", "12", "10", "00", "11"] * 20)
    rows = [ask(part, "fleiss_kappa", seed=7)[0] for part in (labels, labels, labels[::-1])]
    assert rows[0] == rows[1] == rows[2]
    lows = [ask(labels, "fleiss_kappa", seed=seed)[0].low for seed in range(5)]
    assert any(a != b for a, b in pairwise(lows))


def test_no_labels_give_no_rows():
    assert agreement(frame(), by="all", scales={}) == []
