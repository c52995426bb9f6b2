"""Tables as CSV and LaTeX."""

import csv
import io
from dataclasses import dataclass

import pytest

from core.formats.latex_tables import escape_latex, latex_table
from core.formats.tables import rows_csv
from core.statistics.data.arrays import Estimate


@dataclass(frozen=True)
class Row:
    judge: str
    accuracy: Estimate


def estimate(value: float | None) -> Estimate:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return Estimate(value, low, high, items=40, items_total=41, raters=2, pairs=40)


ROWS = [Row("=A & B_1", estimate(0.25)), Row("[50%] \\input{x}", estimate(None))]


def test_csv_has_a_column_for_each_field_with_all_digits_and_no_formula():
    lines = list(csv.DictReader(io.StringIO(rows_csv([Row("=A", estimate(1 / 3))]))))
    assert lines[0]["judge"] == "'=A"
    assert float(lines[0]["accuracy"]) == 1 / 3
    assert float(lines[0]["accuracy_high"]) == 1 / 3 + 0.1
    assert lines[0]["accuracy_items"] == "40"


def test_latex_writes_intervals_after_values_and_escapes_text():
    text = latex_table(ROWS, "Judges, 50 % of #1", "judges: 1")
    assert r"=A \& B\_1 & 0.250 [0.150, 0.350] & 40 \\" in text and r"\label{tab:judges-1}" in text
    assert r"{[50\%] \textbackslash{}input\{x\}} & – & 40 \\" in text, "its bracket is no argument of the rule"
    assert r"\caption{Judges, 50 \% of \#1}" in text and r"\begin{tabular}{lrr}" in text


def test_latex_writes_the_names_of_statistics_and_leaves_out_empty_columns():
    rows = [{"statistic": name, "note": "", "n": 3} for name in ("spearman", "first_shown")]
    text = latex_table(rows, "", "")
    assert "Spearman's rho & 3" in text and "first shown & 3" in text and "note" not in text


def test_the_interval_of_columns_low_and_high_follows_the_column_before_them():
    rows = [{"judge": "a", "accuracy": 0.855, "low": 0.8, "high": 0.9, "coverage": 1.0, "coverage_low": 0.9,
             "coverage_high": None, "n": 3}]  # fmt: skip
    assert "a & 0.855 [0.800, 0.900] & 1.000 & 3" in latex_table(rows, "", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb~^<|>{", r"a b\textasciitilde{}\textasciicircum{}\textless{}\textbar{}\textgreater{}\{"),
        ("≥ κ λ Zoë 裁判", r"$\geq$ $\kappa$ $\lambda$ Zoë 裁判"),
        ("a\u200bb\x07\\end", r"ab\textbackslash{}end"),
    ],
)
def test_no_character_is_a_command_of_latex_and_greek_letters_and_signs_are(text, expected):
    assert escape_latex(text) == expected


def test_long_texts_have_lines_and_many_rows_several_pages():
    rows = [{"cell": f"cell {number}", "value": number / 7, "why": "reason " * 9} for number in range(41)]
    text = latex_table(rows, "All cells.", "cells")
    assert r"\begin{longtable}{lrp{4cm}}" in text and "cell 40 & 5.714 & reason" in text
    assert r"\begin{table}" in latex_table(rows[:40], "All cells.", "cells")
