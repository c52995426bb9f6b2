"""Annotators in processes of their own, who label a queue as browsers do; some are killed, and start again at the end.

Each labels the queue of disputed debates of the study "s": it fetches tasks, stores a draft, which claims the target,
and labels it.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine, update
from sqlalchemy.exc import OperationalError

from storage.db import connections, tables
from storage.db.connections import clock, writing
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import LeaseRow
from tests.storage.labelling.workbench import Client
from tests.waiting import wait_for

Result = TypeVar("Result")
FETCHED = 10
"""Tasks in one request. A browser fetches 30; fewer make the annotators meet more often."""
DIE_AFTER = 3
"""A killed process has claimed this many tasks and labelled all but the last one."""
SKEWS = (0.0, 60.0, -60.0)
"""Seconds by which the clocks of processes are ahead, with faults."""
INTERVAL = 0.5
"""Seconds between two looks at the processes; with faults, all claims expire at each."""
TIMEOUT = 300.0


@dataclass(frozen=True)
class Behaviour:
    """How an annotator differs from one who labels as fast as possible until the end."""

    dies: bool = False
    hesitates: float = 0.0
    """Share of the claims after which the annotator waits 2 s."""
    skew: float = 0.0
    """Seconds by which the clock of the process is ahead."""


def label_together(
    engine: Engine,
    url: str,
    folder: Path,
    *,
    processes: int,
    targets: int,
    faults: bool = False,
    disturb: Callable[[], None],
) -> tuple[set[tuple[str, str]], list[str]]:
    """Label a queue with many processes until nothing is left to do, and call `disturb` after `targets` labels.

    With `faults` clocks differ, and claims lapse. Returns the acknowledged labels as (annotator, task), and the
    annotators whose process killed itself: every fifth.
    """
    behaviours = {
        f"annotator {number}": Behaviour(not number % 5, 0.05 * faults, SKEWS[number % 3] * faults)
        for number in range(processes)
    }
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.storage.labelling.processes"])
    arguments = ((url, name, behaviour, folder / name) for name, behaviour in behaviours.items())
    started = [context.Process(target=annotate, args=given) for given in arguments]
    for process in started:
        process.start()

    def is_disturbed() -> bool:
        if faults:
            repeat(partial(expire_leases, engine))
        return len(read_logs(folder)) >= targets

    assert wait_for(is_disturbed, TIMEOUT, INTERVAL)
    disturb()
    assert wait_for(lambda: have_ended(started), TIMEOUT, INTERVAL)
    assert {process.exitcode for process in started} <= {0, -signal.SIGKILL}
    killed = [name for name, behaviour in behaviours.items() if behaviour.dies]
    expire_leases(engine)
    for name in behaviours.keys() - killed:
        annotate(url, name, Behaviour(), folder / name)
    for name in killed:
        label_drafts(Client(engine, name, "later"))
    return read_logs(folder), killed


def annotate(url: str, annotator: str, behaviour: Behaviour, log: Path) -> None:
    """Label until nothing is left for the annotator, and write the task of each acknowledged label to the log."""
    if behaviour.skew:
        _shift_clock(behaviour.skew)
    client, claimed = Client(connections.connect(url), annotator, f"c-{annotator}-{time.time_ns()}"), 0
    with log.open("a", buffering=1) as lines:
        while fetched := repeat(partial(client.tasks, FETCHED)):
            for task in fetched:
                if _act(client, "draft", task).get("claim") == "full":
                    continue
                claimed += 1
                if behaviour.dies and claimed == DIE_AFTER:
                    os.kill(os.getpid(), signal.SIGKILL)
                if random.random() < behaviour.hesitates:
                    time.sleep(2.0)
                if _act(client, "label", task)["status"] in ("accepted", "surplus"):
                    lines.write(f"{client.work().ids.decode('t', task['id'])}\n")


def _act(client: Client, type: str, task: Any) -> dict[str, Any]:
    """Send an action until it is answered."""
    action = client.action(type, task, value=1, base=task["targets"][0]["version"])
    [result] = repeat(partial(client.send, action, first=client.after == 0))
    return result


def label_drafts(client: Client) -> None:
    """Label what an annotator has begun, as the browser of a killed process does when it is opened again."""
    for task in client.tasks(tab="drafts"):
        client.label(task, base=task["targets"][0]["version"])


def repeat(send: Callable[[], Result]) -> Result:
    """Send until the database is available, as the outbox of a browser does: sending twice changes nothing."""
    while True:
        try:
            return send()
        except (DatabaseUnavailable, OperationalError):  # of a writer, and of a reader
            time.sleep(0.5)


def read_logs(folder: Path) -> set[tuple[str, str]]:
    """Return the acknowledged labels as (annotator, target); the last line of a log may be incomplete."""
    logs = {log.name: log.read_text().splitlines(keepends=True) for log in folder.iterdir()}
    return {(name, line.strip()) for name, lines in logs.items() for line in lines if line.endswith("\n")}


def have_ended(started: list[BaseProcess]) -> bool:
    return not any(process.is_alive() for process in started)


def expire_leases(engine: Engine) -> None:
    """Let the time of every claim be over."""
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=clock(session) - timedelta(minutes=10)))


def _shift_clock(seconds: float) -> None:
    """Let the storage of this process see another time."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=seconds)

    assert Shifted.now(UTC) != datetime.now(UTC)
    for module in (connections, tables):
        vars(module)["datetime"] = Shifted
