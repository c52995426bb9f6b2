"""Claims of single traces by workers that share a run, and how such a run ends."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from storage.db.connections import clock, writing
from storage.db.tables import RunRow, SpendingRow, TraceRow
from storage.runs import calls, claims, runs


@pytest.fixture
def session(engine, a_study):
    """Run 1 is requested and nobody executes it."""
    with writing(engine) as session:
        fields = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}
        runs.create(session, a_study.id, "shared", **fields)
        yield session


def the_run(session):
    return session.scalars(select(RunRow).execution_options(populate_existing=True)).one()


def first_trace(session):
    return session.scalars(select(TraceRow.id).order_by(TraceRow.id)).first()


def set_run(session, **values):
    session.execute(update(RunRow).values(**values))
    return the_run(session)


def test_a_trace_is_taken_over_from_a_dead_worker_only_and_only_on_request(session):
    trace, worker = first_trace(session), calls.register_worker(session, "a")
    assert claims.claim_trace(session, trace, "a", take_over=False) is not None
    assert claims.claim_trace(session, trace, "b") is None
    calls.remove_worker(session, worker)
    assert claims.claim_trace(session, trace, "b", take_over=False) is None
    assert claims.claim_trace(session, trace, "b") is not None
    assert claims.lost(session, {trace: "a"}) == {trace} and claims.lost(session, {trace: "b"}) == set()


def test_nobody_shares_a_run_that_one_worker_executes_alone(session):
    run = the_run(session)
    claims.claim_run(session, run.id, "alone")
    assert claims.claim_trace(session, first_trace(session), "b") is None
    assert claims.locked_if_shared(session, run.id) is None
    run = set_run(session, state="cancelling")
    assert claims.cancelling_runs(session) == []
    claims.end_if_done(session, run)
    assert run.state == "cancelling"
    run = set_run(session, claimed_until=clock(session) - timedelta(seconds=1))
    assert claims.cancelling_runs(session) == [run.id] and claims.locked_if_shared(session, run.id)


def test_a_run_that_is_being_cancelled_ends_with_its_last_claim(session):
    run, trace, worker = the_run(session), first_trace(session), calls.register_worker(session, "a")
    claims.end_if_done(session, run)
    assert run.state == "requested" and claims.cancelling_runs(session) == []
    claims.claim_trace(session, trace, "a")
    run = set_run(session, state="cancelling")
    claims.end_if_done(session, run)
    assert run.state == "cancelling" and claims.count_claimed(session, run.id) == 1
    calls.remove_worker(session, worker)
    claims.end_if_done(session, run)
    assert (run.state, run.ended_at is None) == ("cancelled", False)


def test_the_costs_of_one_run_are_forgotten_when_a_worker_takes_it_alone(session):
    run = the_run(session)
    fields = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}
    other = runs.create(session, run.study_id, "other", **fields)
    session.add_all(SpendingRow(run_id=run_id, dollars=1.0) for run_id in (run.id, other))
    session.flush()
    claims.claim_run(session, run.id, "a")
    assert list(session.scalars(select(SpendingRow.run_id))) == [other]


def test_a_claim_of_a_run_lasts_seconds_and_is_renewed(session):
    run = the_run(session)
    claims.claim_run(session, run.id, "a")
    left = claims.seconds_left(session, [run.id])
    assert 10 < left <= 15
    set_run(session, claimed_until=clock(session) + timedelta(seconds=1))
    assert claims.renew_claim(session, run.id, "a") and not claims.renew_claim(session, run.id, "b")
    assert 10 < claims.seconds_left(session, [run.id]) <= 15
