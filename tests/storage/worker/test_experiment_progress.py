from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from storage.db.connections import reading, writing
from storage.db.tables import EventRow, RunRow
from storage.runs import calls, claims, experiments
from storage.runs.calls import stored_models
from storage.runs.experiments import rate_of
from storage.studies.studies import Study
from tests.sessions import read
from tests.storage.worker.test_experiment_runs import begin, execute


def test_the_rate_is_without_the_pause_between_two_executions(engine: Engine, a_study: Study) -> None:
    """Six traces end 100 seconds ago, six 11 seconds ago; the calls take one second."""
    experiment_id = begin(engine, a_study)
    execute(engine, experiment_id)
    at = datetime.now(UTC)
    with writing(engine) as session:
        ids = [run.id for run in experiments.runs_of(session, experiment_id)]
        for run_ids, age in ((ids[:2], 100), (ids[2:], 11)):
            changed = update(EventRow).where(col(EventRow.run_id).in_(run_ids))
            session.execute(changed.values(at=at - timedelta(seconds=age)))
    with reading(engine) as session:
        assert rate_of(session, ids).per_minute == pytest.approx(30, rel=0.1)
        assert rate_of(session, ids[:2]).per_minute == pytest.approx(60 * 6 / 101, rel=0.1)
        assert rate_of(session, ids, at).per_minute == 0


def test_the_progress_states_a_wait_that_a_provider_asked_for(engine: Engine, a_study: Study) -> None:
    experiment_id = begin(engine, a_study)
    with writing(engine) as session:
        name, address, *_ = next(stored_models(experiments.runs_of(session, experiment_id)[0].settings))
        calls.record_pause(session, calls.pause_key(name, address), 90.0)
    summary = read(engine, experiments.progress, experiment_id).summary()
    assert f"; the provider of {name} asked to wait until " in summary


def test_a_process_that_has_a_run_and_does_not_respond_is_named(engine: Engine, a_study: Study) -> None:
    experiment_id = begin(engine, a_study)
    with writing(engine) as session:
        run_id = experiments.runs_of(session, experiment_id)[0].id
        assert claims.claim_run(session, run_id, "host:12:ab")
    assert read(engine, experiments.progress, experiment_id).unseen == ""
    with writing(engine) as session:
        until = datetime.now(UTC) + timedelta(seconds=7.9)
        session.execute(update(RunRow).where(col(RunRow.id) == run_id).values(claimed_until=until))
    wait = read(engine, experiments.progress, experiment_id).wait
    assert wait == "The process host:12 does not respond; its run is continued in 8 seconds."


def test_traces_without_a_verdict_are_counted(engine: Engine, a_study: Study) -> None:
    progress, _ = execute(engine, begin(engine, a_study), lambda ask: "I would rather not say.")
    assert (progress.done, progress.failed, progress.no_verdict) == (12, 0, 12)
    assert "12 of 12 traces, 0 failed, 12 without a verdict; " in progress.summary()


def test_cancelling_counts_the_runs_that_had_not_ended(engine: Engine, a_study: Study) -> None:
    experiment_id = begin(engine, a_study)
    with writing(engine) as session:
        assert experiments.cancel(session, experiment_id) == 4
        assert experiments.cancel(session, experiment_id) == 0
