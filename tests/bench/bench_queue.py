"""Many annotators on one queue: python -m tests.bench.bench_queue [--processes 50] [--targets 500] [--postgresql]

Every annotator is a process of its own with its own connections. It fetches tasks as a browser does, enters a draft,
which claims the task, and labels it, or goes on if others have the task; every fifth process kills itself while it
holds a claim. When the claims of the killed processes have expired, others complete the queue, and then those who
were killed label what they had claimed. In the end every target has exactly three labels that count, the late ones
are surplus, no annotator labelled a target twice, every acknowledged label is stored, and no claim is left.

Every process first labels some tasks of another study, and waits for the others: a new process needs seconds to build
and compile its queries, which a server has done long before.

The annotators act as fast as they can, so the time of one is the time that it waits for the others.

With --faults, also: the clocks of the processes differ by up to two minutes; claims expire twice a second, while some
annotators wait between claim and label; and in the middle PostgreSQL restarts, or another process holds the write lock
of SQLite.
"""

import argparse
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import chain
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select, update

from core.formats.records import StudyRules
from storage.db.connections import clock, reading, writing
from storage.db.tables import AnnotatorRow, LabelRow, LeaseRow
from storage.labelling import actions, tasks
from storage.studies import studies
from tests.bench.annotator_process import STUDY, WARM_UP, Behaviour, Line, action, annotate, open_queue, read, repeat
from tests.bench.databases import POSTGRESQL_HELP, Database, print_load, print_times, temporary_database
from tests.storage.shared import debates

OVERLAP = StudyRules().overlap
WARM_UP_TASKS = 12
"""After ten executions on a connection, PostgreSQL has a statement prepared and planned."""
BARRIERS: list[Any] = []
"""Barriers end with their last reference; those of running processes are kept."""
DIE_AFTER = 3
"""A killed process has claimed this many tasks and labelled all but the last one."""
SKEWS = (0.0, 60.0, -60.0)
"""Seconds by which the clocks of processes are ahead, with faults."""
HESITANT = 0.05
"""Share of the claims that lapse before the label, with faults."""
INTERVAL = 0.5
"""Seconds between two looks at the processes; with faults, all claims expire at each."""
FINISHERS = 12
"""Annotators who label what the killed ones had claimed."""
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
    lines: Sequence[Line]
    """The labels that were acknowledged."""
    client_cpu: float
    """Processor seconds of the processes for each of their labels, with their requests for tasks."""
    server_cpu: float = 0.0
    """Processor seconds of the database server for each label."""

    @property
    def rate(self) -> float:
        """Acknowledged labels a second while all processes labelled, without the first and the last tenth of them."""
        times = sorted(line.at for line in self.lines)
        times = times[len(times) // 10 : -(len(times) // 10) or None]
        return (len(times) - 1) / max(times[-1] - times[0], 1e-9) if times else 0.0


def run(
    engine: Engine,
    url: str,
    *,
    processes: int,
    targets: int,
    warm: bool = False,
    faults: bool = False,
    disturb: Callable[[], None] | None = None,
    server_cpu: Callable[[], float] = lambda: 0.0,
) -> Outcome:
    """Label a queue with many processes, and return what is stored at the end; `disturb` is called in the middle.

    `warm`: every process first labels some tasks of another study. `faults`: clocks differ, and claims lapse.
    """
    debates(engine, targets, study=STUDY)
    if warm:
        debates(engine, WARM_UP_TASKS, study=WARM_UP)
        with writing(engine) as session:
            study = studies.get(session, WARM_UP)
            rules = study.rules.model_copy(update={"overlap": processes})
            studies.update(session, study.id, description="", guidelines="", rules=rules)
    start = time.perf_counter()
    behaviours = _behaviours(processes, faults)
    killed = [name for name, behaviour in behaviours.items() if behaviour.die_after]
    with tempfile.TemporaryDirectory() as folder:
        logs = {name: Path(folder) / name for name in behaviours}
        started = _start(url, behaviours, logs, warm)
        samples = []
        while any(process.is_alive() for process in started):
            time.sleep(INTERVAL)
            if faults:
                repeat(partial(expire_leases, engine))
            samples.append((sum(len(read(log)) for log in logs.values()), server_cpu()))
            if disturb is not None and samples[-1][0] >= targets:
                disturb()
                disturb = None
            if time.perf_counter() - start > TIMEOUT:
                raise TimeoutError("The annotators do not end.")
        _wait(started)
        repeat(partial(expire_leases, engine))
        others = [name for name in behaviours if name not in killed][:FINISHERS]
        _wait(_start(url, {name: Behaviour() for name in others}, logs, warm=False))
        for name in killed:
            label_late(engine, name)
        outcome = _outcome(engine, len(killed), {name: read(log) for name, log in logs.items()})
        return replace(outcome, server_cpu=_cpu_of_a_label(samples, targets * OVERLAP))


def _cpu_of_a_label(samples: Sequence[tuple[int, float]], labels: int) -> float:
    """Return processor seconds for a label, between the first and the last tenth of the labels."""
    inner = [sample for sample in samples if 0.1 * labels <= sample[0] <= 0.9 * labels]
    return (inner[-1][1] - inner[0][1]) / max(inner[-1][0] - inner[0][0], 1) if inner else 0.0


def _behaviours(processes: int, faults: bool) -> dict[str, Behaviour]:
    """Return annotator -> behaviour; every fifth kills itself."""
    found = {}
    for number in range(processes):
        behaviour = Behaviour(die_after=0 if number % 5 else DIE_AFTER)
        if faults:
            behaviour = replace(behaviour, hesitate=HESITANT, skew=SKEWS[number % len(SKEWS)])
        found[f"annotator {number}"] = behaviour
    return found


def label_late(engine: Engine, annotator: str) -> None:
    """Label what an annotator has begun, as the browser of a killed process does when it is opened again."""
    work = open_queue(engine, annotator)
    with reading(engine) as session:
        begun = tasks.next_tasks(session, work, have=(), count=tasks.MOST, tab="drafts", first=None)["tasks"]
    for seq, task in enumerate(begun, 1):
        label = action(seq, "label", task, seconds=1.0)
        actions.perform(engine, work, "later", [label], after=seq - 1, first=seq == 1)


def expire_leases(engine: Engine) -> None:
    """Let the time of every claim be over."""
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=clock(session) - timedelta(minutes=10)))


def _start(
    url: str, behaviours: Mapping[str, Behaviour], logs: Mapping[str, Path], warm: bool
) -> Sequence[BaseProcess]:
    """Start a process for each annotator. They are copies of a server that has imported everything once."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.bench.annotator_process", "tests.storage.shared"])
    barrier = context.Barrier(len(behaviours)) if warm else None
    BARRIERS.append(barrier)
    started = [
        context.Process(target=annotate, args=(url, name, behaviour, logs[name], barrier))
        for name, behaviour in behaviours.items()
    ]
    for process in started:
        process.start()
    return started


def _wait(started: Sequence[BaseProcess]) -> None:
    """Wait for processes; raises RuntimeError if one failed in another way than by its own signal."""
    for process in started:
        process.join(TIMEOUT)
    codes = {process.exitcode for process in started}
    if codes - {0, -signal.SIGKILL}:
        raise RuntimeError(f"a process failed: {codes}")


def _outcome(engine: Engine, killed: int, lines: Mapping[str, Sequence[Line]]) -> Outcome:
    with reading(engine) as session:
        query = select(LabelRow.target_id, AnnotatorRow.name, LabelRow.surplus)
        query = query.where(LabelRow.study_id == studies.get(session, STUDY).id)
        rows = session.execute(query.join(AnnotatorRow, AnnotatorRow.id == LabelRow.annotator_id)).all()
        leases = len(session.scalars(select(LeaseRow.id)).all())
    counted = [target for target, _, surplus in rows if not surplus]
    pairs = [(target, annotator) for target, annotator, _ in rows]
    acknowledged = {(line.target, name) for name, own in lines.items() for line in own}
    used = [(own[-1].cpu - own[0].cpu, len(own) - 1) for own in lines.values() if len(own) > DIE_AFTER]
    return Outcome(
        counted=len(counted),
        surplus=len(rows) - len(counted),
        by_target=Counter(counted),
        repeated=len(pairs) - len(set(pairs)),
        leases=leases,
        killed=killed,
        lost=len(acknowledged - set(pairs)),
        lines=list(chain.from_iterable(lines.values())),
        client_cpu=sum(cpu for cpu, _ in used) / max(sum(count for _, count in used), 1),
    )


def disturbance(database: Database, seconds: float = 2.0) -> None:
    """Stop PostgreSQL for some seconds, or hold the write lock of SQLite."""
    if database.server is not None:
        database.server.restart(seconds)
        return
    with writing(database.engine):
        time.sleep(seconds)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description="Many annotators on one queue.")
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--targets", type=int, default=500)
    parser.add_argument("--faults", action="store_true", help="skewed clocks, lapsed claims, an interruption")
    parser.add_argument("--postgresql", action="store_true", help=POSTGRESQL_HELP)
    options = parser.parse_args()
    sizes = {name: getattr(options, name) for name in ("processes", "targets", "faults")}
    with temporary_database(postgresql=options.postgresql) as database:
        disturb = partial(disturbance, database) if options.faults else None
        cpu = database.server_cpu
        found = run(database.engine, database.url, warm=True, disturb=disturb, server_cpu=cpu, **sizes)
    wanted = options.targets * OVERLAP
    print(
        f"{options.processes} processes ({found.killed} killed), {options.targets} targets, overlap {OVERLAP}: "
        f"{found.counted} of {wanted} labels count, {found.surplus} surplus, {found.repeated} repeated, "
        f"{found.lost} lost, {found.leases} claims left, {found.rate:.0f} labels/s"
    )
    print_times("claim and label", [line.seconds for line in found.lines])
    print(f"  processor time of a label: {_ms(found.client_cpu)} of annotators, {_ms(found.server_cpu)} of PostgreSQL")
    print_load()
    if (found.counted, found.repeated, found.lost, found.leases) != (wanted, 0, 0, 0):
        raise SystemExit("wrong")


if __name__ == "__main__":
    main()
