"""The sums over the calls of a run are stored when it ends, and used as long as it has no newer events."""

import pytest
from sqlalchemy import select

from core.formats import tiebreak
from core.llm.costs import RecordedCalls, estimate_run
from core.protocols import registry
from storage.db.connections import reading, writing
from storage.db.tables import EventRow, RunRow
from storage.runs import call_totals, calls, claims, outcomes, runs, traces
from storage.runs.calls import model_names
from storage.runs.outcomes import NewEvent
from storage.studies import items, studies
from storage.transfer import imports, samples
from storage.worker import _launch
from tests.pages.test_queries import statements_of
from tests.sessions import write
from tests.storage.shared import a_turn, a_verdict, find_traces


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


def test_events_after_the_end_of_a_run_are_in_its_sums(engine, a_trace_id):
    append(engine, a_trace_id, 0, a_turn(0))
    run_id, _ = run_of(engine, a_trace_id)
    release(engine, run_id)
    append(engine, a_trace_id, 1, a_turn(1), a_verdict())
    totals, statements = totals_with_statements(engine, run_id)
    assert (totals.calls, len(statements)) == (2, 1)


def test_calls_in_flight_when_a_run_is_stopped_are_in_its_sums_when_the_last_has_ended(engine, a_study):
    with writing(engine) as session:
        fields = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}
        run_id = runs.create(session, a_study.id, "shared", **fields)
        calls.register_worker(session, "worker")
        claimed = claims.claim_shared(session, run_id, "worker", 2)
    append(engine, claimed[0].id, 0, a_turn(0))
    write(engine, claims.stop, run_id, "The ceiling is reached.")
    stored = []
    for claim in claimed:
        append(engine, claim.id, 1, a_turn(1))
        write(engine, claims.release_trace, claim, "worker")
        stored.append(run_of(engine, claim.id)[1]["calls"])
    assert stored == [1, 3], "one query over all events, after the last call"
    totals, statements = totals_with_statements(engine, run_id)
    assert (totals.calls, statements) == (3, [])


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
