"""A mapping is validated before a file is opened, and is unchanged by saving and loading."""

import json
from pathlib import Path

import pytest

from core.errors import FileFormatError
from core.formats.mapping import mapping
from core.formats.mapping.mapping import build_mapping
from core.formats.plain_yaml import dump_fields, line_of, parse_fields
from core.formats.records import CriterionRecord, ItemRecord, ScaleRecord
from core.formats.registry import read_records
from core.items import Item
from core.labels import Scale
from tests.core.formats.shared import write_content

MINIMAL = {"id": "id", "prompt": "question", "responses": [{"text": "answer"}]}
WIDE = {"layout": "wide", "kind": "preference", "annotators": ["ann", "ben"]}
PREFERENCE = {"kind": "preference", "value": "g"}
LIST = PREFERENCE | {"layout": "list"}
LOW = {"level": "interval", "low": 1}


def with_labels(**changes: object) -> dict:
    return {**MINIMAL, "labels": [{**WIDE, **changes}]}


def test_values_that_occur_twice_are_written_twice() -> None:
    scale = {"level": "ordinal", "categories": [1, 2]}
    fields = with_labels(scale=scale) | {"gold": {"kind": "score", "value": "gold", "scale": scale}}
    assert parse_fields(dump_fields(fields)) == fields


def test_the_lowest_value_of_a_scale_is_below_the_highest() -> None:
    scale = {"level": "interval", "low": 50, "high": 0}
    with pytest.raises(FileFormatError, match="the `low` of a scale is not above its `high`; if fewer is better"):
        mapping.build_mapping(with_labels(kind="score", scale=scale))
    mapping.build_mapping(with_labels(kind="score", scale=scale | {"low": 0}))  # a column with one value


def test_words_that_yaml_1_1_converts_stay_text(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "id: no\nprompt: 'on'\nresponses: [{text: 2020-01-01}]\n"
        "labels: [{layout: wide, kind: answer, annotators: [y, n],"
        " values: {yes: true, no: false, 1: true, n/a: null}, scale: {level: nominal, categories: [true, false]}}]\n"
    )
    loaded = mapping.load_mappings(tmp_path / "m.yaml")[0]
    assert (loaded.id, loaded.prompt, loaded.responses[0].text) == ("no", "on", "2020-01-01")
    assert loaded.labels[0].values == {"yes": True, "no": False, "1": True, "n/a": None}
    assert loaded.labels[0].scale == Scale(level="nominal", categories=(True, False))
    (tmp_path / "again.yaml").write_text(mapping.dump_mapping(loaded))
    assert mapping.load_mappings(tmp_path / "again.yaml")[0] == loaded


def test_the_field_paths_of_a_mapping_are_complete() -> None:
    built = mapping.build_mapping(
        {**with_labels(), "id": "{a.b}-{row}", "prompt": ["question", "input"], "group": ["g"]}
    )
    assert list(mapping.field_paths(built)) == ["a.b", "question", "input", "g", "answer", "ann", "ben"]


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        ([], "expected named fields"),
        ({**MINIMAL, "id": None}, "field 'id': expected a field"),
        ({"id": "id", "responses": []}, "an item needs a `prompt` or `responses`"),
        ({**MINIMAL, "promt": "x"}, "field 'promt': there is no such field"),
        ({**MINIMAL, "responses": [{"system": "m"}]}, "field 'responses.0': a response needs a `text`"),
        ({**MINIMAL, "responses": [{"text": "a", "system": "m", "name": "x"}]}, "'responses.0': give `system`"),
        (
            {**MINIMAL, "responses": [{"text": "a", "optional": True}, {"text": "b"}], "gold": [PREFERENCE]},
            "optional `responses` come last",
        ),
        ({**MINIMAL, "id": "a..b"}, "'a..b' is not a field path"),
        ({**MINIMAL, "labels": [{}]}, "field 'labels.0': expected a field 'layout'"),
        ({**MINIMAL, "labels": [{"layout": "tall"}]}, "field 'labels.0': expected one of 'long', 'wide'"),
        (with_labels(kind="weights"), "field 'labels.0.wide.kind': expected 'preference', 'score'"),
        (with_labels(kind="score"), "field 'labels.0.wide': a score needs a `scale`"),
        (with_labels(kind="score", scale=LOW), "a `scale` needs categories, lowest first, or low and high"),
        (with_labels(kind="score", scale=LOW | {"high": "9" * 5000}), "`high` of a scale are finite numbers"),
        (with_labels(scale={"level": "nominal", "categories": ["A", "B"]}), "a preference is 1, 2 or 0 for a tie"),
        (with_labels(values={"A": 1, "B": 3}), "`values` turns 'B' into 3, which is not on the scale"),
        ({**MINIMAL, "labels": [LIST | {"annotators": ["a"], "annotators_field": "f"}]}, "give either `annotators`"),
        ({**MINIMAL, "labels": [LIST | {"annotators": ["a", "a"]}]}, "`annotators` contains a name twice"),
    ],
)
def test_an_invalid_draft_is_refused_with_its_field(draft: object, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        mapping.build_mapping(draft)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id: [a\n", "line 2: expected YAML: expected ',' or ']', but got '<stream end>'"),
        ("id: a\nid: b\n", "line 2: expected YAML: 'id' once, not twice"),
        ("id: &x a\nprompt: *x\n", "line 2: expected YAML: no aliases"),
        ("id: !!python/object:os.system a\n", "line 1: expected YAML: no tags such as 'python/object:os.system'"),
        ("- id\n", "expected named fields, such as `id: question_id`"),
        ("", "expected named fields, such as `id: question_id`"),
        ("id: \x00\n", "expected YAML: unacceptable character #x0000: special characters are not allowed"),
    ],
)  # fmt: skip
def test_invalid_yaml_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        mapping.load_mappings(tmp_path / "m.yaml")[0]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("fields", "cell"),
    [
        ("rubric", ["Warmth: Is it warm?", "Noise"]),
        ("rubric", "Warmth: Is it warm?\n\nNoise"),
        ("rubric", '["Warmth: Is it warm?", "Noise"]'),
        ({"field": "rubric", "separator": ";"}, "Warmth: Is it  warm?; Noise"),
    ],
)
def test_the_aspects_of_an_item_are_a_column(tmp_path: Path, fields: object, cell: object) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"id": "i", "question": "?", "answer": "!", "rubric": cell}))
    built = mapping.build_mapping({**MINIMAL, "aspects": fields})
    (record,) = (one for one in read_records(tmp_path / "t.jsonl", "table", built) if isinstance(one, ItemRecord))
    assert record.item.aspects == ("Warmth: Is it warm?", "Noise")
    assert "rubric" in set(mapping.field_paths(built))


@pytest.mark.parametrize("cell", [["Warmth", "warmth: again"], ["x"] * 21, ["", ": no name"], 7])
def test_aspects_without_distinct_names_are_refused(tmp_path: Path, cell: object) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"id": "i", "question": "?", "answer": "!", "rubric": cell}))
    with pytest.raises(FileFormatError):
        list(read_records(tmp_path / "t.jsonl", "table", mapping.build_mapping({**MINIMAL, "aspects": "rubric"})))


def test_an_item_without_aspects_is_serialised_as_before() -> None:
    assert "aspects" not in Item(id="i", prompt="?").model_dump()


def test_blocks_of_several_kinds_share_the_definition_of_their_criterion(tmp_path: Path) -> None:
    path = write_content(tmp_path / "t.csv", "id,a,b,ann,s1\n1,So.,Thus.,2,4\n")
    label = {"layout": "wide", "kind": "preference", "criterion": "tone", "annotators": ["ann"]}
    scale = {"level": "ordinal", "categories": [1, 2, 3, 4]}
    judge = {"kind": "score", "criterion": "tone", "judge": {"constant": "j"}, "value": "s1", "response": 1}
    draft = {"id": "id", "responses": [{"text": "a"}, {"text": "b"}], "labels": [label]}
    draft["judges"] = [judge | {"scale": scale, "definition": "Is it polite?"}]
    records = list(read_records(path, mapping=build_mapping(draft)))
    criteria = [record.criterion for record in records if isinstance(record, CriterionRecord)]
    assert [(own.name, own.definition) for own in criteria] == [("tone", "Is it polite?")]
    assert len([record for record in records if isinstance(record, ScaleRecord)]) == 2
    draft["labels"] = [label | {"definition": "Is it loud?"}]
    with pytest.raises(FileFormatError, match="criterion 'tone' has two definitions"):
        build_mapping(draft)


@pytest.mark.parametrize("text", ["labels:\n- [a, b]", "labels:\n- abc", "labels:\n- {value: a}"])
def test_the_line_of_an_element_that_is_no_block_is_found(text: str) -> None:
    assert line_of(text, "labels.0.value") == 2
