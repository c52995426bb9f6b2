"""Published tables with rows and columns."""

from dataclasses import replace

import pytest

from commands.output import format_table
from commands.tables import _with_differences
from core.errors import TiebreakError
from storage.reports.published import PublishedRow, layout, select

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


def test_several_statistics_are_columns_if_the_command_does_not_place_them() -> None:
    headings = layout(ROWS, ["scorer"], ["group"], "spearman,kendall_tau_b").header
    assert headings == ["scorer", *(f"{g} · {s}" for g in ("Natural", "mean") for s in ("spearman", "kendall_tau_b"))]


def test_a_statistic_with_a_comma_in_its_name_is_selected() -> None:
    rows = [replace(row, statistic="accuracy, ties left out") for row in ROWS[:1]]
    assert layout([*rows, ROWS[1]], None, None, "accuracy, ties left out").texts() == [["chair", "0.500"]]


def test_short_names_select_the_statistics_of_experiments() -> None:
    rows = [replace(ROWS[0], statistic=name) for name in ("example_level_agreement", "cohen_kappa")]
    assert [row.statistic for row in select(rows, "accuracy,kappa")] == ["example_level_agreement", "cohen_kappa"]
    assert select(rows, "kappa") == rows[1:]


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


def test_the_figures_of_the_paper_are_columns_also_if_the_first_row_has_none() -> None:
    rows = [ROWS[0], replace(ROWS[1], published=0.6, source="T 2", why="seeds")]
    table = layout(rows, None, None)
    assert table.header[-4:] == ["published", "difference", "source", "why"]
    name = "Natural · kendall_tau_b"
    assert table.texts()[0][-4:] == [f"{name} 0.600", f"{name} -0.100", "T 2", "seeds"]
    assert "published: " + name.replace("·", r"$\cdot$").replace("_", r"\_") in table.render("", "", "latex")
    long = layout(rows, ["scorer", "group", "statistic"], None)
    assert [line[-4:] for line in long.texts()] == [[""] * 4, ["0.600", "-0.100", "T 2", "seeds"]]


def test_a_text_table_has_the_figures_of_the_paper_if_a_later_row_has_one() -> None:
    compared = replace(ROWS[1], published=0.6, source="T 2")
    rows = _with_differences([ROWS[0], compared])
    assert "difference" in format_table(rows, "").splitlines()[0] and "T 2" in format_table(rows, "")
