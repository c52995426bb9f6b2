"""Annotators in processes of their own, some of them killed: a small version of `tests.bench.bench_queue`."""

from functools import partial

import pytest

from storage import database
from tests.bench import bench_queue


@pytest.mark.slow
def test_processes_complete_a_queue_exactly_although_some_are_killed_and_the_database_restarts(empty_address, request):
    engine = database.connect(empty_address)
    database.upgrade(engine)
    is_server = engine.dialect.name == "postgresql"
    disturb = partial(request.getfixturevalue("postgres").restart, 0.5) if is_server else None
    found = bench_queue.run(engine, empty_address, processes=6, targets=40, overlap=3, disturb=disturb)
    engine.dispose()
    assert (found.counted, found.repeated, found.lost, found.leases, found.killed) == (120, 0, 0, 0, 2)
    assert set(found.by_target.values()) == {3}
    assert found.surplus >= found.killed
