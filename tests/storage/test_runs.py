from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, text, update

from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.trace import TraceFailed
from storage.db.connections import clock, writing
from storage.db.tables import ExperimentRow, RunRow
from storage.runs import claims, events, outcomes, runs
from storage.runs.call_totals import Totals
from storage.runs.outcomes import NewEvent
from storage.runs.runs import Progress
from storage.studies import studies
from storage.studies.items import ItemSelection
from storage.transfer import imports
from tests.conftest import make_item
from tests.sessions import read, write
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, expire_claims


@pytest.fixture
def a_run(engine, a_study):
    return write(engine, create, a_study)


def create(session, study, name="r", **fields):
    defaults = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {"rounds": 3}, "prompts": {"a": "b"}}
    return runs.create(session, study.id, name, **defaults | fields)


def get(engine, run):
    return read(engine, runs.get, run)


def test_a_run_has_a_trace_for_every_item_or_for_the_first_ones(engine, a_study, a_run):
    with writing(engine) as session:
        few = create(session, a_study, selection=ItemSelection(limit=2))
        assert [run.name for run in runs.of_study(session, a_study.id)] == ["r 2", "r"]
        assert (runs.progress(session, a_run).traces, runs.progress(session, few).traces) == (3, 2)
        both = runs.progress_by_run(session, [few, a_run])
        assert both == {few: runs.progress(session, few), a_run: runs.progress(session, a_run)}
        with pytest.raises(TiebreakError, match="no items to run over"):
            create(session, a_study, selection=ItemSelection(scenario="cooking"))


def test_a_run_is_read_back_as_created(engine, a_study):
    run = write(engine, create, a_study, seed=7, ceiling=1.5, parallel=3)
    run = get(engine, run)
    assert (run.settings, run.prompts, run.seed, run.ceiling, run.parallel) == (
        {"rounds": 3},
        {"a": "b"},
        7,
        1.5,
        3,
    )
    assert (run.state, run.source, run.active) == ("requested", "live", False)
    with pytest.raises(TiebreakError, match="no run 0"):
        get(engine, 0)


def test_a_trace_is_claimed_once_and_by_the_worker_of_its_run_only(engine, a_run):
    write(engine, claims.claim_run, a_run, "one")
    first = write(engine, claims.claim_traces, a_run, "one", 2)
    second = write(engine, claims.claim_traces, a_run, "one", 2)
    assert (len(first), len(second), write(engine, claims.claim_traces, a_run, "one", 2)) == (2, 1, [])
    assert not {trace.id for trace in first} & {trace.id for trace in second}
    with pytest.raises(claims.ClaimLost):
        write(engine, claims.claim_traces, a_run, "two", 2)


def test_expired_claims_of_a_run_and_its_traces_can_be_claimed_again(engine, a_run):
    assert write(engine, claims.claim_run, a_run, "one")
    claimed = write(engine, claims.claim_traces, a_run, "one", 3)
    assert not write(engine, claims.claim_run, a_run, "two")
    assert write(engine, claims.unclaimed) == []
    expire_claims(engine)
    assert write(engine, claims.unclaimed) == [a_run]
    assert write(engine, claims.claim_run, a_run, "two")
    assert write(engine, claims.claim_traces, a_run, "two", 3) == claimed
    assert not write(engine, claims.renew_claim, a_run, "one")
    write(engine, claims.release, a_run, "one")
    assert write(engine, claims.claim_traces, a_run, "two", 3) == []


def test_a_run_is_finished_when_every_trace_has_ended(engine, a_run):
    write(engine, claims.claim_run, a_run, "one")
    first, second, third = (trace.id for trace in write(engine, claims.claim_traces, a_run, "one", 3))
    write(
        engine,
        outcomes.append_events,
        [NewEvent(first, 0, a_verdict("agreed", (1, 1, 1))), NewEvent(second, 0, a_verdict())],
    )
    write(engine, claims.release, a_run, "one")
    assert get(engine, a_run).state == "requested"
    write(engine, claims.claim_run, a_run, "one")
    write(engine, outcomes.append_events, [NewEvent(third, 0, TraceFailed(problem="no key"))])
    write(engine, claims.release, a_run, "one")
    assert get(engine, a_run).state == "finished"
    counts = read(engine, runs.progress, a_run)
    assert (counts.done, counts.failed, counts.agreed, counts.disputed, counts.no_verdict) == (2, 1, 1, 1, 0)
    assert "1 failed: no key; 0 calls" in counts.summary()


def test_a_cancelled_run_is_claimed_until_its_running_traces_have_ended(engine, a_run):
    write(engine, claims.claim_run, a_run, "one")
    write(engine, runs.cancel, a_run)
    assert (get(engine, a_run).state, write(engine, claims.unclaimed)) == ("cancelling", [])
    assert not write(engine, claims.renew_claim, a_run, "one")
    assert not write(engine, claims.claim_run, a_run, "two")
    write(engine, claims.release, a_run, "one")
    assert (get(engine, a_run).state, get(engine, a_run).active) == ("cancelled", False)


def test_a_requested_run_is_not_resumed_again_so_its_cost_limit_holds(engine, a_run):
    write(engine, runs.cancel, a_run)
    write(engine, runs.resume, a_run, 5.0)
    for _ in range(2):  # before a worker has claimed it, and afterwards
        with pytest.raises(TiebreakError, match="requested already"):
            write(engine, runs.resume, a_run, 50.0)
        write(engine, claims.claim_run, a_run, "one")
    assert get(engine, a_run).ceiling == 5
    with pytest.raises(TiebreakError, match="requested already"), writing(engine) as session:
        runs.resume(session, a_run, interrupted=True)
    expire_claims(engine)
    write(engine, runs.resume, a_run, interrupted=True)


def test_a_run_whose_worker_crashed_during_cancelling_is_cancelled(engine, a_run):
    write(engine, claims.claim_run, a_run, "one")
    write(engine, runs.cancel, a_run)
    expire_claims(engine)
    assert get(engine, a_run).state == "cancelled"
    write(engine, runs.resume, a_run)
    assert write(engine, claims.claim_run, a_run, "two")


def test_a_stopped_run_has_a_reason_and_resumes_its_failed_traces(engine, a_run):
    write(engine, claims.claim_run, a_run, "one")
    (trace,) = [claimed.id for claimed in write(engine, claims.claim_traces, a_run, "one", 1)]
    write(
        engine,
        outcomes.append_events,
        [NewEvent(trace, 0, a_turn()), NewEvent(trace, 1, TraceFailed(problem="no key"))],
    )
    write(engine, claims.release, a_run, "one", "stopped", "at its ceiling")
    assert (get(engine, a_run).state, get(engine, a_run).problem) == ("stopped", "at its ceiling")
    write(engine, runs.resume, a_run)
    assert (get(engine, a_run).state, get(engine, a_run).problem) == ("requested", "")
    write(engine, claims.claim_run, a_run, "two")
    reclaimed = write(engine, claims.claim_traces, a_run, "two", 3)
    assert reclaimed[0].id == trace
    assert write(engine, events.next_sequence_numbers, [one.id for one in reclaimed]) == {
        reclaimed[0].id: 2,
        reclaimed[1].id: 0,
        reclaimed[2].id: 0,
    }


def test_an_imported_run_cannot_be_resumed(engine, a_study):
    imports.import_records(engine, "s", [RUN, a_trace("item 0")])
    with writing(engine) as session, pytest.raises(TiebreakError, match="this one was imported"):
        runs.resume(session, runs.of_study(session, a_study.id)[0].id)


def test_an_unknown_price_is_never_shown_as_zero():
    def summary(**totals):
        return Progress(1, 1, 0, 1, 0, 0, Totals(**totals)).summary()

    assert "$0.00" not in summary(calls=3, unpriced=3)
    assert "3 calls of unknown price" in summary(calls=3, unpriced=3)
    assert "$0.20 and 3 calls of unknown price" in summary(calls=5, dollars=0.2, unpriced=3)
    assert "$0.00" in summary(calls=3)
    assert summary(refused_schemas=1).endswith("0 errors (and 1 refused JSON schema, asked for text instead)")


class FastClock(datetime):
    """The clock of a host that is a minute fast."""

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + timedelta(minutes=1)


def test_claims_expire_by_the_clock_of_the_database_not_by_that_of_a_host(postgres_engine, monkeypatch):
    imports.import_records(postgres_engine, "skewed", [ItemRecord(item=make_item())])
    with writing(postgres_engine) as session:
        run_id = create(session, studies.get(session, "skewed"))
        assert claims.claim_run(session, run_id, "one")
    monkeypatch.setattr("storage.db.tables.datetime", FastClock)
    monkeypatch.setattr("storage.db.connections.datetime", FastClock)
    assert get(postgres_engine, run_id).active
    assert write(postgres_engine, claims.unclaimed) == []
    assert not write(postgres_engine, claims.claim_run, run_id, "two")
    with writing(postgres_engine) as session:
        session.execute(text("DELETE FROM study"))


def test_a_run_without_a_worker_is_cancelled_at_once_and_resumed_with_another_ceiling(engine, a_run):
    write(engine, runs.cancel, a_run)
    assert get(engine, a_run).state == "cancelled"
    write(engine, runs.resume, a_run, 50.0)
    assert get(engine, a_run).ceiling == 50
    write(engine, runs.cancel, a_run)
    write(engine, runs.resume, a_run)
    assert get(engine, a_run).ceiling == 50


def test_the_ceiling_of_an_experiment_is_not_changed_with_one_run(engine, a_run):
    with writing(engine) as session:
        experiment = ExperimentRow(study_id=get(engine, a_run).study_id, name="e", definition="")
        session.add(experiment)
        session.flush()
        session.get_one(RunRow, a_run).experiment_id = experiment.id
    write(engine, runs.cancel, a_run)
    with pytest.raises(TiebreakError, match="the cost limit of the experiment applies"):
        write(engine, runs.resume, a_run, 50.0)
    assert get(engine, a_run).ceiling is None


# Claims, and how a run ends


FIELDS = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}


@pytest.fixture
def session(engine, a_study):
    """Run 1 is requested and nobody executes it."""
    with writing(engine) as session:
        runs.create(session, a_study.id, "shared", **FIELDS)
        yield session


def the_run(session):
    return session.scalars(select(RunRow).execution_options(populate_existing=True)).one()


def set_run(session, **values):
    session.execute(update(RunRow).values(**values))
    return the_run(session)


def test_a_claim_of_a_run_lasts_seconds_and_is_renewed(session):
    run = the_run(session)
    claims.claim_run(session, run.id, "a")
    set_run(session, claimed_until=clock(session) + timedelta(seconds=1))
    assert claims.renew_claim(session, run.id, "a") and not claims.renew_claim(session, run.id, "b")
    assert 10 < (the_run(session).claimed_until - clock(session)).total_seconds() <= 15


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
