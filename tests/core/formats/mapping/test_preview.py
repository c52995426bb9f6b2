"""The preview of a table and the suggested mapping."""

import json
from pathlib import Path

from core.formats.mapping.guess import suggest_mapping
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.preview import MAX_FIELDS, preview_table


def test_nested_fields_are_columns_and_lists_of_records_can_be_exploded(tmp_path: Path) -> None:
    rows = [{"id": 1, "meta": {"a.b": None, "ok": True}, "turns": [{"say": "Hi"}, {"say": "Ho"}], "tags": ["x"]}]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    preview = preview_table(tmp_path / "t.json")
    assert preview.columns == ("id", 'meta."a.b"', "meta.ok", "turns", "tags")
    assert preview.lists == ("turns",)
    assert [preview.rows[0][name] for name in ("meta.ok", 'meta."a.b"', "tags")] == ["true", "", '["x"]']
    exploded = preview_table(tmp_path / "t.json", explode="turns")
    assert exploded.columns == ("id", 'meta."a.b"', "meta.ok", "tags", "say")
    assert [row["say"] for row in exploded.rows] == ["Hi", "Ho"]


def test_of_a_record_with_many_fields_only_the_first_are_looked_at(tmp_path: Path) -> None:
    rows = [{"id": 1, "more": dict.fromkeys(map(str, range(MAX_FIELDS)), 0)}, {"id": 2, "last": 0}]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    preview = preview_table(tmp_path / "t.json")
    assert (len(preview.columns), preview.columns[0], preview.has_more) == (MAX_FIELDS, "id", True)
    assert preview.rows[1] == {"id": "2"}
    (tmp_path / "t.json").write_text(json.dumps(rows[1:]))
    assert not preview_table(tmp_path / "t.json").has_more


def test_only_the_first_rows_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 5 + "broken\n")
    assert len(preview_table(tmp_path / "t.csv").rows) == 5


def test_columns_with_usual_names_give_a_valid_mapping() -> None:
    columns = ["Item ID", "question", "input", "response_b", "response_a", "model_a", "model_b", "rater_1", "category"]
    draft = suggest_mapping(columns)
    assert draft == {
        "id": "Item ID",
        "prompt": ["question", "input"],
        "scenario": "category",
        "responses": [{"text": "response_a", "system": "model_a"}, {"text": "response_b", "system": "model_b"}],
    }
    assert build_mapping(draft).id == "Item ID"
