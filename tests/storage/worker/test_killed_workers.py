"""Workers in processes of their own, with clocks that differ by a minute, are killed while they share a run."""

import pytest

from storage.db.connections import connect
from tests import openai_server
from tests.bench import bench_workers

TRACES = 10


@pytest.mark.slow
def test_killed_workers_repeat_no_stored_call_and_every_trace_is_done_once(postgres, postgres_template):
    url = postgres.url(postgres.create(postgres_template))
    engine = connect(url)
    with openai_server.run_server(latency=0.3) as server:
        outcome = bench_workers.measure(engine, url, server, count=2, traces=TRACES, pause=0.5, lease=2.0, most_kills=1)
    engine.dispose()
    assert outcome.problems == []
    assert outcome.kills == 1
    assert (outcome.done, outcome.stored_calls) == (TRACES, 4 * TRACES)
    assert outcome.most_at_once <= 2 * bench_workers.PARALLEL + outcome.in_flight, "two models"
