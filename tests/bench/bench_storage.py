"""What storage costs, on a fresh SQLite file: python -m tests.bench.bench_storage [--database URL]

100,000 rows of a CSV file, each an item with the labels of three people, are read with a mapping and imported, as
`cli.py import` does; then a trace of 10,000 events is written and opened, and people claim and label by turns.
"""

import argparse
import csv
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from core import formats
from core.formats.mapping.mapping import Mapping, ResponseFields, WideLabels
from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.items import Item, Response
from core.labels import Opinion
from core.trace import CallFailed, Turn, TurnTaken, Usage, Verdict, VerdictReached
from storage import database, labels, runs, studies, traces
from storage.database import reading, writing
from storage.labelling import queue
from storage.traces import Happened
from storage.transfer import imports

PEOPLE = ("ann", "bob", "cyd")
WORDS = ["an", "answer", "of", "ordinary", "length", "says", "what", "it", "says", "and", "then", "why", "it", "is"]
GROUP = 10
"""Events in one transaction, about what a run over three judges commits together."""


def table(path: Path, rows: int) -> None:
    """A CSV file of pairs with three people's labels."""
    chance = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "left", "right", "topic", *PEOPLE])
        for number in range(rows):
            left, right = (" ".join(chance.choices(WORDS, k=30)) for _ in range(2))
            given = [chance.choice((0, 1, 2)) for _ in PEOPLE]
            writer.writerow([f"pair-{number}", f"Question {number}: why?", left, right, f"topic {number % 8}", *given])


MAPPING = Mapping(
    id="id",
    prompt="question",
    responses=(ResponseFields(text="left"), ResponseFields(text="right")),
    scenario="topic",
    labels=(
        WideLabels(
            layout="wide",
            kind="preference",
            criterion="helpfulness",
            annotators={name: name for name in PEOPLE},
            values={"0": 0, "1": 1, "2": 2},
        ),
    ),
)


def turn(number: int) -> TurnTaken:
    """A turn as a judge takes it, with a reply and a prompt of ordinary length."""
    usage = Usage(prompt_tokens=800, completion_tokens=120, seconds=1.5, dollars=0.001)
    return TurnTaken(
        ask=number,
        turn=Turn(
            speaker=f"judge {number % 3}",
            step="reply",
            round=number // 3,
            model="openai/some-model",
            reply=" ".join(WORDS * 5),
            reading=number % 3,
            shown=(2, 1),
            usage=usage,
            prompt=" ".join(WORDS * 40),
        ),
    )


def disputed(item: int) -> TraceRecord:
    """A debate of an item that ended without agreement."""
    said = [Opinion(kind="preference", judge=f"j{n}", stage="last", value=n, criterion="helpfulness") for n in range(3)]
    said.append(Opinion(kind="preference", judge="all", stage="verdict", value=None, criterion="helpfulness"))
    verdict = VerdictReached(verdict=Verdict(outcome="disputed", opinions=tuple(said)))
    failed = CallFailed(ask=0, speaker="j0", problem="busy", wait=1.0)
    return TraceRecord(run="r", item=f"item {item}", events=(failed, turn(0), turn(1), turn(2), verdict))


@contextmanager
def timed(told: str, goal: str = "", per: int = 0) -> Iterator[None]:
    """Print one line of the table: seconds, or with `per` so many things a second."""
    start, worked = time.perf_counter(), time.process_time()
    yield
    took, worked = time.perf_counter() - start, time.process_time() - worked
    figure = f"{took:8.2f} s" if not per else f"{per / took:8.0f} /s  ({took / per * 1000:.2f} ms each)"
    print(f"{told:<58} {figure:<28} {worked:7.2f} s of CPU   {goal}", flush=True)


def bench_import(engine: Engine, folder: Path, rows: int) -> None:
    path = folder / "pairs.csv"
    table(path, rows)
    told: list[tuple[int, int]] = []
    with timed(f"import {rows:,} rows with {len(PEOPLE) * rows:,} labels (CSV)", "< 30 s"):
        imports.load(engine, "pairs", formats.read(path, mapping=MAPPING), lambda *progress: told.append(progress))
    print(f"{'':<4}told its progress {len(told)} times; peak memory {_peak():,} MB")
    with timed("import the same file again", "nothing new"):
        added = imports.load(engine, "pairs", formats.read(path, mapping=MAPPING))
    assert not any(vars(added).values()), added
    with reading(engine) as session:
        study = studies.get(session, "pairs")
        with timed("labels.frame", "about 1 s"):
            frame = labels.frame(session, study.id)
        with timed("labels.golds"):
            golds = sum(1 for _ in labels.golds(session, study.id))
        with timed("labels.version", "asked every second"):
            labels.version(session, study.id)
        with timed("studies.progress"):
            studies.progress(session)
    assert (len(frame), golds) == (len(PEOPLE) * rows, rows)


def bench_trace(engine: Engine, events: int) -> None:
    item = ItemRecord(item=Item(id="one", prompt="?", responses=(Response(text="a"), Response(text="b"))))
    imports.load(engine, "trace", [item])
    with writing(engine) as session:
        study = studies.get(session, "trace")
        run = runs.create(session, study.id, "r", protocol="scaleeval", criterion="", settings={}, prompts={})
        trace = runs.claim(session, run, "bench", 1)[0][0]
    happened = [Happened(trace, number, turn(number)) for number in range(events)]
    with timed(f"traces.append, {GROUP} events a transaction", "< 0.3 ms each", per=events):
        for batch in database.batches(happened, GROUP):
            with writing(engine) as session:
                traces.append(session, batch)
    with timed(f"traces.events: open a trace of {events:,} events", "< 0.3 s"), reading(engine) as session:
        assert len(traces.events(session, trace)) == events
    with timed("traces.events: the last 10 of them", "every 2 s"), reading(engine) as session:
        assert len(traces.events(session, trace, after=events - 11)) == 10
    with timed("traces.totals of the run"), reading(engine) as session:
        traces.totals(session, run_id=run)


def bench_labelling(engine: Engine, targets: int, times: int) -> None:
    items = [ItemRecord(item=Item(id=f"item {n}", prompt="?")) for n in range(targets)]
    debates = [disputed(n) for n in range(targets)]
    imports.load(engine, "desk", [*items, RunRecord(name="r", protocol="scaleeval"), *debates])
    with reading(engine) as session:
        wanted = queue.Queue(studies.get(session, "desk").id)
    with timed(f"assignments.queue of {targets} targets"), reading(engine) as session:
        assert len(queue.queue(session, wanted, "ann", 3)) == targets
    with timed("claim a target and label it, two transactions", "next item < 300 ms", per=times):
        for number in range(times):
            annotator = f"annotator {number % 10}"
            with writing(engine) as session:
                target = queue.claim(session, wanted, annotator, overlap=3, minutes=30)
            assert target is not None
            with writing(engine) as session:
                labels.put(session, wanted.study_id, target, annotator, 1)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """The table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--database", help="the address of an empty database")
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--events", type=int, default=10_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = database.connect(given.database or f"sqlite:///{folder}/bench.db")
        database.upgrade(engine)
        bench_trace(engine, given.events)
        bench_labelling(engine, 500, 300)
        bench_import(engine, Path(folder), given.rows)
        engine.dispose()


if __name__ == "__main__":
    main()
