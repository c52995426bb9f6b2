"""A backup while annotators label and a run is executed: python -m tests.bench.bench_backup [--postgresql]

Annotators in processes of their own label a queue (see `bench_queue`) while `cli.py runs start` stores debates in the
same database. In the middle `cli.py server backup` copies it, and `cli.py server restore` restores the copy elsewhere.
The restored database has every label that was stored before the backup began, and each of its rows is a row of the
original; the labels of each target are counted as its rows say. After the annotators, a second backup is restored: its
agreement is that of the original.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Engine, func, select

from storage.db.connections import reading
from storage.db.tables import EventRow, LabelRow, TargetRow
from tests.bench import bench_queue
from tests.bench.annotator_process import STUDY
from tests.bench.bench_run import server
from tests.bench.command_inputs import debate_settings
from tests.bench.databases import POSTGRESQL_HELP, Database, temporary_database
from tests.paths import ROOT
from tests.storage.shared import debates
from tests.waiting import wait_for

RUN_STUDY = "run"
LATENCY = 0.2
"""Seconds of a call of the run."""
Rows = set[tuple[object, ...]]


@dataclass
class Copied:
    """A backup under load."""

    file: Path
    before: Rows
    """The labels that were stored before it began."""
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What the restored databases contain."""

    before: int
    """Labels stored before the backup began."""
    restored: int
    """Labels in the restored database."""
    missing: int
    """Labels that were stored before, and are not restored."""
    others: int
    """Restored labels that are not in the original."""
    wrong_counts: int
    """Targets whose number of labels is not that of their rows."""
    equal_agreement: bool
    """Whether a copy of the complete study has its agreement."""
    seconds: float
    """Of the backup under load."""


def run(source: Database, elsewhere: Database, *, processes: int, targets: int, run_items: int) -> Outcome:
    """Back up a database under load and without, and restore both copies elsewhere."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        copied: list[Copied] = []
        if run_items:
            settings = debate_settings(Path(folder) / "settings.yaml", stack.enter_context(server(LATENCY)))
            debates(source.engine, run_items, study=RUN_STUDY)
            options = ("--study", RUN_STUDY, "--protocol", "scaleeval", "--settings", str(settings), "--fresh")
            runner = subprocess.Popen(
                _command(source, "runs start", *options), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(runner.wait)
            stack.callback(runner.terminate)
            if not wait_for(lambda: _has_events(source.engine), 60.0):
                raise RuntimeError("the run stores nothing")
        back_up = partial(_back_up, source, Path(folder) / "under load", copied)
        bench_queue.run(source.engine, source.url, processes=processes, targets=targets, disturb=back_up)
        stack.close()
        _back_up(source, Path(folder) / "complete", copied)
        under_load, complete = copied
        _restore(elsewhere, under_load.file)
        labels, wrong = _labels(elsewhere.engine), _wrong_counts(elsewhere.engine)
        _restore(elsewhere, complete.file)
        return Outcome(
            before=len(under_load.before),
            restored=len(labels),
            missing=len(under_load.before - labels),
            others=len(labels - _labels(source.engine)),
            wrong_counts=wrong,
            equal_agreement=_agreement(source) == _agreement(elsewhere),
            seconds=under_load.seconds,
        )


def _command(target: Database, name: str, *arguments: str) -> list[str]:
    return [sys.executable, "cli.py", *name.split(), *arguments, "--database", target.url]


def _call(target: Database, name: str, *arguments: str) -> str:
    done = subprocess.run(_command(target, name, *arguments), cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def _back_up(source: Database, file: Path, copied: list[Copied]) -> None:
    before, start = _labels(source.engine), time.perf_counter()
    _call(source, "server backup", str(file))
    copied.append(Copied(file, before, time.perf_counter() - start))


def _restore(target: Database, file: Path) -> None:
    target.engine.dispose()
    _call(target, "server restore", str(file))


def _has_events(engine: Engine) -> bool:
    with reading(engine) as session:
        return session.scalars(select(EventRow).limit(1)).first() is not None


def _labels(engine: Engine) -> Rows:
    with reading(engine) as session:
        columns = (LabelRow.id, LabelRow.target_id, LabelRow.annotator_id, LabelRow.surplus, LabelRow.fingerprint)
        return {tuple(row) for row in session.execute(select(*columns))}


def _wrong_counts(engine: Engine) -> int:
    """Return the number of targets whose `counted` is not the number of their labels that count."""
    with reading(engine) as session:
        counted = dict(session.execute(select(TargetRow.id, TargetRow.counted)).all())
        rows = session.execute(
            select(LabelRow.target_id, func.count()).where(~LabelRow.surplus).group_by(LabelRow.target_id)
        )
        found = dict(rows.all())
    return sum(found.get(target, 0) != number for target, number in counted.items())


def _agreement(target: Database) -> object:
    return json.loads(_call(target, "people agreement", "--study", STUDY, "--json"))


def main() -> None:
    parser = argparse.ArgumentParser(description="A backup while annotators label and a run is executed.")
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--targets", type=int, default=300)
    parser.add_argument("--run-items", type=int, default=200)
    parser.add_argument("--postgresql", action="store_true", help=POSTGRESQL_HELP)
    options = parser.parse_args()
    with ExitStack() as stack:
        source = stack.enter_context(temporary_database(postgresql=options.postgresql))
        elsewhere = stack.enter_context(temporary_database(postgresql=options.postgresql))
        sizes = {"processes": options.processes, "targets": options.targets, "run_items": options.run_items}
        found = run(source, elsewhere, **sizes)
    print(found)
    if found.missing or found.others or found.wrong_counts or not found.equal_agreement:
        raise SystemExit("wrong")


if __name__ == "__main__":
    main()
