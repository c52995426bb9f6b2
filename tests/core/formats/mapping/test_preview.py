"""Before there is a mapping a person sees the columns, the first rows and a guess."""

import json
from pathlib import Path

from core.formats.mapping.guess import suggest
from core.formats.mapping.mapping import build
from core.formats.mapping.preview import preview


def test_nested_fields_are_shown_flat_and_lists_of_records_can_be_exploded(tmp_path: Path) -> None:
    rows = [{"id": 1, "meta": {"a.b": None, "ok": True}, "turns": [{"say": "Hi"}, {"say": "Ho"}], "tags": ["x"]}]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    seen = preview(tmp_path / "t.json")
    assert seen.columns == ("id", 'meta."a.b"', "meta.ok", "turns", "tags")
    assert seen.lists == ("turns",)
    assert seen.rows[0]["meta.ok"] == "true" and seen.rows[0]['meta."a.b"'] == "" and seen.rows[0]["tags"] == '["x"]'
    exploded = preview(tmp_path / "t.json", explode="turns")
    assert exploded.columns == ("id", 'meta."a.b"', "meta.ok", "tags", "say")
    assert [row["say"] for row in exploded.rows] == ["Hi", "Ho"]


def test_only_the_first_rows_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 5 + "broken\n")
    assert len(preview(tmp_path / "t.csv").rows) == 5


def test_usual_names_are_guessed_and_the_guess_is_a_mapping() -> None:
    columns = [
        "item_id",
        "question",
        "response_b",
        "response_a",
        "model_a",
        "model_b",
        "rater_1",
        "rater_2",
        "category",
    ]
    draft = suggest(columns)
    assert draft == {
        "id": "item_id",
        "prompt": "question",
        "scenario": "category",
        "responses": [{"text": "response_a", "system": "model_a"}, {"text": "response_b", "system": "model_b"}],
        "labels": [
            {"layout": "wide", "kind": "preference", "annotators": {"rater_1": "rater_1", "rater_2": "rater_2"}}
        ],
    }
    assert build(draft).id == "item_id"


def test_one_row_a_label_is_guessed_from_its_annotator_and_value() -> None:
    draft = suggest(
        ["Item ID", "prompt", "input", "answer", "annotator_id", "label", "aspect", "comment", "lead_time_s"]
    )
    assert draft["id"] == "Item ID" and draft["prompt"] == ["prompt", "input"]
    assert draft["labels"] == [
        {
            "layout": "long",
            "kind": "score",
            "annotator": "annotator_id",
            "value": "label",
            "criterion_field": "aspect",
            "reason": "comment",
            "seconds": "lead_time_s",
        }
    ]


def test_an_exploded_list_is_numbered() -> None:
    assert suggest(["context", "response", "model"], explode="responses") == {
        "explode": "responses",
        "id": "{row}-{element}",
        "prompt": "context",
        "responses": [{"text": "response", "system": "model"}],
    }


def test_nothing_usual_is_no_guess() -> None:
    assert suggest(["foo", "bar"]) == {"id": "{row}"}
