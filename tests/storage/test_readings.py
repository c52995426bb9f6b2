"""Later readings of stored replies: by a person, by newer parsers, withdrawn, and refused if calls are missing."""

import asyncio

import pytest
from sqlalchemy import select

from core.attempts import NeedsCalls
from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.items import Criterion, Item, Response
from core.labels import Scale
from core.llm.client import Reply, ScriptedModel
from core.protocols import Judge
from core.protocols.refer.settings import Reviewer
from core.protocols.refer.settings import Settings as RefeR
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec, TraceRestarted, TurnCompleted, Usage, completed_turns
from storage.db.connections import reading, writing
from storage.db.tables import EventRow
from storage.reports.opinions import opinion_frame
from storage.runs import call_totals, outcomes, readings, traces
from storage.runs.outcomes import UnreadFilter
from storage.runs.traces import Filter
from storage.studies import studies
from storage.studies.items import ItemSelection
from storage.transfer import imports
from storage.transfer.participation import annotator_names
from storage.worker import _launch
from storage.worker._launch import RunRequest
from tests.conftest import make_item
from tests.sessions import read, write
from tests.storage.shared import RUN, a_trace, a_turn, find_traces, import_study

UNREADABLE = "Both have their merits \N{THINKING FACE} <b>hm</b>."


def judge(name):
    return Judge(name=name, spec=Spec(model=name))


PAIR = PairSettings(judge=judge("j"), criterion=Criterion(name="helpfulness"))
DEBATE = Settings(judges=(judge("a"), judge("b")), criterion=Criterion(name="helpfulness"), rounds=2)


def execute(engine, study, protocol, settings, script, **options):
    """Run a protocol over the study, and return the ids of its traces in the order of the items."""
    request = RunRequest(study, PROTOCOLS[protocol], settings, protocol, **options)
    run_id = _launch.create_run(engine, request)
    asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(script)))
    return [trace.id for trace in read(engine, find_traces, Filter(study.id, run_id))]


def first_trace(engine, study, protocol, settings):
    """Run a protocol over the first item, with judges that choose 1; return the id of the trace."""
    script = lambda ask: "Final answer: 1"  # noqa: E731
    return execute(engine, study, protocol, settings, script, selection=ItemSelection(limit=1))[0]


@pytest.fixture
def a_single_trace(engine, a_study):
    """A judge that reads the responses in swapped order, whose reply on the first item is unreadable."""
    settings = PAIR.model_copy(update={"judge": judge("ann-judge")})
    script = lambda ask: UNREADABLE if "item 0" in str((*ask.history, ask.prompt)) else "Final answer: 1"  # noqa: E731
    return execute(engine, a_study, "single-judge", settings, script)[0]


@pytest.fixture
def a_debate(engine, a_study):
    script = lambda ask: UNREADABLE if ask.speaker == "a" and not ask.round else "Final answer: 2"  # noqa: E731
    return execute(engine, a_study, "scaleeval", DEBATE, script)[0]


def turns_of(engine, trace_id):
    return completed_turns([event for _, event in read(engine, traces.events, trace_id)])


def verdict_opinions(engine, study, trace_id):
    frame = read(engine, opinion_frame, study.id)
    return frame[(frame["trace"] == trace_id) & (frame["stage"] == "verdict")]["value"].tolist()


def get(engine, trace_id):
    return read(engine, traces.get, trace_id)


def listed(engine, study, **conditions):
    return read(engine, outcomes.page_unread, UnreadFilter(study.id, **conditions)).rows


def test_a_person_states_what_a_reply_says_and_figures_use_it(engine, a_study, a_single_trace):
    assert verdict_opinions(engine, a_study, a_single_trace) == [None]
    ask = read(engine, readings.find_ask, a_single_trace, 0)
    assert ask.answer.names() == ("Submission 1", "Submission 2")
    write(engine, readings.state, a_single_trace, 0, 1, "ann")
    expected = ask.shown[0]
    (turn, *_) = turns_of(engine, a_single_trace)
    assert (turn.reading, turn.read_by, turn.reply) == (expected, "person: ann", UNREADABLE)
    trace = get(engine, a_single_trace)
    assert trace.status == "agreed"
    assert verdict_opinions(engine, a_study, a_single_trace) == [expected]
    stored = read(engine, traces.events_with_prompts, a_single_trace)
    first = next(event for event in stored if isinstance(event, TurnCompleted))
    assert first.turn.reading is None and first.turn.problem, "the parser's result is not overwritten"


def test_a_stated_value_can_be_withdrawn(engine, a_study, a_single_trace):
    with writing(engine) as session:
        readings.state(session, a_single_trace, 0, 2, "ann")
        readings.state(session, a_single_trace, 0, 0, "ben")
    assert verdict_opinions(engine, a_study, a_single_trace) == [0]
    assert listed(engine, a_study) == []
    write(engine, readings.withdraw, a_single_trace, 0, "ben")
    assert turns_of(engine, a_single_trace)[0].read_by == "person: ann"
    write(engine, readings.withdraw, a_single_trace, 0, "ann")
    assert get(engine, a_single_trace).status == "no_verdict"
    assert verdict_opinions(engine, a_study, a_single_trace) == [None]
    assert [reply.ask for reply in listed(engine, a_study)] == [0]
    with writing(engine) as session, pytest.raises(TiebreakError, match="no later reading"):
        readings.withdraw(session, a_single_trace, 0, "ann")


def test_a_person_overrules_a_parser_or_an_extractor_and_rereading_keeps_it(engine, a_study):
    settings = PAIR.model_copy(update={"shuffle_responses": False})

    def script(ask):
        is_first = "item 0" in str((*ask.history, ask.prompt))
        return UNREADABLE if ask.spec.model == "j" and is_first else "Final answer: 1"

    extracted, parsed = execute(engine, a_study, "single-judge", settings, script, extractor=Spec(model="reader"))[:2]
    assert turns_of(engine, parsed)[0].reading_rule == "labelled"
    for trace_id in (extracted, parsed):
        write(engine, readings.state, trace_id, 0, 2, "ann")
    list(readings.reread_study(engine, a_study, apply=True))
    for trace_id, first in ((extracted, [None, 1]), (parsed, [1])):
        replies = read(engine, readings.of_trace, trace_id)[0]
        assert (replies.turn.reading, replies.turn.read_by) == (2, "person: ann")
        assert [past.turn.reading for past in replies.earlier] == first
        assert verdict_opinions(engine, a_study, trace_id) == [2]
    assert read(engine, annotator_names, a_study) == ["ann"]


def test_a_person_states_that_a_reply_has_no_value(engine, a_study, a_single_trace):
    second = next(t.id for t in read(engine, find_traces, Filter(a_study.id)) if t.item == "item 1")
    write(engine, readings.state_unreadable, second, 0, "ann")
    assert get(engine, second).status == "no_verdict"
    assert verdict_opinions(engine, a_study, second) == [None]
    assert {(reply.trace_id, reply.reason) for reply in listed(engine, a_study)} >= {(second, readings.NO_VALUE)}
    assert [reread for reread in readings.reread_study(engine, a_study) if reread.trace_id == second] == []
    write(engine, readings.withdraw, second, 0, "ben")
    assert get(engine, second).status == "agreed"


def test_a_value_that_does_not_fit_or_for_an_unknown_ask_or_an_unfinished_trace_is_refused(
    engine, a_study, a_single_trace
):
    for value in (3, -1, 1.5, "x", None, {"a": 1}):
        with writing(engine) as session, pytest.raises(TiebreakError, match="does not fit"):
            readings.state(session, a_single_trace, 0, value, "ann")
    with writing(engine) as session, pytest.raises(TiebreakError, match="no ask 7"):
        readings.state(session, a_single_trace, 7, 1, "ann")
    request = RunRequest(a_study, PROTOCOLS["single-judge"], PAIR, "waiting")
    run_id = _launch.create_run(engine, request)
    with writing(engine) as session:
        waiting = find_traces(session, Filter(a_study.id, run_id))[0].id
        with pytest.raises(TiebreakError, match="no verdict yet"):
            readings.state(session, waiting, 0, 1, "ann")


def test_a_value_with_which_judges_would_have_been_asked_less_still_counts(engine, a_study, a_debate):
    """Had the first opinion been read as 2, both judges would have agreed without a discussion."""
    with reading(engine) as session:
        ask = next(ask for ask, turn in enumerate(turns_of(engine, a_debate)) if turn.is_unreadable)
        choice = 1 + readings.find_ask(session, a_debate, ask).shown.index(2)
    before = len(turns_of(engine, a_debate))
    with writing(engine) as session:
        other = next(turn.reading for turn in turns_of(engine, a_debate) if not turn.is_unreadable)
        readings.state(session, a_debate, ask, choice if other == 2 else 3 - choice, "ann")
    assert get(engine, a_debate).status == "agreed"
    assert len(turns_of(engine, a_debate)) == before


def test_unreadable_replies_are_counted_and_paged_by_key(engine, a_study):
    execute(engine, a_study, "single-judge", PAIR, lambda ask: UNREADABLE)
    with reading(engine) as session:
        (count,) = outcomes.count_unread(session, UnreadFilter(a_study.id))
        assert (count.judge, count.step, count.replies, count.of) == ("j", "choice", 3, 3)
        first = outcomes.page_unread(session, UnreadFilter(a_study.id), size=2).rows
        rest = outcomes.page_unread(session, UnreadFilter(a_study.id), after=first[-1].id, size=2).rows
        assert sorted(reply.item for reply in [*first, *rest]) == ["item 0", "item 1", "item 2"]
        assert first[0].turn.reply == UNREADABLE
        assert outcomes.page_unread(session, UnreadFilter(a_study.id, judge="someone else")).rows == []
        assert outcomes.page_unread(session, UnreadFilter(a_study.id, reason=count.reason)).rows != []


def test_of_an_imported_trace_that_began_again_an_unreadable_ask_is_listed_once(engine):
    unread = TurnCompleted(ask=0, turn=a_turn().turn.model_copy(update={"reading": None, "problem": "no digit"}))
    record = a_trace("x", unread, TraceRestarted(reason="other prompts"), unread)
    imports.import_records(engine, "s", [ItemRecord(item=make_item("x")), RUN, record])
    with reading(engine) as session:
        (row,) = outcomes.page_unread(session, UnreadFilter(studies.get(session, "s").id)).rows
    assert (row.ask, row.reason) == (0, "no digit")


def first_turn(session, trace_id):
    """Return the stored row of the first turn of a trace."""
    of_trace = select(EventRow).where(EventRow.trace_id == trace_id, EventRow.type == "turn")
    return session.scalars(of_trace.order_by(EventRow.seq)).first()


def make_unreadable(engine, trace_id):
    """Store a readable turn as an earlier version without a parser for it would have."""
    with writing(engine) as session:
        row = first_turn(session, trace_id)
        turn = {**row.body["turn"], "reading": None, "problem": "no number"}
        row.body = {**row.body, "turn": {k: v for k, v in turn.items() if not k.startswith("reading_")}}


def test_rereading_lists_changes_and_applies_them_only_when_asked(engine, a_study):
    trace_id = first_trace(engine, a_study, "single-judge", PAIR)
    make_unreadable(engine, trace_id)
    (listed_only,) = readings.reread_study(engine, a_study)
    (change,) = listed_only.changes
    assert (change.old, change.rule, change.judge) == (None, "labelled", "j")
    assert turns_of(engine, trace_id)[0].reading is None
    (applied,) = readings.reread_study(engine, a_study, apply=True)
    assert applied.changes == listed_only.changes
    turn = turns_of(engine, trace_id)[0]
    assert (turn.reading, turn.read_by) == (change.new, "")
    assert turn.reply[slice(*turn.reading_span)] == "Final answer: 1"
    assert list(readings.reread_study(engine, a_study)) == []


def test_a_trace_that_would_need_new_calls_is_listed_and_left_alone(engine, a_study):
    trace_id = first_trace(engine, a_study, "scaleeval", DEBATE)
    assert len(turns_of(engine, trace_id)) == 2, "agreed at once"
    with writing(engine) as session:
        row = first_turn(session, trace_id)
        reply = row.body["turn"]["reply"].replace("1", "2")
        row.body = {**row.body, "turn": {**row.body["turn"], "reply": reply}}
    (found,) = readings.reread_study(engine, a_study, apply=True)
    assert "would be asked" in found.needs_calls and found.changes
    assert get(engine, trace_id).status == "agreed"
    with writing(engine) as session, pytest.raises(NeedsCalls):
        readings.state(session, trace_id, 0, 0, "ann")


def test_an_extractor_of_a_run_is_stored_counted_in_cost_and_marked(engine, a_study):
    usage = Usage(prompt_tokens=5, completion_tokens=1, dollars=0.5)
    script = lambda ask: Reply(  # noqa: E731
        text="Final answer: 2" if ask.spec.model == "reader" else UNREADABLE, usage=usage
    )
    trace_ids = execute(engine, a_study, "single-judge", PAIR, script, extractor=Spec(model="reader"))
    assert {turns_of(engine, trace_id)[0].read_by for trace_id in trace_ids} == {"extractor: reader"}
    totals = read(engine, call_totals.of_trace, trace_ids[0])
    assert (totals.calls, totals.dollars, totals.unpriced) == (3, 1.5, 0)
    assert listed(engine, a_study) == []
    assert {reply.read_by for reply in listed(engine, a_study, read=True)} == {"extractor: reader"}


def test_an_unreadable_sample_of_a_chair_can_be_stated_and_an_unreadable_peer_cannot(engine, a_study):
    """The chair was asked without the unreadable peer: with its rating, the chair's prompt would be different."""
    study = import_study(
        engine, [ItemRecord(item=Item(id="one", prompt="?", responses=(Response(text="!"),)))], "reviews"
    )
    criterion = Criterion(name="clarity", scale=Scale(level="ordinal", categories=(1, 2, 3, 4, 5)))
    peers = tuple(Reviewer(name=name, spec=Spec(model=name)) for name in ("p1", "p2"))
    chair = Reviewer(name="chair", spec=Spec(model="chair", temperature=1.0))
    settings = RefeR(criterion=criterion, peers=peers, chair=chair, samples=2)
    samples = iter(["Rating: 4", "Hard to say.", "Hard to say."])
    script = lambda ask: {"p1": "Rating: 3", "p2": "No idea."}.get(ask.speaker) or next(samples)  # noqa: E731
    (trace_id,) = execute(engine, study, "refer", settings, script)
    unread_asks = {reply.turn.speaker: reply.ask for reply in listed(engine, study)}
    assert set(unread_asks) == {"p2", "chair"}
    write(engine, readings.state, trace_id, unread_asks["chair"], 2, "ann")
    assert verdict_opinions(engine, study, trace_id) == [3.0], "the mean of 4 and 2"
    with writing(engine) as session, pytest.raises(NeedsCalls, match="prompt of chair's"):
        readings.state(session, trace_id, unread_asks["p2"], 2, "ann")
    assert set(reply.turn.speaker for reply in listed(engine, study)) == {"p2"}
