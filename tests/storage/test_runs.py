from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from core.problems import Problem
from core.trace import TraceFailed
from storage import events, runs, traces
from storage.database import reading, writing
from storage.runs import Progress
from storage.tables import RunRow, TraceRow
from storage.traces import Happened, Totals
from storage.transfer import imports
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict


@pytest.fixture
def a_run(engine, a_study):
    with writing(engine) as session:
        return create(session, a_study)


def create(session, study, name="r", **fields):
    told = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {"rounds": 3}, "prompts": {"a": "b"}}
    return runs.create(session, study.id, name, **told | fields)


def do(engine, what, *arguments):
    with writing(engine) as session:
        return what(session, *arguments)


def get(engine, run):
    with reading(engine) as session:
        return runs.get(session, run)


def end_of_patience(engine):
    """Everything that was claimed is as if its process had died a while ago."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    with writing(engine) as session:
        session.execute(update(TraceRow).where(TraceRow.claimed_until.is_not(None)).values(claimed_until=past))
        session.execute(update(RunRow).where(RunRow.carried_until.is_not(None)).values(carried_until=past))


def test_a_run_has_a_trace_for_every_item_or_for_the_first_few(engine, a_study, a_run):
    with writing(engine) as session:
        few = create(session, a_study, limit=2)
        assert [run.name for run in runs.of_study(session, a_study.id)] == ["r 2", "r"]
        assert (runs.progress(session, a_run).traces, runs.progress(session, few).traces) == (3, 2)
        with pytest.raises(Problem, match="no items to run over"):
            create(session, a_study, scenario="cooking")


def test_a_run_comes_back_as_it_was_asked_for(engine, a_study):
    with writing(engine) as session:
        run = create(session, a_study, seed=7, ceiling=1.5, parallel=3)
    there = get(engine, run)
    assert (there.settings, there.prompts, there.seed, there.ceiling, there.parallel) == (
        {"rounds": 3},
        {"a": "b"},
        7,
        1.5,
        3,
    )
    assert (there.state, there.source, there.alive) == ("requested", "live", False)
    with pytest.raises(Problem, match="no run 0"):
        get(engine, 0)


def test_a_trace_is_claimed_once(engine, a_run):
    first, second = do(engine, runs.claim, a_run, "one", 2), do(engine, runs.claim, a_run, "two", 2)
    assert (len(first), len(second), do(engine, runs.claim, a_run, "three", 2)) == (2, 1, [])
    assert not {trace for trace, _ in first} & {trace for trace, _ in second}


def test_after_a_crash_traces_and_run_are_free_again(engine, a_run):
    assert do(engine, runs.take, a_run, "one")
    held = do(engine, runs.claim, a_run, "one", 3)
    assert not do(engine, runs.take, a_run, "two")
    assert do(engine, runs.waiting) == []
    end_of_patience(engine)
    assert do(engine, runs.waiting) == [a_run]
    assert do(engine, runs.take, a_run, "two")
    assert do(engine, runs.claim, a_run, "two", 3) == held
    assert not do(engine, runs.renew, a_run, "one")
    do(engine, runs.release, a_run, "one")
    assert do(engine, runs.claim, a_run, "three", 3) == []


def test_a_sign_of_life_keeps_what_was_claimed(engine, a_run):
    do(engine, runs.take, a_run, "one")
    do(engine, runs.claim, a_run, "one", 3)
    end_of_patience(engine)
    assert do(engine, runs.renew, a_run, "one")
    assert do(engine, runs.claim, a_run, "two", 3) == []
    assert get(engine, a_run).alive


def test_a_run_is_finished_when_every_trace_has_ended(engine, a_run):
    do(engine, runs.take, a_run, "one")
    (first, _), (second, _), (third, _) = do(engine, runs.claim, a_run, "one", 3)
    do(engine, traces.append, [Happened(first, 0, a_verdict("agreed", (1, 1, 1))), Happened(second, 0, a_verdict())])
    do(engine, runs.release, a_run, "one")
    assert get(engine, a_run).state == "requested"
    do(engine, runs.take, a_run, "one")
    do(engine, traces.append, [Happened(third, 0, TraceFailed(problem="no key"))])
    do(engine, runs.release, a_run, "one")
    assert get(engine, a_run).state == "finished"
    with reading(engine) as session:
        told = runs.progress(session, a_run)
    assert (told.done, told.failed, told.agreed, told.disputed, told.no_verdict) == (2, 1, 1, 1, 0)


def test_a_cancelled_run_is_held_until_what_is_under_way_has_ended(engine, a_run):
    do(engine, runs.take, a_run, "one")
    do(engine, runs.cancel, a_run)
    assert (get(engine, a_run).state, do(engine, runs.waiting)) == ("cancelling", [])
    assert not do(engine, runs.renew, a_run, "one")
    assert not do(engine, runs.take, a_run, "two")
    do(engine, runs.release, a_run, "one")
    assert (get(engine, a_run).state, get(engine, a_run).alive) == ("cancelled", False)


def test_a_run_whose_process_died_while_it_was_cancelled_is_cancelled(engine, a_run):
    do(engine, runs.take, a_run, "one")
    do(engine, runs.cancel, a_run)
    end_of_patience(engine)
    assert get(engine, a_run).state == "cancelled"
    do(engine, runs.resume, a_run)
    assert do(engine, runs.take, a_run, "two")


def test_a_run_that_nobody_carries_is_cancelled_at_once(engine, a_run):
    do(engine, runs.cancel, a_run)
    assert get(engine, a_run).state == "cancelled"


def test_a_stopped_run_says_why_and_is_resumed_with_its_failed_traces(engine, a_run):
    do(engine, runs.take, a_run, "one")
    ((trace, _),) = do(engine, runs.claim, a_run, "one", 1)
    do(engine, traces.append, [Happened(trace, 0, a_turn()), Happened(trace, 1, TraceFailed(problem="no key"))])
    do(engine, runs.release, a_run, "one", "stopped", "at its ceiling")
    assert (get(engine, a_run).state, get(engine, a_run).problem) == ("stopped", "at its ceiling")
    do(engine, runs.resume, a_run)
    assert (get(engine, a_run).state, get(engine, a_run).problem) == ("requested", "")
    again = do(engine, runs.claim, a_run, "one", 3)
    assert again[0][0] == trace
    assert do(engine, events.next_seq, [one for one, _ in again]) == {again[0][0]: 2, again[1][0]: 0, again[2][0]: 0}


def test_an_imported_run_is_not_resumed(engine, a_study):
    imports.load(engine, "s", [RUN, a_trace("item 0")])
    with writing(engine) as session, pytest.raises(Problem, match="this one was imported"):
        runs.resume(session, runs.of_study(session, a_study.id)[0].id)


def test_money_that_is_not_known_is_never_called_nothing():
    def told(**took):
        return Progress(1, 1, 0, 1, 0, 0, Totals(**took)).sentence()

    assert "$0.00" not in told(calls=3, unpriced=3)
    assert "3 calls of unknown price" in told(calls=3, unpriced=3)
    assert "$0.20 and 3 calls of unknown price" in told(calls=5, dollars=0.2, unpriced=3)
    assert "$0.00" in told(calls=3)
