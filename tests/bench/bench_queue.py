"""Many annotators on one queue: python -m tests.bench.bench_queue [--processes 50] [--targets 500] [--postgresql]

Every annotator is a process of its own with its own connections. It fetches tasks as a browser does, enters a draft,
which claims the task, and labels it, or goes on if others have the task; every fifth process kills itself while it
holds a claim. When the claims of the killed processes have expired, the others complete the queue, and then those who
were killed label what they had claimed. In the end every target has exactly `overlap` labels that count, the late ones
are surplus, no annotator labelled a target twice, every acknowledged label is stored, and no claim is left.

Every process first labels some tasks of another study, and waits for the others: a new process needs seconds to build
and compile its queries, which a server has done long before.

Without --pause the annotators act as fast as they can, so the time of one is the time that it waits for the others;
with --pause each rests a random time of this mean after every label.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine, select, update
from sqlalchemy.exc import OperationalError

from storage import database, studies
from storage.database import reading, writing
from storage.database_errors import DatabaseUnavailable
from storage.labelling import actions, tasks
from storage.labelling.work import Json, Work, open_work
from storage.tables import AnnotatorRow, LabelRow, LeaseRow, now
from tests.bench.databases import POSTGRESQL_HELP, print_load, print_times, temporary_database
from tests.storage.shared import debates

Result = TypeVar("Result")
STUDY = "queue"
WARM_UP = "warm-up"
WARM_UP_TASKS = 3
BARRIERS: list[Any] = []
"""Barriers end with their last reference; those of running processes are kept."""
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
    lost: int
    """Labels that were acknowledged and are not stored."""
    seconds: float
    rate: float
    """Acknowledged labels a second while all processes labelled: from the first label to the last one."""
    claims: Sequence[float]
    """Seconds of each claim."""
    saves: Sequence[float]
    """Seconds of each label."""


def annotate(url: str, annotator: str, die_after: int, log: Path, pause: float, barrier: Any = None) -> None:
    """Label until nothing is left for the annotator; with `die_after`, die with that many claims made.

    Every acknowledged label is a line of the log: seconds of the claim, seconds of the label, the target, and the time.
    With a `barrier`, another study is labelled first.
    """
    engine = database.connect(url)
    if barrier is not None:
        for _ in _label_queue(engine, _again(lambda: _open(engine, annotator, WARM_UP)), 0):
            pass
        barrier.wait()
    work = _again(lambda: _open(engine, annotator))
    with log.open("a", buffering=1) as lines:
        for line in _label_queue(engine, work, die_after):
            lines.write(f"{line} {time.time()}\n")
            time.sleep(random.expovariate(1 / pause) if pause else 0)


def _label_queue(engine: Engine, work: Work, die_after: int) -> Iterator[str]:
    client, seq, claimed = f"c-{work.annotator}-{time.time_ns()}", 0, 0
    while True:
        fetched = _again(partial(_fetch, engine, work))
        if not fetched:
            return
        for task in fetched:
            about = {"task": task["id"], "target": task["targets"][0]["id"], "base": task["targets"][0]["version"]}
            entered = {"value": 1, "reason": "", "evidence": []}
            draft = {"seq": seq + 1, "type": "draft", **about, **entered}
            started = time.perf_counter()
            [drafted] = _again(partial(actions.perform, engine, work, client, [draft], after=seq, first=seq == 0))
            claim_seconds = time.perf_counter() - started
            if drafted.get("claim") == "full":
                seq += 1
                continue
            claimed += 1
            if claimed == die_after:
                os.kill(os.getpid(), signal.SIGKILL)
            label = {"seq": seq + 2, "type": "label", **about, **entered, "seconds": 1.0}
            started = time.perf_counter()
            [result] = _again(partial(actions.perform, engine, work, client, [label], after=seq + 1))
            save_seconds = time.perf_counter() - started
            if result["status"] in ("accepted", "surplus"):
                yield f"{claim_seconds} {save_seconds} {work.ids.decode('t', task['id'])}"
            seq += 2


def _open(engine: Engine, annotator: str, study: str = STUDY) -> Work:
    with writing(engine) as session:
        return open_work(session, "disagreements", study, annotator)


def _fetch(engine: Engine, work: Work) -> list[Json]:
    with reading(engine) as session:
        fetched: list[Json] = tasks.next_tasks(session, work, have=(), count=FETCHED, tab="todo", first=None)["tasks"]
    return fetched


def _again(send: Callable[[], Result]) -> Result:
    """Send until the database is available, as the outbox of a browser does: sending twice changes nothing."""
    while True:
        try:
            return send()
        except (DatabaseUnavailable, OperationalError):  # of a writer, and of a reader
            time.sleep(0.5)


def run(
    engine: Engine,
    url: str,
    *,
    processes: int,
    targets: int,
    overlap: int,
    pause: float = 0.0,
    warm: bool = False,
    disturb: Callable[[], None] | None = None,
) -> Outcome:
    """Label a queue with many processes, and return what is stored at the end; `disturb` is called in the middle.

    `warm`: every process first labels some tasks of another study.
    """
    debates(engine, targets, study=STUDY)
    _set_overlap(engine, STUDY, overlap)
    if warm:
        debates(engine, WARM_UP_TASKS, study=WARM_UP)
        _set_overlap(engine, WARM_UP, processes)
    start = time.perf_counter()
    names = [f"annotator {number}" for number in range(processes)]
    killed = names[::5]
    with tempfile.TemporaryDirectory() as folder:
        logs = {name: Path(folder) / name for name in names}
        started = _start(url, logs, killed, pause, warm)
        if disturb is not None:
            _wait_for_labels(logs.values(), targets)
            disturb()
        _wait(started)
        rate = _rate(logs.values())
        _again(partial(expire_leases, engine))
        _wait(_start(url, {name: log for name, log in logs.items() if name not in killed}, [], pause, warm))
        seconds = time.perf_counter() - start
        for name in killed:
            label_late(engine, name)
        return _outcome(engine, len(killed), seconds, rate, logs)


def _rate(logs: Iterable[Path]) -> float:
    times = sorted(float(line.split()[-1]) for log in logs if log.exists() for line in log.read_text().splitlines())
    return len(times) / max(times[-1] - times[0], 1e-9) if times else 0.0


def _wait_for_labels(logs: Iterable[Path], count: int) -> None:
    end = time.monotonic() + TIMEOUT
    while sum(len(log.read_text().splitlines()) for log in logs if log.exists()) < count:
        if time.monotonic() > end:
            raise RuntimeError("too few labels")
        time.sleep(0.05)


def label_late(engine: Engine, annotator: str) -> None:
    """Label what an annotator has begun, as the browser of a killed process does when it is opened again."""
    work = _open(engine, annotator)
    with reading(engine) as session:
        begun = tasks.next_tasks(session, work, have=(), count=tasks.MOST, tab="drafts", first=None)["tasks"]
    for seq, task in enumerate(begun, 1):
        about = {"task": task["id"], "target": task["targets"][0]["id"], "base": task["targets"][0]["version"]}
        label = {"seq": seq, "type": "label", **about, "value": 1, "reason": "", "evidence": [], "seconds": 1.0}
        actions.perform(engine, work, "later", [label], after=seq - 1, first=seq == 1)


def expire_leases(engine: Engine) -> None:
    """Let the time of every claim be over."""
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=now() - timedelta(seconds=1)))


def _set_overlap(engine: Engine, name: str, overlap: int) -> None:
    with writing(engine) as session:
        study = studies.get(session, name)
        rules = study.rules.model_copy(update={"overlap": overlap})
        studies.update(session, study.id, description="", guidelines="", rules=rules)


def _start(url: str, logs: Mapping[str, Path], killed: Sequence[str], pause: float, warm: bool) -> list[BaseProcess]:
    """Start a process for each annotator. They are copies of a server that has imported everything once."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["storage.labelling.actions", "storage.labelling.tasks", "tests.storage.shared"])
    barrier = context.Barrier(len(logs)) if warm else None
    BARRIERS.append(barrier)
    started = [
        context.Process(target=annotate, args=(url, name, DIE_AFTER if name in killed else 0, log, pause, barrier))
        for name, log in logs.items()
    ]
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


def _outcome(engine: Engine, killed: int, seconds: float, rate: float, logs: Mapping[str, Path]) -> Outcome:
    with reading(engine) as session:
        query = select(LabelRow.target_id, AnnotatorRow.name, LabelRow.surplus)
        query = query.where(LabelRow.study_id == studies.get(session, STUDY).id)
        rows = session.execute(query.join(AnnotatorRow, AnnotatorRow.id == LabelRow.annotator_id)).all()
        leases = len(session.scalars(select(LeaseRow.id)).all())
    counted = [target for target, _, surplus in rows if not surplus]
    pairs = [(target, annotator) for target, annotator, _ in rows]
    lines = [(name, *line.split()) for name, log in logs.items() for line in log.read_text().splitlines()]
    return Outcome(
        counted=len(counted),
        surplus=len(rows) - len(counted),
        by_target=Counter(counted),
        repeated=len(pairs) - len(set(pairs)),
        leases=leases,
        killed=killed,
        lost=len({(int(target), name) for name, _, _, target, _ in lines} - set(pairs)),
        seconds=seconds,
        rate=rate,
        claims=[float(claim) for _, claim, *_ in lines],
        saves=[float(save) for _, _, save, *_ in lines],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Many annotators on one queue.")
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--overlap", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.0, help="mean seconds between two labels of an annotator")
    parser.add_argument("--postgresql", action="store_true", help=POSTGRESQL_HELP)
    options = parser.parse_args()
    sizes = {name: getattr(options, name) for name in ("processes", "targets", "overlap", "pause")}
    with temporary_database(postgresql=options.postgresql) as (engine, url):
        found = run(engine, url, warm=True, **sizes)
    wanted = options.targets * options.overlap
    both = [sum(pair) for pair in zip(found.claims, found.saves, strict=True)]
    print(
        f"{options.processes} processes ({found.killed} killed), {options.targets} targets, overlap {options.overlap}: "
        f"{found.counted} of {wanted} labels count, {found.surplus} surplus, {found.repeated} repeated, "
        f"{found.lost} lost, {found.leases} claims left, {found.seconds:.0f} s, {found.rate:.0f} labels/s"
    )
    for name, times in (("claim", found.claims), ("label", found.saves), ("claim and label", both)):
        print_times(name, times)
    print_load()
    if (found.counted, found.repeated, found.lost, found.leases) != (wanted, 0, 0, 0):
        raise SystemExit("wrong")


if __name__ == "__main__":
    main()
