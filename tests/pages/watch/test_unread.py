"""The page of unreadable replies: counts, texts, a person's reading, undo, and the end of blindness."""

import pytest
from streamlit.testing.v1 import AppTest

from core.formats.records import CriterionRecord, ItemRecord, RunRecord, TraceRecord
from core.items import Criterion
from core.labels import Opinion
from core.trace import ReplyUnreadable, Turn, TurnCompleted, Verdict, VerdictReached, completed_turns
from pages.parts import resources
from pages.watch.parts import turns
from storage.db import connections
from storage.runs import outcomes, traces
from storage.runs.outcomes import UnreadFilter
from storage.runs.traces import Filter
from tests.conftest import make_item, make_target
from tests.pages.visits import label_is_blind, page_text, prepare_study, study_session, visit, visit_trace
from tests.storage.shared import find_traces

SETTINGS = {
    "judge": {"name": "judge", "spec": {"model": "m"}},
    "criterion": {"name": "helpfulness"},
    "shuffle_responses": False,
}
REPLY = "Both are fine. <script>alert(1)</script>"


def a_trace(item, reply=REPLY, reading=None, **fields):
    problem = "" if reading is not None else "it does not say which one is better"
    turn = Turn(
        speaker="judge", step="choice", round=0, model="m", reply=reply, reading=reading, problem=problem, **fields
    )
    opinion = Opinion(kind="preference", judge="judge", stage="verdict", value=reading, criterion="helpfulness")
    outcome = "agreed" if reading is not None else "no_verdict"
    verdict = Verdict(outcome=outcome, value=reading, opinions=(opinion,))
    return TraceRecord(run="r", item=item, events=(TurnCompleted(ask=0, turn=turn), VerdictReached(verdict=verdict)))


def store(*stored_traces):
    """Import a study of the items of these traces."""
    criterion = CriterionRecord(criterion=Criterion(name="helpfulness"))
    run = RunRecord(name="r", protocol="single-judge", criterion="helpfulness", settings=SETTINGS)
    prepare_study([criterion, *(ItemRecord(item=make_item(one.item)) for one in stored_traces), run, *stored_traces])


def prepare(count=2):
    read = {"reading_rule": "labelled", "reading_span": (13, 28), "notes": ("A note.",)}
    readable = a_trace("readable", "It is clear.\nFinal answer: 2", 2, **read)
    store(*(a_trace(f"item {number}") for number in range(count)), readable)


def list_unread(**conditions):
    with study_session() as (session, study):
        return outcomes.page_unread(session, UnreadFilter(study.id, **conditions)).rows


def trace_of(item):
    with study_session() as (session, study):
        return next(trace for trace in find_traces(session, Filter(study.id)) if trace.item == item)


def test_counts_and_texts_are_shown_without_running_their_markup_and_end_blindness():
    prepare()
    page = visit("watch/unread", "zoe")
    assert not page.error
    shown = page_text(page)
    assert "**Of**: All replies of the judge in this step." in shown
    assert "2 replies" in shown and "it does not say which one is better" in shown
    assert "Both are fine." in shown
    assert not any("<script" in element.proto.body for element in page.get("html"))
    assert page.dataframe[0].value[["Judge", "Step", "Replies", "Of"]].values.tolist() == [["judge", "choice", 2, 3]]
    visit("watch/unread", "zoe", judge="nobody")
    assert "not blind" in page_text(page)
    assert not label_is_blind(make_target("item 0"), "zoe")
    assert label_is_blind(make_target("readable"), "zoe"), "its reply was not shown"
    assert label_is_blind(make_target("item 0"), "another annotator")
    page = visit("watch/unread")
    assert "Sign in" in page_text(page)
    assert not [button for button in page.button if str(button.key).startswith("save_")]


def test_a_person_states_a_value_and_others_withdraw_it():
    prepare()
    (first, second) = list_unread()
    page = visit("watch/unread", "zoe")
    page.button_group(key=f"value_{first.id}").set_value(2).run()
    page.button(key=f"save_{first.id}").click().run()
    assert not page.error
    assert trace_of(first.item).status == "agreed"
    assert [reply.id for reply in list_unread()] == [second.id]
    assert "1 reply" in page_text(page)
    since = visit("watch/unread", "ben", show="Read since")
    assert "stated by zoe" in page_text(since)
    since.button(key=f"withdraw_{first.id}").click().run()
    assert len(list_unread()) == 2


def test_both_replies_and_the_reason_of_the_second_request_are_shown():
    first = Turn(speaker="judge", step="choice", round=0, model="m", reply="Rather the first?", problem="it asks")
    trace = a_trace("item 0")
    events = (ReplyUnreadable(ask=0, turn=first), *trace.events)
    store(trace.model_copy(update={"events": events}))
    page = visit("watch/unread", "zoe")
    assert "Rather the first?" in page_text(page) and "Both are fine." in page_text(page)
    captions = [caption.value for caption in page.caption]
    start = captions.index("First reply")
    assert "Second request: it asks." in captions[start + 1] and captions[start + 2] == "Second reply"


def test_any_reading_is_overruled_on_the_page_of_its_trace():
    prepare()
    trace = trace_of("readable")
    page = visit_trace("readable", annotator="zoe")
    assert not [button for button in page.button if str(button.key).startswith("save_")], "closed"
    page.session_state[f"readings-{trace.id}"] = True
    page.run()
    page.button_group(key=f"value_{trace.id}_0").set_value(1).run()
    page.button(key=f"save_{trace.id}_0").click().run()
    assert not page.error
    with connections.reading(resources.engine()) as session:
        assert traces.get(session, trace.id).status == "agreed"
        (turn,) = completed_turns([event for _, event in traces.events(session, trace.id)])
    assert (turn.reading, turn.read_by) == (1, "person: zoe")
    assert "Earlier readings: **2**, a labelled answer." in page_text(page).replace("\\", "")
    page.button(key=f"none_{trace.id}_0").click().run()
    assert trace_of("readable").status == "no_verdict"
    page.button(key=f"withdraw_{trace.id}_0").click().run()
    assert trace_of("readable").status == "agreed"


def test_a_trace_page_marks_the_passage_and_shows_the_notes():
    prepare()
    page = visit_trace("readable")
    shown = page_text(page)
    assert "Read as **2**" in shown and "a labelled answer" in shown
    assert '"class": "passage"' in shown and "A note." in shown
    assert "Unreadable: it does not say which one is better" in page_text(visit_trace("item 0"))


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_very_long_reply_is_plain_text(format):
    reply = "<b>" * 30_000 + "the end"
    store(a_trace("long", f'{{"answer": "{reply}"}}' if format == "json" else reply, format=format))
    for page in (visit("watch/unread", "zoe"), visit_trace("long")):
        [body] = [element.proto.body for element in page.get("html") if "the end" in element.proto.body]
        assert body.startswith("<pre") and "<b>" not in body


def test_a_value_that_is_not_chosen_is_read_by_the_parser_of_its_answer():
    def page() -> None:
        import streamlit as st

        from core.answers.scores import Weights
        from pages.watch.parts import stated_values

        st.write(stated_values.draw_answer_control(Weights(names=("tone", "fact")), "v"))

    app = AppTest.from_function(page).run()
    assert "40" not in page_text(app)
    app.text_area[0].set_value("tone: 40%\nfact: 60%").run()
    assert "40" in str(app.json[0].value)
    app.text_area[0].set_value("hm").run()
    assert "cannot be read" in page_text(app)


# How a reading is drawn: the marked passage, and text that poses as markup


def test_the_passage_is_marked_and_the_reply_is_text_only():
    reply = "<script>alert(1)</script> So <b>Final answer: 2</b>"
    start = reply.index("Final")
    html = turns.marked_html(reply, (start, start + 15))
    assert html == "&lt;script&gt;alert(1)&lt;/script&gt; So &lt;b&gt;<mark>Final answer: 2</mark>&lt;/b&gt;"


@pytest.mark.parametrize("span", [(-5, 3), (2, 1), (100, 200), (0, 10**9)])
def test_a_span_outside_of_the_reply_marks_what_is_there(span):
    assert "<mark>" in turns.marked_html("short", span)
