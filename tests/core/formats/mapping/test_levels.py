"""The level of the items, of the labels and of the systems in nested data, as a mapping states it."""

import re
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.roles import apply_values
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.table import roles
from core.formats.registry import read_records
from tests.core.formats.shared import gold_of, items_of, labels_of, prose, write_content, write_rows

YES = ["No", "Yes"]


def labels(path: Path, draft: dict[str, Any]) -> list[tuple[str, str, str, Any]]:
    """Return item, part, annotator and value of the labels."""
    own = labels_of(read_records(path, mapping=build_mapping(draft)))
    return [(label.target.item, label.target.part, label.annotator, label.value) for label in own]


def imported(path: Path, draft: dict[str, Any]) -> list[tuple[str, str | None, str | None, Any]]:
    """Return the prompt, the response, its system and the gold of each item."""
    records = list(read_records(path, mapping=build_mapping(draft)))
    golds = {own.target.item: own.value for own in gold_of(records)}
    items = items_of(records)
    return [(own.prompt, own.responses[0].text, own.responses[0].system, golds.get(own.id)) for own in items]


def test_lists_of_several_objects_of_a_record_are_one_list_of_items(tmp_path: Path) -> None:
    def reviews(*values: str) -> dict[str, Any]:
        return {"review": [{"segment": f"Segment {value}.", "reliable": value} for value in values], "score": {}}

    row = {"title": "A paper", "text": "Its text.", "sysA": reviews("Yes", "No"), "sysB": reviews("No")}
    gold = [{"kind": "answer", "criterion": "r", "value": "reliable", "scale": {"level": "nominal", "categories": YES}}]
    responses = [{"text": "segment", "system": "{element_1}"}]
    draft = {"explode": ["*", "review"], "id": "{row}-{element_1}-{element}", "prompt": "parent.title"}
    draft |= {"responses": responses, "gold": gold}
    assert imported(write_rows(tmp_path, [row]), draft) == [
        ("A paper", "Segment Yes.", "sysA", "Yes"),
        ("A paper", "Segment No.", "sysA", "No"),
        ("A paper", "Segment No.", "sysB", "No"),
    ]
    with recording_omissions() as omissions:
        imported(write_rows(tmp_path, [row | {"sysC": {"reviews": []}}]), draft)
    assert omissions.notes() == ["1 objects have no list whose elements are the items"]


def test_lists_beside_the_inner_list_and_keys_that_are_texts(tmp_path: Path) -> None:
    sentences = [{"claims": ["a", "b"], "true": ["Yes", "No"]}, {"claims": ["c"], "true": ["No"]}]
    row = {"question": "Why?", "sentences": sentences, "facts": {"It is.": "Yes", "It was.": "No"}}
    gold = [{"kind": "answer", "criterion": "r", "value": "true", "scale": {"level": "nominal", "categories": YES}}]
    draft = {"explode": ["sentences", "claims"], "parallel": ["true"], "id": "{row}-{element_1}-{element}"}
    of_claims = draft | {"prompt": "question", "responses": [{"text": "claims"}], "gold": gold}
    path = write_rows(tmp_path, [row])
    values = {"a": "Yes", "b": "No", "c": "No"}
    assert imported(path, of_claims) == [("Why?", claim, None, value) for claim, value in values.items()]
    draft = {"explode": "facts", "id": "{row}-{element}", "prompt": "question", "responses": [{"text": "element_key"}]}
    found = imported(path, draft | {"gold": [gold[0] | {"value": "facts"}]})
    assert found == [("Why?", "It is.", None, "Yes"), ("Why?", "It was.", None, "No")]
    sentences[0]["true"] = ["Yes"]
    with pytest.raises(FileFormatError, match="expected 2 values, as claims has, not 1"):
        imported(write_rows(tmp_path, [row]), of_claims)


def test_words_of_a_ranking_are_the_ranks_that_a_person_states(tmp_path: Path) -> None:
    path = write_rows(tmp_path, [{"prompt": "p", "a": prose("a"), "b": prose("b"), "rank_a": "last", "rank_b": "best"}])
    block = {"layout": "ranking", "annotator": {"constant": "x"}, "ranking": {"ranks": ["rank_a", "rank_b"]}}
    draft = {"id": "{row}", "prompt": "prompt", "responses": [{"text": "a"}, {"text": "b"}], "labels": [block]}
    with pytest.raises(FileFormatError, match="a rank"):
        labels(path, draft)
    draft = apply_values(draft, {"rank_a:last": "2", "rank_a:best": "1"})
    assert labels(path, draft) == [("1", "", "x", 2)]


def test_rows_without_texts_or_items_and_empty_prompts_are_counted(tmp_path: Path) -> None:
    rows = [{"q": "why", "as": [{"t": "x"}]}, {"q": "", "as": [{"t": "y"}]}, {"q": "", "as": [{"t": ""}]}]
    path = write_rows(tmp_path, [*rows, {"q": "how", "as": []}, {"q": "off"}])
    draft = {"explode": "as", "id": "{row}-{element}", "prompt": "q", "responses": [{"text": "t"}]}
    with recording_omissions() as omissions:
        records = list(read_records(path, mapping=build_mapping(draft | {"where_not": {"q": "off"}})))
    assert len(items_of(records)) == 2
    assert omissions.notes() == [
        "1 of 4 rows left out by `where` or `where_not`",
        "1 records have an empty list, and no item",
        "1 rows left out: they are null, or prompt and responses are empty",
        "1 rows have an empty prompt",
    ]


def test_cells_are_filled_from_above_and_a_value_is_the_begin_of_a_prose(tmp_path: Path) -> None:
    texts = {"why": "Text 2, so.", "": "Text 1. As"}
    rows = [{"q": q, "a": "x", "b": "y", "best": text} for q, text in texts.items()]
    gold = {"kind": "preference", "value": {"field": "best", "first_words": 2}, "values": {"Text 1": 1, "Text 2": 2}}
    draft = {"id": "{row}", "prompt": "q", "responses": [{"text": "a"}, {"text": "b"}], "fill": ["q"], "gold": [gold]}
    records = list(read_records(write_rows(tmp_path, rows), mapping=build_mapping(draft)))
    assert [record.prompt for record in items_of(records)] == ["why", "why"]
    assert [record.value for record in gold_of(records)] == [2, 1]


def test_a_list_of_lines_is_one_text_and_one_turn_is_no_conversation(tmp_path: Path) -> None:
    draft = {"id": "{row}", "prompt": "q", "responses": [{"text": "steps"}]}
    path = write_rows(tmp_path, [{"q": ["why"], "steps": ["one", "two"]}])
    (record,) = read_records(path, mapping=build_mapping(draft))
    assert (record.item.prompt, record.item.responses[0].text) == ("why", "one\ntwo")


def test_a_number_is_a_response_although_systems_are_called_so_and_an_image_is_a_prose(tmp_path: Path) -> None:
    rows = [{"q": "why", "a": "x", "b": "y", "s": "2", "t": "1", "best": "1", "who": "w"}]
    block = {"layout": "long", "kind": "preference", "annotator": "who", "value": "best"}
    responses = [{"text": "a", "system": "s"}, {"text": "b", "system": "t"}]
    draft = {"id": "{row}", "prompt": "q", "responses": responses, "labels": [block]}
    assert labels(write_rows(tmp_path, rows), draft) == [("1", "", "w", 1)]
    rows[0] |= {"s": "gpt", "t": "bart", "best": "bart"}
    assert labels(write_rows(tmp_path, rows), draft) == [("1", "", "w", 2)]
    pixel = "data:image/png;base64,iVBORw0KGgo="
    path = write_rows(tmp_path, [{"q": "", "a": "", "i": pixel}])
    with recording_omissions() as omissions:
        mapping = build_mapping({"id": "{row}", "prompt": "q", "responses": [{"text": "a", "image": "i"}]})
        assert len(list(read_records(path, mapping=mapping))) == 1 and not omissions.blank


def test_the_parts_of_a_text_are_the_values_of_numbered_criteria(tmp_path: Path) -> None:
    block = {"layout": "long", "each": "marks", "divider": "#", "annotator": "who", "criterion_field": "{element}"}
    block |= {"value": "marks", "kind": "score", "scale": {"level": "interval", "low": 0, "high": 100}}
    draft = {"id": "{row}", "prompt": "q", "labels": [block]}
    path = write_rows(tmp_path, [{"q": "why", "who": "w", "marks": "92#14"}])
    found = labels_of(read_records(path, mapping=build_mapping(draft)))
    assert [(label.target.criterion, label.value) for label in found] == [("1", 92), ("2", 14)]


def test_columns_with_a_number_in_their_names_are_a_list_of_items(tmp_path: Path) -> None:
    header = "Input.text_1,Input.text_2,Answer.q_2,Answer.q_1,who"
    path = write_content(tmp_path / "t.csv", f"{header}\nSo.,Thus.,No,Yes,ann\n")
    gold = [{"kind": "answer", "criterion": "r", "value": "q", "scale": {"level": "nominal", "categories": YES}}]
    draft = {"numbered": {"text": "Input.text_{n}", "q": "Answer.q_{n}"}, "explode": "numbered"}
    draft |= {"id": "{row}-{element}", "prompt": "who", "responses": [{"text": "text"}], "gold": gold}
    assert imported(path, draft) == [("ann", "So.", None, "Yes"), ("ann", "Thus.", None, "No")]
    assert unused_fields(path, build_mapping(draft | {"prompt": {"constant": "?"}})) == ["who"]
    for pattern, message in (("Input.text_", "numbered"), ("Input.words_{n}", "no column is called Input.words_{n}")):
        with pytest.raises(FileFormatError, match=re.escape(message)):
            imported(path, draft | {"numbered": {"text": pattern, "q": "Answer.q_{n}"}})


def test_keys_of_an_object_are_steps_and_lists_of_errors_name_them(tmp_path: Path) -> None:
    turns = [{"role": role, "content": role} for role in ("user", "assistant", "tool", "assistant")]
    row = {"messages": turns, "marks": {"1": -1, "3": 1}, "errors": [{"at": 3, "kind": "tool"}]}
    path = write_rows(tmp_path, [row])
    scale = {"level": "nominal", "categories": [-1, 0, 1, "tool"]}
    block = {"layout": "long", "annotator": {"constant": "x"}, "kind": "answer", "scale": scale}
    block["steps"] = "message from 0"
    keyed = block | {"criterion": "mark", "each": "marks", "step": "{element}", "value": "marks"}
    listed = block | {"criterion": "error", "each": "errors", "step": "at", "value": "kind"}
    draft = {"id": "{row}", "responses": [{"transcript": "messages"}], "labels": [keyed, listed]}
    values = [(step, value) for _, step, _, value in labels(path, draft)]
    assert values == [("step 2", -1), ("step 4", 1), ("step 4", "tool")]


def test_systems_of_one_cell_are_an_item_each(tmp_path: Path) -> None:
    path = write_rows(tmp_path, [{"q": "why", "model": "bart|gpt"}, {"q": "how", "model": "t5"}])
    draft = {"explode": ["model"], "divider": "|", "id": "{row}-{model}", "prompt": "q"}
    mapping = build_mapping(draft | {"responses": [{"text": "model", "system": "model"}]})
    what = "each part of model between '|' is an item of its own, so the labels of such a row count once for each part"
    assert what in roles(path, mapping)
    items = items_of(read_records(path, mapping=mapping))
    assert [item.responses[0].system for item in items] == ["bart", "gpt", "t5"]
    with pytest.raises(FileFormatError, match="`divider` is between the elements of a text to `explode`"):
        build_mapping({"id": "{row}", "prompt": "context", "divider": "|"})


def test_systems_that_columns_of_raters_name_are_their_preferences(tmp_path: Path) -> None:
    rows = [{"a": "x", "b": "y", "A_origin": "human", "B_origin": "machine", "r1": "machine", "r2": "tie"}]
    responses = [{"text": name, "system": f"{name.upper()}_origin"} for name in "ab"]
    block = {"layout": "wide", "kind": "preference", "annotators": ["r1", "r2"], "values": {"tie": 0}}
    draft = {"id": "{row}", "responses": responses, "labels": [block]}
    assert [own[2:] for own in labels(write_rows(tmp_path, rows), draft)] == [("r1", 2), ("r2", 0)]
