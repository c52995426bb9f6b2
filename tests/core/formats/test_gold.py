"""Gold labels as CSV: spreadsheets execute no formula in it, and pandas reads it unchanged."""

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats.gold import COLUMNS, write_csv
from core.labels import Adjudication, Gold, Target, resolve_gold

from .strategies import targets, texts, values

ITEM = Target(item="q1", kind="preference", criterion="helpfulness")
HEADER = "item,criterion,kind,part,gold,source,annotators,distribution,reason\n"


def write_gold(*golds: Gold) -> str:
    stream = io.StringIO(newline="")
    write_csv(golds, stream)
    return stream.getvalue()


def test_a_row_has_the_distribution_of_the_labels() -> None:
    row = "q1,helpfulness,preference,,1,majority,3,1:2;0:1,2 of 3\n"
    assert write_gold(resolve_gold(ITEM, {"ann": 1, "ben": 1, "cem": 0})) == HEADER + row


def test_an_unresolved_target_has_no_gold_value() -> None:
    row = "q1,helpfulness,preference,,,unresolved,2,1:1;2:1,no majority among 2 annotators\n"
    assert write_gold(resolve_gold(ITEM, {"ann": 1, "ben": 2})) == HEADER + row


def test_an_adjudicated_row_has_its_rule_and_reason() -> None:
    adjudication = Adjudication(
        target=ITEM, value=2, rule="expert decision", reason="=cmd|' /C calc'!A0", adjudicator="dee"
    )
    assert "q1,helpfulness,preference,,2,adjudicated,0,,expert decision: =cmd" in write_gold(
        resolve_gold(ITEM, {}, adjudication)
    )


def test_true_is_not_written_as_one() -> None:
    aiu = Target(item="q1", kind="aiu_precision", part="aiu 3")
    assert "true,unanimous,2,true:2," in write_gold(resolve_gold(aiu, {"ann": True, "ben": True}))


def test_weights_are_json_with_sorted_keys() -> None:
    weights = Target(item="q1", kind="aspect_weights")
    text = write_gold(resolve_gold(weights, {"ann": {"b": 40.0, "a": 60.0}}))
    assert next(csv.DictReader(io.StringIO(text)))["gold"] == '{"a": 60.0, "b": 40.0}'


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_would_execute_gets_an_apostrophe(start: str) -> None:
    text = f"{start}1+1"
    answer = Target(item=text, kind="answer", criterion=text, part=text)
    row = next(csv.DictReader(io.StringIO(write_gold(resolve_gold(answer, {"ann": text})), newline="")))
    assert [row[name] for name in ("item", "criterion", "part", "gold")] == [f"'{text}"] * 4
    assert row["distribution"] == f"'{text}:1"


def test_a_negative_number_is_not_escaped() -> None:
    score = Target(item="q1", kind="score")
    row = next(csv.DictReader(io.StringIO(write_gold(resolve_gold(score, {"ann": -0.5})))))
    assert row["gold"] == "-0.5"


def test_separators_of_the_distribution_inside_an_answer_are_quoted() -> None:
    answer = Target(item="q1", kind="answer")
    row = next(csv.DictReader(io.StringIO(write_gold(resolve_gold(answer, {"ann": "a:1;b"})))))
    assert row["distribution"] == '"a:1;b":1'


def test_each_row_is_written_before_the_next_is_computed() -> None:
    stream = io.StringIO(newline="")

    def golds() -> Iterator[Gold]:
        yield resolve_gold(ITEM, {"ann": 1})
        assert stream.getvalue().count("\n") == 2  # the header and the first row
        yield resolve_gold(ITEM, {"ann": 2})

    write_csv(golds(), stream)


@given(target=targets, labels=st.dictionaries(texts, values, max_size=3))
def test_every_row_is_read_back_complete_and_without_formulas(target: Target, labels: dict) -> None:
    text = write_gold(resolve_gold(target, labels))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 2 and len(rows[1]) == len(COLUMNS)
    for name, cell in zip(rows[0], rows[1], strict=True):
        assert name == "gold" or not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert rows[1][0].removeprefix("'") == target.item.removeprefix("'")
    assert text == write_gold(resolve_gold(target, labels))
