"""The page of studies: cards, import, guidelines, criteria and exports."""

import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, TranscriptRecord
from core.formats.transcripts.messages import read_transcript
from core.items import Criterion, Response
from core.labels import Label, Scale, Target
from core.llm.client import ScriptedModel
from core.transcripts import ERROR_CATEGORY
from pages.parts import resources
from pages.parts.text import escape_markdown
from pages.setup.parts import import_steps, study_form
from storage.db import connections
from storage.labels import labels
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item, make_label
from tests.pages.visits import file_client, page_text, prepare_study, study_session, visit

CSV = b"""id,question,response_a,response_b,ann,ben
1,Why?,Because.,So.,model_a,model_b
2,When?,Now.,Then.,tie,tie
"""


def upload_file(content: bytes, name: str = "pairs.csv") -> AppTest:
    app = visit("setup/studies", view="import")
    app.file_uploader(key="import_file").set_value((name, content, "text/plain"))
    return app.run()


def study_names() -> list[str]:
    with connections.reading(resources.engine()) as session:
        return studies.names(session)


def test_a_sample_is_marked() -> None:
    resources.prepare_database()
    app = visit("setup/studies")
    assert "sample" in page_text(app)


def test_a_csv_is_imported_with_the_roles_of_its_columns() -> None:
    app = upload_file(CSV.replace(b"ann,ben", b"annotator 1,annotator 2"))
    table = app.data_editor[0].value
    assert table["role"].tolist() == ["other", "prompt", "response", "response", "label", "label"]
    import_as(app, "pairs")
    assert "pairs: added 2 items, 4 labels." in page_text(app)
    assert app.query_params["study"] == "pairs"
    assert app.toast[0].value == "pairs: added 2 items, 4 labels."
    with study_session("pairs") as (session, study):
        assert {label.value for label in labels.of_study(session, study.id)} == {1, 2, 0}


def test_files_of_a_folder_that_were_not_read_are_named_after_its_import(tmp_path: Path) -> None:
    weights = "text,aspect1,aspect2,gpt4_w1,gpt4_w2,ann1,ann2\nWhy?,a,b,60,40,30 70,80 20\n"
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "fair_gpt4_human.csv").write_text(weights)
    (folder / "other.json").write_text("[]")
    app = import_path(folder)
    assert "not read: other.json" in page_text(app).replace("\\", "")


def test_columns_of_judges_and_gold_are_guessed_shown_and_imported() -> None:
    app = upload_file(
        b"id,question,response_a,response_b,gpt-4,gold\n1,Why?,Because.,So.,A,B\n2,When?,Now.,Then.,tie,\n"
    )
    assert app.data_editor[0].value["role"].tolist() == ["other", "prompt", "response", "response", "judge", "label"]
    assert "'tie' -> a tie: 1 times" in page_text(app).replace("\\", "")
    shown = next(frame.value for frame in app.dataframe if "labels" in frame.value)
    assert shown["gold"].tolist() == ["preference: Response 2", ""]
    assert shown["response 2"].tolist() == ["So.", "Then."]
    import_as(app, "judged")
    assert "judged: added 2 items, 1 run, 2 traces, 1 adjudication." in page_text(app)
    with study_session("judged") as (session, study):
        (ruling,) = labels.adjudications(session, study.id)
    assert (ruling.value, ruling.rule) == (2, "column gold")


def test_labels_of_which_one_of_several_would_count_are_named_before_the_import() -> None:
    app = upload_file(b"id,q,a,who,test,score\n1,Why?,So.,ann,x,1\n1,Why?,So.,ann,y,2\n2,How?,Thus.,ann,x,3\n")
    mapping = (
        b"id: id\nprompt: q\nresponses: [{text: a}]\nlabels: [{layout: long, kind: score, annotator: who, "
        b"value: score, aggregate: last, scale: {level: interval, low: 1, high: 3}}]\n"
    )
    app.file_uploader[1].set_value(("m.yaml", mapping, "application/yaml"))
    app.run()
    assert "1 of 3 labels would be left out" in page_text(app)


def test_a_model_proposes_a_mapping_whose_values_a_person_states(monkeypatch: pytest.MonkeyPatch) -> None:
    proposed = (
        "```yaml\nid: id\nprompt: question\nresponses: [{text: response_a}, {text: response_b}]\nlabels:\n"
        "  - {layout: long, kind: score, criterion: use, annotator: {constant: people}, value: points,\n"
        "     scale: {level: ordinal, categories: [1, 2, 3]}}\n```"
    )
    model = ScriptedModel(lambda ask: proposed)
    monkeypatch.setattr(resources, "model_client", lambda: model)
    monkeypatch.setattr(import_steps, "available_models", lambda: {"openai/m": ""})
    app = upload_file(CSV.replace(b"ben", b"points").replace(b"model_b", b"1").replace(b"tie,tie", b"tie,3"))
    app.text_area[0].set_value("3 points are the best.")
    app.selectbox(key="map_model_name").set_value("openai/m")
    app.button(key="map_propose").click().run()
    assert len(model.asked) == 2 and "3 points are the best." in model.asked[0].prompt
    assert "3 is the best" in app.checkbox[-1].label, "the scale is a question"
    assert not [button for button in app.button if button.key == "import"]
    app.checkbox[-1].check().run()
    import_as(app, "proposed")
    with study_session("proposed") as (session, study):
        assert {label.value for label in labels.of_study(session, study.id)} == {1, 3}


def test_a_mapping_is_loaded_shown_by_the_form_and_imported_with_what_it_leaves_out() -> None:
    app = upload_file(CSV)
    mapping = (
        b"id: id\nprompt: question\nresponses: [{text: response_b}, {text: response_a, name: gpt}]\nwhere: {id: 1}\n"
    )
    app.file_uploader[1].set_value(("pairs.yaml", mapping, "application/yaml"))
    app.run()
    shown = next(frame.value for frame in app.dataframe if "labels" in frame.value)
    assert shown["response 2"].tolist() == ["gpt: Because."]
    assert r"Not used\: ann, ben" in page_text(app)
    import_as(app, "first")
    assert "first: added 1 item; 1 of 2 rows left out by `where` or `where_not`." in page_text(app)


def test_what_cannot_be_imported_is_one_sentence() -> None:
    app = upload_file(b"a,b\n1,2\n")
    assert "No field is known as a question or a response" in page_text(app)
    assert not [button for button in app.button if button.key == "import"]
    app = upload_file(b"hello", "notes.docx")
    (error,) = app.error
    assert error.value.startswith(escape_markdown("no reader recognises notes.docx"))
    app = upload_file(CSV)
    app.file_uploader[1].set_value(("pairs.yaml", b"id: id\nquestion: question\n", "application/yaml"))
    app.run()
    assert "line 2, field 'question'\\: there is no such field" in page_text(app)
    app = visit("setup/studies", view="import")
    app.segmented_control(key="import_way").set_value("Path on this machine").run()
    app.text_input(key="import_path").set_value("/nowhere/at all").run()
    assert [error.value for error in app.error] == [r"file or folder not found\: /nowhere/at all"]


def test_importing_a_path_twice_adds_nothing_the_second_time(tmp_path: Path) -> None:
    prepare_study()
    file = tmp_path / "study.jsonl"
    with file.open("w", encoding="utf-8") as stream:
        tiebreak.write([ItemRecord(item=make_item()), make_label()], stream)
    first = import_path(file)
    assert "study: added 1 item" in page_text(first)
    again = import_path(file, into="study")
    assert "study: nothing new" in page_text(again)


def test_an_existing_study_name_is_refused() -> None:
    prepare_study([ItemRecord(item=make_item())], study="pairs")
    app = upload_file(CSV)
    confirm_fields(app)
    app.button(key="import").click().run()
    assert 'A study named "pairs" already exists' in page_text(app)


def test_guidelines_and_rules_are_saved_and_the_item_s_order_of_responses_with_a_reason_only() -> None:
    prepare_study([ItemRecord(item=make_item())])
    app = visit("setup/studies", view="study", open="s")
    app.text_area[1].set_value("Read both.")
    app.number_input[0].set_value(5)
    submit(app, "Save").run()
    next(box for box in app.selectbox if box.label == "Order of responses").set_value("as given")
    submit(app, "Save").run()
    assert "needs a reason" in page_text(app)
    next(field for field in app.text_area if field.label.startswith("Reason for")).set_value("2 revises 1.")
    submit(app, "Save").run()
    with study_session() as (_, study):
        rules = study.rules
    assert (study.guidelines, rules.overlap) == ("Read both.", 5)
    assert (rules.response_order, rules.response_order_reason) == ("as_given", "2 revises 1.")


def test_a_criterion_is_added_and_edited() -> None:
    prepare_study([ItemRecord(item=make_item())])
    app = visit("setup/studies", view="study", open="s")
    app.text_input(key="criterion_new0_name").set_value("helpfulness")
    app.text_area(key="criterion_new0_rubric").set_value("Poor - No.\n\nGood - Yes.")
    app.text_input(key="criterion_new0_categories").set_value("1, 2, 3")
    submit(app, "Add").run()
    app.text_area(key="criterion0_definition").set_value("Of use.")
    submit(app, "Save", place=1).run()
    with study_session() as (session, study):
        criteria = studies.criteria(session, study.id)
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    rubric = ("Poor - No.", "Good - Yes.")
    assert criteria == [Criterion(name="helpfulness", definition="Of use.", rubric=rubric, scale=scale)]


def test_error_categories_of_a_study_with_transcripts_are_set_and_one_in_use_remains() -> None:
    agent = read_transcript([{"role": "user", "content": "Rome?"}, {"role": "assistant", "content": "31."}])
    item = make_item("a", responses=(Response(text="31.", transcript=agent.digest),))
    prepare_study([TranscriptRecord(transcript=agent), ItemRecord(item=item)])
    target = Target(item="a", kind="answer", criterion=ERROR_CATEGORY, part="step 2")

    def save(lines: str) -> AppTest:
        app = visit("setup/studies", view="study", open="s")
        app.text_area(key="error_categories_list").set_value(lines)
        form = next(button for button in app.button if "error_categories" in button.proto.form_id)
        return form.click().run()

    save("none\nwrong tool\n")
    label = Label(target=target, annotator="ann", value="wrong tool")
    imports.import_records(resources.engine(), "s", [LabelRecord(label=label)])
    assert "'wrong tool' is not on the scale" in page_text(save("none\nwrong call"))
    save("none\nwrong tool\nwrong call")
    with study_session() as (session, study):
        scale = studies.scale(session, study.id, "answer", ERROR_CATEGORY)
    assert scale is not None and scale.categories == ("none", "wrong tool", "wrong call")


def file_links(app: AppTest) -> dict[str, str]:
    """Return label -> address of the files that are offered."""
    bodies = [element.proto.body for element in app.get("html")]
    links = [re.search(r'href="(/files/[^"]+)" download>([^<]+)<', body) for body in bodies]
    return {link[2]: link[1] for link in links if link}


def test_exports_are_gold_labels_and_the_complete_study() -> None:
    prepare_study([ItemRecord(item=make_item()), make_label()])
    app = visit("setup/studies", "zoe", view="study", open="s")
    assert not file_links(app)
    app.button(key="show_downloads").click().run()
    links = file_links(app)
    assert set(links) == {"Gold labels as CSV", "Study as JSON lines", "Bundle as zip"}
    client = file_client()
    answer = client.get(links["Gold labels as CSV"])
    assert answer.text.startswith("study,item,") and "s%20gold.csv" in answer.headers["content-disposition"]
    assert client.get("/files/unknown").status_code == 404
    with study_session() as (_, study):
        assert study_form.bundle_bytes(study).startswith(b"PK")
    assert study_form.file_bytes(lambda stream: print("ä", file=stream)) == b"\xc3\xa4\n"


def confirm_fields(app: AppTest) -> None:
    for box in app.checkbox:
        if box.label == "Right: this is what the fields are":
            box.check().run()


def import_as(app: AppTest, study: str) -> None:
    """Confirm what the fields are, enter the name of the new study, and import."""
    confirm_fields(app)
    next(box for box in app.text_input if str(box.key).startswith("into_name_")).set_value(study).run()
    app.button(key="import").click().run()


def import_path(file: Path, into: str | None = None) -> AppTest:
    app = visit("setup/studies", view="import")
    app.segmented_control(key="import_way").set_value("Path on this machine").run()
    app.text_input(key="import_path").set_value(str(file)).run()
    if into is not None:
        app.segmented_control(key="into").set_value("Existing study").run()
        app.selectbox(key="into_study").set_value(into).run()
    return app.button(key="import").click().run()


def submit(app: AppTest, label: str, place: int = 0) -> Any:
    """Click the button of a form, by its label."""
    return [button for button in app.button if button.label == label][place].click()


def test_values_without_a_stated_meaning_are_imported_only_after_a_person_has_stated_them() -> None:
    rows = [f"{number},Q{number}?,So.,Thus.,{number % 3}\n" for number in range(6)]
    app = upload_file("".join(["id,prompt,response 1,response 2,label\n", *rows]).encode())
    assert not [button for button in app.button if button.key == "import"]
    choices = [box for box in app.selectbox if "times, for example" in box.label]
    assert next(box.label for box in choices) == r"0: 2 times, for example 0 \(Q0?\); 3 \(Q3?\)"
    for box, meaning in zip(choices, ("Response 1", "Response 2", "Neither"), strict=True):
        box.select(meaning)
    app.run()
    import_as(app, "pairs")
    with study_session("pairs") as (session, study):
        rulings = labels.adjudications(session, study.id)
        assert {ruling.target.item: ruling.value for ruling in rulings} == {
            str(number): (1, 2, 0)[number % 3] for number in range(6)
        }


def test_a_file_that_no_mapping_joins_is_named_until_one_does() -> None:
    app = visit("setup/studies", view="import")
    other = ("names.csv", b"key,title\nx1,Rain\nx2,Snow\n", "text/csv")
    app.file_uploader(key="import_file").set_value([("pairs.csv", CSV, "text/csv"), other]).run()
    warnings = " ".join(own.value for own in app.warning)
    assert "is read as the table until a mapping joins the others" in warnings
    assert "Nothing is imported of names.csv" in warnings
    mapping = b"""id: id
prompt: [question, joined.title]
responses: [{text: response_a}, {text: response_b}]
join: {file: names.csv, key: "x{id}", other_key: key}
"""
    app.file_uploader[1].set_value(("m.yaml", mapping, "application/yaml")).run()
    assert "Nothing is imported of names.csv" not in " ".join(own.value for own in app.warning)
    shown = next(frame.value for frame in app.dataframe if "prompt" in frame.value)
    assert shown["prompt"].tolist() == ["Why? Rain", "When? Snow"]
