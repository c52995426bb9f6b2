"""The stored summaries of targets agree with labels and opinions after every kind of change, and are rebuilt."""

import asyncio
import random
from dataclasses import asdict

import pytest
from sqlalchemy import func, select, update

from core.formats import tiebreak
from core.items import Criterion
from core.llm.client import ScriptedModel
from core.llm.costs import RecordedCalls, estimate_run
from core.protocols import Judge, registry
from core.protocols.registry import PROTOCOLS
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec
from storage.db import audit
from storage.db.connections import reading, writing
from storage.db.tables import EventRow, RunRow, TargetRow, TraceRow
from storage.labelling import claims as queue_claims
from storage.labels import targets
from storage.runs import call_totals, claims, outcomes, readings, runs, trace_opinions, traces
from storage.runs.call_totals import Totals
from storage.runs.calls import model_names
from storage.runs.outcomes import NewEvent
from storage.runs.traces import Filter
from storage.studies import items, studies
from storage.transfer import deletions, erasure, imports, samples
from storage.worker import _launch
from storage.worker._launch import RunRequest
from tests.conftest import make_label, make_target
from tests.pages.test_queries import statements_of
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client, set_rules
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, debates, find_traces, store_label

ITEMS = 5
SUMS = asdict(Totals(calls=ITEMS, prompt_tokens=50, completion_tokens=10, seconds=2.5))
AGREED = (a_turn(), a_verdict("agreed", (1, 1, 1)))


@pytest.fixture
def study_id(engine):
    return debates(engine, ITEMS).study_id


def stored(engine):
    """Return (counted, disputed) of the targets, in the order of the items."""
    with reading(engine) as session:
        columns = (TargetRow.counted, TargetRow.disputed)
        return [tuple(row) for row in session.execute(select(*columns).order_by(TargetRow.item_id, TargetRow.id))]


def assert_agree(engine, change=""):
    with reading(engine) as session:
        assert targets.summary_differences(session) == [], change
        assert trace_opinions.order_differences(session) == [], change
        assert call_totals.differences(session) == [], change


def save(engine, study_id, item, annotator, value, **fields):
    write(engine, store_label, study_id, make_target(f"item {item}"), annotator, value, **fields)


def test_summaries_agree_after_labels_of_every_kind(engine, study_id):
    rng = random.Random(3)
    for number in range(20):
        value = rng.choice((1, 2, None))
        surplus = rng.random() < 0.2
        save(engine, study_id, rng.randrange(ITEMS), rng.choice(("ann", "bob", "cyd")), value, surplus=surplus)
        assert_agree(engine, f"label {number}: {value}, surplus {surplus}")
    assert len({counted for counted, _ in stored(engine)}) > 1
    client = Client(engine, "dan")
    set_rules(engine, overlap=4)
    for task in client.tasks():
        assert client.label(task)["status"] == "accepted"
        assert_agree(engine, "a label of the workbench")
    before = stored(engine)
    assert client.do("undo", entry=client.history()["undo"][-1]["id"])["status"] == "accepted"
    assert_agree(engine, "undo")
    assert stored(engine) != before
    write(engine, erasure.erase, "bob", erasure.Labels.remove)
    assert_agree(engine, "an erased annotator")
    imports.import_records(engine, "s", [make_label(2, name, "item 1") for name in ("ann", "eve", "fay")])
    assert_agree(engine, "imported labels")


def test_summaries_agree_after_changes_of_runs_and_requests(engine, study_id):
    def change(name, operation):
        result = write(engine, operation)
        assert_agree(engine, name)
        return result

    agreed = [a_trace(f"item {number}", *AGREED, run="again") for number in range(ITEMS)]
    imports.import_records(engine, "s", [RUN.model_copy(update={"name": "again"}), *agreed])
    assert_agree(engine, "a second run")
    with reading(engine) as session:
        ids = {run.name: run.id for run in runs.of_study(session, study_id)}
        first = targets.find_id(session, study_id, make_target())
    change("a requested label", lambda session: queue_claims.request_label(session, study_id, first))
    change("a deleted run", lambda session: deletions.delete_run(session, ids["r"]))
    assert [disputed for _, disputed in stored(engine)] == [True] + [False] * (ITEMS - 1)
    (deleted,) = read(engine, deletions.deleted_runs, study_id)
    change("a restored run", lambda session: deletions.restore_run(session, study_id, deleted.id))
    assert all(disputed for _, disputed in stored(engine))


def test_summaries_agree_after_a_run_and_a_later_reading(engine, a_study):
    settings = PairSettings(judge=Judge(name="a", spec=Spec(model="a")), criterion=Criterion(name="helpfulness"))
    run_id = _launch.create_run(engine, RunRequest(a_study, PROTOCOLS["single-judge"], settings, "run"))
    asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(lambda ask: "hm")))
    assert_agree(engine, "a run")
    assert stored(engine) == [(0, True)] * 3
    first, *_ = read(engine, find_traces, Filter(a_study.id, run_id))
    write(engine, readings.state, first.id, 0, 1, "ann")
    assert_agree(engine, "a reading")
    assert stored(engine) == [(0, False), (0, True), (0, True)]
    write(engine, readings.withdraw, first.id, 0, "ann")
    assert_agree(engine, "a withdrawn reading")


TARGET = {"study": "s", "item": "item 0", "kind": "preference", "criterion": "helpfulness", "part": ""}
WRONG = {
    "summaries of 1 target": (
        targets.summary_differences,
        update(TargetRow).where(TargetRow.id == select(func.min(TargetRow.id)).scalar_subquery()),
        {"counted": 7, "disputed": False},
        TARGET | {"labels stored": 7, "labels": 1, "disputed stored": False, "disputed": True},
    ),
    "orders shown of 1 trace": (
        trace_opinions.order_differences,
        update(TraceRow).where(TraceRow.id == select(func.min(TraceRow.id)).scalar_subquery()),
        {"shown_orders": [[2, 1]]},
        {"study": "s", "run": "r", "item": "item 0", "part": "", "orders stored": "[[2, 1]]", "orders": "[]"},
    ),
    "sums over the calls of 1 run": (
        call_totals.differences,
        update(RunRow),
        {"call_totals": SUMS | {"dollars": 70.0}},
        {"study": "s", "run": "r", "sums stored": "{'dollars': 70.0}", "sums": "{'dollars': 1.25}"},
    ),
}
"""What is rebuilt -> the check that finds it, the rows and what is stored wrongly in them, and the difference."""


@pytest.mark.parametrize("rebuilt", WRONG)
def test_what_is_stored_wrongly_is_reported_and_rebuilt(engine, study_id, rebuilt):
    differences, rows, values, cells = WRONG[rebuilt]
    save(engine, study_id, 0, "ann", 1)
    with writing(engine) as session:
        session.execute(rows.values(**values))
    with reading(engine) as session:
        (found,) = differences(session, study_id)
        assert differences(session, study_id + 1) == []
    assert found.cells == cells
    with writing(engine) as session:
        assert differences(session, rebuild=True) == [found]
        assert differences(session) == []
        entries = audit.entries(session, audit.Filter(study_id))
    assert_agree(engine)
    assert [change for change in changes_of(entries) if "rebuilt" in change] == [f"{rebuilt} rebuilt"]


def changes_of(entries):
    return [entry.details.get("change", "") for entry in entries]


# The sums over the calls of a run are stored when it ends, and used as long as it has no newer events


@pytest.fixture
def a_trace_id(engine, a_study):
    """A trace of run 1, which a worker executes."""
    with writing(engine) as session:
        fields = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}
        run = runs.create(session, a_study.id, "live", **fields)
        claims.claim_run(session, run, "worker")
        return claims.claim_traces(session, run, "worker", 1)[0].id


def append(engine, trace_id, first, *events):
    with writing(engine) as session:
        outcomes.append_events(session, [NewEvent(trace_id, seq, one) for seq, one in enumerate(events, first)])


def release(engine, run_id):
    write(engine, claims.release, run_id, "worker", "stopped")


def run_of(engine, trace_id):
    with reading(engine) as session:
        run_id = session.scalars(select(EventRow.run_id).where(EventRow.trace_id == trace_id)).first()
        return run_id, session.scalar(select(RunRow.call_totals).where(RunRow.id == run_id))


def totals_with_statements(engine, run_id):
    """Return the sums of a run, and the statements that read them."""
    found = []

    def read():
        with reading(engine) as session:
            found.append(call_totals.of_runs(session, [run_id]))

    statements = [text for text, _ in statements_of(engine, read) if "sum(" in text]
    return found[0], statements


def test_the_sums_of_an_ended_run_are_read_without_its_events_until_it_is_resumed(engine, a_trace_id):
    append(engine, a_trace_id, 0, a_turn(0), a_turn(1))
    run_id, stored = run_of(engine, a_trace_id)
    running, statements = totals_with_statements(engine, run_id)
    assert (stored, running.calls, len(statements)) == (None, 2, 1)
    release(engine, run_id)
    assert run_of(engine, a_trace_id)[1]["calls"] == 2
    assert totals_with_statements(engine, run_id) == (running, [])
    write(engine, runs.resume, run_id)
    assert run_of(engine, a_trace_id)[1] is None


# Estimates of runs compared with the recorded usage of the sample studies


def other_calls(session, study_id, run):
    """Return the means over the other runs of the protocol, so that no run is used for its own estimate."""
    others = [other for other in runs.of_study(session, study_id) if other.protocol == run.protocol and other != run]
    totals = [call_totals.of_runs(session, [other.id]) for other in others]
    calls = sum(one.calls for one in totals)
    if calls < _launch.MIN_RECORDED_CALLS:
        return None
    tokens, seconds = (sum(getattr(one, name) for one in totals) for name in ("completion_tokens", "seconds"))
    return RecordedCalls(calls, tokens / calls, seconds / calls)


@pytest.mark.slow
# The replies of the sample of single-step were written by hand, without tokens.
@pytest.mark.parametrize("name", sorted({*samples.studies().values()} - {"single-step"}))
def test_expected_tokens_are_within_a_factor_of_two_of_the_recorded(engine, name):
    imports.import_records(engine, "s", tiebreak.read(samples.path(name)))
    compared = 0
    with reading(engine) as session:
        study = studies.get(session, "s")
        by_id = {item.id: item for item in items.of_study(session, study.id)}
        for run in runs.of_study(session, study.id):
            judged = find_traces(session, traces.Filter(study.id, run_id=run.id))
            used = call_totals.of_runs(session, [run.id])
            protocol = registry.get(run.protocol)
            settings = protocol.settings.model_validate(run.settings)
            recorded = other_calls(session, study.id, run)
            estimate = estimate_run(protocol, [by_id[trace.item] for trace in judged], settings, recorded=recorded)
            tokens = used.prompt_tokens + used.completion_tokens
            expected = estimate.expected.prompt_tokens + estimate.expected.completion_tokens
            assert tokens / 2 < expected < tokens * 2, run.name
            compared += 1
    assert compared


def test_recorded_calls_are_those_of_the_protocol_in_the_study(engine):
    imports.import_records(engine, "s", tiebreak.read(samples.path("refer")))
    with reading(engine) as session:
        study = studies.get(session, "s")
        models = model_names(runs.of_study(session, study.id)[0].settings)
        recorded = _launch.find_recorded(session, study.id, "refer", models)
        assert recorded is not None and recorded.calls >= 100
        assert 10 < (recorded.completion_tokens or 0) < 40 and 0.5 < (recorded.seconds or 0) < 2
        of_others = _launch.find_recorded(session, study.id, "refer", ["local"])
        assert of_others is not None and of_others.seconds is None
        assert of_others.completion_tokens == recorded.completion_tokens
        assert _launch.find_recorded(session, study.id, "scaleeval", models) is None
