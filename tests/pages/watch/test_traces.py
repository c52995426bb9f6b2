"""The list of traces with its filters, and the page of a trace."""

import time
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from core.formats.records import ItemRecord
from core.items import Response
from core.labels import Opinion, Target
from core.llm.progress import OpenCall
from core.trace import Verdict, VerdictReached
from pages.parts import colours, resources
from storage.db import connections
from storage.db.tables import EventRow, RunRow, TraceRow, now
from storage.labels import targets, views
from storage.runs import traces
from storage.studies import annotators
from tests.conftest import make_item, make_target
from tests.pages.visits import (
    label_is_blind,
    page_links,
    page_text,
    prepare_copy,
    prepare_sample,
    prepare_study,
    study_session,
    visit,
    visit_trace,
)
from tests.storage import shared
from tests.storage.reports.test_alignment import make_trace
from tests.storage.shared import (
    RUN,
    RUN_WITHOUT_CRITERION,
    a_trace,
    a_turn,
    a_verdict,
    verdict_on_criteria,
)


@pytest.fixture
def sample():
    """The ScaleEval sample."""
    prepare_sample("scaleeval", "tour")


def find_traces(**conditions) -> list[traces.Trace]:
    with study_session("tour") as (session, study):
        return shared.find_traces(session, traces.Filter(study.id, **conditions))


FILTERS = [
    ("outcome", "disputed", 10),
    ("outcome", "no_verdict", 3),
    ("scenario", "math", 5),
    ("criterion", "reasoning", 8),
]


def test_the_filters_and_the_order_of_the_list_are_in_the_address(sample):
    for parameter, value, count in FILTERS:
        shown = colours.STATUS[value][0] if parameter == "outcome" else value
        assert f"{count} traces" in page_text(visit("watch/traces", **{parameter: shown})), value
    assert "No trace matches." in page_text(visit("watch/traces", name="nowhere"))
    page = visit("watch/traces", order="Most disputed first")
    contention = list(page.dataframe[0].value["Contention"])
    assert contention[0] == "1.00" and contention == sorted(contention, reverse=True)
    assert "40 traces" in page_text(page) and "simulated for demonstration" in page_text(page)


@pytest.fixture
def numbers():
    """The numbers of the items of a study with 120 traces."""
    prepare_copy(numbered_traces, 120, study="tour")
    return range(120)


def numbered_traces(count):
    names = [f"item {number}" for number in range(count)]
    return [*(ItemRecord(item=make_item(name)) for name in names), RUN, *map(a_trace, names)]


def test_a_link_to_a_page_shows_its_rows_and_a_changed_filter_the_first(numbers):
    page = visit("watch/traces")
    page.button(key="chevron_right").click().run()
    assert list(page.dataframe[0].value["Item"]) == [f"item {n}" for n in numbers[50:100]]
    place = page.query_params["after"]
    page = visit("watch/traces", after=place)
    assert list(page.dataframe[0].value["Item"]) == [f"item {n}" for n in numbers[50:100]]
    page.button(key="last_page").click().run()
    assert list(page.dataframe[0].value["Item"]) == [f"item {n}" for n in numbers[70:]]
    page.button(key="chevron_left").click().run()
    assert list(page.dataframe[0].value["Item"]) == [f"item {n}" for n in numbers[20:70]]
    page.text_input(key="name").input("item").run()
    assert "after" not in page.query_params
    assert list(page.dataframe[0].value["Item"]) == [f"item {n}" for n in numbers[:50]]


def test_an_unknown_contention_is_a_dash_with_its_reason():
    records = [RUN, a_trace("item 0", a_turn()), a_trace("item 1", a_turn(), a_verdict(last=(1, 1, 2)))]
    prepare_study([*(ItemRecord(item=make_item(f"item {n}")) for n in range(3)), *records], "tour")
    [table] = visit("watch/traces").dataframe
    assert list(table.value["Contention"]) == ["–", "0.50"]


def test_an_unknown_filter_value_in_the_address_is_a_warning_and_an_unknown_study_has_links_to_others(sample):
    for parameter in ("run", "scenario", "criterion", "outcome"):
        page = visit("watch/traces", **{parameter: "<b>nowhere</b>"})
        assert f"There is no {parameter} named" in page.warning[0].value
        assert "<b>" not in page.warning[0].value.replace("\\<", "")
    page = visit("watch/traces", study="scaleeval")
    assert "There is no study named" in page.error[0].value
    links = [link.label for link in page_links(page)]
    assert 1 <= len(links) <= 3 and all(label.startswith("Open “") for label in links)


def test_every_outcome_can_be_opened_and_an_invalid_trace_in_the_address_is_one_sentence(sample):
    visit("watch/traces", trace=str(find_traces(status="disputed")[0].id))
    agreed = page_text(visit("watch/traces", trace=str(find_traces(status="agreed")[0].id), shown="2,1"))
    assert "Agreed: Response" in agreed and " of calls" in agreed and "your Response 1 is Response 2" in agreed
    (trace,) = find_traces(status="no_verdict", item="science-2")
    assert "**changed** from" in page_text(visit("watch/traces", trace=str(trace.id)))
    for trace_id in ("999999", "abc", "-1", "9" * 40):
        page = visit("watch/traces", trace=trace_id)
        assert len(page.error) == 1
    page.button(key="back").click().run()
    assert not page.error and "40 traces" in page_text(page)


def test_the_criteria_of_a_run_with_several_are_listed_and_filtered():
    items = [ItemRecord(item=make_item(name)) for name in ("both", "one")]
    both = a_trace("both", verdict_on_criteria(accuracy=1, politeness=2))
    prepare_study([*items, RUN_WITHOUT_CRITERION, both, a_trace("one", verdict_on_criteria(accuracy=2))])
    hidden, shown = visit("watch/traces"), visit("watch/traces", opinions="true")
    assert "Last opinions" not in hidden.dataframe[0].value
    assert "**Contention**" in page_text(hidden) and "**Last opinions**" not in page_text(hidden)
    assert "**Last opinions**" in page_text(shown)
    table = shown.dataframe[0].value
    assert list(table["Criterion"]) == ["accuracy, politeness", "accuracy"]
    assert list(table["Last opinions"]) == ["accuracy: 1, politeness: 2", "2"]
    page = visit("watch/traces", criterion="politeness")
    assert not page.warning
    assert list(page.dataframe[0].value["Item"]) == ["both"]


@pytest.mark.parametrize(
    ("last", "verdicts", "linked"),
    [
        ({"accuracy": (1, 1), "politeness": (1, 2)}, {"accuracy": 1, "politeness": 1}, "politeness"),
        ({"accuracy": (1, 1), "politeness": (1, None)}, {"accuracy": 1, "politeness": None}, "politeness"),
        ({"accuracy": (1, 1), "politeness": (2, 2)}, {"accuracy": 1, "politeness": 2}, "accuracy"),
    ],
)
def test_a_trace_on_several_criteria_links_to_the_first_without_agreement(last, verdicts, linked):
    opinions = [
        Opinion(kind="preference", judge=f"j{number}", stage="last", value=value, criterion=criterion)
        for criterion, values in last.items()
        for number, value in enumerate(values)
    ]
    opinions += verdict_on_criteria(**verdicts).verdict.opinions
    verdict = VerdictReached(verdict=Verdict(outcome="disputed", opinions=tuple(opinions)))
    prepare_study([ItemRecord(item=make_item("both")), RUN_WITHOUT_CRITERION, a_trace("both", a_turn(), verdict)])
    (link,) = page_links(visit_trace("both", annotator="ann"))
    assert f"on={linked}" in link.query_string


def test_viewing_a_disputed_debate_is_recorded(sample):
    trace = find_traces(status="disputed", item="brainstorming-2")[0]
    page = visit("watch/traces", trace=str(trace.id))
    page.session_state["annotator"] = "newcomer"
    page.run()
    assert "not blind" in page_text(page)
    target = Target(item=trace.item, kind="preference", criterion=trace.criterion)
    assert not label_is_blind(target, "newcomer", study="tour")


def test_what_a_visitor_saw_is_not_blind_after_signing_in():
    prepare_study([ItemRecord(item=make_item()), RUN, a_trace("item 0")])
    page = visit_trace("item 0")
    visitor = page.session_state["visitor"]
    with connections.writing(resources.engine()) as session:
        views.assign_to_annotator(session, visitor, "zoe")
    assert not label_is_blind(make_target(), "zoe")


def test_a_trace_of_a_pair_shows_its_two_responses_and_links_to_their_label():
    responses = tuple(Response(text=text) for text in ("ant", "bee", "cat"))
    verdict = a_verdict()
    opinions = tuple(opinion.model_copy(update={"part": "1-3"}) for opinion in verdict.verdict.opinions)
    event = VerdictReached(verdict=verdict.verdict.model_copy(update={"opinions": opinions}))
    record = a_trace("item 0", a_turn(), event).model_copy(update={"part": "1-3"})
    prepare_study([ItemRecord(item=make_item(responses=responses)), RUN, record])
    page = visit_trace("item 0", annotator="ann")
    text = page_text(page)
    assert "Item item 0, responses 1 and 3" in text and "Response 2 its response 3" in text
    assert "cat" in text and "bee" not in text
    (link,) = page_links(page)
    assert "part=1-3" in link.query_string
    assert not label_is_blind(make_target(part="1-3"), "ann") and label_is_blind(make_target(part="1-2"), "ann")


def test_who_watches_a_running_trace_sees_what_its_judges_write():
    records = [ItemRecord(item=make_item()), RUN, a_trace("item 0", a_verdict("disputed", (1, 2, 1)))]
    prepare_study(records, "tour")
    [trace] = find_traces()
    with connections.writing(resources.engine()) as session:
        session.execute(update(TraceRow).values(outcome="waiting"))
        traces.watch(session, trace.id)
        calls = [OpenCall("b*en*", 1, time.time(), "**Response 1** <img src=x>"), OpenCall("cat", 1, time.time())]
        traces.state_calls(session, {trace.id: calls})
    page = visit("watch/traces", trace=str(trace.id))
    assert "b\\*en\\*" in page_text(page) and "**cat**, round 1, writing" in page_text(page)
    assert [text.value for text in page.text] == ["**Response 1** <img src=x>"]  # not as Markdown


def test_who_watches_a_running_trace_labels_its_target_no_longer_blind():
    prepare_study([ItemRecord(item=make_item("item 0")), RUN, a_trace("item 0", a_turn())])
    with study_session() as (session, study):
        session.execute(update(TraceRow).values(outcome="waiting", claimed_by="worker"))
        session.execute(update(RunRow).values(claimed_by="worker", claimed_until=now() + timedelta(minutes=1)))
    with connections.writing(resources.engine()) as session:
        stored = session.execute(select(EventRow)).scalar_one()
        values = {column.key: getattr(stored, column.key) for column in EventRow.__table__.columns}
        session.delete(stored)
    page = visit_trace("item 0", annotator="ann")
    assert "Running" in page_text(page) and "not blind" not in page_text(page), "there is nothing to be seen"
    with connections.writing(resources.engine()) as session:
        session.add(EventRow(**values))
    page.run()
    assert "not blind" in page_text(page)
    with connections.reading(resources.engine()) as session:
        target = targets.find_id(session, study.id, make_target("item 0"))
        assert target and views.is_viewed(session, target, annotators.get_or_create_id(session, "ann"))


# The page Search: matches with their place, and views that are recorded


def test_a_match_in_a_turn_is_drawn_as_text_and_recorded_as_a_view() -> None:
    trace = make_trace("a", ("j", "verdict", 1)).model_dump()
    trace["events"][0]["turn"]["reply"] = "the <b>better</b> one"
    records = [
        RUN.model_copy(update={"name": "r"}),
        ItemRecord(item=make_item("a")),
        make_trace("a").model_validate(trace),
    ]
    prepare_study(records)
    app = visit("watch/search", "zoe", study="s", text="better<", area="Turns of judges")
    bodies = [element.proto.body for element in app.get("html")]
    assert any("the &lt;b&gt;<mark>better&lt;</mark>/b&gt; one" in body for body in bodies)
    assert not label_is_blind(make_target("a"), "zoe")


def test_questions_are_searched_without_a_view() -> None:
    prepare_study([ItemRecord(item=make_item("a"))])
    app = visit("watch/search", "zoe", study="s", text=make_item("a").prompt[:8])
    assert "<mark>" in page_text(app)
    assert "No match." in page_text(visit("watch/search", "zoe", study="s", text="no such text"))
    assert "2 to 200 characters" in page_text(visit("watch/search", "zoe", study="s", text="x"))
