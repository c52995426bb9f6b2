"""Tables as CSV and LaTeX."""

import csv
import io
import re
from dataclasses import dataclass

from core.formats.cell_table import CellTable, Entry
from core.formats.latex_tables import latex_table, latex_tabular, text_width
from core.formats.tables import DEFINITION, rows_csv
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
    assert r"=A \& B\_1 & \stack[c]{{.250} \\ {\scriptsize [.15, .35]}} \\" in text
    assert r"{[50\%]} \\ {\textbackslash{}input\{x\}}} & -- \\" in text and "All rows: accuracy items 40." in text
    assert r"\caption{Judges, 50 \% of \#1 All rows" in text and r"\label{tab:judges-1}" in text
    assert r"\begin{tabular}{@{}lc@{}}" in text and text.count(r"\midrule") == 1


def test_text_that_is_the_same_in_all_rows_is_in_the_caption():
    rows = [{"kind": "preference", "bias": "length", "n": n} for n in (3, 4)]
    text = latex_table(rows, "Biases of position and of length.", "")
    assert r"\caption{Biases of position and of length. All rows: kind preference, bias length.}" in text
    assert text.count("preference") == 1 and text.count("\n3 ") == 1
    assert r"\caption{All of kind preference. All rows: bias length.}" in latex_table(
        rows, "All of kind preference.", ""
    )


def test_latex_writes_the_names_of_statistics():
    rows = [{"statistic": name, "n": 3} for name in ("judge_against_others_spearman", "spearman", "first_shown")]
    rows[0]["n"] = 4
    text = latex_table(rows, "", "")
    assert r"Spearman's} \\ {rho}} & 4" in text and r"\stack[l]{{Spearman's} \\ {rho}} & 3" in text
    assert "first shown & 3" in text and "spearman," in rows_csv(rows)
    assert "All rows: statistic Spearman's rho, n 3." in latex_table(rows[1:2] * 2, "", "")


def test_the_interval_of_columns_low_and_high_follows_the_column_before_them():
    rows = [{"judge": "a", "accuracy": 0.855, "low": 0.8, "high": 0.9, "coverage": 1.0, "coverage_low": 0.9,
             "coverage_high": None, "n": 3}]  # fmt: skip
    text = latex_table(rows, "", "")
    assert r"a & \stack[c]{{.855} \\ {\scriptsize [.80, .90]}} & 1.000 & 3" in text


def test_a_table_defines_the_command_of_names_in_other_scripts():
    text = latex_table([{"judge": "裁判", "n": 3}, {"judge": "b", "n": 4}], "", "")
    assert text.index(DEFINITION) < text.index(r"\unicodetext{裁判}{U+88C1 U+5224} & 3")

    assert DEFINITION not in latex_table([{"judge": "Zoë ≥ ω", "n": 3}], "n – κ", "")


def test_a_table_of_six_systems_fits_a_column_with_notes_below():
    """Widths by upper bounds of the characters' widths, of the names, the numbers and the gaps of each block."""
    systems = (
        "gpt-5.4-mini",
        "claude-haiku-5-5",
        "gemini/gemini-flash-latest",
        "qwen3-72b",
        "llama-4-70b",
        "auto-j-13b",
    )
    entries = tuple(Entry(-0.612, 0.012, -0.7, 0.55, 1, None, 40, n, (0.5, 0.6)) for n in (2, 0, 0, 0, 0, 0))
    lines = tuple(((name, "academic writing"), entries) for name in ("helpfulness", "interpretability"))
    text = CellTable(("criterion", "scenario"), systems, lines, ()).render("Six.", "six", "latex")
    assert "resizebox" not in text and text.count("\\midrule") > 1 and text.count("2 of 40 missing") == 1
    printed = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if " & " in line]
    widths = [
        [max(map(printed_width, re.sub(r"\\stack\[.\]", "", cell).split(r" \\ "))) for cell in row] for row in printed
    ]
    widest = [max(row[place] for row in widths if place < len(row)) for place in range(max(map(len, widths)))]
    assert len(widest) > 3 and sum(widest) + 6 * len(widest) < 219


def printed_width(line: str) -> float:
    r"""Return the width of a line in points: what follows \scriptsize is small, the letter of a note takes 5 points."""
    plain = re.sub(r"[{}$]", "", line.replace(r"$\pm$", "±").replace("$-$", "−").replace("$^{a}$", ""))
    normal, _, small = plain.partition(r"\scriptsize")
    return text_width(normal) + text_width(small.strip(), "small") + 5 * ("^{a}" in line)


def test_the_marks_of_several_notes_have_room_beside_the_name_of_their_row() -> None:
    """Of names of every width some then have fewer columns side by side, and none has more."""
    header = ["scorer", *(f"c{n}" for n in range(8)), "note", "published", "difference", "source"]

    def columns(name: str, *notes: str) -> int:
        row = [name, *["0.242 [0.149, 0.351]"] * 8, *notes]
        found = re.search(r"tabular}{@{}l(c+)@{}}", latex_tabular(header, [row], "t", "t", header[-4:]))
        return len(found[1]) if found else 0

    changes = [columns("m" * n, "n", "", "", "") - columns("m" * n, "n", "p", "d", "s") for n in range(1, 10)]
    assert {*changes} == {0, 1}


def test_a_list_that_is_higher_than_a_page_is_several_tables() -> None:
    rows = [{"cell": f"cell {number}", "value": number / 7} for number in range(120)]
    text = latex_table(rows, "All cells.", "cells")
    assert text.count(r"\begin{table}") == 4 and "Part 4 of 4." in text
    assert all(f"cell {number} &" in text for number in range(120))
    assert latex_table(rows[:30], "All cells.", "cells").count(r"\begin{table}") == 1
