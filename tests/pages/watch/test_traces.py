"""Watch: traces are found by what is in the address, and opened."""

import pytest
from sqlalchemy import text

from core.formats import tiebreak
from pages.parts import colours, resources
from storage import database, studies, traces
from storage.transfer import samples
from tests.pages.opened import prepared, visit, whole


@pytest.fixture
def tour():
    """The ScaleEval sample."""
    prepared(list(tiebreak.read(samples.path())), "tour")


def found(**wanted) -> list[traces.Trace]:
    with database.reading(resources.engine()) as session:
        return traces.find(session, traces.Filter(studies.get(session, "tour").id, **wanted))


def test_without_a_study_the_page_says_what_to_do_next():
    prepared()
    page = visit("watch/traces")
    assert not page.exception
    assert "no study yet" in whole(page)


def test_the_traces_of_a_study_are_listed(tour):
    page = visit("watch/traces")
    assert not page.exception
    assert "40 traces" in whole(page)
    assert "written for the tour" in whole(page)


@pytest.mark.parametrize(
    ("parameter", "value", "count"),
    [("outcome", "disputed", 10), ("outcome", "no_verdict", 3), ("scenario", "math", 5), ("criterion", "reasoning", 8)],
)
def test_filters_are_in_the_address(tour, parameter, value, count):
    wanted = {"status" if parameter == "outcome" else parameter: value}
    assert len(found(**wanted)) == count
    page = visit("watch/traces", **{parameter: colours.STATUS[value][0] if parameter == "outcome" else value})
    assert f"{count} traces" in whole(page)


def test_a_filter_that_lets_nothing_through_says_so(tour):
    assert "No trace matches" in whole(visit("watch/traces", name="nowhere"))


@pytest.mark.parametrize("parameter", ["run", "scenario", "criterion", "outcome"])
def test_a_link_to_a_filter_that_the_study_does_not_have_says_so(tour, parameter):
    page = visit("watch/traces", **{parameter: "<b>nowhere</b>"})
    assert not page.exception
    assert f"There is no {parameter} called" in page.warning[0].value
    assert "<b>" not in page.warning[0].value.replace("\\<", "")


def test_a_trace_opens_with_question_responses_and_talk(tour):
    trace = found(status="disputed")[0]
    page = visit("watch/traces", trace=str(trace.id))
    assert not page.exception
    shown = whole(page)
    for words in ("Response 1", "Response 2", "Needs a person", "first opinion"):
        assert words in shown


@pytest.mark.parametrize("status", ["agreed", "disputed", "no_verdict"])
def test_every_outcome_can_be_opened(tour, status):
    for trace in found(status=status)[:3]:
        assert not visit("watch/traces", trace=str(trace.id)).exception


@pytest.mark.parametrize("asked", ["999999", "abc", "-1", "9" * 40])
def test_an_address_that_leads_nowhere_is_one_sentence(tour, asked):
    page = visit("watch/traces", trace=asked)
    assert not page.exception
    assert len(page.error) == 1


def test_a_study_that_is_not_there_is_one_sentence(tour):
    page = visit("watch/traces", study="nowhere")
    assert not page.exception
    assert "There is no study called" in page.error[0].value


def test_looking_at_an_open_debate_is_kept(tour):
    trace = found(status="disputed", item="brainstorming-2")[0]
    page = visit("watch/traces", trace=str(trace.id))
    page.session_state["annotator"] = "newcomer"
    page.run()
    assert "not blind" in whole(page)
    with database.reading(resources.engine()) as session:
        assert session.execute(text("select count(*) from seen")).scalar_one() == 1
