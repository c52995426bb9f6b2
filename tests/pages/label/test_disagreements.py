"""Label: what the judges could not agree on is decided blind, then the debate is shown."""

import pytest

from core.formats import tiebreak
from core.formats.records import LabelRecord, MarkRecord, RulingRecord, RunRecord, TraceRecord
from core.labels import Target
from pages.label.parts import labelling
from pages.parts import resources
from storage import database, labels, studies
from storage.labelling.queue import Place
from storage.transfer import imports, samples
from tests.pages.opened import prepared, visit, whole

TARGET = Target(item="brainstorming-2", kind="preference", criterion="helpfulness")


@pytest.fixture
def tour():
    """The ScaleEval sample, without anybody's labels."""
    said = (LabelRecord, MarkRecord, RulingRecord)
    prepared([record for record in tiebreak.read(samples.path()) if not isinstance(record, said)], "tour")


def at_the_desk(**parameters: str):
    page = visit("label/disagreements", **parameters)
    page.session_state["annotator"] = "newcomer"
    return page.run()


def decide(value: int) -> None:
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "tour")
        labels.put(session, study.id, TARGET, "newcomer", value)


def test_a_name_is_asked_for_first(tour):
    page = visit("label/disagreements")
    assert not page.exception
    assert "Who is labelling?" in whole(page)
    page.text_input(key="your_name").set_value("newcomer")
    page.button[0].click().run()
    assert "0 of 13" in page.get("progress")[0].proto.text


def test_a_name_of_blanks_is_one_sentence(tour):
    page = visit("label/disagreements")
    page.text_input(key="your_name").set_value("   ")
    page.button[0].click().run()
    assert page.error[0].value == "Please enter a name."


def test_before_a_label_nothing_of_the_judges_is_on_the_page(tour):
    page = at_the_desk(item="brainstorming-2", on="helpfulness")
    assert not page.exception
    shown = whole(page)
    assert "bicycles" in shown
    assert "judge A" not in shown
    assert "model A" not in shown


def test_after_a_label_the_debate_is_shown(tour):
    decide(1)
    page = at_the_desk(item="brainstorming-2", on="helpfulness")
    assert not page.exception
    assert "What the judges said" in whole(page)
    assert "judge A" in whole(page)


def test_a_study_that_does_not_reveal_shows_no_debate(tour):
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "tour")
        rules = study.rules.model_copy(update={"reveal": False})
        studies.change(session, study.id, description="", guidelines="", rules=rules)
    decide(1)
    assert "judge A" not in whole(at_the_desk(item="brainstorming-2", on="helpfulness"))


def test_two_debates_about_one_item_stand_on_one_page(tour):
    again = []
    for record in tiebreak.read(samples.path()):
        if isinstance(record, RunRecord) and "helpfulness" in record.name:
            again.append(record.model_copy(update={"name": "once more"}))
        if isinstance(record, TraceRecord) and "helpfulness" in record.run:
            again.append(record.model_copy(update={"run": "once more"}))
    imports.load(resources.engine(), "tour", again)
    decide(2)
    page = at_the_desk(item="brainstorming-2", on="helpfulness")
    assert not page.exception
    assert whole(page).count("What the judges said") == 2


def test_where_the_judges_agreed_on_everything_nothing_is_to_be_decided():
    kept = [r for r in tiebreak.read(samples.path()) if not isinstance(r, TraceRecord | LabelRecord | RulingRecord)]
    prepared([record for record in kept if not isinstance(record, MarkRecord)], "tour")
    page = at_the_desk()
    assert not page.exception
    assert "No debate here needs a person" in whole(page)


def test_an_arrow_steps_over_what_others_have_taken():
    def place(item: str, **is_so: bool) -> Place:
        return Place(
            Target(item=item, kind="preference"),
            **dict.fromkeys(("labelled", "skipped", "flagged", "full"), False) | is_so,
        )

    places = [
        place("a"),
        place("b", full=True),
        place("c"),
        place("d", full=True),
        place("e", full=True, labelled=True),
    ]
    assert labelling.neighbour(places[0], places, forward=True).item == "c"
    assert labelling.neighbour(places[2], places, forward=True).item == "e"
    assert labelling.neighbour(places[2], places, forward=False).item == "a"
    assert labelling.neighbour(places[0], places[:2], forward=True).item == "a"
