"""Claims of single traces by workers that share a run, and how such a run ends."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from core.errors import TiebreakError
from storage.db.connections import clock, writing
from storage.db.tables import ExperimentRow, RunRow, SpendingRow, TraceRow
from storage.runs import calls, claims, runs

FIELDS = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}


@pytest.fixture
def session(engine, a_study):
    """Run 1 is requested and nobody executes it."""
    with writing(engine) as session:
        runs.create(session, a_study.id, "shared", **FIELDS)
        yield session


def the_run(session):
    return session.scalars(select(RunRow).execution_options(populate_existing=True)).one()


def claim(session, worker, **options):
    """The first trace that a worker claims; None if there is none."""
    run = claims.locked_if_shared(session, the_run(session).id)
    return next(iter(claims.claim_shared(session, run.id, worker, 1, **options)), None) if run else None


def set_run(session, **values):
    session.execute(update(RunRow).values(**values))
    return the_run(session)


def test_a_trace_is_taken_over_from_a_dead_worker_only_and_only_on_request(session):
    run, worker = the_run(session), calls.register_worker(session, "a")
    claimed = claims.claim_shared(session, run.id, "a", 9, take_over=False)
    assert len(claimed) == 3 and claim(session, "b") is None
    calls.remove_worker(session, worker)
    assert claim(session, "b", take_over=False) is None
    assert claim(session, "b", without=[claimed[0].id]) == claimed[1]
    traces = {trace.id: "a" for trace in claimed}
    assert claims.lost(session, traces) == {claimed[1].id} and claims.lost(session, {claimed[1].id: "b"}) == set()


def test_nobody_shares_a_run_that_one_worker_executes_alone(session):
    run = the_run(session)
    claims.claim_run(session, run.id, "alone")
    assert claim(session, "b") is None
    run = set_run(session, state="cancelling")
    assert claims.cancelling_runs(session) == []
    claims.end_if_done(session, run)
    assert run.state == "cancelling"
    run = set_run(session, claimed_until=clock(session) - timedelta(seconds=1))
    assert claims.cancelling_runs(session) == [run.id] and claims.locked_if_shared(session, run.id)


def test_a_run_that_is_being_cancelled_ends_with_its_last_claim(session):
    run, worker = the_run(session), calls.register_worker(session, "a")
    claims.end_if_done(session, run)
    assert run.state == "requested" and claims.cancelling_runs(session) == []
    assert claims.count_claimed(session, run.id) == 0
    claim(session, "a")
    run = set_run(session, state="cancelling")
    claims.end_if_done(session, run)
    assert run.state == "cancelling" and claims.count_claimed(session, run.id) == 1
    calls.remove_worker(session, worker)
    claims.end_if_done(session, run)
    assert (run.state, run.ended_at is None) == ("cancelled", False)


def test_the_costs_of_one_run_are_forgotten_when_a_worker_takes_it_alone(session):
    run = the_run(session)
    other = runs.create(session, run.study_id, "other", **FIELDS)
    session.add_all(SpendingRow(run_id=run_id, dollars=1.0) for run_id in (run.id, other))
    session.flush()
    claims.claim_run(session, run.id, "a")
    assert list(session.scalars(select(SpendingRow.run_id))) == [other]


def test_a_shared_run_with_a_verdict_goes_on_when_traces_fail(session, monkeypatch):
    monkeypatch.setattr(claims, "MAX_INITIAL_FAILURES", 1)
    ids = list(session.scalars(select(TraceRow.id).order_by(TraceRow.id)))
    for trace_id, outcome in zip(ids, ("agreed", "failed"), strict=False):
        session.execute(update(TraceRow).where(TraceRow.id == trace_id).values(outcome=outcome))
    claimed = claim(session, "a")
    claims.release_trace(session, claimed, "a", failed=True)
    assert the_run(session).state == "requested"


@pytest.mark.parametrize(("rest", "claimed"), [(0, 1), (1, 1), (2, 3)])
def test_traces_are_claimed_with_a_rest_that_is_small(session, rest, claimed):
    claims.claim_run(session, the_run(session).id, "a")
    assert len(claims.claim_traces(session, the_run(session).id, "a", 1, rest)) == claimed


def test_a_claim_of_a_run_lasts_seconds_and_is_renewed(session):
    run = the_run(session)
    claims.claim_run(session, run.id, "a")
    left = claims.seconds_left(session, [run.id])
    assert 10 < left <= 15
    set_run(session, claimed_until=clock(session) + timedelta(seconds=1))
    assert claims.renew_claim(session, run.id, "a") and not claims.renew_claim(session, run.id, "b")
    assert 10 < claims.seconds_left(session, [run.id]) <= 15


def test_a_trace_is_claimed_in_its_own_run_only(session):
    run = the_run(session)
    other = runs.create(session, run.study_id, "other", **FIELDS)
    worker = calls.register_worker(session, "a")
    assert [claimed.run_id for claimed in claims.claim_shared(session, other, "a", 9)] == 3 * [other]
    assert [claims.is_executed(session, session.get(RunRow, run_id)) for run_id in (run.id, other)] == [False, True]
    calls.remove_worker(session, worker)


def test_runs_of_an_experiment_wait_for_one_that_is_executed_until_its_claim_ends(session, monkeypatch):
    run, at = the_run(session), clock(session)
    experiment = ExperimentRow(study_id=run.study_id, name="e", definition="")
    session.add(experiment)
    session.flush()
    later = runs.create(session, run.study_id, "later", experiment_id=experiment.id, **FIELDS)
    session.execute(update(RunRow).where(RunRow.id == run.id).values(experiment_id=experiment.id))
    assert claims.unclaimed(session) == [run.id], "one after another"
    monkeypatch.setattr(claims, "clock", lambda session: at)
    for seconds, found in ((1, []), (0, [run.id])):
        values = {"state": "cancelling", "claimed_until": at + timedelta(seconds=seconds)}
        session.execute(update(RunRow).where(RunRow.id == later).values(**values))
        assert claims.unclaimed(session, run_ids=[run.id, later]) == found


def test_a_run_is_read_again_when_it_is_locked(session):
    run = the_run(session)
    with pytest.raises(TiebreakError, match="no run 99"):
        claims.locked(session, 99)
    session.connection().exec_driver_sql("UPDATE run SET state = 'stopped'")  # as another process does
    assert run.state == "requested" and not claims.claim_run(session, run.id, "a")


def test_a_shared_run_stops_when_its_first_traces_all_fail_and_ends_with_its_last(session, monkeypatch):
    monkeypatch.setattr(claims, "MAX_INITIAL_FAILURES", 2)
    worker = calls.register_worker(session, "a")

    def end(outcome: str) -> str:
        claimed = claim(session, "a")
        values = {"outcome": outcome, "problem": "No key."}
        session.execute(update(TraceRow).where(TraceRow.id == claimed.id).values(**values))
        claims.release_trace(session, claimed, "a", failed=outcome == "failed")
        return the_run(session).state

    assert [end("failed"), end("failed")] == ["requested", "stopped"]
    set_run(session, state="requested")
    assert end("agreed") == "finished"
    claims.stop(session, the_run(session).id, "No key.")
    assert the_run(session).state == "finished", "only a requested run is stopped"
    calls.remove_worker(session, worker)
