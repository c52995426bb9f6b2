"""Workers in processes of their own share a run on PostgreSQL, while one after another is killed.

    python -m tests.bench.bench_workers [--workers 4] [--traces 300] [--pause 10] [--lease 15] [--restart]

The clocks of the workers differ by a minute. Exits with an error if a trace is not done once, or if a call whose reply
was stored before a kill is made again. With --restart workers are stopped by SIGTERM instead of killed, as in a rolling
restart: then no call may be made twice.
"""

import argparse
import hashlib
import random
import subprocess
import time
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from sqlalchemy import Engine, text

from core.formats.records import ItemRecord
from core.items import Criterion
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.trace import Spec
from storage.db.connections import reading
from storage.studies import studies
from storage.transfer import imports
from storage.worker import _launch
from tests import openai_server
from tests.bench.databases import print_load, temporary_database
from tests.conftest import make_item
from tests.storage.worker import worker_process

PARALLEL = 8
SKEWS = (0, 60, -60, 0)


@dataclass(frozen=True)
class Outcome:
    """What a run of several workers and kills came to."""

    done: int
    verdicts: int
    """Verdicts stored; more than `done` if a trace was done twice."""
    stored_calls: int
    repeated_calls: int
    """Replies delivered beyond the first one for the same request: calls in progress at a kill."""
    repeated_stored_calls: int
    """Replies delivered after a kill to requests whose first reply was stored before it."""
    stored_twice: int
    kills: int
    restart: bool
    """Whether the workers were stopped by SIGTERM."""
    in_flight: int
    """Calls that the killed workers had reserved."""
    most_at_once: int
    """Concurrent calls to the server, over all workers and models."""
    seconds: float

    @property
    def problems(self) -> list[str]:
        """Return what is wrong, as sentences."""
        checks = {
            "A trace was done twice.": self.verdicts != self.done,
            "An ask was stored twice.": self.stored_twice > 0,
            "A stored call was repeated.": self.repeated_stored_calls > 0,
            "A call was repeated after a graceful stop.": self.restart and self.repeated_calls > 0,
        }
        return [sentence for sentence, wrong in checks.items() if wrong]


def create_run(engine: Engine, address: str, traces: int) -> int:
    """Create a run of two judges with two rounds."""
    imports.import_records(engine, "s", [ItemRecord(item=make_item(f"item {number}")) for number in range(traces)])
    judges = tuple(Judge(name=f"judge {n}", spec=Spec(model=f"judge-{n}", address=address)) for n in (1, 2))
    settings = Settings(judges=judges, criterion=Criterion(name="helpfulness"), rounds=2)
    with reading(engine) as session:
        study = studies.get(session, "s")
    request = _launch.RunRequest(study, PROTOCOLS["scaleeval"], settings, "shared", parallel=PARALLEL)
    return _launch.create_run(engine, request)


def measure(
    engine: Engine,
    url: str,
    server: openai_server.Server,
    *,
    count: int,
    traces: int,
    pause: float,
    lease: float,
    most_kills: int | None = None,
    restart: bool = False,
) -> Outcome:
    """Share a run among workers, and kill or stop one every `pause` seconds; another one takes its place."""
    run_id = create_run(engine, server.address, traces)
    skews, start = cycle(SKEWS), time.monotonic()
    workers = [worker_process.start(url, lease=lease, skew=next(skews)) for _ in range(count)]
    stopped: list[subprocess.Popen[bytes]] = []
    kills = in_flight = 0
    next_kill = None
    stored: dict[tuple[str, str], float] = {}
    try:
        while _launch.progress(engine, run_id)[0].state == "requested":
            time.sleep(0.1)
            if time.monotonic() - start > 900:
                raise TimeoutError("The run does not end.")
            if next_kill is None and server.log:
                next_kill = time.monotonic() + pause
            if next_kill is None or time.monotonic() < next_kill or kills == most_kills:
                continue
            victim = workers.pop(random.randrange(count))
            if restart:
                victim.terminate()
                stopped.append(victim)
            else:
                victim.kill()
                victim.wait()
            stored = dict.fromkeys(_stored_requests(engine), time.time()) | stored
            in_flight += _calls_of(engine, victim.pid)
            kills, next_kill = kills + 1, time.monotonic() + pause
            workers.append(worker_process.start(url, lease=lease, skew=next(skews)))
    finally:
        _stop(workers)
        _stop(stopped)
    fields = {"kills": kills, "restart": restart, "in_flight": in_flight, "seconds": time.monotonic() - start}
    return _outcome(engine, run_id, server, stored, **fields)


def _stored_requests(engine: Engine) -> list[tuple[str, str]]:
    """Return (model, hash of the prompt) of every stored turn."""
    query = text("SELECT body->'turn'->>'model', prompt FROM event WHERE type = 'turn'")
    with reading(engine) as session:
        return [(model, hashlib.sha256(prompt.encode()).hexdigest()) for model, prompt in session.execute(query)]


def _calls_of(engine: Engine, pid: int) -> int:
    """Return how many calls a worker has reserved."""
    query = text(
        "SELECT count(*) FROM reservation JOIN worker ON worker.id = reservation.worker_id "
        "WHERE split_part(name, ':', 2) = :pid"
    )
    with reading(engine) as session:
        return session.scalar(query, {"pid": str(pid)}) or 0


def _stop(workers: list[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.wait(30)


def _outcome(
    engine: Engine, run_id: int, server: openai_server.Server, stored: dict[tuple[str, str], float], **fields: Any
) -> Outcome:
    _, progress = _launch.progress(engine, run_id)
    log = [((line["model"], line["prompt"]), line["at"]) for line in server.log if line["delivered"]]
    with reading(engine) as session:
        verdicts = session.scalar(text("SELECT count(*) FROM event WHERE type = 'verdict'"))
        twice = session.scalar(
            text(
                "SELECT count(*) FROM (SELECT 1 FROM event WHERE type = 'turn' "
                "GROUP BY trace_id, body->>'ask' HAVING count(*) > 1) repeated"
            )
        )
    return Outcome(
        done=progress.done,
        verdicts=verdicts,
        stored_calls=progress.totals.calls,
        repeated_calls=len(log) - len({request for request, _ in log}),
        repeated_stored_calls=sum(at > stored.get(request, at) for request, at in log),
        stored_twice=twice,
        most_at_once=server.most_open,
        **fields,
    )


def main() -> None:
    """Start a database server and a model server, and print what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--traces", type=int, default=300)
    parser.add_argument("--pause", type=float, default=10.0)
    parser.add_argument("--lease", type=float, default=15.0)
    parser.add_argument("--restart", action="store_true", help="stop workers by SIGTERM instead of killing them")
    options = parser.parse_args()
    sizes = {name: getattr(options, name) for name in ("traces", "pause", "lease", "restart")}
    with temporary_database(postgresql=True) as database, openai_server.run_server(latency=1.0) as server:
        outcome = measure(database.engine, database.url, server, count=options.workers, **sizes)
    print(outcome)
    print_load()
    if outcome.problems or outcome.done != options.traces:
        raise SystemExit(" ".join(outcome.problems) or "Not every trace is done.")


if __name__ == "__main__":
    main()
