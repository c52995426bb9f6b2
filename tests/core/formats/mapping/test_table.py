"""Tables are read as items and labels with a mapping; errors have the line and the field."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.preview import format_unused, unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.records import CriterionRecord, ItemRecord, LabelRecord, Record, ScaleRecord
from core.formats.registry import read_records
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, Label, Scale, Target
from tests.core.formats.shared import gold_of, items_of, labels_of, write_content

SINGLE = {"id": "id", "prompt": "q", "responses": [{"text": "a"}]}
PAIR = {"id": "id", "prompt": "q", "responses": [{"text": "a"}, {"text": "b"}]}
WIDE = {"layout": "wide", "kind": "preference", "annotators": ["ann", "ben"], "values": {"A": 1, "B": 2, "tie": 0}}
LONG = {
    "layout": "long",
    "kind": "score",
    "annotator": "who",
    "value": "score",
    "scale": {"level": "ordinal", "categories": [1, 2, 3]},
}
FIVE = {"level": "interval", "low": 0, "high": 5}


def read_content(path: Path, content: str | list, **mapping: Any) -> list[Record]:
    return list(read_records(write_content(path, content), mapping=build_mapping(mapping)))


def read_error(path: Path, content: str | list, **mapping: Any) -> str:
    with pytest.raises(FileFormatError) as caught:
        read_content(path, content, **mapping)
    return str(caught.value)


def label_values(records: Iterable[Record]) -> list[tuple]:
    labels = labels_of(records)
    return [(label.target.item, label.target.criterion, label.annotator, label.value) for label in labels]


def test_the_wide_layout_has_one_column_per_annotator(tmp_path: Path) -> None:
    records = read_content(
        tmp_path / "t.csv",
        "id,q,a,b,sys,ann,ben\n7,Why?,yes,,x1,A,tie\n8,How?,no,so,x1,,2\n",
        id="id",
        prompt="q",
        responses=[{"text": "a", "system": "sys"}, {"text": "b", "name": "ours"}],
        labels=[{**WIDE, "criterion": "helpfulness", "definition": "Which helps more."}],
    )
    first = Item(id="7", prompt="Why?", responses=(Response(text="yes", system="x1"), Response(text="", system="ours")))
    target = Target(item="7", kind="preference", criterion="helpfulness")
    assert records[:5] == [
        ItemRecord(item=first),
        CriterionRecord(criterion=Criterion(name="helpfulness", definition="Which helps more.")),
        ScaleRecord(kind="preference", criterion="helpfulness", scale=PREFERENCE),
        LabelRecord(label=Label(target=target, annotator="ann", value=1, blind=True, at=None)),
        LabelRecord(label=Label(target=target, annotator="ben", value=0, blind=True, at=None)),
    ]
    assert label_values(records[5:]) == [("8", "helpfulness", "ben", 2)]


def test_the_long_layout_yields_each_item_once(tmp_path: Path) -> None:
    records = read_content(
        tmp_path / "t.csv",
        "id,q,a,who,aspect,score,why,sec\n1,Q,A,ann,style,3,good,2.5\n1,Q,A,ben,style,1,,\n1,Q,A,ann,facts,2,,\n"
        "2,R,A,ann,style,,,\n",
        **SINGLE,
        labels=[{**LONG, "criterion_field": "aspect", "reason": "why", "seconds": "sec"}],
    )
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    assert [item.id for item in items_of(records)] == ["1", "2"]
    assert label_values(records) == [("1", "style", "ann", 3), ("1", "style", "ben", 1), ("1", "facts", "ann", 2)]
    assert CriterionRecord(criterion=Criterion(name="facts", scale=scale)) in records
    label = next(record for record in labels_of(records))
    assert (label.reason, label.seconds) == ("good", 2.5)


@pytest.mark.parametrize(("cell", "extra"), [('"[1, null, 3]"', {}), ("1; ;3", {"separator": ";"})])
def test_a_list_may_be_text_in_a_csv_cell(tmp_path: Path, cell: str, extra: dict) -> None:
    block = {"layout": "list", "kind": "score", "value": "s", "scale": LONG["scale"], "annotators": ["x", "y", "z"]}
    mapping = {**SINGLE, "id": "{row}", "labels": [block | extra]}
    labels = label_values(read_content(tmp_path / "t.csv", f"q,a,s\nQ,A,{cell}\n", **mapping))
    assert labels == [("1", "", "x", 1), ("1", "", "z", 3)]


def test_elements_that_are_text_have_the_name_of_their_list_as_field(tmp_path: Path) -> None:
    records = read_content(
        tmp_path / "t.jsonl",
        '{"q": "Q", "x": {"answers": ["A", "B"]}}',
        id="{row}.{element}",
        prompt="q",
        explode="x.answers",
        responses=[{"text": "answers"}],
    )
    assert [item.responses[0].text for item in items_of(records)] == ["A", "B"]


def test_several_fields_are_joined_and_a_long_group_is_shortened(tmp_path: Path) -> None:
    rows = [{"id": n, "q": "Q " * 60, "more": more, "a": "A"} for n, more in enumerate(["", "x", "x", None])]
    mapping = {**SINGLE, "prompt": ["q", "more"], "group": ["q", "more"]}
    items = items_of(read_content(tmp_path / "t.json", rows, **mapping))
    assert items[0].prompt == "Q " * 60 and items[1].prompt == f"{'Q ' * 60}\n\nx"
    groups = [item.group for item in items]
    assert groups[0] == groups[3] != groups[1] == groups[2]
    assert all(len(group) <= 80 for group in groups)


def test_a_beginning_is_no_value_and_never_replaces_one_of_the_scale(tmp_path: Path) -> None:
    block = {**WIDE, "kind": "answer", "annotators": ["ann"], "scale": {"level": "nominal", "categories": ["A", "A-"]}}
    block["values"] = {"A*": "A", "A-*": None, "N/A*": None}
    cells = ("A*", "A-", "A- (late)", "N/A.")
    rows = [{"id": n, "q": "Q", "a": "A", "b": "B", "ann": cell} for n, cell in enumerate(cells)]
    records = read_content(tmp_path / "t.json", rows, **PAIR, labels=[block])
    assert [value for *_, value in label_values(records)] == ["A", "A-"]
    rows[0]["ann"] = "Absent"
    assert "expected one of" in read_error(tmp_path / "t.json", rows, **PAIR, labels=[block])


def test_rows_are_chosen_by_a_field_that_they_lack(tmp_path: Path) -> None:
    """FED has turns with a response, and dialogues without the field."""
    rows = [{"id": 1, "q": "Q", "a": "A"}, {"id": 2, "q": "Q"}, {"id": 3, "q": "Q", "a": None}]
    turns = {"id": "id", "prompt": "q", "responses": [{"text": "a", "optional": True}]}
    whole = items_of(read_content(tmp_path / "t.json", rows, **turns))
    assert [len(item.responses) for item in whole] == [1, 0, 0]
    dialogues = read_content(tmp_path / "t.json", rows, id="id", prompt="q", where={"a": None})
    assert [item.id for item in items_of(dialogues)] == ["2", "3"]
    message = "field 'reasn': no record of the file has this field"
    assert read_error(tmp_path / "t.json", rows, id="id", prompt="q", where={"reasn": None}) == message


def test_a_preference_of_a_row_without_one_of_its_responses_is_none(tmp_path: Path) -> None:
    mapping = {**PAIR, "responses": [{"text": "a"}, {"text": "b", "optional": True}, {"text": "c", "optional": True}]}
    rows = [{"id": n, "q": "Q", "a": "A", "b": own, "c": "C", "ann": "2"} for n, own in enumerate(("B", None))]
    rows[1].pop("b")
    with recording_omissions() as omissions:
        block = {**WIDE, "annotators": ["ann"], "values": {"2": 2}}
        records = read_content(tmp_path / "t.json", rows, **mapping, labels=[block])
    assert [item for item, *_ in label_values(records)] == ["0"] and omissions.labels == 1


def test_an_empty_cell_can_be_a_value(tmp_path: Path) -> None:
    """BIG-Bench Mistake has null where no step is wrong."""
    rows = [{"id": n, "steps": ["So.", "Thus.", "Hence."], "wrong": own} for n, own in enumerate((1, None, 9))]
    block = {"kind": "answer", "criterion": "first wrong step", "value": "wrong", "steps": "message from 0"}
    block["scale"] = {"level": "nominal", "low": 0, "high": 10_000}
    mapping = {"id": "id", "responses": [{"transcript": "steps"}]}
    labels = [{**block, "layout": "long", "annotator": {"constant": "ann"}, "values": {"": 0}}]
    with recording_omissions() as omissions:
        records = read_content(tmp_path / "t.json", rows, **mapping, labels=labels)
    assert label_values(records) == [("0", "first wrong step", "ann", 2), ("1", "first wrong step", "ann", 0)]
    assert omissions.steps == 1, "a step that the transcript does not have is no empty cell"
    gold = read_content(tmp_path / "t.json", rows, **mapping, gold=[{**block, "values": {"": 0}}])
    assert [own.value for own in gold_of(gold)] == [2, 0]


def test_values_stay_with_their_response_if_one_before_it_is_missing(tmp_path: Path) -> None:
    scale = {"level": "ordinal", "categories": [1, 2, 3]}
    golds = [{"kind": "score", "value": f"g{n}", "response": n, "scale": scale} for n in (1, 2, 3)]
    mapping = {**PAIR, "responses": [{"text": name, "optional": name != "c"} for name in "abc"], "gold": golds}
    rows = "id,q,a,b,c,g1,g2,g3\n1,Q,A,B,C,1,2,3\n2,Q,A,,C,1,,3\n3,Q,,,C,,2,3\n"
    with recording_omissions() as omissions:
        records = read_content(tmp_path / "t.csv", rows, **mapping)
    found = [(own.target.item, own.target.part, own.value) for own in gold_of(records)]
    expected = [("1", "1", 1), ("1", "2", 2), ("1", "3", 3), ("2", "1", 1), ("2", "2", 3), ("3", "1", 2), ("3", "2", 3)]
    assert found == expected
    assert omissions.gold == 0, "a value about an empty text makes it an answer"


@pytest.mark.parametrize(
    ("cell", "value"),
    [("true", True), ("TRUE", True), (True, True), ("False", False), ("yes", True), (None, None), ("n/a", None)],
)
def test_truth_values_have_several_spellings(tmp_path: Path, cell: object, value: object) -> None:
    block = {**WIDE, "kind": "answer", "annotators": ["ann"], "values": {"yes": True, "n/a": None}}
    block["scale"] = {"level": "nominal", "categories": [True, False]}
    rows = [{"id": 1, "q": "Q", "a": "A", "b": "B", "ann": cell}]
    records = read_content(tmp_path / "t.json", rows, **PAIR, labels=[block])
    assert label_values(records) == ([] if value is None else [("1", "", "ann", value)])


def test_numbers_have_the_type_of_their_spelling(tmp_path: Path) -> None:
    block = {**LONG, "scale": {"level": "interval", "low": -10, "high": 2e6}}
    cells = ["1", " 2.50 ", "-3", "1e3", "+4"]
    text = "id,q,a,who,score\n" + "".join(f"{n},Q,A,ann,{cell}\n" for n, cell in enumerate(cells))
    mapping = {**SINGLE, "labels": [block]}
    values = [label[3] for label in label_values(read_content(tmp_path / "t.csv", text, **mapping))]
    assert [repr(value) for value in values] == ["1", "2.5", "-3", "1000.0", "4"]
    category = read_content(tmp_path / "t.csv", f"{SCORES}1,Q,A,ann,3.0\n", **SINGLE, labels=[LONG])
    assert label_values(category) == [("1", "", "ann", 3)]


HEAD = "id,q,a,b,ann,ben\n"
SCORES = "id,q,a,who,score\n"


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        (f"{HEAD}1,Q,A,B,C,A\n", {}, "line 2, field 'ann': expected one of 1, 2, 0, A, B, tie, not 'C'"),
        (f"{HEAD}1,Q,A,B,1.5,A\n", {}, "line 2, field 'ann': expected one of 1, 2, 0, A, B, tie, not '1.5'"),
        (f"{HEAD},Q,A,B,A,A\n", {}, "line 2, field 'id': expected a name or a number, and it is empty"),
        (f"{HEAD}1,Q,A,B,A,A\n1,Q,A,B,A,A\n", {}, "line 3, field 'id': item '1' is already on line 2"),
        (f"{HEAD}1,Q,A\x00,B,A,A\n", {}, "line 2, field 'a': expected text without NUL characters"),
        ("id,q,a,ann,ben\n1,Q,A,A,A\n", {}, "line 1, field 'b': there is no such column; there are id, q, a, ann, ben"),
        (f"{HEAD}1,Q,A,B,A,A\n", {"id": "{b}{c}"}, "line 1, field 'c': there is no such column"),
        (f"{HEAD}1,Q,,B,A,A\n", {"id": "{q}{a}"}, "line 2, field 'a': expected a name or a number, and it is empty"),
        (f"{HEAD}1,Q,A,B,A,A\n", {"explode": "c"}, "line 1, field 'c': there is no such column"),
        (f"{HEAD}1,Q,A,B,A,A\n", {"explode": "b"}, "line 2, field 'b': expected a list, not 'B'"),
        (f"{HEAD}1,Q,A,[],A,A\n", {"explode": "b"}, "field 'b': every list is empty, so there is no item"),
    ],
)  # fmt: skip
def test_an_invalid_pair_is_refused(tmp_path: Path, content: str, changes: dict, message: str) -> None:
    assert message in read_error(tmp_path / "t.csv", content, **{**PAIR, "labels": [WIDE], **changes})


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        (f"{SCORES}1,Q,A,ann,4\n", {}, "line 2, field 'score': expected one of 1, 2, 3, not '4'"),
        (f"{SCORES}1,Q,A,,3\n", {}, "line 2, field 'who': expected a name or a number, and it is empty"),
        (f"{SCORES}1,Q,A,ann,1\n1,R,B,ben,1\n", {}, "line 3: expected item '1' to be the same as on line 2, "
         "and it differs in prompt and responses"),
        (f"{SCORES}1,Q,A,ann,1\n1,Q,A,ann,2\n", {}, "line 3, field 'score': expected one label"),
        (f"{SCORES}1,Q,A,ann,6\n", {"scale": FIVE}, "line 2, field 'score': expected a number from 0 to 5, not '6'"),
        (f"{SCORES}1,Q,A,ann,\"3,5\"\n", {"scale": FIVE}, "expected a number from 0 to 5, not '3,5'"),
        (f"{SCORES}1,Q,A,ann,nan\n", {"scale": FIVE}, "expected a number from 0 to 5, not 'nan'"),
        (f"{SCORES}1,Q,A,ann,1e999\n", {"scale": FIVE}, "expected a number of at most 15 digits, not inf"),
        (f"{SCORES}1,Q,A,ann,{'9' * 5000}\n", {"scale": FIVE}, "expected a number of at most 15 digits, not inf"),
        (f"{SCORES}1,Q,A,ann,1\n", {"seconds": "q"}, "line 2, field 'q': expected seconds, not 'Q'"),
    ],
)  # fmt: skip
def test_an_invalid_score_is_refused(tmp_path: Path, content: str, changes: dict, message: str) -> None:
    assert message in read_error(tmp_path / "t.csv", content, **SINGLE, labels=[{**LONG, **changes}])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "line 1, field 'id': expected a name or a number, and it is empty"),
        ({"id": ["x"]}, "line 1, field 'id': expected text or a number, not a list"),
        ({"q": {"x": 1}}, "line 1, field 'q': expected text or a number, not named fields"),
        ({"q": "\ud800"}, "line 1, field 'q': expected text without half of a surrogate pair"),
        ({"a": None}, "line 1, field 'a': expected the text of a response"),
        ({"s": [1, 2, 3]}, "line 1, field 's': expected as many labels as annotators, 2, not 3"),
        ({"s": {"x": 1}}, "line 1, field 's': expected a list, not named fields"),
        ({"s": [[1], 2]}, "line 1, field 's': expected one of 1, 2, 3, not [1]"),
        ({"s": [True, 2]}, "line 1, field 's': expected one of 1, 2, 3, not True"),
        ({"s": [10**400, 2]}, "expected a number of at most 15 digits, not 1000000000000000000000000000000000000000…"),
        ({"who": ["ann"]}, "line 1, field 's': expected as many labels as annotators, 1, not 2"),
        ({"who": ["ann", "ann"]}, "line 1, field 's': expected one label, and 'ann' already gave one for item '1'"),
        ({"who": ["ann", ""]}, "line 1, field 'who': expected a name or a number, and it is empty"),
    ],
)  # fmt: skip
def test_invalid_json_values_are_refused(tmp_path: Path, change: dict, message: str) -> None:
    block = {"layout": "list", "kind": "score", "value": "s", "annotators_field": "who", "scale": LONG["scale"]}
    row = {"id": 1, "q": "Q", "a": "A", "s": [1, 2], "who": ["ann", "ben"], **change}
    assert message in read_error(tmp_path / "t.json", [row], **SINGLE, labels=[block])


def test_a_mapped_field_that_no_record_has_is_refused_at_the_end(tmp_path: Path) -> None:
    rows = [{"id": 1, "q": "Q", "a": "A", "b": "B", "ann": 1}, {"id": 2, "q": "Q", "a": "A", "b": "B"}]
    message = "field 'ben': no record of the file has this field; there are a, ann, b, id, q"
    assert read_error(tmp_path / "t.json", rows, **PAIR, labels=[WIDE]) == message
    message = "line 1, field 'c': this field is missing, and its elements are the items"
    assert message in read_error(tmp_path / "t.json", rows, **{**PAIR, "explode": "c"})


def test_a_template_in_place_of_a_field_is_refused(tmp_path: Path) -> None:
    block = {"layout": "long", "kind": "preference", "annotator": "a", "value": "{q}"}
    rows = [{"id": 1, "q": "Q", "a": "A", "b": "B"}]
    assert "field '{q}': this is not a template" in read_error(tmp_path / "t.json", rows, **PAIR, labels=[block])


def test_two_blocks_cannot_have_the_same_label(tmp_path: Path) -> None:
    twice = [{**WIDE, "annotators": {"ann": "x"}}, {**WIDE, "annotators": {"ben": "x"}}]
    message = "line 2, field 'ben': expected one label, and 'x' already gave one for item '1'"
    assert read_error(tmp_path / "t.csv", f"{HEAD}1,Q,A,B,A,A\n", **PAIR, labels=twice) == message


@pytest.mark.parametrize("field", ["system", "name"])
def test_the_key_of_an_exploded_object_can_be_the_system(tmp_path: Path, field: str) -> None:
    content = json.dumps({"sysA": {"text": "x"}, "sysB": {"text": "y"}})
    mapping = {"id": "{element}", "responses": [{"text": "text", field: "{element}"}]}
    items = items_of(read_content(tmp_path / "t.json", content, explode="*", **mapping))
    assert [item.responses[0].system for item in items] == ["sysA", "sysB"]
    assert "add `explode`" in build_error(**mapping)


def test_lists_by_key_are_exploded_with_two_stars(tmp_path: Path) -> None:
    content = json.dumps({"sysA": [{"text": "x"}, {"text": "y"}], "sysB": [{"text": "z"}]})
    mapping = {"id": "{element}-{position}", "responses": [{"text": "text", "system": "{element}"}]}
    items = items_of(read_content(tmp_path / "t.json", content, explode="*.*", **mapping))
    assert [(item.id, item.responses[0].text, item.responses[0].system) for item in items] == [
        ("sysA-1", "x", "sysA"),
        ("sysA-2", "y", "sysA"),
        ("sysB-1", "z", "sysB"),
    ]
    advice = 'write `explode: "*.*"`'
    responses = [{"text": "text"}]
    assert advice in read_error(tmp_path / "t.json", content, id="{element}", explode="*", responses=responses)
    assert advice in read_error(tmp_path / "t.json", content, id="{row}", responses=responses)


def build_error(**mapping: Any) -> str:
    with pytest.raises(FileFormatError) as caught:
        build_mapping(mapping)
    return str(caught.value)


def test_an_empty_cell_is_an_empty_response_unless_it_is_optional(tmp_path: Path) -> None:
    records = read_content(tmp_path / "t.csv", f"{HEAD}1,Q,,,A,A\n", **PAIR, labels=[WIDE])
    assert items_of(records) == [Item(id="1", prompt="Q", responses=(Response(text=""), Response(text="")))]
    assert len(items_of(read_content(tmp_path / "t.json", [{"id": 1, "q": "Q", "a": ""}], **SINGLE))) == 1
    optional = {**SINGLE, "responses": [{"text": "a", "optional": True}]}
    (item,) = items_of(read_content(tmp_path / "t.csv", "id,q,a\n1,Q,\n", **optional))
    assert (item.prompt, item.responses) == ("Q", ())
    message = "line 2, field 'a': expected at least one response"
    del optional["prompt"]
    assert read_error(tmp_path / "t.csv", "id,q,a\n1,Q,\n", **optional) == message


def test_rows_and_values_that_a_mapping_leaves_out_are_counted(tmp_path: Path) -> None:
    values = {"A": 1, "B": 2, "tie": 0, "error": None}
    with recording_omissions() as omissions:
        read_content(
            tmp_path / "t.csv",
            "id,q,a,b,turn,ann,ben,gpt,gold\n1,Q,x,y,1,error,,error,error\n2,Q,x,y,1,A,B,error,A\n3,Q,x,y,2,A,B,A,A\n",
            **PAIR,
            where={"turn": 1},
            labels=[{**WIDE, "values": values}],
            judges=[{"kind": "preference", "columns": ["gpt"], "values": values}],
            gold=[{"kind": "preference", "value": "gold", "values": values}],
        )
    assert omissions.notes() == [
        "1 of 3 rows left out by `where` or `where_not`",
        "1 left out: values that are no label",
        "2 left out: values of judges that are no verdict",
        "1 left out: values that are no gold",
    ]


def test_fields_that_a_mapping_does_not_use_are_listed(tmp_path: Path) -> None:
    records = [{"id": 1, "v.1": 2, "meta": {"x": 1, "y": 2}, "turns": [{"q": "Q", "a": "A", "z\n": 1}], "rest": [1]}]
    (tmp_path / "t.json").write_text(json.dumps(records))
    mapping = build_mapping({"id": "{parent.id}", "prompt": "q", "explode": "turns", "responses": [{"text": "a"}],
                             "scenario": "meta.x"})  # fmt: skip
    unused = unused_fields(tmp_path / "t.json", mapping)
    assert unused == ['"v.1"', "meta.y", "rest", "z\n"]
    assert format_unused(unused) == """Not used: '"v.1"', meta.y, rest, "z\\n\""""
    assert format_unused([str(n) for n in range(14)]).endswith(", '11' and 2 more")
