"""The server's time for requests of the workbench with many labels stored: python -m tests.bench.bench_workbench

A study of disputed debates gets 100,000 labels (3 of each target); a new annotator then labels as a browser does. The
times are those of the route's functions: an action with its result, reveal and progress, and the next 30 tasks.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine

from core.formats.records import ItemRecord, LabelRecord, Record
from core.labels import Label, Target
from storage.db.connections import reading
from storage.labelling import actions, queue_view, tasks
from storage.labelling.context import QueueContext
from storage.transfer import imports
from tests.bench.annotator_process import action, open_queue
from tests.bench.databases import POSTGRESQL_HELP, print_load, print_times, resident_megabytes, temporary_database
from tests.conftest import make_item
from tests.storage.shared import RUN, a_trace

STUDY = "many labels"
OVERLAP = 3
OPEN = 3000
"""Targets without labels: they are what the new annotator gets."""


def plant(engine: Engine, labels: int) -> None:
    """Import a study in which all targets but `OPEN` have as many labels as are wanted."""
    complete = [f"item {number}" for number in range(labels // OVERLAP)]
    names = [*complete, *(f"open {number}" for number in range(OPEN))]
    records: list[Record] = [ItemRecord(item=make_item(name)) for name in names]
    records += [RUN, *(a_trace(name) for name in names)]
    for number, name in enumerate(complete):
        target = Target(item=name, kind="preference", criterion="helpfulness")
        people = (f"annotator {(number + place) % 20}" for place in range(OVERLAP))
        records += [LabelRecord(label=Label(target=target, annotator=who, value=number % 3)) for who in people]
    imports.import_records(engine, STUDY, records)


def timed(times: list[float], work: Callable[[], Any]) -> Any:
    """Return what a function returns, and add its seconds to `times`."""
    start = time.perf_counter()
    found = work()
    times.append(time.perf_counter() - start)
    return found


def label(engine: Engine, work: QueueContext, count: int) -> dict[str, list[float]]:
    """Label targets of the queue, and return the seconds of every request by its type."""
    times: dict[str, list[float]] = {"next 30 tasks": [], "draft": [], "label": []}
    seq = 0

    def fetch() -> Any:
        with reading(engine) as session:
            return tasks.next_tasks(session, work, have=(), count=30, tab="todo", first=None)["tasks"]

    def act(type: str, task: Any) -> None:
        nonlocal seq
        given = [action(seq + 1, type, task)]
        [result] = actions.perform(engine, work, "bench", given, after=seq, first=seq == 0)
        assert result["status"] == "accepted", result
        seq += 1
        if type == "draft":  # its answer has no progress
            return
        with reading(engine) as session:
            queue_view.progress(queue_view.open_view(session, work, again=False))

    while len(times["label"]) < count:
        for task in timed(times["next 30 tasks"], fetch):
            timed(times["draft"], lambda task=task: act("draft", task))
            timed(times["label"], lambda task=task: act("label", task))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=100_000, help="labels that are stored before")
    parser.add_argument("--count", type=int, default=300, help="labels that are given; 2000 to see the memory")
    parser.add_argument("--postgresql", action="store_true", help=POSTGRESQL_HELP)
    options = parser.parse_args()
    with temporary_database(postgresql=options.postgresql) as database:
        engine, url = database.engine, database.url
        plant(engine, options.labels)
        label(engine, open_queue(engine, "newcomer", STUDY), 100)
        _, before = resident_megabytes(os.getpid())
        times = label(engine, open_queue(engine, "second newcomer", STUDY), options.count)  # caches are full
    print(f"{options.labels:,} labels stored, {options.count} given on {url.split(':')[0]}:")
    for name, seconds in times.items():
        print_times(name, seconds)
    print(f"  memory: {resident_megabytes(os.getpid())[1] - before:+.1f} MB during the labels")
    print_load()


if __name__ == "__main__":
    main()
