import pytest
from sqlalchemy.exc import IntegrityError

from core.problems import Problem
from core.trace import CallFailed, TraceFailed
from storage import labels, runs, traces
from storage.database import reading, writing
from storage.traces import Filter, Happened, Totals
from storage.transfer import imports
from tests.conftest import a_target
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, an_unreadable


@pytest.fixture
def a_live_trace(engine, a_study):
    with writing(engine) as session:
        told = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}
        run = runs.create(session, a_study.id, "live", **told)
        return runs.claim(session, run, "worker", 1)[0][0]


def append(engine, trace, *events, first=0):
    with writing(engine) as session:
        traces.append(session, [Happened(trace, seq, event) for seq, event in enumerate(events, first)])


EVERYTHING = (
    CallFailed(ask=0, speaker="j0", problem="busy", wait=1.5),
    an_unreadable(),
    a_turn(0, shown=(2, 1)),
    a_turn(1, reading=True),
    a_turn(2, reading={"clarity": 40.0}),
    a_turn(3, reading=1.0, reply="日本 🙂"),
    a_verdict(),
)


def test_events_come_back_as_they_happened(engine, a_live_trace):
    append(engine, a_live_trace, *EVERYTHING)
    with reading(engine) as session:
        there = traces.whole(session, a_live_trace)
        assert repr(there) == repr(list(EVERYTHING))
        without = traces.events(session, a_live_trace)
        assert [seq for seq, _ in without] == list(range(7))
        assert without[2][1].turn.prompt == ""
        assert without[2][1].turn.reply == "1"
        assert traces.prompt(session, a_live_trace, 3) == "prompt 1"
        assert traces.prompt(session, a_live_trace, 99) == ""


def test_whoever_watches_reads_what_came_after_the_last_event_seen(engine, a_live_trace):
    append(engine, a_live_trace, a_turn(0), a_turn(1))
    append(engine, a_live_trace, a_turn(2), first=2)
    with reading(engine) as session:
        assert [seq for seq, _ in traces.events(session, a_live_trace, after=1)] == [2]
        assert traces.events(session, a_live_trace, after=2) == []


def test_an_event_is_kept_once(engine, a_live_trace):
    append(engine, a_live_trace, a_turn(0))
    with pytest.raises(IntegrityError):
        append(engine, a_live_trace, a_turn(1), first=0)


def test_text_that_no_database_holds_is_mended_alike_in_replies_and_prompts(engine, a_live_trace):
    append(engine, a_live_trace, a_turn(reply="\x00\ud83d", prompt="said: \x00\ud83d", problem="x"))
    with reading(engine) as session:
        (event,) = traces.whole(session, a_live_trace)
    mended = "\N{REPLACEMENT CHARACTER}" * 2
    assert (event.turn.reply, event.turn.prompt) == (mended, f"said: {mended}")


def test_a_verdict_settles_its_trace_and_makes_raters_of_the_judges(engine, a_study, a_live_trace):
    append(engine, a_live_trace, a_verdict(last=(1, 2, None)))
    with reading(engine) as session:
        trace = traces.get(session, a_live_trace)
        assert (trace.status, round(trace.doubt, 2)) == ("disputed", 1.65)
        assert traces.last_opinions(session, [a_live_trace]) == {a_live_trace: "1 · 2 · –"}
        assert traces.of_target(session, a_study.id, a_target(trace.item)) == [trace]
        assert traces.of_target(session, a_study.id, a_target("item 2")) == []
        assert labels.version(session, a_study.id)[1] == 7


def test_verdicts_of_several_traces_may_be_kept_together(engine, a_study):
    with writing(engine) as session:
        told = {"protocol": "scaleeval", "criterion": "", "settings": {}, "prompts": {}}
        run = runs.create(session, a_study.id, "live", **told)
        ids = [trace for trace, _ in runs.claim(session, run, "worker", 3)]
        ends = (a_verdict("agreed", (2, 2, 2)), a_verdict("no_verdict", (None, 1, 2)), TraceFailed(problem="no key"))
        traces.append(session, [Happened(trace, 0, event) for trace, event in zip(ids, ends, strict=True)])
        found = [traces.get(session, trace) for trace in ids]
    assert [trace.status for trace in found] == ["agreed", "no_verdict", "failed"]
    assert found[2].problem == "no key"


def test_totals_count_unreadable_replies_and_leave_unknown_prices_out(engine, a_live_trace):
    append(engine, a_live_trace, *EVERYTHING)
    expected = Totals(calls=5, errors=1, prompt_tokens=40, completion_tokens=8, seconds=3.0, dollars=1.0, unpriced=1)
    with reading(engine) as session:
        assert traces.totals(session, trace_id=a_live_trace) == expected
        assert traces.totals(session, run_id=traces.get(session, a_live_trace).run_id) == expected
        assert traces.totals(session, trace_id=0) == Totals()


def test_traces_are_found_by_what_they_are(engine, a_study, a_live_trace):
    imports.load(engine, "s", [RUN, a_trace("item 0"), a_trace("item 1", a_verdict("agreed", (1, 1, 1)))])

    def found(**wanted):
        with reading(engine) as session:
            there = traces.find(session, Filter(a_study.id, **wanted))
            assert traces.count(session, Filter(a_study.id, **wanted)) == len(there)
            return [(trace.run, trace.item) for trace in there]

    assert found() == [("r", "item 0"), ("r", "item 1"), ("live", "item 0"), ("live", "item 1"), ("live", "item 2")]
    assert found(status="agreed") == [("r", "item 1")]
    assert found(status="running") == [("live", "item 0")]
    assert found(status="waiting") == [("live", "item 1"), ("live", "item 2")]
    assert found(item="TEM 1") == [("r", "item 1"), ("live", "item 1")]
    assert found(item="%") == []
    assert found(criterion="depth") == found(scenario="coding") == []
    assert len(found(criterion="helpfulness", scenario="math")) == 5
    with reading(engine) as session:
        assert len(traces.find(session, Filter(a_study.id), offset=1, limit=3)) == 3


def test_a_trace_that_is_not_there_is_said_so(engine):
    with reading(engine) as session, pytest.raises(Problem, match="no trace 7"):
        traces.get(session, 7)
