"""The form of a mapping; names in its text fields are separated by commas."""

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.errors import FileFormatError
from core.formats.mapping import mapping as mappings
from core.formats.plain_yaml import parse_fields
from pages.setup.parts import mapping_form
from pages.setup.parts.scale_form import join_commas, split_commas

ROW = (
    '{"key": 1, "q": "Why?", "extra": "Say.", "a": "So.", "b": "Thus.", "who": "gpt", "topic": "sky", "doc": "d", '
    '"ann": "A", "ben": "tie", "rater": "cy", "value": 3, "aspect": "clear", "why": "it is", "took": 2.5, '
    '"marks": "[1, 2]", "cut": "4;5", "raters": ["x", "y"], '
    '"parts": [{"a": "x", "good": true, "inner": [{"b": "y"}]}]}\n'
)
OBJECT = '{"q1": {"q": "Why?", "a": "So."}, "q2": {"q": "How?", "a": "Thus."}}\n'
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
    "a template of annotators": f"""{PLAIN}
labels:
  - {{layout: list, kind: score, value: marks, annotators: "r{{n}}", scale: {{level: interval, low: 1, high: 5}}}}
""",
    "of one response, of some rows, and in each element": f"""{PLAIN}
labels:
  - {{layout: wide, kind: score, criterion: c, response: 1, annotators: [value],
     scale: {{level: interval, low: 1, high: 5}}}}
  - {{layout: long, kind: score, annotator: {{constant: people}}, value: value, where: {{topic: [sky, sea]}},
     scale: {{level: interval, low: 1, high: 5}}}}
  - {{layout: long, kind: answer, each: parts, response: element, annotator: "r{{element}}", value: good,
     scale: {{level: nominal, categories: [true, false]}}}}
""",
    "labels in objects": f"""{PLAIN}
labels:
  - {{layout: long, kind: preference, each: parts, annotator: "r{{element}}", value: {{compare: [good, key]}}}}
""",
    "gold, and what the form lacks": f"""{PLAIN}
labels:
  - {{layout: long, kind: score, annotator: rater, value: value, aggregate: mean,
     scale: {{level: interval, low: 1, high: 5}}}}
  - {{layout: ranking, annotator: rater, ranking: {{ranks: marks}}}}
gold:
  - {{kind: score, criterion: c, value: value, source: the authors, scale: {{level: interval, low: 1, high: 5}}}}
  - {{kind: answer, criterion_field: aspect, value: why, where: {{topic: sky}},
     scale: {{level: nominal, categories: [it is]}}}}
judges:
  - {{kind: score, criterion: d, judge: who, value: value, scale: {{level: interval, low: 1, high: 5}}}}
""",
    "how rows are read, pairs and numbers of which fewer are better": f"""{PLAIN}
fill: [topic]
labels:
  - {{layout: wide, kind: preference, pair: [1, 2], annotators: [value]}}
  - {{layout: wide, kind: score, criterion: c, negative: true, annotators: [value],
     scale: {{level: interval, low: -5, high: 0}}}}
""",
    "a part of a text": """
id: key
prompt: {field: q, after_last: W}
responses: [{text: {field: a, remove: [o]}}, {text: b}]
image: doc
category_of: q
context: [{constant: none}, extra]
""",
    "lists in lists, and responses in a list": """
id: "{row}-{element_1}-{element}"
explode: [parts, inner]
responses: [{text: a, transcript: b, each: parts, system: who}, {image: doc}]
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
    app, mapping = loaded(MAPPINGS[name], tmp_path)
    assert mappings.build_mapping(app.session_state["made"]) == mapping


def test_the_form_can_be_edited_as_text_and_back(tmp_path: Path) -> None:
    app, mapping = loaded(MAPPINGS["a row a label"], tmp_path)
    app.button(key="map_yaml").click().run()
    text = app.text_area[0].value
    app.text_area[0].set_value(text.replace("prompt: q", "prompt: extra")).run()
    assert mappings.build_mapping(app.session_state["made"]) == mapping.model_copy(update={"prompt": "extra"})
    app.button(key="map_columns").click().run()
    assert not app.text_area
    assert mappings.build_mapping(app.session_state["made"]) == mapping.model_copy(update={"prompt": "extra"})


def test_the_response_the_rows_and_the_elements_of_labels_are_chosen(tmp_path: Path) -> None:
    mapping = "id: key\nprompt: q\nresponses: [{text: a}, {text: b}]\nlabels: [{layout: long, kind: preference, "
    app, _ = loaded(f"{mapping}annotator: rater, value: value}}]", tmp_path)
    choices = {own.label: own for own in app.selectbox}
    choices["About"].select(2)
    choices["Kind"].select("score")
    choices["In each element of"].select("parts").run()
    assert "good" in next(own for own in app.selectbox if own.label == "Value").options
    next(own for own in app.selectbox if own.label == "Only rows in which").select("good").run()
    next(own for own in app.multiselect if own.label == "has the value").select("true").run()
    (block,) = app.session_state["made"]["labels"]
    assert (block["each"], block["response"], block["where"]) == ("parts", 2, {"good": ["true"]})


def test_a_text_that_is_no_mapping_has_its_reason_on_the_page(tmp_path: Path) -> None:
    app, _ = loaded(PLAIN, tmp_path)
    app.button(key="map_yaml").click().run()
    app.text_area[0].set_value("id: 'a..b'").run()
    assert app.session_state["made"] is None
    assert "is not a field path" in app.error[0].value


def test_a_file_that_is_one_object_of_records_offers_its_fields_as_items(tmp_path: Path) -> None:
    app, _ = loaded("id: '{element}'\nexplode: '*'\nprompt: q\nresponses: [{text: a}]", tmp_path, OBJECT)
    assert app.selectbox[0].options == ["none: each row is an item", "*"]
    assert app.dataframe[0].value["q"].tolist() == ["Why?", "How?"]
    app.selectbox[0].set_value("").run()
    assert not app.exception and "explode" not in app.session_state["made"]


@pytest.mark.parametrize("winner", [0, 2])
def test_numbers_are_not_read_as_preferences_without_being_asked(tmp_path: Path, winner: int) -> None:
    rows = "".join(f'{{"id": {n}, "q": "Q", "a": "A", "b": "B", "ann": {n}}}\n' for n in (winner, 1))
    mapping = "id: id\nprompt: q\nresponses: [{text: a}, {text: b}]\n"
    block = "layout: wide, kind: preference, annotators: [ann]"
    app, _ = loaded(f"{mapping}labels: [{{{block}}}]", tmp_path, rows)
    assert app.session_state["made"]["labels"][0]["confirmed"] is False
    app, _ = loaded(f"{mapping}labels: [{{{block}, values: {{{winner}: 1, 1: 2}}}}]", tmp_path, rows)
    assert "confirmed" not in app.session_state["made"]["labels"][0]


def test_a_judge_that_is_added_by_hand_has_the_confidence_of_its_name(tmp_path: Path) -> None:
    row = '{"id": 1, "q": "Q", "a": "A", "b": "B", "gpt": "A", "conf_gpt": 0.9, "other": "B", "other_confidence": 1}'
    app, _ = loaded("id: id\nprompt: q\nresponses: [{text: a}, {text: b}]", tmp_path, row)
    judges = next(one for one in app.multiselect if one.label == "Judges")
    assert judges.value == ["gpt"]
    judges.set_value(["gpt", "other"]).run()
    (block,) = app.session_state["made"]["judges"]
    assert block["confidence"] == {"gpt": "conf_gpt", "other": "other_confidence"}


def loaded(text: str, folder: Path, content: str = ROW) -> tuple[AppTest, mappings.Mapping]:
    """Return the page with a loaded mapping, after its first run."""
    st.cache_data.clear()
    (folder / "table.jsonl").write_text(content, encoding="utf-8")
    mapping = mappings.build_mapping(parse_fields(text))
    app = AppTest.from_function(form)
    app.session_state["file"] = str(folder / "table.jsonl")
    app.session_state["loaded"] = mappings.draft_of(mapping)
    app.run()
    return app, mapping


def test_an_incomplete_block_is_described_with_the_names_of_the_form() -> None:
    complete = {"layout": "wide", "kind": "preference", "annotators": {"ben": "ben"}}
    for labels, missing in (
        ({"layout": "wide", "kind": "preference"}, "'One column for each annotator'"),
        ({"layout": "long", "kind": "preference", "value": "value"}, "'Annotator'"),
        ({"layout": "wide", "kind": "score", "annotators": {"ann": "ann"}}, "`scale`"),
    ):
        with pytest.raises(FileFormatError) as raised:
            mappings.build_mapping({"id": "key", "prompt": "q", "labels": [complete, labels]})
        sentence = mapping_form.describe_error(raised.value)
        assert sentence.startswith("labels, block 2: ") and missing in sentence


def test_judges_of_several_criteria_are_no_choice_of_columns() -> None:
    block = {"kind": "score", "columns": {"p.a": "p"}, "criterion": "a", "scale": {"level": "interval"}}
    assert mapping_form.judge_columns({"judges": [block, block | {"columns": {"p.b": "p"}, "criterion": "b"}]}) is None


def test_gold_becomes_labels_and_what_the_form_lacks_is_left_out(tmp_path: Path) -> None:
    app, _ = loaded(MAPPINGS["gold, and what the form lacks"], tmp_path)
    next(own for own in app.get("button_group") if own.key == "map1_labels0_layout").set_value("long").run()
    app.selectbox(key="map1_labels0_annotator").select("rater").run()
    kept = next(own for own in app.multiselect if own.label == "Also imported")
    assert kept.options == ["1. labels · value", "2. labels", "3. judges · d · value"]
    kept.set_value([0]).run()
    made = app.session_state["made"]
    assert [own["value"] for own in made["labels"]] == ["value", "value"] and [
        own["value"] for own in made["gold"]
    ] == ["why"]
    assert "judges" not in made


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
    st.session_state["made"] = import_steps._draw_confirmations(source, mapping)


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


def test_each_of_several_mappings_is_chosen_in_the_form(tmp_path: Path) -> None:
    app, mapping = loaded(PLAIN, tmp_path)
    levels = [mapping, mapping.model_copy(update={"prompt": "extra"})]
    state = app.session_state["mapping"]
    state["levels"] = [mappings.draft_of(own) for own in levels]
    app.run()
    chosen = next(own for own in app.selectbox if own.label == "Mapping")
    assert chosen.options == ["1 of 2", "2 of 2"]
    chosen.set_value(1).run()
    assert mappings.build_mapping(app.session_state["made"]) == levels[1]
    changed = mapping.model_copy(update={"prompt": "topic"})
    saved = mapping_form.dump_levels(app.session_state["mapping"], changed)
    assert mappings.parse_mappings(saved) == [levels[0], changed]
    assert mappings.parse_mappings(mapping_form.dump_levels({}, changed)) == [changed]
    next(own for own in app.selectbox if own.label == "Mapping").set_value(0).run()
    assert mappings.build_mapping(app.session_state["made"]) == levels[0]
