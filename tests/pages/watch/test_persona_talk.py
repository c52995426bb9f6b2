"""Talks of personas and single judges through the app: what is told of them, and the form that starts one."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.items import Criterion
from core.labels import Scale
from core.protocols.scaleeval.protocol import Judge
from core.protocols.single_judge.protocol import Pair, Score
from core.trace import EVENT, Spec, TurnTaken, turns
from pages.parts import resources
from pages.watch.parts import persona_scores
from storage import database, runs, studies, traces
from storage.traces import Filter
from storage.transfer import samples
from tests.core.protocols.single_judge.test_protocol import play
from tests.core.protocols.talks import NATURAL, an_item, one_response, settings
from tests.core.protocols.talks import play as talked
from tests.pages.opened import APP, prepared, whole

SAMPLE = list(tiebreak.read(samples.path("chateval")))


def watched(item: str, run: str = "") -> str:
    """The page of the trace of an item."""
    with database.reading(resources.engine()) as session:
        study = studies.get(session, "s")
        known = {one.name: one.id for one in runs.of_study(session, study.id)}
        (trace,) = traces.find(session, Filter(study.id, known.get(run), None, None, None, item), offset=0, limit=5)
    st.cache_data.clear()
    st.cache_resource.clear()
    app = AppTest.from_file(str(APP), default_timeout=20)
    app.switch_page(str(APP.parent / "pages" / "watch" / "traces.py"))
    app.query_params["trace"] = str(trace.id)
    app.session_state["annotator"] = ""
    app.run()
    assert not app.exception and not app.error
    return whole(app)


def test_who_had_heard_what_stands_beside_every_contribution() -> None:
    prepared(SAMPLE)
    shown = watched("sky at sunset")
    assert "**Response 2 is better** · 2.00 for response 1 and 9.00 for response 2 on average" in shown
    assert "had heard nobody yet" in shown and "had heard General Public in turn 1" in shown
    assert "had heard everybody in turn 1; General Public in turn 2" in shown
    assert "**General Public** · **3 : 9**" in shown


def test_a_summary_stands_between_the_turns_and_one_that_failed_says_what_came_instead() -> None:
    prepared(SAMPLE)
    assert "had heard the summary of turn 1" in watched("pirate")
    shown = watched("piano tuners")
    assert "no summary: the reply was cut off at the limit of 512 tokens; the contributions themselves" in shown
    assert "No majority of the 3 votes" in shown


@pytest.mark.parametrize(
    ("strategy", "first", "then"),
    [("one by one", {0, 1}, {2, 3}), ("simultaneous", {0, 1, 2, 3}, {1, 3})],
)
def test_the_cells_that_are_being_asked_are_those_of_the_next_round(
    strategy: str, first: set[int], then: set[int]
) -> None:
    chosen = settings("ab", both_orders=True, strategy=strategy)
    said = list(enumerate(talked(lambda ask: "Hm.", chosen).turns))
    rows = [(persona.name, order) for persona in chosen.personas for order in chosen.orders]

    def asked(count: int) -> list[tuple[int, int]]:
        return persona_scores.waiting(persona_scores.stances(said[:count], rows), rows, chosen)

    assert {place for place, _ in asked(2)} == then and {turn for _, turn in asked(2)} == {0}
    assert {place for place, _ in asked(0)} == first
    assert asked(len(said)) == []


def test_a_rating_is_told_as_a_number() -> None:
    chosen = settings("ab", outcome="rating", criterion=NATURAL)
    talk = talked(lambda ask: f"Rating: {'23'['ab'.index(ask.speaker)]}", chosen, one_response())
    run = RunRecord(name="r", protocol="chateval", criterion="natural", settings=chosen.model_dump(mode="json"))
    trace = TraceRecord(run="r", item="tides", events=tuple(talk.events))
    prepared([ItemRecord(item=one_response()), run, trace])
    shown = watched("tides")
    assert "**2.50** · the mean of 2 ratings" in shown and "**a** · **2**" in shown


def test_a_run_that_tells_too_little_of_itself_is_drawn_as_a_debate() -> None:
    talk = talked(lambda ask: "Hm.", settings("ab", turns=1))
    run = RunRecord(name="r", protocol="chateval", settings={"who": "knows"})
    prepared([ItemRecord(item=an_item()), run, TraceRecord(run="r", item="tides", events=tuple(talk.events))])
    assert "first opinion" in watched("tides")


def test_a_single_judge_shows_its_choice_in_each_order() -> None:
    judge = Judge(name="ann", spec=Spec(model="m"))
    chosen = Pair(judge=judge, criterion=Criterion(name="clarity", definition="?"), both_orders=True)
    _, events, _ = play(lambda ask: "1", chosen)
    run = RunRecord(name="r", protocol="single-judge", criterion="clarity", settings=chosen.model_dump(mode="json"))
    prepared([ItemRecord(item=an_item()), run, TraceRecord(run="r", item="tides", events=tuple(events))])
    shown = watched("tides")
    assert "**ann** · Response 1 read first · **Response 1**" in shown
    assert "**ann** · Response 2 read first · **Response 2**" in shown


def test_a_single_judges_samples_are_told_with_how_many_could_be_read() -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    chosen = Score(
        judge=Judge(name="ann", spec=Spec(model="m", temperature=1)),
        criterion=Criterion(name="natural", scale=scale),
        samples=3,
    )
    waiting = iter(["Rating: 3", "Rating: 2", "Hm.", "Hm."])
    _, events, _ = play(lambda ask: next(waiting), chosen)
    run = RunRecord(name="r", protocol="single-score", criterion="natural", settings=chosen.model_dump(mode="json"))
    prepared([ItemRecord(item=one_response()), run, TraceRecord(run="r", item="tides", events=tuple(events))])
    shown = watched("tides")
    assert "2 of 3 samples could be read." in shown and "**ann** · sample 1 · **3**" in shown
    assert len(turns([EVENT.validate_python(event) for event in events if isinstance(event, TurnTaken)])) == 3
