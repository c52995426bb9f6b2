"""A run is carried by one process, cancelled at once, stopped at its ceiling, and goes on from what is stored."""

import asyncio
from datetime import timedelta

import pytest

from core.items import Criterion
from core.llm.client import Reply, ScriptedModel
from core.problems import Permanent
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import Judge, Settings
from core.trace import Spec, Usage
from storage import runs, traces
from storage.database import reading, writing
from storage.worker import launch
from storage.worker.launch import Order
from storage.worker.worker import Carrier, carry_run, worker_name


def an_order(study, **fields) -> Order:
    judges = tuple(Judge(name=name, spec=Spec(model=name)) for name in ("a", "b"))
    settings = Settings(judges=judges, criterion=Criterion(name="helpfulness"), rounds=1)
    return Order(study, PROTOCOLS["scaleeval"], settings, "run", **fields)


def carried(engine, run_id, model):
    return asyncio.run(launch.carry_here(engine, run_id, lambda run, progress: None, model))


def test_every_event_of_a_run_is_kept_with_what_it_took(engine, a_study):
    reply = Reply(text="1", usage=Usage(prompt_tokens=10, completion_tokens=2, seconds=0.5, dollars=0.25))
    run, progress = carried(engine, launch.make(engine, an_order(a_study)), ScriptedModel(lambda ask: reply))
    assert run.state == "finished"
    assert (progress.done, progress.agreed) == (3, 3)
    assert progress.totals == traces.Totals(6, 0, 60, 12, 3.0, 1.5, 0)


def test_only_one_process_carries_a_run(engine, a_study):
    run_id = launch.make(engine, an_order(a_study))
    with writing(engine) as session:
        assert runs.take(session, run_id, "one")
    with writing(engine) as session:
        assert not runs.take(session, run_id, "another")


def test_a_cancelled_run_keeps_what_it_has_and_resumes(engine, a_study):
    run_id = launch.make(engine, an_order(a_study, parallel=1))

    async def cancelling(ask):
        with writing(engine) as session:
            runs.cancel(session, run_id)
        await asyncio.sleep(1.5)  # until the sign of life notices
        return "1"

    run, progress = carried(engine, run_id, ScriptedModel(cancelling))
    assert run.state == "cancelled"
    kept = progress.totals.calls
    assert 0 < kept < 6
    with writing(engine) as session:
        runs.resume(session, run_id)
    model = ScriptedModel(lambda ask: "1")
    run, progress = carried(engine, run_id, model)
    assert run.state == "finished"
    assert len(model.asked) == 6 - kept


def test_a_run_that_is_resumed_while_it_still_ends_is_not_carried_twice(engine, a_study, monkeypatch):
    monkeypatch.setattr("storage.worker.worker.RENEWAL", 0.1)
    monkeypatch.setattr("storage.runs.LEASE", timedelta(seconds=0.5))
    run_id = launch.make(engine, an_order(a_study, parallel=1))
    under_way, most = [], []

    async def slow(ask):
        under_way.append(ask)
        most.append(len(under_way))
        if len(most) == 1:
            with writing(engine) as session:
                runs.cancel(session, run_id)
            await asyncio.sleep(1.0)  # longer than the lease
            with writing(engine) as session:
                runs.resume(session, run_id)
            await asyncio.sleep(1.0)
        under_way.remove(ask)
        return "1"

    carrier = Carrier(engine, lambda: ScriptedModel(slow))
    carrier.start()
    try:
        assert asyncio.run(ended(engine, run_id))
    finally:
        carrier.stop()
    assert max(most) == 2  # one call at once to each of two models
    assert len(most) == 6  # three items, two judges, nobody twice


async def ended(engine, run_id) -> bool:
    """Whether the run comes to its end within ten seconds."""
    for _ in range(100):
        if launch.progress(engine, run_id)[0].state == "finished":
            return True
        await asyncio.sleep(0.1)
    return False


def test_a_run_stops_at_its_ceiling(engine, a_study, monkeypatch):
    monkeypatch.setattr("core.llm.costs.most", lambda ask: 1.0)
    reply = Reply(text="1", usage=Usage(dollars=1.0))
    run, progress = carried(
        engine, launch.make(engine, an_order(a_study, ceiling=3.0)), ScriptedModel(lambda ask: reply)
    )
    assert run.state == "stopped"
    assert "$3.00" in run.problem
    assert progress.totals.dollars <= 3.0


def test_a_run_in_which_everything_fails_stops_early(engine, a_study, monkeypatch):
    monkeypatch.setattr("storage.worker.worker.HOPELESS", 2)

    def wrong_key(ask):
        raise Permanent("The key was refused.")

    run, progress = carried(engine, launch.make(engine, an_order(a_study, parallel=1)), ScriptedModel(wrong_key))
    assert run.state == "stopped"
    assert "failed" in run.problem
    assert progress.failed >= 2


def test_a_dead_process_is_forgotten_after_its_lease(engine, a_study):
    run_id = launch.make(engine, an_order(a_study))
    with writing(engine) as session:
        runs.take(session, run_id, "dead")
        runs.claim(session, run_id, "dead", 3)
    with reading(engine) as session:
        assert runs.waiting(session) == []
    from sqlalchemy import update

    from storage.tables import RunRow, TraceRow, now

    with writing(engine) as session:
        session.execute(update(RunRow).values(carried_until=now()))
        session.execute(update(TraceRow).values(claimed_until=now()))
    run, progress = carried(engine, run_id, ScriptedModel(lambda ask: "2"))
    assert run.state == "finished"
    assert progress.done == 3


def test_the_app_s_carrier_picks_up_what_is_asked_for(engine, a_study):
    carrier = Carrier(engine, lambda: ScriptedModel(lambda ask: "1"))
    carrier.start()
    run_id = launch.make(engine, an_order(a_study))

    try:
        assert asyncio.run(ended(engine, run_id))
    finally:
        carrier.stop()


@pytest.mark.parametrize("count", [1, 4])
def test_workers_have_names_of_their_own(count):
    assert len({worker_name() for _ in range(count)}) == count


def test_what_cannot_be_kept_stops_the_run_with_a_sentence(engine, a_study, monkeypatch):
    from sqlalchemy.exc import OperationalError

    def full(*_):
        raise OperationalError("insert", {}, Exception("disk full"))

    run_id = launch.make(engine, an_order(a_study))
    with writing(engine) as session:
        runs.take(session, run_id, "worker")
    monkeypatch.setattr("storage.traces.append", full)
    asyncio.run(carry_run(engine, run_id, ScriptedModel(lambda ask: "1"), worker="worker"))
    run, _ = launch.progress(engine, run_id)
    assert run.state == "stopped"
    assert "kept" in run.problem


def test_a_ceiling_over_calls_without_a_price_is_said_to_hold_nothing(engine, a_study):
    unpriced, free = an_order(a_study, ceiling=1.0), an_order(a_study)
    assert "price is known" in launch.not_held(unpriced, launch.estimate(engine, unpriced))
    assert launch.not_held(free, launch.estimate(engine, free)) == ""
