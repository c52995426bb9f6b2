"""A run has one worker, can be cancelled and resumed, and stops at its ceiling."""

import asyncio
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest
import yaml
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from sqlmodel import col

from core.errors import PermanentFailure, TiebreakError
from core.formats.records import ItemRecord, RunRecord
from core.items import Criterion, Response
from core.llm import progress
from core.llm.client import Reply, ScriptedModel
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec, Usage
from storage.db import guards
from storage.db.connections import reading, writing
from storage.db.tables import LiveTraceRow, RunRow, now
from storage.runs import call_totals, claims, outcomes, runs, traces
from storage.runs.outcomes import NewEvent
from storage.studies import studies
from storage.transfer.imports import import_records
from storage.worker import (
    RunRequest,
    RunWorker,
    _launch,
    _transactions,
    _worker,
    create_run,
    estimate_run,
    execute_run,
    request_from_file,
    resume_run,
)
from tests.conftest import make_item
from tests.core.protocols.reviews import make_settings
from tests.sessions import read, write
from tests.storage.shared import a_turn, a_verdict, find_traces, import_study
from tests.waiting import wait_for

pytestmark = pytest.mark.slow  # whole commands and runs


def make_request(study, **fields) -> RunRequest:
    judges = tuple(Judge(name=name, spec=Spec(model=name)) for name in ("a", "b"))
    settings = Settings(judges=judges, criterion=Criterion(name="helpfulness"), rounds=1)
    return RunRequest(study, PROTOCOLS["scaleeval"], settings, "run", **fields)


def execute(engine, run_id, model):
    return asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, model))


def test_every_event_of_a_run_is_stored_with_its_usage(engine, a_study):
    reply = Reply(text="1", usage=Usage(prompt_tokens=10, completion_tokens=2, seconds=0.5, dollars=0.25))
    run, progress = execute(engine, _launch.create_run(engine, make_request(a_study)), ScriptedModel(lambda ask: reply))
    assert run.state == "finished"
    assert (progress.done, progress.agreed) == (3, 3)
    assert progress.totals == call_totals.Totals(6, 0, 60, 12, 3.0, 1.5, 0)


def test_a_cancelled_run_resumes_from_its_stored_events(engine, a_study, monkeypatch):
    monkeypatch.setattr("storage.worker._worker.HEARTBEAT_SECONDS", 0.1)
    run_id = _launch.create_run(engine, make_request(a_study, parallel=1))

    async def cancelling(ask):
        write(engine, runs.cancel, run_id)
        await asyncio.sleep(0.5)  # longer than the heartbeat
        return "1"

    run, progress = execute(engine, run_id, ScriptedModel(cancelling))
    assert run.state == "cancelled"
    stored_calls = progress.totals.calls
    assert 0 < stored_calls < 6
    write(engine, runs.resume, run_id)
    model = ScriptedModel(lambda ask: "1")
    run, progress = execute(engine, run_id, model)
    assert run.state == "finished"
    assert len(model.asked) == 6 - stored_calls


def test_a_run_that_is_resumed_while_it_ends_is_not_executed_twice(engine, a_study, monkeypatch):
    monkeypatch.setattr("storage.worker._worker.HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr("storage.runs.claims.LEASE", timedelta(seconds=0.5))
    run_id = _launch.create_run(engine, make_request(a_study, parallel=1))
    running, concurrent = [], []

    async def slow(ask):
        running.append(ask)
        concurrent.append(len(running))
        if len(concurrent) == 1:
            write(engine, runs.cancel, run_id)
            await asyncio.sleep(1.0)  # longer than the lease
            write(engine, runs.resume, run_id)
            await asyncio.sleep(1.0)
        running.remove(ask)
        return "1"

    worker = RunWorker(engine, lambda: ScriptedModel(slow))
    worker.start()
    try:
        assert wait_until(engine, run_id)
    finally:
        worker.stop()
    assert max(concurrent) == 2  # one call at once to each of two models
    assert len(concurrent) == 6  # three items, two judges, no call twice


def wait_until(engine, run_id, state="finished") -> bool:
    """Return whether the run reaches a state within twenty seconds."""
    return wait_for(lambda: _launch.progress(engine, run_id)[0].state == state)


def test_a_run_stops_at_its_ceiling(engine, a_study, monkeypatch):
    monkeypatch.setattr("core.llm.costs.maximum_cost", lambda ask: 1.0)
    reply = Reply(text="1", usage=Usage(dollars=1.0))
    run, progress = execute(
        engine, _launch.create_run(engine, make_request(a_study, ceiling=3.0)), ScriptedModel(lambda ask: reply)
    )
    assert run.state == "stopped"
    assert "$3.00" in run.problem
    assert progress.totals.dollars <= 3.0


def test_a_run_stops_early_when_its_first_traces_fail(engine, a_study, monkeypatch):
    monkeypatch.setattr("storage.worker._worker.MAX_INITIAL_FAILURES", 2)

    def wrong_key(ask):
        raise PermanentFailure("The key was refused.")

    run, progress = execute(
        engine, _launch.create_run(engine, make_request(a_study, parallel=1)), ScriptedModel(wrong_key)
    )
    assert run.state == "stopped"
    quoted = "The call to a failed: The key was refused."
    assert run.problem == f"The first 5 items all failed: “{quoted}” Fix the cause, and resume."
    assert progress.failed >= 2


def test_the_claim_of_a_crashed_worker_expires(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))
    with writing(engine) as session:
        claims.claim_run(session, run_id, "crashed")
        claims.claim_traces(session, run_id, "crashed", 3)
    assert read(engine, claims.unclaimed) == []
    sentences: list[str] = []

    def expire(sentence: str) -> None:
        sentences.append(sentence)
        with writing(engine) as session:
            session.execute(update(RunRow).values(claimed_until=now()))

    model = ScriptedModel(lambda ask: "2")
    run, progress = asyncio.run(_launch.execute_here(engine, run_id, lambda *_: None, model, notify=expire))
    assert run.state == "finished"
    assert progress.done == 3
    assert sentences == [_worker.WAITING]


def test_the_run_worker_executes_requested_runs_in_a_server(engine, a_study, monkeypatch):
    worker = RunWorker(engine, lambda: ScriptedModel(lambda ask: "1"))
    worker.start()
    run_id = _launch.create_run(engine, make_request(a_study))
    monkeypatch.setattr(guards, "_process_enforced", [True])  # as in a server

    try:
        with guards.operation():
            guards.grant(a_study.id, "run")
            assert wait_until(engine, run_id)
    finally:
        worker.stop()


def test_a_worker_that_is_stopped_completes_its_calls_and_leaves_the_run_to_others(engine, a_study):
    calls, second = [], threading.Event()

    async def slow(ask):
        calls.append(ask)
        if len(calls) == 2:
            second.set()
        await asyncio.sleep(0.3)
        return "1"

    worker = RunWorker(engine, lambda: ScriptedModel(slow))
    worker.start()
    run_id = _launch.create_run(engine, make_request(a_study, parallel=1))
    assert second.wait(20)
    worker.stop()
    run, progress = _launch.progress(engine, run_id)
    assert (run.state, run.active, progress.totals.calls) == ("requested", False, len(calls))
    assert progress.done < 3
    run, progress = execute(engine, run_id, ScriptedModel(slow))
    assert (run.state, progress.done, len(calls)) == ("finished", 3, 6), "no call is repeated"


def test_a_database_error_stops_the_run_with_a_sentence(engine, a_study, monkeypatch):
    def fail(*_):
        raise OperationalError("insert", {}, Exception("disk fail"))

    run_id = _launch.create_run(engine, make_request(a_study))
    write(engine, claims.claim_run, run_id, "worker")
    monkeypatch.setattr("storage.runs.outcomes.append_events", fail)
    asyncio.run(execute_run(engine, run_id, ScriptedModel(lambda ask: "1"), worker="worker"))
    run, _ = _launch.progress(engine, run_id)
    assert run.state == "stopped"
    assert "could not be stored" in run.problem


def test_a_ceiling_over_calls_of_unknown_price_gives_a_warning(engine, a_study):
    unpriced, free = make_request(a_study, ceiling=1.0), make_request(a_study)
    assert "price is known" in _launch.ceiling_warning(unpriced, _launch.estimate_run(engine, unpriced))
    assert _launch.ceiling_warning(free, _launch.estimate_run(engine, free)) == ""


def test_unfinished_traces_of_an_earlier_version_start_again_with_the_prompts_of_today(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))
    with writing(engine) as session:
        claims.claim_run(session, run_id, "old")
        finished, begun, _ = (trace.id for trace in claims.claim_traces(session, run_id, "old", 3))
        outcomes.append_events(session, [NewEvent(finished, 0, a_turn()), NewEvent(finished, 1, a_verdict())])
        outcomes.append_events(session, [NewEvent(begun, 0, a_turn(prompt="An old prompt."))])
        prompts = runs.get(session, run_id).prompts
        claims.locked(session, run_id).prompts = prompts | {"retired": "A template of an earlier version."}
        claims.release(session, run_id, "old", state="requested")
    model = ScriptedModel(lambda ask: "1")
    run, progress = execute(engine, run_id, model)
    assert (run.state, progress.done, run.prompts) == ("finished", 3, prompts)
    assert len(model.asked) == 4, "two judges on each of two items"
    with reading(engine) as session:
        assert [event.type for event in traces.events_with_prompts(session, begun)][:2] == ["turn", "restarted"]
        assert [event.type for _, event in traces.events(session, finished)] == ["turn", "verdict"]


def test_a_worker_that_lost_its_claim_stores_nothing(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))
    write(engine, claims.claim_run, run_id, "suspended")

    async def taken_over(ask):
        with writing(engine) as session:
            session.execute(update(RunRow).values(claimed_by="successor"))
        return "1"

    asyncio.run(execute_run(engine, run_id, ScriptedModel(taken_over), worker="suspended"))
    run, progress = _launch.progress(engine, run_id)
    assert (progress.totals.calls, progress.done) == (0, 0)
    assert (run.state, run.active) == ("requested", True), "the successor continues it"


# Who watches a trace sees what its judges are writing, and nothing is left of it afterwards


def test_an_open_call_is_stated_while_its_trace_is_watched(engine, a_study, monkeypatch):
    monkeypatch.setattr(_transactions, "LOOK", 0.05)
    monkeypatch.setattr(_transactions, "STATE", 0.05)
    run_id = _launch.create_run(engine, make_request(a_study, parallel=1))
    first, other, *_ = read(engine, find_traces, traces.Filter(a_study.id, run_id))
    write(engine, traces.watch, first.id)
    seen: dict[str, set[str]] = {first.item: set(), other.item: set()}

    async def reply(ask):
        """Write as a client does, until a page can read it."""
        end = time.monotonic() + 2.0
        while time.monotonic() < end and not seen[first.item]:
            call = progress.streamed_call(ask)
            if call is not None:
                call.text = f"{ask.speaker} writes \x00"
            await asyncio.sleep(0.05)
            with reading(engine) as session:
                for trace in (first, other):
                    seen[trace.item] |= {one.text for one in traces.open_calls(session, trace.id) if one.text}
        return "1"

    run, _ = execute(engine, run_id, ScriptedModel(reply))
    assert run.state == "finished"
    assert seen[first.item] <= {"a writes \ufffd", "b writes \ufffd"} and seen[first.item]
    assert not seen[other.item]  # nobody watches it: its replies are requested as a whole


def test_what_a_killed_worker_stated_is_not_shown_as_open(engine, a_study, monkeypatch):
    run_id = _launch.create_run(engine, make_request(a_study))
    first, second, *_ = read(engine, find_traces, traces.Filter(a_study.id, run_id))
    with writing(engine) as session:
        traces.watch(session, first.id)
        traces.state_calls(session, {first.id: [progress.OpenCall("a", 0, time.time(), "half")]})
    with reading(engine) as session:
        assert [call.text for call in traces.open_calls(session, first.id)] == ["half"]
        monkeypatch.setattr(traces, "STATED", timedelta(0))
        assert not traces.open_calls(session, first.id)
    monkeypatch.setattr(traces, "WATCHED", timedelta(seconds=-1))
    write(engine, traces.watch, first.id)
    write(engine, traces.watch, second.id)
    with reading(engine) as session:
        assert list(session.scalars(select(col(LiveTraceRow.trace_id)))) == [second.id]


# From a request to a run: images, ceilings, and protocols that are not installed


def request_reviews(study, **specs):
    settings = make_settings()
    peers = tuple(peer.model_copy(update={"spec": peer.spec.model_copy(update=specs)}) for peer in settings.peers)
    return RunRequest(study, PROTOCOLS["refer"], settings.model_copy(update={"peers": peers}), "run")


def test_a_run_over_images_is_refused_where_none_are_sent_or_seen(engine):
    item = make_item(responses=(Response(text="", image="https://a.org/b.png"),))
    study = import_study(engine, [ItemRecord(item=item)])
    settings = PairSettings(judge=Judge(name="a", spec=Spec(model="m")), criterion=Criterion(name="x"))
    for start in (create_run, estimate_run):
        with pytest.raises(TiebreakError, match="has an image, and Single judge, pair sends none"):
            start(engine, RunRequest(study, PROTOCOLS["single-judge"], settings, "run"))
        with pytest.raises(TiebreakError, match="local cannot see"):
            start(engine, request_reviews(study, model="local"))
    assert create_run(engine, request_reviews(study, model="gpt-4o-mini"))


REFUSED_PROMPTS = {
    r'The prompt "direct" has to contain \$submission_1\.': "Which is better? $submission_2",
    r'The raw prompt "direct" names no rule for its replies: .*\.$': "raw:\n$submission_1 $submission_2",
    r'The raw prompt "direct" names the rule .best., .*\.$': "raw: best\n$submission_1 $submission_2",
}


@pytest.mark.parametrize("problem", REFUSED_PROMPTS)
def test_a_run_whose_prompts_cannot_be_filled_or_read_is_refused(engine, a_study, tmp_path, problem):
    settings = {"judge": {"name": "a", "model": "m"}, "criterion": "x"}
    pair = PROTOCOLS["single-judge"]
    request = RunRequest(
        a_study, pair, PairSettings(judge=Judge(name="a", spec=Spec(model="m")), criterion=Criterion(name="x")), "run"
    )
    lacking = {"direct": REFUSED_PROMPTS[problem]}
    write(engine, studies.update_prompts, a_study.id, {f"{pair.name}/{name}": text for name, text in lacking.items()})
    stored = read(engine, studies.by_id, a_study.id)
    for start in (create_run, estimate_run):
        for refused in (replace(request, study=stored), replace(request, own_prompts=lacking)):
            with pytest.raises(TiebreakError, match=problem):
                start(engine, refused)
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump(settings | {"prompts": lacking}))
    with pytest.raises(TiebreakError, match=problem):
        request_from_file(engine, a_study, pair.name, file, None)


@pytest.fixture
def foreign_run(engine, a_study):
    """A run that was created when its protocol was installed; it is not installed now."""
    run_id = create_run(engine, request_reviews(a_study))
    with writing(engine) as session:
        session.execute(update(RunRow).values(protocol="their-method"))
    return run_id


NOT_INSTALLED = r"The protocol 'their-method' is not installed here\. Installed protocols: .*\.$"


def test_a_run_that_is_executed_is_not_requested_again_by_a_command(engine, a_study):
    run_id = create_run(engine, request_reviews(a_study))
    with writing(engine) as session:
        claims.claim_run(session, run_id, "another process")
        session.execute(update(RunRow).values(problem="untouched"))
    assert resume_run(engine, a_study, "run") == run_id
    assert _launch.progress(engine, run_id)[0].problem == "untouched"
    with pytest.raises(TiebreakError, match="requested already"):
        resume_run(engine, a_study, "run", ceiling=50.0)


def test_without_its_protocol_a_run_is_refused_and_resuming_changes_nothing(engine, a_study, foreign_run, tmp_path):
    with pytest.raises(TiebreakError, match=NOT_INSTALLED):
        request_from_file(engine, a_study, "their-method", tmp_path / "settings.yaml", None)
    write(engine, runs.cancel, foreign_run)
    with pytest.raises(TiebreakError, match=NOT_INSTALLED):
        resume_run(engine, a_study, "run")
    run, _ = _launch.progress(engine, foreign_run)
    assert run.state == "cancelled"


@pytest.mark.parametrize(
    ("stored", "problem"),
    [({"protocol": "their-method"}, "'their-method' is not installed"), ({"settings": {"peers": 3}}, "field 'peers'")],
)
def test_a_missing_protocol_and_settings_that_are_no_longer_valid_stop_the_run(engine, a_study, stored, problem):
    run_id = create_run(engine, request_reviews(a_study))
    with writing(engine) as session:
        session.execute(update(RunRow).values(**stored))
    run, _ = execute(engine, run_id, ScriptedModel(lambda ask: "1"))
    assert (run.state, problem in run.problem) == ("stopped", True)


def test_an_imported_run_is_listed_where_its_protocol_is_not_installed(engine, a_study):
    import_records(engine, "s", [RunRecord(name="elsewhere", protocol="their-method")])
    assert read(engine, runs.uninstalled_protocol_notes, a_study.id) == [
        "The protocol 'their-method' of run 'elsewhere' is not installed here."
    ]


@pytest.mark.parametrize("start", [create_run, estimate_run])
def test_a_raw_prompt_whose_rule_reads_no_reply_is_refused(engine, start):
    import_records(engine, "s", [ItemRecord(item=make_item(responses=(Response(text="x"),)))])
    request = request_reviews(read(engine, studies.get, "s"))
    prompts = {"chair": "raw: row\n$response $reviews"}
    with pytest.raises(
        TiebreakError, match=r'"chair" names the rule row, .*: use json, marked, labelled, line or sent'
    ):
        start(engine, replace(request, own_prompts=prompts))
    with pytest.raises(TiebreakError, match='"chair" asks for a scale of 1 to 77, and the settings have 1 to 5'):
        start(engine, replace(request, own_prompts={"chair": "raw: line\nOn a scale of 1 to 77: $response $reviews"}))
    assert start(engine, replace(request, own_prompts={"chair": "raw: row, line\n$response $reviews"}))
