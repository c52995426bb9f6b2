"""Renaming, archiving, deleting and restoring on the pages Studies and Runs."""

import pytest

from core.formats.records import ItemRecord
from pages.parts import resources
from storage.db import connections
from storage.db.tables import RunRow
from storage.runs import runs
from storage.studies import studies
from tests.conftest import make_item
from tests.pages.setup.test_studies import study_names
from tests.pages.visits import APP, page_links, page_text, prepare_study, visit


@pytest.fixture(autouse=True)
def _a_study() -> None:
    prepare_study([ItemRecord(item=make_item())])


def run_names() -> list[str]:
    with connections.reading(resources.engine()) as session:
        return [run.name for run in runs.of_study(session, studies.get(session, study_names()[0]).id)]


def test_the_study_that_is_opened_is_the_current_one() -> None:
    prepare_study([ItemRecord(item=make_item())], "other")
    app = visit("setup/studies", study="other", view="study", open="s")
    assert app.query_params["study"] == "s"
    app.switch_page(str(APP.parent / "pages" / "label" / "home.py"))
    app.session_state["annotator"] = "ann"
    assert app.run().selectbox(key="study").value == "s"


def test_a_study_is_renamed_and_archived() -> None:
    (former,) = study_names()
    app = visit("setup/studies", view="study", open=former)
    name = next(field for field in app.text_input if field.label == "Name" and field.value == former)
    name.set_value("new name")
    next(button for button in app.button if button.label == "Rename").click().run()
    assert study_names() == ["new name"]
    app.button(key="archive").click().run()
    with connections.reading(resources.engine()) as session:
        assert studies.get(session, "new name").archived
    assert "archived" in page_text(visit("setup/studies"))


def test_a_deleted_study_is_restored_on_the_page_that_others_link_to() -> None:
    (name,) = study_names()
    app = visit("setup/studies", view="study", open=name)
    app.button(key="delete_study_confirmed").click().run()
    assert study_names() == []
    for page in ("results/judges", "label/disagreements"):
        app = visit(page, "ann")
        assert "no studies yet" not in page_text(app)
        assert [link.label for link in page_links(app)] == ["Restore a study"]
    app = visit("setup/studies")
    assert "1 deleted study" in app.expander[-1].label
    assert "There are no studies." in page_text(app)
    next(button for button in app.button if button.label == "Restore").click().run()
    assert study_names() == [name]


def test_a_deleted_run_is_restored() -> None:
    (name,) = study_names()
    with connections.writing(resources.engine()) as session:
        study_id = studies.get(session, name).id
        fields = {"protocol": "scaleeval", "settings": {}, "prompts": {}, "state": "finished"}
        session.add(RunRow(study_id=study_id, name="a run", **fields))
    app = visit("setup/runs", study=name)
    next(button for button in app.button if button.label == "Delete this run").click().run()
    assert run_names() == []
    app = visit("setup/runs", study=name)
    next(button for button in app.button if button.label == "Restore").click().run()
    assert run_names() == ["a run"]
