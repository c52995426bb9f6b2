"""Annotators in processes of their own, some of them killed: a small version of `tests.bench.bench_queue`."""

import pytest

from storage import database
from tests.bench import bench_queue


@pytest.mark.slow
def test_processes_complete_a_queue_exactly_although_some_are_killed(empty_address):
    engine = database.connect(empty_address)
    database.upgrade(engine)
    found = bench_queue.run(engine, empty_address, processes=6, targets=40, overlap=3)
    engine.dispose()
    assert (found.counted, found.repeated, found.leases, found.killed) == (120, 0, 0, 2)
    assert set(found.by_target.values()) == {3}
