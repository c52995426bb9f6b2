"""Changes of a worker that share transactions: their order, and errors that stay with the request that caused them."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from core.formats.records import ItemRecord
from core.llm.client import ScriptedModel
from storage.db import connections
from storage.db.connections import writing
from storage.studies import studies
from storage.worker import _launch
from storage.worker._transactions import Operation, Order, Transactions
from tests.conftest import make_item
from tests.storage.shared import import_study
from tests.storage.worker.test_worker import make_request


@pytest.fixture
def transactions(sqlite_engine):
    return Transactions(sqlite_engine)


def recording(order, applied, refused=None):
    """Return an operation that lists (order, requests, repeated) and refuses one request."""

    def apply(session, requests, repeated):
        applied.append((order, requests, repeated))
        if refused in requests:
            raise ValueError(refused)
        return [f"{request} stored" for request in requests]

    return Operation(order, apply)


def test_requests_that_wait_are_applied_in_the_order_of_their_operations(transactions):
    applied = []
    orders = (Order.events, Order.calls_end, Order.events, Order.calls_begin)

    async def submit():
        operations = {order: recording(order, applied) for order in orders}
        return await asyncio.gather(*(transactions.submit(operations[order], n) for n, order in enumerate(orders)))

    assert asyncio.run(submit()) == [f"{n} stored" for n in range(4)]
    assert applied == [
        (Order.calls_begin, [3], False),
        (Order.calls_end, [1], False),
        (Order.events, [0, 2], False),
    ]


def test_a_request_that_cannot_be_stored_does_not_fail_the_others(transactions):
    applied = []
    events = recording(Order.events, applied, refused="b")

    async def submit():
        return await asyncio.gather(*(transactions.submit(events, name) for name in "abc"), return_exceptions=True)

    first, refused, last = asyncio.run(submit())
    assert (first, last) == ("a stored", "c stored")
    assert isinstance(refused, ValueError)
    assert [requests for _, requests, _ in applied] == [["a", "b", "c"], ["a"], ["b"], ["c"]]


# Several workers on one PostgreSQL server: their transactions lock rows in one order, and deadlocks are repeated


ITEMS = 120


@pytest.fixture
def engine(postgres_engine):
    """The PostgreSQL database: SQLite has one writer at a time."""
    yield postgres_engine
    with postgres_engine.begin() as connection:
        connection.execute(text("DELETE FROM study"))
        connection.execute(text("DELETE FROM annotator"))


@pytest.mark.slow
def test_concurrent_runs_with_frequent_heartbeats_finish(engine, monkeypatch):
    monkeypatch.setattr("storage.worker._worker.HEARTBEAT_SECONDS", 0.005)
    study = import_study(engine, [ItemRecord(item=make_item(f"item {number}")) for number in range(ITEMS)])
    run_ids = [_launch.create_run(engine, make_request(study, parallel=32)) for _ in range(2)]

    async def execute_all():
        runs = [
            _launch.execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(lambda ask: "1"))
            for run_id in run_ids
        ]
        return await asyncio.wait_for(asyncio.gather(*runs), 60)

    ended = asyncio.run(execute_all())
    assert [(run.state, run.problem, progress.done) for run, progress in ended] == [("finished", "", ITEMS)] * 2


def test_a_transaction_that_postgresql_ends_because_of_a_deadlock_is_repeated(engine):
    with writing(engine) as session:
        for name in ("first", "second"):
            studies.get_or_create(session, name)
    both_locked = threading.Barrier(2, timeout=10)
    attempts = []

    def lock_both(names):
        def operation(session):
            attempts.append(names)
            lock(session, names[0])
            if len(attempts) <= 2:
                both_locked.wait()
            lock(session, names[1])

        connections.write(engine, operation)

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(lock_both, names) for names in (("first", "second"), ("second", "first"))]
        assert [one.result(20) for one in running] == [None, None]
    assert len(attempts) == 3, "one of the two was repeated"


def lock(session, study):
    session.execute(text("UPDATE study SET sample = true WHERE name = :name"), {"name": study})
