"""Gold labels as CSV: spreadsheets execute no formula in it, and pandas reads it unchanged."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats.gold import COLUMNS, GoldRow, write_csv
from core.formats.mapping.rows import read_delimited
from core.formats.tables import escape_formula, unescape_formula
from core.labels import Adjudication, Target, Value, resolve_gold
from tests.core.formats.shared import write_content

from .strategies import targets, texts, values

ITEM = Target(item="q1", kind="preference", criterion="helpfulness")
STARTS = ["=", "+", "-", "@", "\t=", "\r", "\n=", " =", "\u00a0+", "\ufeff=", "＝", "＋", "－", "＠", "  ＝"]


def make_row(
    target: Target, labels: dict[str, Value], adjudication: Adjudication | None = None, **fields: Any
) -> GoldRow:
    return GoldRow("s", resolve_gold(target, labels, adjudication), final=labels, **fields)


def write_gold(*rows: GoldRow, runs: list[str] | None = None) -> str:
    stream = io.StringIO(newline="")
    write_csv(rows, stream, runs)
    return stream.getvalue()


def read_row(row: GoldRow, runs: list[str] | None = None) -> dict[str, str]:
    (cells,) = csv.DictReader(io.StringIO(write_gold(row, runs=runs), newline=""))
    return cells


def test_a_row_has_the_distribution_of_the_labels() -> None:
    cells = read_row(make_row(ITEM, {"ann": 1, "ben": 1, "cem": 0}, contention=0.5, reason="2 of 3"))
    assert list(cells) == list(COLUMNS)
    assert {name: cell for name, cell in cells.items() if cell} == {
        "study": "s", "item": "q1", "kind": "preference", "criterion": "helpfulness", "value": "1",
        "source": "majority", "distribution": "1:2;0:1", "annotators": "3", "annotator_names": "ann;ben;cem",
        "contention": "0.5", "final_values": "ann:1;ben:1;cem:0", "reason": "2 of 3",
    }  # fmt: skip


def test_an_adjudicated_row_has_its_adjudicator_rule_reason_and_date() -> None:
    reason, at = "=cmd|' /C calc'!A0", datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
    adjudication = Adjudication(target=ITEM, value=2, rule="expert decision", reason=reason, adjudicator="dee", at=at)
    row = make_row(ITEM, {}, adjudication, adjudicator="dee", rule="expert decision", reason=reason, date=at)
    cells = read_row(row)
    assert (cells["value"], cells["source"], cells["adjudicator"], cells["rule"]) == (
        "2", "adjudicated", "dee", "expert decision"
    )  # fmt: skip
    assert (cells["reason"], cells["date"]) == (f"'{reason}", "2026-11-20T12:30:00+00:00")


def test_judges_have_columns_only_where_asked_for() -> None:
    row = make_row(ITEM, {"ann": 1}, verdicts={"debate": 2, "=run": None}, opinions={"judge A (debate)": 2})
    assert set(read_row(row)) == set(COLUMNS)
    cells = read_row(row, runs=["debate", "=run"])
    assert (cells["verdict: debate"], cells["verdict: =run"]) == ("2", "")
    assert cells["opinions"] == "judge A (debate):2"


@pytest.mark.parametrize(
    ("kind", "label", "cell"),
    [
        ("aspect_weights", {"b": 40.0, "a": 60.0}, '{"a": 60.0, "b": 40.0}'),
        ("score", -0.5, "-0.5"),
        ("score", float("inf"), ""),
    ],
)
def test_weights_are_json_and_only_finite_numbers_are_written(kind: Any, label: Value, cell: str) -> None:
    assert read_row(make_row(Target(item="q1", kind=kind), {"ann": label}))["value"] == cell


@pytest.mark.parametrize("start", STARTS)
def test_text_that_a_spreadsheet_would_execute_gets_an_apostrophe(start: str) -> None:
    text = f"{start}1+1"
    answer = Target(item=text, kind="answer", criterion=text, part=text)
    cells = read_row(make_row(answer, {"ann": text}, scenario=text, part_text=text, reason=text))
    names = ("item", "scenario", "criterion", "part", "part_text", "value", "reason")
    assert [cells[name] for name in names] == [f"'{text}"] * len(names)
    assert cells["distribution"] == f"'{text}:1"


@pytest.mark.parametrize("text", ["=4", "'=4", "''=4", "'", "'a'", "a", "'\t", " -1", "' -1", "", "1"])
def test_the_escape_of_formulas_is_injective_and_is_reversed(text: str) -> None:
    cell = escape_formula(text)
    assert unescape_formula(cell) == text
    assert not cell.startswith(("=", "-", " -", "\t"))


def test_ids_with_a_formula_are_different_in_a_file_and_are_read_as_they_were(tmp_path: Path) -> None:
    keys = ["=4", "'=4", "''=4"]
    rows = [make_row(Target(item=key, kind="preference"), {"ann": 1}) for key in keys]
    path = tmp_path / "gold.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        write_csv(rows, stream)
    assert [row["item"] for _, row in read_delimited(path)] == keys
    other = write_content(tmp_path / "other.csv", "item,text\n1,'=4\n")
    assert [row["text"] for _, row in read_delimited(other)] == ["'=4"]


def test_separators_of_the_distribution_inside_an_answer_are_quoted() -> None:
    answer = Target(item="q1", kind="answer")
    assert read_row(make_row(answer, {"ann": "a:1;b"}))["distribution"] == '"a:1;b":1'


def test_each_row_is_written_before_the_next_is_computed() -> None:
    stream = io.StringIO(newline="")

    def rows() -> Iterator[GoldRow]:
        yield make_row(ITEM, {"ann": 1})
        assert stream.getvalue().count("\n") == 2  # the header and the first row
        yield make_row(ITEM, {"ann": 2})

    write_csv(rows(), stream)


@given(target=targets, labels=st.dictionaries(texts, values, max_size=3))
def test_every_row_is_read_back_complete_and_without_formulas(target: Target, labels: dict) -> None:
    text = write_gold(make_row(target, labels))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 2 and len(rows[1]) == len(COLUMNS)
    for name, cell in zip(rows[0], rows[1], strict=True):
        assert name == "value" or not cell.lstrip().startswith(("=", "+", "-", "@", "＝"))
    assert rows[1][1].removeprefix("'") == target.item.removeprefix("'")
    assert text == write_gold(make_row(target, labels))
