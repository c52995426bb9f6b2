"""A column with any name can be mapped: its path as the preview shows it, and as the message of an error writes it."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.errors import FileFormatError
from core.formats.mapping.mapping import Mapping, build_mapping, dump_mapping
from core.formats.mapping.preview import preview_table
from core.formats.mapping.unused import unused_fields
from core.formats.plain_yaml import parse_fields
from core.formats.records import ItemRecord, LabelRecord
from core.formats.registry import read_records

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
@given(column=NAMES.map(str.strip).filter(lambda name: name not in {"", "\ufeff", *OTHERS} and "\0" not in name))
def test_a_column_with_any_name_can_be_mapped(tmp_path: Path, column: str) -> None:
    table = tmp_path / "t.csv"
    write_table(table, column)
    path = preview_table(table).columns[-1]
    mapping = build_mapping(parse_fields(dump_mapping(mapping_of(path))))
    records = list(read_records(table, mapping=mapping))
    (item,) = [record.item for record in records if isinstance(record, ItemRecord)]
    assert (item.id, item.prompt, item.scenario) == ("1-A", "A", "A")
    assert [record.label.value for record in records if isinstance(record, LabelRecord)] == [1]
    assert unused_fields(table, mapping) == []


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_quoted_text_is_a_column_and_not_a_template(tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"t{suffix}"
    table.write_text({".csv": "id,a\n1,A\n", ".jsonl": '{"id": "1", "a": "A"}\n'}[suffix], encoding="utf-8")
    quoted = build_mapping({"id": "id", "prompt": "a", "scenario": '"{a}"'})
    with pytest.raises(FileFormatError, match=r'"\{a\}".*there are'):
        list(read_records(table, mapping=quoted))
    template = build_mapping({"id": "id", "prompt": "a", "scenario": ' "{a}"'})
    (record,) = (record for record in read_records(table, mapping=template) if isinstance(record, ItemRecord))
    assert record.item.scenario == '"A"'


@pytest.mark.parametrize("column", ['d\'Arcy "Q"', 'a "b"\nc', '"a" b\'c', '🙂 "'])
def test_the_message_about_an_invalid_path_has_the_spelling_that_works(tmp_path: Path, column: str) -> None:
    table = tmp_path / "t.csv"
    write_table(table, column)
    with pytest.raises(FileFormatError, match="a column with this name is, in YAML, ") as caught:
        build_mapping({"id": "id", "prompt": column})
    spelling = str(caught.value).rpartition("in YAML, ")[2]
    mapping = build_mapping(parse_fields(f"id: id\nprompt: {spelling}\n"))
    (item,) = [record.item for record in read_records(table, mapping=mapping) if isinstance(record, ItemRecord)]
    assert item.prompt == "A"
