"""The form of a mapping: roles of fields in a table, and YAML."""

from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.formats.mapping import mapping as mappings
from pages.setup.parts.scale_form import join_commas, split_commas

ROW = (
    '{"key": 1, "q": "Why?", "extra": "Say.", "a": "So.", "b": "Thus.", "topic": "sky", "rater": "cy", "value": 3, '
    '"parts": [{"a": "x", "good": true}]}\n'
)
OBJECT = '{"q1": {"question": "Why?", "answer": "So."}, "q2": {"question": "How?", "answer": "Thus."}}\n'
PLAIN = "id: key\nprompt: q\nresponses: [{text: a}]\n"
LABELS = f"""{PLAIN}
labels:
  - {{layout: long, kind: score, annotator: rater, value: value, criterion_field: topic,
     scale: {{level: interval, low: 1, high: 5}}}}
"""


def form() -> None:
    """The script of a page with the form, on a file and with loaded mappings."""
    from pathlib import Path

    import streamlit as st

    from core.formats.mapping.mapping import parse_mappings
    from pages.setup.parts import mapping_form
    from pages.setup.parts.upload import FileSource

    source = FileSource("table.jsonl", "table", Path(st.session_state["file"]))
    if st.session_state["loaded"] and "mapping" not in st.session_state:
        mapping_form.start_loaded(source, parse_mappings(st.session_state["loaded"]))
    st.session_state["made"] = mapping_form.draw_mapping(source)


def opened(folder: Path, text: str = "", content: str = ROW) -> AppTest:
    """Return the page after its first run, with a loaded mapping or the suggested one."""
    st.cache_data.clear()
    (folder / "table.jsonl").write_text(content, encoding="utf-8")
    app = AppTest.from_function(form)
    app.session_state["file"] = str(folder / "table.jsonl")
    app.session_state["loaded"] = text
    return app.run()


def roles_of(app: AppTest) -> dict[str, str]:
    """Return field -> role, as the table shows it."""
    table = app.data_editor[0].value
    return {field: role for field, role in zip(table["field"], table["role"], strict=True) if role != "none"}


def choose(app: AppTest, **roles: str) -> AppTest:
    """Choose the roles of fields in the table."""
    fields = app.data_editor[0].value["field"].tolist()
    edits: dict[str, Any] = {"added_rows": [], "deleted_rows": []}
    edits["edited_rows"] = {fields.index(field): {"role": role} for field, role in roles.items()}
    app.session_state[app.data_editor[0].key] = edits
    return app.run()


@pytest.mark.parametrize("text", [LABELS, f"{LABELS}---\n{PLAIN}"])
def test_loaded_mappings_are_returned_unchanged_with_the_roles_of_their_fields(text: str, tmp_path: Path) -> None:
    app = opened(tmp_path, text)
    assert app.session_state["made"] == mappings.parse_mappings(text)
    expected = {"key": "other", "q": "prompt", "a": "response"}
    assert roles_of(app) == expected | {"rater": "annotator", "value": "label", "topic": "criterion"}
    assert len(app.data_editor) == len(mappings.parse_mappings(text))


def test_a_chosen_role_suggests_the_rest_of_the_mapping_again(tmp_path: Path) -> None:
    app = opened(tmp_path, content='{"key": 1, "x": "Why is it so?", "y": "So it is.", "z": "It is as it is."}\n')
    choose(app, y="prompt", x="none")
    choose(app, z="context", x="response")
    (mapping,) = app.session_state["made"]
    assert (mapping.prompt, mapping.context, [own.text for own in mapping.responses]) == ("y", "z", ["x"])
    assert mapping.confirmed is False
    choose(app, z="none")
    assert roles_of(app) == {"x": "response", "y": "prompt"}


def test_a_role_that_does_not_fit_has_its_reason_on_the_page_and_changes_nothing(tmp_path: Path) -> None:
    app = opened(tmp_path)
    before = app.session_state["made"]
    choose(app, extra="step")
    assert "it cannot be the step" in app.error[0].value and app.session_state["made"] == before


def test_a_mapping_is_changed_as_text_and_an_error_names_its_line_and_key(tmp_path: Path) -> None:
    app = opened(tmp_path)
    app.text_area[0].set_value(LABELS.replace("prompt: q", "prompt: extra")).run()
    assert app.session_state["made"][0].prompt == "extra"
    assert roles_of(app)["extra"] == "prompt"
    app.text_area[0].set_value(LABELS.replace("level: interval", "level: none")).run()
    assert app.session_state["made"] is None
    assert r"line 7, field 'labels.0.long.scale.level'" in app.error[0].value.replace("\\", "")


def test_a_file_that_is_one_object_of_records_offers_its_fields_as_items(tmp_path: Path) -> None:
    app = opened(tmp_path, content=OBJECT)
    assert app.selectbox[0].options == ["none: each row is an item", "*"]
    app.selectbox[0].set_value("*").run()
    assert app.session_state["made"][0].explode == ("*",)
    assert roles_of(app) == {"question": "prompt", "answer": "response"}
    app.selectbox[0].set_value("").run()
    assert not app.exception and "q1.question" in app.data_editor[0].value["field"].tolist()


@pytest.mark.parametrize(
    "names", [["Zoë", 'O\'Brien, "Ben"', "annotator 3"], ['"Q"'], ["a", "b c"], ["one\ntwo", "three"], []]
)
def test_names_with_commas_and_quotation_marks_are_read_back(names: list[str]) -> None:
    assert split_commas(join_commas(names)) == names


def test_blanks_and_empty_parts_are_left_out() -> None:
    assert split_commas(" Ada ,, Ben,") == ["Ada", "Ben"]


def questions() -> None:
    """The script of a page that asks what a file does not state."""
    from pathlib import Path

    import streamlit as st

    from core.formats.mapping.mapping import build_mapping
    from pages.setup.parts import import_steps
    from pages.setup.parts.upload import FileSource

    source = FileSource("table.jsonl", "table", Path(st.session_state["file"]))
    mapping = build_mapping({"id": "{row}", "prompt": "q"})
    st.session_state["made"] = import_steps._draw_confirmations(source, mapping, "map")


def test_rows_with_the_same_id_are_items_of_their_own_only_if_a_person_says_so(tmp_path: Path) -> None:
    st.cache_data.clear()
    (tmp_path / "table.jsonl").write_text('{"id": 1, "q": "Why?"}\n{"id": 1, "q": "How?"}\n', encoding="utf-8")
    app = AppTest.from_function(questions)
    app.session_state["file"] = str(tmp_path / "table.jsonl")
    app.run()
    (asked,) = app.checkbox
    assert "rows have the same id" in asked.label and app.session_state["made"] is None
    asked.check().run()
    assert app.session_state["made"] is not None
