"""Tables as CSV and LaTeX."""

import csv
import io
from dataclasses import dataclass

from core.formats.tables import DEFINITION, latex_table, rows_csv
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
    assert r"=A \& B\_1 & 0.250 [0.150, 0.350] & 40 \\" in text
    assert r"{[50\%] \textbackslash{}input\{x\}} & -- & 40 \\" in text
    assert r"\caption{Judges, 50 \% of \#1}" in text and r"\label{tab:judges-1}" in text
    assert r"\begin{tabular}{llr}" in text and text.count(r"\midrule") == 1


def test_text_that_is_the_same_in_all_rows_is_in_the_caption():
    rows = [{"kind": "preference", "bias": "length", "n": 3}] * 2
    text = latex_table(rows, "Biases of position and of length.", "")
    assert r"\caption{Biases of position and of length. All rows: kind preference, bias length.}" in text
    assert text.count("preference") == 1 and text.count("3 ") == 2
    assert r"\caption{All of kind preference. All rows: bias length.}" in latex_table(
        rows, "All of kind preference.", ""
    )


def test_latex_writes_the_names_of_statistics():
    rows = [{"statistic": name, "n": 3} for name in ("judge_against_others_spearman", "spearman", "first_shown")]
    text = latex_table(rows, "", "")
    assert "judge with the others, Spearman's rho & 3" in text and "\nSpearman's rho & 3" in text
    assert "first shown & 3" in text and "spearman," in rows_csv(rows)
    assert "All rows: statistic Spearman's rho." in latex_table(rows[1:2] * 2, "", "")


def test_the_interval_of_columns_low_and_high_follows_the_column_before_them():
    rows = [{"judge": "a", "accuracy": 0.855, "low": 0.8, "high": 0.9, "coverage": 1.0, "coverage_low": 0.9,
             "coverage_high": None, "n": 3}]  # fmt: skip
    text = latex_table(rows, "", "")
    assert "a & 0.855 [0.800, 0.900] & 1.000 & 3" in text


def test_greek_letters_and_signs_are_commands():
    assert latex_table([{"n": 3}], "ω ≥ 0.5 and ε − 1", "").count("$") == 8


def test_a_table_defines_the_command_of_names_in_other_scripts():
    text = latex_table([{"judge": "裁判", "n": 3}, {"judge": "b", "n": 4}], "", "")
    assert text.index(DEFINITION) < text.index(r"\unicodetext{裁判}{U+88C1 U+5224} & 3")
    assert DEFINITION not in latex_table([{"judge": "Zoë ≥ ω", "n": 3}], "n – κ", "")
