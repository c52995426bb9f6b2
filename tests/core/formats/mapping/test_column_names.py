"""A column with any name can be mapped: its path as the preview shows it, and as the message of an error writes it."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.errors import FileFormatError
from core.formats.mapping.fields import MISSING, get_value, parse_path, quote_key, template_fields
from core.formats.mapping.mapping import Mapping, build_mapping, dump_mapping
from core.formats.mapping.preview import preview_table, unused_fields
from core.formats.plain_yaml import parse_fields
from core.formats.registry import read_records
from tests.core.formats.shared import items_of, labels_of, write_content

VALUES = {"A": 1, "B": 2}
OTHERS = {"id", "a", "b"}
NAMES = st.text(st.sampled_from("\"'\\{}[]:#*.,; \n\t🙂é-0w"), min_size=1, max_size=8) | st.text(min_size=1)


def write_table(path: Path, column: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "a", "b", column], ["1", "x", "y", "A"]])


def mapping_of(path: str) -> Mapping:
    """Return a mapping that refers to a path as a column, as a text, in a template and in a condition."""
    labels = [{"layout": "wide", "kind": "preference", "annotators": {path: "Ann"}, "values": VALUES}]
    draft = {"id": f"{{id}}-{{{path}}}", "prompt": path, "scenario": path, "where": {path: "A"}, "labels": labels}
    return build_mapping(draft | {"responses": [{"text": "a"}, {"text": "b"}]})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example('d\'Arcy "Q"')
@example('"Q"')
@example("{x}")
@example("{element}")
@example('{"x}')
@example("a\nb")
@example("a\\b 🙂")
@example("a..b")
@example("a\x85b")
@example("a\u2028b")
@example("repeat")
@given(column=NAMES.map(str.strip).filter(lambda name: name not in {"", "\ufeff", *OTHERS} and "\0" not in name))
def test_a_column_with_any_name_can_be_mapped(tmp_path: Path, column: str) -> None:
    table = tmp_path / "t.csv"
    write_table(table, column)
    path = preview_table(table).columns[-1]
    mapping = build_mapping(parse_fields(dump_mapping(mapping_of(path))))
    records = list(read_records(table, mapping=mapping))
    (item,) = items_of(records)
    assert (item.id, item.prompt, item.scenario) == ("1-A", "A", "A")
    assert [record.value for record in labels_of(records)] == [1]
    assert unused_fields(table, mapping) == []


@pytest.mark.parametrize("column", ['d\'Arcy "Q"', 'a "b"\nc', '"a" b\'c', '🙂 "'])
def test_the_message_about_an_invalid_path_has_the_spelling_that_works(tmp_path: Path, column: str) -> None:
    table = tmp_path / "t.csv"
    write_table(table, column)
    with pytest.raises(FileFormatError, match="a column with this name is, in YAML, ") as caught:
        build_mapping({"id": "id", "prompt": column})
    spelling = str(caught.value).rpartition("in YAML, ")[2]
    mapping = build_mapping(parse_fields(f"id: id\nprompt: {spelling}\n"))
    (item,) = items_of(read_records(table, mapping=mapping))
    assert item.prompt == "A"


@pytest.mark.parametrize("path", [" b", "b ", '" c ""1"""', " d.e"])
def test_blanks_around_the_name_of_a_column_do_not_matter(tmp_path: Path, path: str) -> None:
    table = write_content(tmp_path / "t.csv", 'id,a, b,"  c ""1"" ", d.e\n1,?,A,A,A\n')
    mapping = build_mapping({"id": "id", "prompt": "a", "context": path, "scenario": f"{{{path}}}!"})
    (item,) = items_of(read_records(table, mapping=mapping))
    assert (item.context, item.scenario) == ("A", "A!")
    assert len(unused_fields(table, mapping)) == 2


@pytest.mark.parametrize("explode", [{}, {"explode": "missing"}])
def test_messages_have_names_of_columns_as_a_mapping_writes_them(tmp_path: Path, explode: dict[str, str]) -> None:
    table = write_content(tmp_path / "t.csv", 'id,"a, b","c ""d""",e f,x: y\n1,?,A,A,A\n')
    with pytest.raises(FileFormatError, match="there are ") as caught:
        list(read_records(table, mapping=build_mapping({"id": "id", "prompt": "missing"} | explode)))
    listed = str(caught.value).rpartition("there are ")[2]
    assert listed == "id, 'a, b', '\"c \"\"d\"\"\"', e f, 'x: y'"
    names = parse_fields(f"names: [{listed}]")["names"]
    assert names == list(preview_table(table).columns)


def test_names_of_judges_and_annotators_have_no_blanks_around_them() -> None:
    labels = [{"layout": "wide", "kind": "preference", "annotators": {"ann": "  Ann "}}]
    judges = [{"kind": "preference", "columns": ["  gpt, v1"]}]
    mapping = build_mapping({"id": "id", "prompt": "a", "labels": labels, "judges": judges})
    assert mapping.judges[0].columns == {"  gpt, v1": "gpt, v1"}
    assert mapping.labels[0].model_dump()["annotators"] == {"ann": "Ann"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a", {"b c": [{"d.e": 1}], "": 2}),
        ('a.b c.0."d.e"', 1),
        ('a.""', 2),
        ("x.y", "the whole path is a key"),
        ("none", None),
    ],
)
def test_a_path_refers_to_its_value(path: str, value: object) -> None:
    row = {"a": {"b c": [{"d.e": 1}], "": 2}, "x.y": "the whole path is a key", "x": {"y": 3}, "none": None}
    assert get_value(row, path) == value


@pytest.mark.parametrize("path", ["b", "a.1", "a.x", "a.0.c.d", "text.0"])
def test_an_absent_field_is_missing_and_not_none(path: str) -> None:
    assert get_value({"a": [{"c": 1}], "text": "abc"}, path) is MISSING


@pytest.mark.parametrize("path", ["", "a.", ".a", "a..b", '"a', 'a"b', '"a"b'])
def test_an_invalid_path_raises_value_error(path: str) -> None:
    with pytest.raises(ValueError, match="is not a field path"):
        parse_path(path)


@given(keys=st.lists(st.text(), min_size=1, max_size=4))
def test_any_key_can_be_quoted(keys: list[str]) -> None:
    assert parse_path(".".join(map(quote_key, keys))) == tuple(keys)


def test_the_fields_of_a_template_exclude_the_counters() -> None:
    assert template_fields('{row}-{element}/{meta.id}{"a.b"}') == ["meta.id", '"a.b"']
