"""Many annotators on one queue: python -m tests.bench.bench_queue [--processes 50] [--targets 500] [--url ...]

Every annotator is a process of its own with its own connections. It fetches tasks as a browser does, enters a draft,
which claims the task, and labels it; every fifth process kills itself while it holds a claim. When the claims of the
killed processes have expired, the others complete the queue. Then every target has exactly `overlap` labels that count,
no annotator labelled a target twice, and no claim is left. Without --url a SQLite file is used.
"""

import argparse
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine, select, update

from storage import database, studies
from storage.database import reading, writing
from storage.database_errors import DatabaseUnavailable
from storage.labelling import actions, tasks
from storage.labelling.work import Work, open_work
from storage.tables import LabelRow, LeaseRow, now
from tests.storage.shared import debates

Result = TypeVar("Result")
STUDY = "queue"
FETCHED = 10
"""Tasks in one request. A browser fetches 30; fewer make the annotators meet more often."""
DIE_AFTER = 3
"""A killed process has claimed this many tasks and labelled all but the last one."""
TIMEOUT = 900


@dataclass(frozen=True)
class Outcome:
    """What is stored when the queue is complete."""

    counted: int
    """Labels within the overlap."""
    surplus: int
    by_target: Counter[int]
    """Target -> labels that count."""
    repeated: int
    """Labels of a target that its annotator had labelled before."""
    leases: int
    killed: int
    seconds: float


def annotate(url: str, annotator: str, die_after: int) -> None:
    """Label until nothing is left for the annotator; with `die_after`, die with that many claims made."""
    engine = database.connect(url)
    work = _again(lambda: _open(engine, annotator))
    client, seq, claimed = f"c-{annotator}-{time.time_ns()}", 0, 0
    while True:
        with reading(engine) as session:
            fetched = tasks.next_tasks(session, work, have=(), count=FETCHED, tab="todo", first=None)["tasks"]
        if not fetched:
            return
        for task in fetched:
            about = {"task": task["id"], "target": task["targets"][0]["id"], "base": task["targets"][0]["version"]}
            entered = {"value": 1, "reason": "", "evidence": []}
            draft = {"seq": seq + 1, "type": "draft", **about, **entered}
            _again(partial(actions.perform, engine, work, client, [draft], after=seq, first=seq == 0))
            claimed += 1
            if claimed == die_after:
                os.kill(os.getpid(), signal.SIGKILL)
            label = {"seq": seq + 2, "type": "label", **about, **entered, "seconds": 1.0}
            _again(partial(actions.perform, engine, work, client, [label], after=seq + 1))
            seq += 2


def _open(engine: Engine, annotator: str) -> Work:
    with writing(engine) as session:
        return open_work(session, "disagreements", STUDY, annotator)


def _again(send: Callable[[], Result]) -> Result:
    """Send until the database is available, as the outbox of a browser does: sending twice changes nothing."""
    while True:
        try:
            return send()
        except DatabaseUnavailable:
            time.sleep(0.5)


def run(engine: Engine, url: str, *, processes: int, targets: int, overlap: int) -> Outcome:
    """Label a queue with many processes, and return what is stored at the end."""
    debates(engine, targets, study=STUDY)
    with writing(engine) as session:
        study = studies.get(session, STUDY)
        rules = study.rules.model_copy(update={"overlap": overlap})
        studies.update(session, study.id, description="", guidelines="", rules=rules)
    start = time.perf_counter()
    names = [f"annotator {number}" for number in range(processes)]
    killed = names[::5]
    _wait(_start(url, names, killed))
    expire_leases(engine)
    _wait(_start(url, [name for name in names if name not in killed], []))
    return _outcome(engine, len(killed), time.perf_counter() - start)


def expire_leases(engine: Engine) -> None:
    """Let the time of every claim be over."""
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=now() - timedelta(seconds=1)))


def _start(url: str, names: list[str], killed: list[str]) -> list[BaseProcess]:
    """Start a process for each annotator. They are copies of a server that has imported everything once."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["storage.labelling.actions", "storage.labelling.tasks", "tests.storage.shared"])
    started = [context.Process(target=annotate, args=(url, name, DIE_AFTER if name in killed else 0)) for name in names]
    for process in started:
        process.start()
    return list(started)


def _wait(started: list[BaseProcess]) -> None:
    """Wait for processes; raises RuntimeError if one failed in another way than by its own signal."""
    for process in started:
        process.join(TIMEOUT)
    codes = {process.exitcode for process in started}
    if codes - {0, -signal.SIGKILL}:
        raise RuntimeError(f"a process failed: {codes}")


def _outcome(engine: Engine, killed: int, seconds: float) -> Outcome:
    with reading(engine) as session:
        rows = session.execute(select(LabelRow.target_id, LabelRow.annotator_id, LabelRow.surplus)).all()
        leases = len(session.scalars(select(LeaseRow.id)).all())
    counted = [target for target, _, surplus in rows if not surplus]
    pairs = [(target, annotator) for target, annotator, _ in rows]
    return Outcome(
        counted=len(counted),
        surplus=len(rows) - len(counted),
        by_target=Counter(counted),
        repeated=len(pairs) - len(set(pairs)),
        leases=leases,
        killed=killed,
        seconds=seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Many annotators on one queue.")
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--overlap", type=int, default=3)
    parser.add_argument("--url", help="an empty database; by default a new SQLite file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.url or f"sqlite:///{Path(folder) / 'queue.db'}"
        engine = database.connect(url)
        database.upgrade(engine)
        found = run(engine, url, processes=options.processes, targets=options.targets, overlap=options.overlap)
        engine.dispose()
    wanted = options.targets * options.overlap
    print(
        f"{options.processes} processes ({found.killed} killed), {options.targets} targets, overlap {options.overlap}: "
        f"{found.counted} of {wanted} labels count, {found.surplus} surplus, {found.repeated} repeated, "
        f"{found.leases} claims left, {found.seconds:.0f} s"
    )
    if (found.counted, found.repeated, found.leases) != (wanted, 0, 0):
        raise SystemExit("wrong")


if __name__ == "__main__":
    main()
