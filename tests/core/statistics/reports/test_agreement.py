"""Rows of agreement between annotators."""

import numpy as np
import pandas as pd
import pytest

from core.labels import PREFERENCE, TRUTH, Scale
from core.statistics import catalogue
from core.statistics.reports.agreement import AgreementRow, agreement_rows
from tests.core.statistics.frames import make_frame

FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def preferences(votes: list[str], raters: str = "abcdef") -> pd.DataFrame:
    """Return one item for each word: a digit for each rater in order, '-' for no label."""
    return make_frame(
        *(
            (f"i{number}", "writing", "preference", "", None, rater, int(vote))
            for number, word in enumerate(votes)
            for rater, vote in zip(raters, word, strict=False)
            if vote != "-"
        )
    )


def rows_of(
    labels: pd.DataFrame, statistic: str, scale: Scale = PREFERENCE, by: str = "all", **options
) -> list[AgreementRow]:
    scales = {(kind, criterion): scale for kind, criterion in zip(labels.kind, labels.criterion, strict=True)}
    return [row for row in agreement_rows(labels, by=by, scales=scales, **options) if row.statistic == statistic]


def test_three_of_five_unanimous_raters_correlate_perfectly():
    labels = make_frame(
        *(
            (f"i{item}", "", "score", "", None, f"r{(item + shift) % 5}", 1 + item % 5)
            for item in range(60)
            for shift in range(3)
        )
    )
    for statistic in ("cohen_kappa", "spearman", "pearson", "kendall_tau_b"):
        assert rows_of(labels, statistic, FIVE)[0].value == pytest.approx(1)


def test_items_with_unequal_numbers_of_raters_have_equal_weights():
    split = ["111"] * 5 + ["222"] * 5 + ["12"] * 9
    assert rows_of(preferences(split), "fleiss_kappa")[0].value == pytest.approx(1 / 19)
    disputed = ["11"] * 35 + ["22"] * 35 + ["1122"] * 30
    assert rows_of(preferences(disputed), "fleiss_kappa")[0].value == pytest.approx(0.6)


def test_one_category_only_gives_the_raw_agreement_as_reason():
    rows = agreement_rows(preferences(["111"] * 60), by="all", scales={("preference", ""): PREFERENCE})
    named = {row.statistic: row for row in rows}
    for statistic in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha_nominal"):
        assert named[statistic].value is None
        assert "all raters chose 1" in named[statistic].reason
        assert "raw agreement 100 %" in named[statistic].reason
    assert named["percent"].value == named["gwet_ac1"].value == 1
    assert named["percent"].low is None
    assert "rule of three" in named["percent"].reason


def test_few_items_have_a_caveat_and_many_have_none():
    assert "fewer than 50 items" in rows_of(preferences(["111", "122", "120", "222"] * 5), "percent")[0].reason
    assert rows_of(preferences(["111", "122", "120", "222"] * 20), "percent")[0].reason == ""


def test_equal_scores_of_one_rater_are_the_reason():
    labels = preferences(["12", "13", "11", "15"])
    (row,) = rows_of(labels, "spearman", FIVE)
    assert row.value is None
    assert "the same score" in row.reason
    (kappa,) = rows_of(labels, "cohen_kappa", FIVE)
    assert kappa.value == pytest.approx(0)
    assert "a used one label only" in kappa.reason


def test_each_scenario_has_its_rows():
    labels = preferences(["11", "22", "12"] * 3)
    labels["scenario"] = ["math" if vote == 2 else "writing" for vote in labels["value"]]
    labels["scenario"] = labels.groupby("item")["scenario"].transform("max")
    rows = rows_of(labels, "percent", by="scenario")
    assert [(row.group, row.items, row.value) for row in rows] == [("math", 3, 1), ("writing", 6, 0.5)]


def test_parts_of_an_item_are_separate_targets():
    labels = make_frame(
        *(
            ("i", "", "aiu_precision", "", part, rater, value)
            for part, value in (("1", True), ("2", False), ("3", True))
            for rater in "ab"
        )
    )
    (row,) = rows_of(labels, "krippendorff_alpha_nominal", TRUTH)
    assert (row.value, row.items) == (1, 3)


def test_scores_without_categories_have_statistics_of_numbers():
    labels = make_frame(
        *(
            (f"i{item}", "", "score", "", None, rater, item * 0.137 + shift)
            for item in range(80)
            for rater, shift in (("a", 0.0), ("b", 0.5 * (item % 3)), ("c", -0.2 * (item % 2)))
        )
    )
    rows = agreement_rows(labels, by="all", scales={("score", ""): Scale(level="interval", low=0, high=12)})
    assert [row.statistic for row in rows] == [
        "krippendorff_alpha_ordinal",
        "krippendorff_alpha_interval",
        "pearson",
        "spearman",
        "kendall_tau_b",
    ]
    for row in rows:
        assert row.low < row.value < row.high


def test_groups_of_items_widen_the_interval():
    """Items that repeat their dialogue's label give no more information than the dialogue."""
    words = [word for word in ("11", "22", "12", "10", "00", "11") for _ in range(40)]
    labels = preferences(words)
    labels["group"] = [f"dialogue {int(item[1:]) // 10}" for item in labels["item"]]
    independent, grouped = (rows_of(frame, "percent")[0] for frame in (labels.drop(columns="group"), labels))
    assert independent.value == grouped.value
    assert grouped.high - grouped.low > 2 * (independent.high - independent.low)


def test_parts_of_one_item_are_resampled_together():
    rows = [
        (f"i{item}", "", "aiu_precision", "", f"{part}", rater, (item % 3 > 0) == (rater == "a"))
        for item in range(60)
        for part in range(8)
        for rater in "ab"
    ]
    labels = make_frame(*rows)
    labels.loc[labels["item"].str[1:].astype(int) % 2 == 0, "value"] = True
    separate_items = labels.assign(item=labels["item"] + "-" + labels["part"])
    of_parts, of_items = (rows_of(frame, "percent", TRUTH)[0] for frame in (labels, separate_items))
    assert of_parts.items == of_items.items == 480
    assert of_parts.value == of_items.value
    assert of_parts.high - of_parts.low > 2 * (of_items.high - of_items.low)


def test_pairs_with_two_shared_items_have_no_correlation():
    labels = preferences(["121", "232", "311", "453", "51-", "2--", "34-"])
    (row,) = rows_of(labels, "pearson", FIVE)
    by_pair = [rows_of(labels[labels["rater"].isin([a, b])], "pearson", FIVE)[0].value for a, b in ("ab", "ac", "bc")]
    assert row.value == pytest.approx(np.average(by_pair, weights=[6, 4, 4]))
    few = labels.drop(labels[(labels["rater"] == "c") & ~labels["item"].isin(["i0", "i1"])].index)
    (row,) = rows_of(few, "pearson", FIVE)
    assert row.value == pytest.approx(by_pair[0])
    assert "mean of 1 rater pair; undefined for 2 more" in row.reason


def test_the_interval_is_the_same_in_any_order_of_rows():
    labels = preferences(["11", "22", "12", "10", "00", "11"] * 20)
    rows = [rows_of(frame, "fleiss_kappa")[0] for frame in (labels, labels, labels[::-1])]
    assert rows[0] == rows[1] == rows[2]


def test_the_pairs_of_a_crowd_have_values_without_intervals():
    raters = [f"r{number:02}" for number in range(26)]
    rows = [
        {"item": str(item), "scenario": "", "kind": "likert", "criterion": "", "part": None, "rater": rater,
         "value": 1 + (item + place // 13) % 5}
        for item in range(10)
        for place, rater in enumerate(raters)
    ]  # fmt: skip
    pairs = agreement_rows(pd.DataFrame(rows), by="raters", scales={("likert", ""): FIVE}, resamples=10)
    found = {(row.group, row.statistic): row for row in pairs}
    assert len(found) == 325 * len(catalogue.of_level("ordinal"))
    equal, shifted = found["r00 × r01", "percent"], found["r00 × r25", "percent"]
    assert (equal.value, shifted.value, equal.items, equal.low) == (1.0, 0.0, 10, None)
    assert equal.reason == "more than 300 pairs of raters: no intervals"
