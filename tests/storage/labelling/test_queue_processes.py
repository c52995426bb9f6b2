"""Annotators in processes of their own, with every fault at once: a small version of `tests.bench.bench_queue`."""

from functools import partial

import pytest

from storage.db import connections
from tests.bench import bench_queue
from tests.bench.databases import Database


@pytest.mark.slow
def test_processes_complete_a_queue_exactly_with_kills_skewed_clocks_lapsed_claims_and_an_interruption(
    empty_address, request
):
    engine = connections.connect(empty_address)
    connections.upgrade(engine)
    server = request.getfixturevalue("postgres") if engine.dialect.name == "postgresql" else None
    disturb = partial(bench_queue.disturbance, Database(engine, empty_address, server), 0.5)
    sizes = {"processes": 8, "targets": 30, "overlap": 3}
    found = bench_queue.run(engine, empty_address, faults=True, disturb=disturb, **sizes)
    engine.dispose()
    assert (found.counted, found.repeated, found.lost, found.leases, found.killed) == (90, 0, 0, 0, 2)
    assert set(found.by_target.values()) == {3}
    assert found.surplus >= found.killed
