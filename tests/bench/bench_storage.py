"""What storage costs, on a fresh SQLite file: python -m tests.bench.bench_storage [--database URL]

100,000 rows of a CSV file, each an item with the labels of three people, are read with a mapping and imported, as
`cli.py data import` does; then a trace of 10,000 events is written and opened, and people claim and label by turns.
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

from core.formats.mapping.mapping import Mapping, ResponseFields, WideLabels
from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.formats.registry import read_records
from core.items import Item, Response
from core.labels import Opinion
from core.trace import CallFailed, Turn, TurnCompleted, Usage, Verdict, VerdictReached
from storage.db import connections
from storage.db.connections import reading, writing
from storage.labelling import claims, queue_view
from storage.labelling.context import find_tasks, open_context
from storage.labelling.queue_view import open_view
from storage.labels import labels
from storage.runs import call_totals, outcomes, runs, traces
from storage.runs import claims as run_claims
from storage.runs.outcomes import NewEvent
from storage.studies import studies
from storage.transfer import imports
from tests.storage.shared import store_label

ANNOTATORS = ("ann", "bob", "cyd")
WORDS = ["an", "answer", "of", "ordinary", "length", "says", "what", "it", "says", "and", "then", "why", "it", "is"]
GROUP = 10
"""Events in one transaction: about as many as a run over three judges commits together."""


def table(path: Path, rows: int) -> None:
    """Write a CSV file of pairs with the labels of three annotators."""
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "left", "right", "topic", *ANNOTATORS])
        for number in range(rows):
            left, right = (" ".join(rng.choices(WORDS, k=30)) for _ in range(2))
            values = [rng.choice((0, 1, 2)) for _ in ANNOTATORS]
            writer.writerow([f"pair-{number}", f"Question {number}: why?", left, right, f"topic {number % 8}", *values])


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
            annotators={name: name for name in ANNOTATORS},
            values={"0": 0, "1": 1, "2": 2},
        ),
    ),
)


def turn(number: int) -> TurnCompleted:
    """Return a turn with a reply and a prompt of ordinary length."""
    usage = Usage(prompt_tokens=800, completion_tokens=120, seconds=1.5, dollars=0.001)
    return TurnCompleted(
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
    """Return a debate of an item that ended without agreement."""
    opinions = [
        Opinion(kind="preference", judge=f"j{n}", stage="last", value=n, criterion="helpfulness") for n in range(3)
    ]
    opinions.append(Opinion(kind="preference", judge="all", stage="verdict", value=None, criterion="helpfulness"))
    verdict = VerdictReached(verdict=Verdict(outcome="disputed", opinions=tuple(opinions)))
    failed = CallFailed(ask=0, speaker="j0", problem="busy", wait=1.0)
    return TraceRecord(run="r", item=f"item {item}", events=(failed, turn(0), turn(1), turn(2), verdict))


@contextmanager
def timed(measurement: str, goal: str = "", per: int = 0) -> Iterator[None]:
    """Print one line of the table: seconds, or with `per` the number of operations a second."""
    start, cpu = time.perf_counter(), time.process_time()
    yield
    elapsed, cpu = time.perf_counter() - start, time.process_time() - cpu
    figure = f"{elapsed:8.2f} s" if not per else f"{per / elapsed:8.0f} /s  ({elapsed / per * 1000:.2f} ms each)"
    print(f"{measurement:<58} {figure:<28} {cpu:7.2f} s of CPU   {goal}", flush=True)


def bench_import(engine: Engine, folder: Path, rows: int) -> None:
    path = folder / "pairs.csv"
    table(path, rows)
    reports: list[tuple[int, int]] = []
    with timed(f"import {rows:,} rows with {len(ANNOTATORS) * rows:,} labels (CSV)", "< 30 s"):
        imports.import_records(
            engine, "pairs", read_records(path, mapping=MAPPING), lambda *progress: reports.append(progress)
        )
    print(f"{'':<4}reported its progress {len(reports)} times; peak memory {_peak():,} MB")
    with timed("import the same file again", "nothing new"):
        added = imports.import_records(engine, "pairs", read_records(path, mapping=MAPPING))
    assert not any(vars(added).values()), added
    with reading(engine) as session:
        study = studies.get(session, "pairs")
        with timed("labels.frame", "about 1 s"):
            frame = labels.frame(session, study.id)
        with timed("labels.gold_labels"):
            golds = sum(1 for _ in labels.gold_labels(session, study.id))
        with timed("labels.version", "read every second"):
            labels.version(session, study.id)
        with timed("studies.progress"):
            studies.progress(session)
    assert (len(frame), golds) == (len(ANNOTATORS) * rows, rows)


def bench_trace(engine: Engine, events: int) -> None:
    item = ItemRecord(item=Item(id="one", prompt="?", responses=(Response(text="a"), Response(text="b"))))
    imports.import_records(engine, "trace", [item])
    with writing(engine) as session:
        study = studies.get(session, "trace")
        run = runs.create(session, study.id, "r", protocol="scaleeval", criterion="", settings={}, prompts={})
        run_claims.claim_run(session, run, "bench")
        trace = run_claims.claim_traces(session, run, "bench", 1)[0].id
    new_events = [NewEvent(trace, number, turn(number)) for number in range(events)]
    with timed(f"trace_events.append, {GROUP} events a transaction", "< 0.3 ms each", per=events):
        for batch in connections.batches(new_events, GROUP):
            with writing(engine) as session:
                outcomes.append_events(session, batch)
    with timed(f"traces.events: open a trace of {events:,} events", "< 0.3 s"), reading(engine) as session:
        assert len(traces.events(session, trace)) == events
    with timed("traces.events: the last 10 of them", "every 2 s"), reading(engine) as session:
        assert len(traces.events(session, trace, after=events - 11)) == 10
    with timed("call_totals.of_runs of the run"), reading(engine) as session:
        call_totals.of_runs(session, [run])


def bench_labelling(engine: Engine, targets: int, times: int) -> None:
    items = [ItemRecord(item=Item(id=f"item {n}", prompt="?")) for n in range(targets)]
    debates = [disputed(n) for n in range(targets)]
    imports.import_records(engine, "labelling", [*items, RunRecord(name="r", protocol="scaleeval"), *debates])
    with writing(engine) as session:
        work = open_context(session, "disagreements", "labelling", "ann")
    with timed(f"progress in a queue of {targets} targets"), reading(engine) as session:
        assert queue_view.progress(queue_view.open_view(session, work))["total"] == targets
    with timed("claim a target and label it, two transactions", "next item < 300 ms", per=times):
        for number in range(times):
            annotator = f"annotator {number % 10}"
            with writing(engine) as session:
                work = open_context(session, "disagreements", "labelling", annotator)
                [task] = find_tasks(session, work, [next(open_view(session, work).tab("todo"))])
                assert claims.claim(session, work, task)
            with writing(engine) as session:
                store_label(session, work.study.id, task.target, annotator, 1)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """The table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--database", help="the URL of an empty database")
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--events", type=int, default=10_000)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = connections.connect(arguments.database or f"sqlite:///{folder}/bench.db")
        connections.upgrade(engine)
        bench_trace(engine, arguments.events)
        bench_labelling(engine, 500, 300)
        bench_import(engine, Path(folder), arguments.rows)
        engine.dispose()


if __name__ == "__main__":
    main()
