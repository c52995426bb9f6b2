"""Studies: cards, import, guidelines, criteria and what can be taken away."""

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from core.formats import tiebreak
from core.formats.records import ItemRecord
from core.items import Criterion
from core.labels import Scale
from pages.parts import resources
from pages.parts.text import plain
from pages.setup.parts import study_form
from storage import database, labels, studies
from tests.conftest import a_label, an_item
from tests.pages.opened import prepared, visit, whole

CSV = b"""id,question,response_a,response_b,ann,ben
1,Why?,Because.,So.,model_a,model_b
2,When?,Now.,Then.,tie,tie
"""


def uploaded(content: bytes, name: str = "pairs.csv") -> AppTest:
    app = visit("setup/studies", view="import")
    app.file_uploader(key="import_file").set_value((name, content, "text/plain"))
    return app.run()


def known_studies() -> list[str]:
    with database.reading(resources.engine()) as session:
        return studies.names(session)


def test_an_empty_database_says_what_to_do_next() -> None:
    prepared()
    app = visit("setup/studies")
    assert not app.exception
    assert "There is no study yet" in whole(app)
    assert app.button(key="open_import")


def test_a_card_says_how_far_a_study_is() -> None:
    prepared([ItemRecord(item=an_item()), a_label()])
    app = visit("setup/studies")
    assert not app.exception
    assert "1 item · 0 runs" in whole(app)


def test_the_sample_says_that_it_is_one() -> None:
    resources.prepare()
    app = visit("setup/studies")
    assert not app.exception
    assert "sample" in whole(app)


def test_a_csv_becomes_a_study_by_choosing_columns() -> None:
    prepared()
    app = uploaded(CSV)
    assert not app.exception, app.exception
    assert "The first item as it will be: 1" in app.expander[-1].label
    app.button(key="map1_more_labels").click().run()
    app.multiselect(key="map1_labels0_annotators").set_value(["ann", "ben"]).run()
    assert "What do they mean" in whole(app)
    app.text_input(key="map1_labels0_criterion").set_value("helpfulness").run()
    app.session_state[app.data_editor[0].key] = meaning(*"120")
    app.run()
    app.text_input(key=name_key(app)).set_value("pairs").run()
    app.button(key="import").click().run()
    assert not app.exception
    assert "pairs: added 2 items, 4 labels." in whole(app)
    with database.reading(resources.engine()) as session:
        study = studies.get(session, "pairs")
        assert {label.value for label in labels.all_of(session, study.id)} == {1, 2, 0}


def test_an_untranslated_word_is_refused_in_one_sentence_and_nothing_is_imported() -> None:
    prepared()
    app = uploaded(CSV)
    app.button(key="map1_more_labels").click().run()
    app.multiselect(key="map1_labels0_annotators").set_value(["ann"]).run()
    app.session_state[app.data_editor[0].key] = meaning("1")
    app.run()
    app.button(key="import").click().run()
    assert [error.value for error in app.error] == [
        "Nothing was imported: line 3, field 'ann': expected one of 1, 2, 0, model_a, not 'tie'"
    ]
    assert known_studies() == []


def test_a_mapping_is_loaded_and_the_form_shows_it() -> None:
    prepared()
    app = uploaded(CSV)
    mapping = b"id: id\nprompt: question\nresponses: [{text: response_b}, {text: response_a, name: gpt}]\n"
    app.file_uploader[1].set_value(("pairs.yaml", mapping, "application/yaml"))
    app.run()
    assert not app.exception
    assert app.selectbox(key="map2_response_text0").value == "response_b"
    assert app.selectbox(key="map2_response_system1").value == "gpt"
    assert "Response 2: gpt" in whole(app)


def test_a_wrong_mapping_is_one_sentence() -> None:
    prepared()
    app = uploaded(CSV)
    app.file_uploader[1].set_value(("pairs.yaml", b"id: id\nquestion: question\n", "application/yaml"))
    app.run()
    assert not app.exception
    assert "this field is missing" in whole(app)


def test_what_a_mapping_lacks_is_said_while_it_is_made() -> None:
    prepared()
    app = uploaded(b"a,b\n1,2\n")
    assert "Still to choose: the question or prompt, a response." in whole(app)
    assert not [button for button in app.button if button.key == "import"]


def test_a_file_that_nothing_reads_is_one_sentence() -> None:
    prepared()
    app = uploaded(b"hello", "notes.docx")
    assert not app.exception
    assert len(app.error) == 1
    assert app.error[0].value.startswith(plain("no reader recognises notes.docx; name its format: tiebreak"))


def test_a_path_that_leads_nowhere_is_one_sentence() -> None:
    prepared()
    app = visit("setup/studies", view="import")
    app.segmented_control(key="import_way").set_value("A path on this machine").run()
    app.text_input(key="import_path").set_value("/nowhere/at all").run()
    assert [error.value for error in app.error] == ["there is no file or folder /nowhere/at all"]


def test_a_study_is_read_from_a_path_and_a_second_time_adds_nothing(tmp_path: Path) -> None:
    prepared()
    file = tmp_path / "study.jsonl"
    with file.open("w", encoding="utf-8") as stream:
        tiebreak.write([ItemRecord(item=an_item()), a_label()], stream)
    first = import_path(file)
    assert "study: added 1 item" in whole(first)
    again = import_path(file, into="study")
    assert "study: nothing new" in whole(again)


def test_a_name_that_is_taken_is_refused() -> None:
    prepared([ItemRecord(item=an_item())], study="pairs")
    app = uploaded(CSV)
    app.button(key="import").click().run()
    assert 'There is a study called "pairs" already' in whole(app)


def test_guidelines_and_rules_are_changed() -> None:
    prepared([ItemRecord(item=an_item())])
    app = visit("setup/studies", view="study", open="s")
    app.text_area[1].set_value("Read both.")
    app.number_input[0].set_value(5)
    submit(app, "Save").run()
    with database.reading(resources.engine()) as session:
        study = studies.get(session, "s")
    assert (study.guidelines, study.rules.overlap) == ("Read both.", 5)


def test_a_criterion_is_added_and_its_words_are_changed() -> None:
    prepared([ItemRecord(item=an_item())])
    app = visit("setup/studies", view="study", open="s")
    app.text_input(key="criterion_new0_name").set_value("helpfulness")
    app.text_area(key="criterion_new0_rubric").set_value("Poor - No.\n\nGood - Yes.")
    app.text_input(key="criterion_new0_categories").set_value("1, 2, 3")
    submit(app, "Add").run()
    app.text_area(key="criterion0_definition").set_value("Of use.")
    submit(app, "Save", place=1).run()
    assert not app.exception
    with database.reading(resources.engine()) as session:
        known = studies.criteria(session, studies.get(session, "s").id)
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    rubric = ("Poor - No.", "Good - Yes.")
    assert known == [Criterion(name="helpfulness", definition="Of use.", rubric=rubric, scale=scale)]


def test_what_is_taken_away_is_the_whole_study() -> None:
    prepared([ItemRecord(item=an_item()), a_label()])
    app = visit("setup/studies", view="study", open="s")
    assert {button.label for button in app.download_button} == {"Gold labels as CSV", "Study as JSON lines"}
    assert study_form.written(lambda stream: print("ä", file=stream)) == b"\xc3\xa4\n"


def meaning(*words: str) -> dict[str, Any]:
    """The edits of the table of translations, from its first row on."""
    return {
        "edited_rows": {row: {"It means": word} for row, word in enumerate(words)},
        "added_rows": [],
        "deleted_rows": [],
    }


def name_key(app: AppTest) -> str:
    return next(str(box.key) for box in app.text_input if str(box.key).startswith("into_name_"))


def import_path(file: Path, into: str | None = None) -> AppTest:
    app = visit("setup/studies", view="import")
    app.segmented_control(key="import_way").set_value("A path on this machine").run()
    app.text_input(key="import_path").set_value(str(file)).run()
    if into is not None:
        app.segmented_control(key="into").set_value("One that is here").run()
        app.selectbox(key="into_study").set_value(into).run()
    return app.button(key="import").click().run()


def submit(app: AppTest, label: str, place: int = 0) -> Any:
    """The form's button of that label."""
    return [button for button in app.button if button.label == label][place].click()
