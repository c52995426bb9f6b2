"""Published tables with rows and columns."""

import pytest

from core.errors import TiebreakError
from storage.reports.published import PublishedRow, layout

ROWS = [
    PublishedRow(scorer, group, statistic, value, None, None, 9)
    for scorer, value in (("chair", 0.5), ("peer", 0.25))
    for group in ("Natural", "mean")
    for statistic in ("spearman", "kendall_tau_b")
]


def test_scorers_are_rows_by_default() -> None:
    table = layout(ROWS, None, None)
    assert table.header == [
        "scorer", "Natural · spearman", "Natural · kendall_tau_b", "mean · spearman", "mean · kendall_tau_b",
    ]  # fmt: skip
    assert table.texts() == [["chair", *["0.500"] * 4], ["peer", *["0.250"] * 4]]


def test_a_statistic_is_selected_and_rows_and_columns_are_chosen() -> None:
    table = layout(ROWS, ["group"], ["scorer"], "spearman")
    assert table.render("", "", "csv") == "group,chair,peer\nNatural,0.500,0.250\nmean,0.500,0.250\n"


@pytest.mark.parametrize(
    ("rows", "columns", "statistic", "sentence"),
    [
        (["judge"], None, None, "has no 'judge'; rows and columns are of scorer, group, statistic"),
        (["group"], ["scorer"], None, "Two values of 'chair' have the same place"),
        (None, None, "pearson", "no statistic 'pearson'; it has spearman, kendall_tau_b"),
    ],
)
def test_a_layout_that_is_not_possible_is_refused(
    rows: list[str] | None, columns: list[str] | None, statistic: str | None, sentence: str
) -> None:
    with pytest.raises(TiebreakError, match=sentence):
        layout(ROWS, rows, columns, statistic)
