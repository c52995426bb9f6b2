"""The form of a mapping."""

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.formats.mapping import mapping as mappings
from core.formats.plain_yaml import parse_fields

ROW = (
    '{"key": 1, "q": "Why?", "extra": "Say.", "a": "So.", "b": "Thus.", "who": "gpt", "topic": "sky", "doc": "d", '
    '"ann": "A", "ben": "tie", "rater": "cy", "value": 3, "aspect": "clear", "why": "it is", "took": 2.5, '
    '"marks": "[1, 2]", "cut": "4;5", "raters": ["x", "y"], "parts": [{"a": "x", "good": true}]}\n'
)
PLAIN = "id: key\nprompt: q\nresponses: [{text: a}]\n"
MAPPINGS = {
    "everything about an item": """
id: "{topic}-{row}"
prompt: [q, extra]
responses: [{text: a, system: who}, {text: b, name: my system, optional: true}]
context: extra
reference: [a, b]
scenario: topic
group: [doc, topic]
""",
    "columns with names and translations": f"""{PLAIN}
labels:
  - layout: wide
    kind: preference
    criterion: helpfulness
    definition: Of use.
    annotators: {{ann: Ann, ben: Ben}}
    values: {{A: 1, tie: 0, skip: null}}
""",
    "a row a label": f"""{PLAIN}
labels:
  - {{layout: long, kind: score, annotator: rater, value: value, criterion_field: aspect, reason: why, seconds: took,
     scale: {{level: interval, low: 1, high: 5}}}}
""",
    "lists": f"""{PLAIN}
labels:
  - {{layout: list, kind: likert, criterion: c, value: marks, annotators_field: raters,
     scale: {{level: ordinal, categories: [1, 2, 3]}}}}
  - {{layout: list, kind: score, criterion: d, value: cut, annotators: [x, y], separator: ;,
     scale: {{level: interval, categories: [4, 4.5, 5]}}}}
""",
    "elements of a list": """
id: "{row}-{element}"
prompt: q
explode: parts
responses: [{text: a}]
group: "{row}"
labels:
  - {layout: wide, kind: answer, criterion: good, annotators: {good: one},
     scale: {level: nominal, categories: [true, false]}}
""",
}


def form() -> None:
    """The script of a page with the form, on a file and with a loaded mapping."""
    from pathlib import Path

    import streamlit as st

    from pages.setup.parts import mapping_form
    from pages.setup.parts.upload import FileSource

    source = FileSource("table.jsonl", "table", Path(st.session_state["file"]))
    if "mapping" not in st.session_state:
        mapping_form.reset_form(source, st.session_state["loaded"])
    st.session_state["made"] = mapping_form.draw_mapping(source)


@pytest.mark.parametrize("name", MAPPINGS)
def test_a_loaded_mapping_is_returned_unchanged(name: str, tmp_path: Path) -> None:
    st.cache_data.clear()
    (tmp_path / "table.jsonl").write_text(ROW, encoding="utf-8")
    mapping = mappings.build_mapping(parse_fields(MAPPINGS[name]))
    app = AppTest.from_function(form)
    app.session_state["file"] = str(tmp_path / "table.jsonl")
    app.session_state["loaded"] = mapping.model_dump(mode="json", exclude_defaults=True)
    app.run()
    assert not app.exception
    assert mappings.build_mapping(app.session_state["made"]) == mapping
