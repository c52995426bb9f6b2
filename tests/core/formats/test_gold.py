"""Gold leaves the house in a form that a spreadsheet cannot run and pandas reads as it is."""

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats import gold as export
from core.labels import Gold, Ruling, Target, gold

from .strategies import targets, texts, values

ITEM = Target(item="q1", kind="preference", criterion="helpfulness")
HEADER = "item,criterion,kind,part,gold,source,annotators,distribution,reason\n"


def csv_of(*golds: Gold) -> str:
    stream = io.StringIO(newline="")
    export.write(golds, stream)
    return stream.getvalue()


def test_a_majority_shows_its_distribution() -> None:
    row = "q1,helpfulness,preference,,1,majority,3,1:2;0:1,2 of 3\n"
    assert csv_of(gold(ITEM, {"ann": 1, "ben": 1, "cem": 0})) == HEADER + row


def test_what_is_unresolved_has_no_gold_value() -> None:
    row = "q1,helpfulness,preference,,,unresolved,2,1:1;2:1,no majority among 2 annotators\n"
    assert csv_of(gold(ITEM, {"ann": 1, "ben": 2})) == HEADER + row


def test_a_ruling_names_its_rule_and_reason() -> None:
    ruling = Ruling(target=ITEM, value=2, rule="expert decision", reason="=cmd|' /C calc'!A0", adjudicator="dee")
    assert "q1,helpfulness,preference,,2,adjudicated,0,,expert decision: =cmd" in csv_of(gold(ITEM, {}, ruling))


def test_true_and_one_are_told_apart() -> None:
    aiu = Target(item="q1", kind="aiu_precision", part="aiu 3")
    assert "true,unanimous,2,true:2," in csv_of(gold(aiu, {"ann": True, "ben": True}))


def test_weights_are_json_with_sorted_keys() -> None:
    weights = Target(item="q1", kind="aspect_weights")
    written = csv_of(gold(weights, {"ann": {"b": 40.0, "a": 60.0}}))
    assert next(csv.DictReader(io.StringIO(written)))["gold"] == '{"a": 60.0, "b": 40.0}'


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_text_that_a_spreadsheet_would_run_gets_an_apostrophe(start: str) -> None:
    text = f"{start}1+1"
    answer = Target(item=text, kind="answer", criterion=text, part=text)
    row = next(csv.DictReader(io.StringIO(csv_of(gold(answer, {"ann": text})), newline="")))
    assert [row[name] for name in ("item", "criterion", "part", "gold")] == [f"'{text}"] * 4
    assert row["distribution"] == f"'{text}:1"


def test_a_negative_number_stays_a_number() -> None:
    score = Target(item="q1", kind="score")
    row = next(csv.DictReader(io.StringIO(csv_of(gold(score, {"ann": -0.5})))))
    assert row["gold"] == "-0.5"


def test_marks_of_the_distribution_inside_an_answer_are_quoted() -> None:
    answer = Target(item="q1", kind="answer")
    row = next(csv.DictReader(io.StringIO(csv_of(gold(answer, {"ann": "a:1;b"})))))
    assert row["distribution"] == '"a:1;b":1'


def test_rows_leave_as_they_come() -> None:
    stream = io.StringIO(newline="")

    def golds() -> Iterator[Gold]:
        yield gold(ITEM, {"ann": 1})
        assert stream.getvalue().count("\n") == 2  # the header and the first row
        yield gold(ITEM, {"ann": 2})

    export.write(golds(), stream)


@given(target=targets, labels=st.dictionaries(texts, values, max_size=3))
def test_every_row_is_read_back_whole_and_nothing_in_it_runs(target: Target, labels: dict) -> None:
    written = csv_of(gold(target, labels))
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert len(rows) == 2 and len(rows[1]) == len(export.COLUMNS)
    for name, cell in zip(rows[0], rows[1], strict=True):
        assert name == "gold" or not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert rows[1][0].removeprefix("'") == target.item.removeprefix("'")
    assert written == csv_of(gold(target, labels))
