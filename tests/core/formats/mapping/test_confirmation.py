"""What a file does not state about its values is left open by a suggestion, and stated by a person."""

import json
from pathlib import Path

import pytest

from core.errors import FileFormatError
from core.formats.mapping.confirmation import answer
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.suggest import suggest_table
from core.formats.mapping.table import questions, roles, statements
from core.formats.registry import read_records
from tests.core.formats.shared import gold_of, labels_of, write_content

PAIRS = "id,prompt,response 1,response 2,label\n"


def write_pairs(folder: Path, labels: list[str]) -> Path:
    path = folder / "pairs.csv"
    path.write_text(PAIRS + "".join(f"p{number},Q{number}?,x,y,{label}\n" for number, label in enumerate(labels)))
    return path


@pytest.mark.parametrize("labels", [["0", "1", "2"] * 4, ["1", "2", "tie"], ["0", "1", ""], [*"1" * 300, "0"]])
def test_numbers_of_a_preference_have_no_meaning_until_a_person_states_it(tmp_path: Path, labels: list[str]) -> None:
    path = write_pairs(tmp_path, labels)
    mapping = build_mapping(suggest_table(path))
    with pytest.raises(FileFormatError, match="the file does not state") as raised:
        list(read_records(path, mapping=mapping))
    assert "\n" not in str(raised.value)
    (question,) = questions(path, mapping)
    assert sum(found.count for found in question.values) == sum(label not in ("tie", "") for label in labels)
    assert all(own.examples[0] == f"p{labels.index(own.text)} (Q{labels.index(own.text)}?)" for own in question.values)


def test_a_mapping_that_states_the_values_is_a_confirmation(tmp_path: Path) -> None:
    path = write_pairs(tmp_path, ["0", "1", "2"])
    draft = suggest_table(path)
    (gold,) = draft["gold"]
    assert gold["confirmed"] is False and not gold.get("values")
    with pytest.raises(FileFormatError, match="'2' of label mean"):
        list(read_records(path, mapping=build_mapping(draft | {"gold": [gold | {"values": {"0": 1, "1": 2}}]})))
    stated = build_mapping(draft | {"gold": [gold | {"values": {"0": 1, "1": 2, "2": 0}}]})
    records = read_records(path, mapping=stated)
    assert [own.value for own in gold_of(records)] == [1, 2, 0]


def test_the_meaning_and_the_count_of_each_value_are_stated_with_the_rows_that_are_left_out(tmp_path: Path) -> None:
    path = write_pairs(tmp_path, ["0", "1", "0", "n/a", ""])
    gold = {"kind": "preference", "value": "label", "values": {"0": 1, "1": 2, "n/a": None}}
    mapping = build_mapping(suggest_table(path) | {"gold": [gold], "where_not": {"id": "p1"}})
    (stated,), notes = statements(path, mapping)
    assert stated.title() == "gold, block 1 (preference) from label"
    assert stated.lines() == ["'0' -> response 1: 2 times", "'n/a' -> no value: 1 times"]
    assert notes == ["1 of 5 rows left out by `where` or `where_not`"]
    literal = build_mapping(suggest_table(path) | {"gold": [gold | {"values": {"n/a": None}}]})
    assert statements(path, literal)[0][0].lines()[:2] == ["'0' -> a tie: 2 times", "'1' -> response 1: 1 times"]


def test_a_guessed_scale_is_confirmed_once_for_all_columns_that_share_it(tmp_path: Path) -> None:
    path = write_content(tmp_path / "t.csv", "id,response,fluency,relevance\n1,x,4,2\n2,y,5,1\n")
    mapping = build_mapping(suggest_table(path))
    (question,) = questions(path, mapping)
    assert question.fields == ["fluency", "relevance"] and not question.needs_values
    with pytest.raises(FileFormatError, match="does not state the scale of fluency, relevance: check the scale is 1"):
        list(read_records(path, mapping=mapping))
    records = read_records(path, mapping=answer(mapping, question, {}))
    assert len(labels_of(records)) == 4


def test_categories_of_several_lines_are_stated_on_one(tmp_path: Path) -> None:
    path = write_content(tmp_path / "t.json", [{"id": "1", "response": "x", "label": "b\nc"}])
    gold = {"kind": "answer", "value": "label", "confirmed": False}
    gold["scale"] = {"level": "ordinal", "categories": ["a", "b\nc"]}
    (question,) = questions(path, build_mapping({"id": "id", "responses": [{"text": "response"}], "gold": [gold]}))
    assert question.reading() == "the scale is a, b c (b c is the best)"


@pytest.mark.parametrize(("cells", "fields", "is_open"), [("01", {}, True), ("012", {}, False), ("11", {}, False)])
@pytest.mark.parametrize("stated", [{}, {"confirmed": True}, {"values": {0: 2, 1: 1}}])
def test_a_preference_of_0_and_1_is_asked_for_unless_the_mapping_states_it(
    tmp_path: Path, cells: str, fields: dict[str, object], is_open: bool, stated: dict[str, object]
) -> None:
    path = write_content(
        tmp_path / "pairs.csv", "id,a,b,ann\n" + "".join(f"{n},x,y,{cell}\n" for n, cell in enumerate(cells))
    )
    block = {"layout": "wide", "kind": "preference", "annotators": ["ann"], **fields, **stated}
    mapping = build_mapping({"id": "id", "responses": [{"text": "a"}, {"text": "b"}], "labels": [block]})
    assert bool(questions(path, mapping)) == (is_open and not stated)


def test_what_a_mapping_adds_is_listed_before_the_import(tmp_path):
    """Definitions, sources, images and the parts of a transcript are the mapping's own statements."""
    path = tmp_path / "t.json"
    messages = [{"role": "user", "content": "Go."}, {"role": "agent", "action": "stop()"}]
    rows = [{"id": n, "talk": messages, "photo": "a.png", "ratings": [{"score": n, "rank": 1}]} for n in range(3)]
    path.write_text(json.dumps(rows), encoding="utf-8")
    scale = {"level": "ordinal", "categories": [0, 1, 2]}
    block = {"kind": "score", "criterion": "safety", "definition": "Is it safe?", "each": "ratings", "value": "score"}
    gold = [{**block, "scale": scale, "source": "three experts"}]
    mapping = build_mapping({"id": "id", "responses": [{"transcript": "talk", "image": "photo"}], "gold": gold})
    lines = roles(path, mapping)
    assert lines[1].endswith("; its system: unknown; image: photo, such as 'a.png'")
    assert (
        "score 'safety' (Is it safe?): values gold, without annotators; each: ratings; source: three experts" in lines
    )
    assert "not used: 'ratings[].rank'" in lines
