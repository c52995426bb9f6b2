"""The page that labels disputed debates: blind first, then with the debate."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.formats import tiebreak
from core.formats.records import AdjudicationRecord, LabelRecord, MarkRecord, Record, RunRecord, TraceRecord
from core.labels import Target
from core.trace import VerdictReached
from pages.label.parts import labelling
from pages.parts import resources
from storage import database, labels, studies
from storage.labelling.queue import QueueEntry
from storage.transfer import imports, samples
from tests.pages.visits import page_text, prepare_study, switch_to, visit

TARGET = Target(item="brainstorming-2", kind="preference", criterion="helpfulness")


@pytest.fixture
def sample():
    """The ScaleEval sample without labels."""
    human_records = (LabelRecord, MarkRecord, AdjudicationRecord)
    prepare_study([record for record in tiebreak.read(samples.path()) if not isinstance(record, human_records)], "tour")


def visit_page(**parameters: str):
    return visit("label/disagreements", "newcomer", **parameters)


def save_label(value: int) -> None:
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "tour")
        labels.save(session, study.id, TARGET, "newcomer", value)


def test_a_name_is_requested_first(sample):
    page = visit("label/disagreements")
    assert not page.exception
    assert "Sign in" in page_text(page)
    page.text_input(key="your_name").set_value("newcomer")
    page.button[0].click().run()
    assert "0 of 13" in page.get("progress")[0].proto.text


def test_a_name_of_blanks_is_one_sentence(sample):
    page = visit("label/disagreements")
    page.text_input(key="your_name").set_value("   ")
    page.button[0].click().run()
    assert page.error[0].value == "Please enter a name."


def test_no_judge_opinion_is_on_the_page_before_a_label(sample):
    page = visit_page(item="brainstorming-2", on="helpfulness")
    assert not page.exception
    shown = page_text(page)
    assert "bicycles" in shown
    assert "judge A" not in shown
    assert "model A" not in shown


def test_after_a_label_the_debate_is_shown(sample):
    save_label(1)
    page = visit_page(item="brainstorming-2", on="helpfulness")
    assert not page.exception
    assert "What the judges said" in page_text(page)
    assert "judge A" in page_text(page)


def test_without_reveal_the_debate_stays_hidden(sample):
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "tour")
        rules = study.rules.model_copy(update={"reveal": False})
        studies.update(session, study.id, description="", guidelines="", rules=rules)
    save_label(1)
    assert "judge A" not in page_text(visit_page(item="brainstorming-2", on="helpfulness"))


def test_two_debates_about_one_item_are_on_one_page(sample):
    again = []
    for record in tiebreak.read(samples.path()):
        if isinstance(record, RunRecord) and "helpfulness" in record.name:
            again.append(record.model_copy(update={"name": "once more"}))
        if isinstance(record, TraceRecord) and "helpfulness" in record.run:
            again.append(record.model_copy(update={"run": "once more"}))
    imports.import_records(resources.engine(), "tour", again)
    save_label(2)
    page = visit_page(item="brainstorming-2", on="helpfulness")
    assert not page.exception
    assert page_text(page).count("What the judges said") == 2


def test_without_disputes_the_page_says_so():
    records = [
        r for r in tiebreak.read(samples.path()) if not isinstance(r, TraceRecord | LabelRecord | AdjudicationRecord)
    ]
    prepare_study([record for record in records if not isinstance(record, MarkRecord)], "tour")
    page = visit_page()
    assert not page.exception
    assert "No disputed debates" in page_text(page)


def test_arrow_keys_skip_targets_of_other_annotators():
    def place(item: str, **is_so: bool) -> QueueEntry:
        return QueueEntry(
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


def duplicate_runs(file: str) -> Iterator[Record]:
    """Yield the records of a sample with a copy of every run."""
    for record in tiebreak.read(samples.path(file)):
        yield record
        if isinstance(record, RunRecord):
            yield record.model_copy(update={"name": f"{record.name} again"})
        if isinstance(record, TraceRecord):
            yield record.model_copy(update={"run": f"{record.run} again"})


def first_disputed(records: list[Record]) -> Target:
    """Return the target of the first disputed debate."""
    runs = {record.name: record for record in records if isinstance(record, RunRecord)}
    for record in records:
        if isinstance(record, TraceRecord) and runs[record.run].protocol == "scaleeval":
            for event in record.events:
                if isinstance(event, VerdictReached) and event.verdict.outcome == "disputed":
                    return Target(item=record.item, kind="preference", criterion=runs[record.run].criterion)
    raise AssertionError("no debate is disputed")


def visit_after_label(target: Target) -> AppTest:
    """Label a target as "zoe", then open its page."""
    with database.writing(resources.engine()) as session:
        labels.save(session, studies.get(session, "s").id, target, "zoe", 1)
    return switch_to("label/disagreements", "zoe", item=target.item, on=target.criterion)


def test_the_debates_of_both_runs_are_shown() -> None:
    records = list(duplicate_runs("scaleeval"))
    prepare_study(records)
    app = visit_after_label(first_disputed(records))
    assert not app.exception
    assert page_text(app).count("What the judges said") == 2
