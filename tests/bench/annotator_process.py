"""An annotator in a process of its own, who labels a queue as a browser does: fetch, draft, label."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from storage.db import connections, tables
from storage.db.connections import reading, writing
from storage.db.errors import DatabaseUnavailable
from storage.labelling import actions, tasks
from storage.labelling.context import Json, QueueContext, open_context

Result = TypeVar("Result")
STUDY = "queue"
WARM_UP = "warm-up"
FETCHED = 10
"""Tasks in one request. A browser fetches 30; fewer make the annotators meet more often."""
HESITATION = 2.0
"""Seconds between claim and label of an annotator who hesitates."""


@dataclass(frozen=True)
class Behaviour:
    """How an annotator differs from one who labels as fast as possible until the end."""

    die_after: int = 0
    """Number of the claim with which the process kills itself; 0 for never."""
    hesitate: float = 0.0
    """Share of the claims after which the annotator waits `HESITATION` seconds."""
    skew: float = 0.0
    """Seconds by which the clock of the process is ahead."""


@dataclass(frozen=True)
class Line:
    """An acknowledged label."""

    seconds: float
    """Of the claim and the label."""
    target: int
    cpu: float
    """Processor seconds that the process has used until then."""
    at: float
    """Seconds since 1970."""


def read(log: Path) -> list[Line]:
    """Return the labels that a process has written to its log; a line may be incomplete."""
    if not log.exists():
        return []
    rows = (line.split() for line in log.read_text().splitlines(keepends=True) if line.endswith("\n"))
    return [Line(float(seconds), int(target), float(cpu), float(at)) for seconds, target, cpu, at in rows]


def annotate(url: str, annotator: str, behaviour: Behaviour, log: Path, barrier: Any = None) -> None:
    """Label until nothing is left for the annotator, and write every acknowledged label to the log.

    With a `barrier`, another study is labelled first.
    """
    if behaviour.skew:
        _shift_clock(behaviour.skew)
    engine = connections.connect(url)
    if barrier is not None:
        for _ in _label_queue(engine, repeat(lambda: open_queue(engine, annotator, WARM_UP)), Behaviour()):
            pass
        barrier.wait()
    work = repeat(lambda: open_queue(engine, annotator))
    with log.open("a", buffering=1) as lines:
        for line in _label_queue(engine, work, behaviour):
            lines.write(f"{line.seconds} {line.target} {line.cpu} {line.at}\n")


def _label_queue(engine: Engine, work: QueueContext, behaviour: Behaviour) -> Iterator[Line]:
    client, seq, claimed = f"c-{work.annotator}-{time.time_ns()}", 0, 0
    while True:
        fetched = repeat(partial(_fetch, engine, work))
        if not fetched:
            return
        for task in fetched:
            draft = action(seq + 1, "draft", task)
            started = time.perf_counter()
            [drafted] = repeat(partial(actions.perform, engine, work, client, [draft], after=seq, first=seq == 0))
            seconds = time.perf_counter() - started
            if drafted.get("claim") == "full":
                seq += 1
                continue
            claimed += 1
            if claimed == behaviour.die_after:
                os.kill(os.getpid(), signal.SIGKILL)
            if random.random() < behaviour.hesitate:
                time.sleep(HESITATION)
            label = action(seq + 2, "label", task, seconds=1.0)
            started = time.perf_counter()
            [result] = repeat(partial(actions.perform, engine, work, client, [label], after=seq + 1))
            seconds += time.perf_counter() - started
            if result["status"] in ("accepted", "surplus"):
                target = work.ids.decode("t", task["id"])
                yield Line(seconds, target or 0, time.process_time(), time.time())
            seq += 2


def action(seq: int, type: str, task: Json, **fields: float) -> Json:
    """Return an action as a browser sends it: the value 1 for the first target of a task."""
    target = task["targets"][0]
    about = {"task": task["id"], "target": target["id"], "base": target["version"]}
    return {"seq": seq, "type": type, **about, "value": 1, "reason": "", "evidence": [], **fields}


def open_queue(engine: Engine, annotator: str, study: str = STUDY) -> QueueContext:
    """Return the queue of disputed preferences."""
    with writing(engine) as session:
        return open_context(session, "disagreements", study, annotator)


def _fetch(engine: Engine, work: QueueContext) -> list[Json]:
    with reading(engine) as session:
        fetched: list[Json] = tasks.next_tasks(session, work, have=(), count=FETCHED, tab="todo", first=None)["tasks"]
    return fetched


def repeat(send: Callable[[], Result]) -> Result:
    """Send until the database is available, as the outbox of a browser does: sending twice changes nothing."""
    while True:
        try:
            return send()
        except (DatabaseUnavailable, OperationalError):  # of a writer, and of a reader
            time.sleep(0.5)


def _shift_clock(seconds: float) -> None:
    """Let the storage of this process see another time."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=seconds)

    assert Shifted.now(UTC) != datetime.now(UTC)
    for module in (connections, tables):
        vars(module)["datetime"] = Shifted
