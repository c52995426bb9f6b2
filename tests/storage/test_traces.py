import random

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.trace import CallFailed, ReadingReplaced, SchemaRefused, TraceFailed, TraceRestarted
from storage.db.columns import START
from storage.db.connections import reading, writing
from storage.db.tables import OpinionRow, TraceRow
from storage.labels import labels
from storage.runs import call_totals, claims, outcomes, runs, trace_opinions, traces
from storage.runs.call_totals import Totals
from storage.runs.outcomes import NewEvent
from storage.runs.traces import Filter
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item, make_target
from tests.sessions import read, write
from tests.storage.shared import (
    RUN,
    RUN_WITHOUT_CRITERION,
    a_trace,
    a_turn,
    a_verdict,
    an_unreadable,
    combined_verdict,
    debates,
    find_traces,
)


@pytest.fixture
def a_live_trace(engine, a_study):
    with writing(engine) as session:
        fields = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}
        run = runs.create(session, a_study.id, "live", **fields)
        claims.claim_run(session, run, "worker")
        return claims.claim_traces(session, run, "worker", 1)[0].id


def append(engine, trace, *events, first=0):
    with writing(engine) as session:
        outcomes.append_events(session, [NewEvent(trace, seq, event) for seq, event in enumerate(events, first)])


EVENTS = (
    CallFailed(ask=0, speaker="j0", problem="busy", wait=1.5),
    SchemaRefused(ask=0, speaker="j0", problem="no JSON"),
    an_unreadable(),
    a_turn(0, shown=(2, 1)),
    a_turn(1, reading=True),
    a_turn(2, reading={"clarity": 40.0}),
    a_turn(3, reading=1.0, reply="日本 🙂"),
    a_verdict(),
)


def test_events_are_read_back_unchanged_and_in_order_or_after_a_sequence_number(engine, a_live_trace):
    append(engine, a_live_trace, *EVENTS)
    with reading(engine) as session:
        stored = traces.events_with_prompts(session, a_live_trace)
        assert repr(stored) == repr(list(EVENTS))
        without_prompts = traces.events(session, a_live_trace)
        assert [seq for seq, _ in without_prompts] == list(range(8))
        assert [seq for seq, _ in traces.events(session, a_live_trace, after=5)] == [6, 7]
        assert traces.events(session, a_live_trace, after=7) == []
        assert without_prompts[3][1].turn.prompt == ""
        assert without_prompts[3][1].turn.reply == "1"
        assert traces.prompt(session, a_live_trace, 4) == "prompt 1"
        assert traces.prompt(session, a_live_trace, 99) == ""


def test_events_before_a_restart_are_stored_and_not_read(engine, a_study, a_live_trace):
    append(engine, a_live_trace, a_turn(0), a_turn(1))
    with writing(engine) as session:
        run = traces.get(session, a_live_trace).run_id
        outcomes.restart_unfinished(session, run, "The prompts have changed.")
    append(engine, a_live_trace, a_turn(0), first=3)
    with reading(engine) as session:
        assert [seq for seq, _ in traces.events(session, a_live_trace)] == [2, 3]
        assert [event.type for event in traces.events_with_prompts(session, a_live_trace)] == [
            *("turn", "turn", "restarted", "turn")
        ]
        assert call_totals.of_trace(session, a_live_trace).calls == 3, "superseded calls were paid for"


def test_a_trace_with_a_verdict_and_one_without_events_are_not_restarted(engine, a_study, a_live_trace):
    append(engine, a_live_trace, a_turn(0), a_verdict())
    with writing(engine) as session:
        run = traces.get(session, a_live_trace).run_id
        outcomes.restart_unfinished(session, run, "The prompts have changed.")
        for trace in find_traces(session, traces.Filter(a_study.id)):
            assert not any(event.type == "restarted" for _, event in traces.events(session, trace.id))


def test_a_sequence_number_is_stored_once(engine, a_live_trace):
    append(engine, a_live_trace, a_turn(0))
    with pytest.raises(IntegrityError):
        append(engine, a_live_trace, a_turn(1), first=0)


def test_a_verdict_sets_the_outcome_and_stores_opinions(engine, a_study, a_live_trace):
    append(engine, a_live_trace, a_verdict(last=(1, 2, None)))
    with reading(engine) as session:
        trace = traces.get(session, a_live_trace)
        assert trace.status == "disputed"
        assert trace_opinions.summarize_last(session, [a_live_trace]) == {a_live_trace: "1 · 2 · –"}
        assert traces.of_target(session, a_study.id, make_target(trace.item)) == [trace]
        assert traces.of_target(session, a_study.id, make_target("item 2")) == []
        assert labels.version(session, a_study.id)[1] == 7


def test_the_last_verdict_of_a_trace_replaces_the_opinions_of_the_first(engine, a_study, a_live_trace):
    last = a_verdict("agreed", (2, 2, 2))
    append(engine, a_live_trace, a_turn(), a_verdict("disputed", (1, 2, 0)), last)
    with reading(engine) as session:
        opinions = session.scalars(select(OpinionRow).where(OpinionRow.trace_id == a_live_trace)).all()
        assert traces.get(session, a_live_trace).status == "agreed"
    stored = [(opinion.judge, opinion.stage, opinion.value) for opinion in opinions]
    assert stored == [(opinion.judge, opinion.stage, opinion.value) for opinion in last.verdict.opinions]


def test_totals_include_unreadable_replies_and_exclude_unknown_prices(engine, a_live_trace):
    append(engine, a_live_trace, *EVENTS)
    sums = {"prompt_tokens": 40, "completion_tokens": 8, "seconds": 3.0, "dollars": 1.0}
    expected = Totals(calls=5, errors=1, **sums, unpriced=1, uncounted=1, refused_schemas=1)
    with reading(engine) as session:
        assert call_totals.of_trace(session, a_live_trace) == expected
        assert call_totals.of_runs(session, [traces.get(session, a_live_trace).run_id]) == expected
        assert call_totals.of_trace(session, 0) == Totals()


def test_unknown_tokens_are_never_shown_as_zero():
    assert Totals(calls=4, uncounted=4).describe_tokens() == "tokens unknown for 4 calls"
    assert Totals(calls=4, prompt_tokens=1500, uncounted=1).describe_tokens() == (
        "1,500 tokens, tokens unknown for 1 call"
    )
    assert Totals().describe_tokens() == "0 tokens"


def test_traces_are_filtered(engine, a_study, a_live_trace):
    imports.import_records(engine, "s", [RUN, a_trace("item 0"), a_trace("item 1", a_verdict("agreed", (1, 1, 1)))])

    def find_names(**conditions):
        with reading(engine) as session:
            stored = find_traces(session, Filter(a_study.id, **conditions))
            assert traces.count(session, Filter(a_study.id, **conditions)) == len(stored)
            return [(trace.run, trace.item) for trace in stored]

    assert find_names() == [
        ("r", "item 0"),
        ("r", "item 1"),
        ("live", "item 0"),
        ("live", "item 1"),
        ("live", "item 2"),
    ]
    assert find_names(status="agreed") == [("r", "item 1")]
    assert find_names(status="running") == [("live", "item 0")]
    assert find_names(status="waiting") == [("live", "item 1"), ("live", "item 2")]
    assert find_names(item="TEM 1") == [("r", "item 1"), ("live", "item 1")]
    assert find_names(item="%") == []
    assert find_names(criterion="depth") == find_names(scenario="coding") == []
    assert len(find_names(criterion="helpfulness", scenario="math")) == 5


def test_debates_in_which_an_opinion_changed(engine, a_study):
    last = {"changed": (1, 2, 1), "kept": (1, 1, 1), "unreadable at last": (1, None, 1)}
    runs = [RUN.model_copy(update={"name": name}) for name in last]
    given = [a_trace("item 0", a_verdict(last=of), run=run) for run, of in last.items()]
    imports.import_records(engine, "s", [*runs, *given])
    with reading(engine) as session:
        changed, kept = (find_traces(session, Filter(a_study.id, changed=value)) for value in (True, False))
    assert [trace.run for trace in changed] == ["changed"]
    assert {trace.run for trace in kept} == last.keys() - {"changed"}


@pytest.mark.parametrize("order", ["run", "contention"])
@pytest.mark.parametrize("seed", range(2))
def test_pages_of_any_list_are_parts_of_it_in_order(engine, a_study, order, seed):
    draw = random.Random(seed)
    names = [f"run {number}" for number in range(6)]
    verdicts = [(1, 1, 2), (1, 1, 1), (1, 2, 0), None]
    drawn = [(name, n, draw.choice(verdicts)) for name in names for n in range(3) if draw.random() < 0.7]
    items = [f"item {n}" for n in range(3)]
    covered = [
        a_trace(items[n], a_turn(), *([] if last is None else [a_verdict(last=last)]), run=name)
        for name, n, last in drawn
    ]
    imports.import_records(engine, "s", [*(RUN.model_copy(update={"name": name}) for name in names), *covered])
    with reading(engine) as session:
        for filter in (Filter(a_study.id), Filter(a_study.id, item="item 1"), Filter(a_study.id, status="disputed")):
            whole = find_traces(session, filter, order=order)
            assert len(whole) == traces.count(session, filter)
            keys = [(-trace.run_id, trace.item) for trace in whole]
            if order == "contention":
                keys = [(-1 if t.contention is None else t.contention, t.item, t.run_id) for t in whole]
                keys = [(-contention, item, -run) for contention, item, run in keys]
            assert keys == sorted(keys)
            ids = [trace.id for trace in whole]
            first = traces.page(session, filter, after=START, size=3, order=order)
            last = traces.page(session, filter, after=first.last or START, size=3, order=order)
            assert ([trace.id for trace in last.rows], last.next) == (ids[-3:], None)
            for place, id in enumerate(ids):
                page = traces.page(session, filter, after=id, size=3, order=order)
                assert [trace.id for trace in page.rows] == ids[place + 1 : place + 4]
                assert page.previous == (ids[place - 3] if place >= 3 else START)
                assert page.next == (ids[place + 3] if place + 4 < len(ids) else None)


def test_a_missing_trace_is_a_problem(engine):
    with reading(engine) as session, pytest.raises(TiebreakError, match="no trace 7"):
        traces.get(session, 7)


def test_the_list_of_a_criterion_has_its_own_outcomes(engine):
    verdicts = {"a": combined_verdict(depth="disputed", tone="agreed"), "b": combined_verdict(depth="agreed")}
    records = [record for name, verdict in verdicts.items() for record in (
        ItemRecord(item=make_item(name)), a_trace(name, verdict))]  # fmt: skip
    imports.import_records(engine, "s", [RUN_WITHOUT_CRITERION, *records])
    with reading(engine) as session:
        study_id = studies.get(session, "s").id
        for criterion, expected in {
            None: {"a": "disputed", "b": "agreed"},
            "depth": {"a": "disputed", "b": "agreed"},
            "tone": {"a": "agreed"},
        }.items():
            matches = find_traces(session, Filter(study_id, criterion=criterion))
            assert {trace.item: trace.status for trace in matches} == expected
            for status in ("agreed", "disputed"):
                number = traces.count(session, Filter(study_id, criterion=criterion, status=status))
                assert number == list(expected.values()).count(status)


# The orders stored with traces are those of their turns: after runs, imports, restarts and migrations


FORWARD, REVERSE = (a_turn(0, shown=(1, 2)), a_turn(1, shown=(2, 1)))
TRACES = {
    "item 0": ((FORWARD, a_verdict()), [[1, 2]]),
    "item 1": ((REVERSE, FORWARD, a_turn(2, shown=(2, 1)), a_verdict()), [[1, 2], [2, 1]]),
    "item 2": ((a_turn(), a_verdict()), []),
    "item 3": ((REVERSE, TraceRestarted(reason="new prompts"), FORWARD, a_verdict()), [[1, 2]]),
    "item 4": ((FORWARD, TraceFailed(problem="no credit")), None),
    "item 5": ((REVERSE, a_verdict(), ReadingReplaced(ask=1, reading=2), a_verdict("agreed", (2, 2, 2))), [[2, 1]]),
}
EXPECTED = [orders for _, orders in TRACES.values()]


@pytest.fixture
def study_id(engine):
    """A study with each trace in the run `again`, and one without an order in the run `r`."""
    queue = debates(engine, len(TRACES))
    records = [a_trace(item, *events, run="again") for item, (events, _) in TRACES.items()]
    imports.import_records(engine, "s", [RUN.model_copy(update={"name": "again"}), *records])
    return queue.study_id


def stored(session):
    orders = session.scalars(select(TraceRow.shown_orders).order_by(TraceRow.id)).all()
    assert orders[: len(TRACES)] == [[]] * len(TRACES)  # of the run `r`
    return orders[len(TRACES) :]


def test_imported_traces_have_the_orders_of_their_turns(engine, study_id):
    with reading(engine) as session:
        assert stored(session) == EXPECTED
        assert trace_opinions.order_differences(session) == []
        of_study = [orders for _, orders in sorted(trace_opinions.orders_of_study(session, study_id))]
        both = trace_opinions.with_orders(session, study_id, {(1, 2), (2, 1)})
    assert of_study == [tuple(map(tuple, orders)) for orders in EXPECTED if orders]
    assert len(both) == EXPECTED.count([[1, 2], [2, 1]]) == 1


def test_appended_events_give_the_same_orders_as_an_import(engine):
    study_id = debates(engine, len(TRACES)).study_id
    imports.import_records(
        engine,
        "s",
        [RUN.model_copy(update={"name": "again"}), *(a_trace(item, a_turn(), run="again") for item in TRACES)],
    )
    found = read(engine, find_traces, traces.Filter(study_id))
    ids = {trace.item: trace.id for trace in found if trace.run == "again"}
    for item, (events, _) in TRACES.items():
        for seq, one in enumerate((TraceRestarted(reason="from the first ask"), *events), 1):
            write(engine, outcomes.append_events, [NewEvent(ids[item], seq, one)])
    with reading(engine) as session:
        assert stored(session) == EXPECTED
        assert trace_opinions.order_differences(session) == []
