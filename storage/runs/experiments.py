"""Experiments: their definitions, their runs, and their progress. One run of an experiment is executed at a time."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import experiments as files
from core.errors import TiebreakError
from core.experiments import Definition
from core.formats.records import ExperimentRecord
from core.wording import format_count, format_minutes, list_names
from storage.db.connections import clock
from storage.db.fingerprints import to_utc
from storage.db.tables import EventRow, ExperimentRow, RunRow, now
from storage.runs import call_totals, calls, runs
from storage.runs.runs import Run
from storage.studies import studies

# The rate at which traces end is that of this last period.
PERIOD = timedelta(seconds=120)


@dataclass(frozen=True)
class Experiment:
    """Runs that differ in named settings."""

    id: int
    study_id: int
    name: str
    definition: Definition
    ceiling: float | None
    """Cost limit in dollars of all runs together."""
    created_at: datetime


@dataclass(frozen=True)
class RunStatus:
    """One repetition of a cell."""

    run: str
    state: str
    """running, waiting, cancelling, cancelled, stopped, incomplete (it has ended, and traces failed) or finished."""
    traces: int
    done: int
    failed: int
    no_verdict: int
    problem: str = ""
    """Why it is stopped, or why its first failed trace failed."""

    @property
    def is_failing(self) -> bool:
        """Whether it is stopped, or traces of it failed."""
        return self.state == "stopped" or self.failed > 0


def _status(run: Run, progress: runs.Progress) -> RunStatus:
    return RunStatus(
        run=run.name,
        state=_state(run, progress),
        traces=progress.traces,
        done=progress.done,
        failed=progress.failed,
        no_verdict=progress.no_verdict,
        problem=run.problem or progress.first_problem,
    )


def _state(run: Run, progress: runs.Progress) -> str:
    """Return the state of a run of an experiment; see `RunStatus`."""
    if run.state == "requested":
        return "running" if run.active else "waiting"
    return "incomplete" if run.state == "finished" and progress.failed else run.state


@dataclass(frozen=True)
class Progress:
    """Counts over all runs of an experiment."""

    runs: int
    finished: int
    """Runs in which every trace has ended, without those that are stopped."""
    traces: int
    done: int
    failed: int
    no_verdict: int
    """Traces that ended without a verdict, of those that are `done`."""
    states: Mapping[str, int]
    """State of runs -> their number."""
    active: bool
    """Whether a worker executes one of its runs now."""
    totals: call_totals.Totals
    per_minute: float
    """Traces that ended in each of the last minutes; 0.0 if none did."""
    problem: str = ""
    """Which runs are stopped, and why; empty if none is. The others are executed."""
    statuses: tuple[RunStatus, ...] = ()
    """Its runs, in the order in which they are executed."""

    @property
    def state(self) -> str:
        """running, waiting, stopped, cancelled or finished."""
        if self.active:
            return "running"
        names = {"requested": "waiting", "stopped": "stopped", "cancelling": "cancelled", "cancelled": "cancelled"}
        return next((name for state, name in names.items() if self.states.get(state)), "finished")

    @property
    def failing(self) -> list[RunStatus]:
        """The runs that are stopped, or in which traces failed."""
        return [one for one in self.statuses if one.is_failing]

    def summary(self) -> str:
        """Return one sentence without its full stop."""
        ended = f"{self.done + self.failed:,} of {format_count(self.traces, 'trace')}"
        no_verdict = f", {self.no_verdict:,} without a verdict" if self.no_verdict else ""
        parts = [
            f"{self.finished} of {format_count(self.runs, 'run')} finished, {ended}, {self.failed} failed{no_verdict}",
            self.totals.describe_calls(),
            self.totals.describe_cost(),
        ]
        if self.per_minute and self.active:
            left = 60 * (self.traces - self.done - self.failed) / self.per_minute
            parts += [f"{self.per_minute:,.0f} traces a minute", f"{format_minutes(left)} left"]
        return "; ".join(parts)


def of_study(session: Session, study_id: int) -> list[Experiment]:
    """Return the experiments of a study, newest first."""
    query = select(ExperimentRow).where(col(ExperimentRow.study_id) == study_id).order_by(col(ExperimentRow.id).desc())
    return [_experiment(row) for row in session.scalars(query)]


def find(session: Session, study_id: int, name: str) -> Experiment | None:
    """Return the experiment of a study called `name`; None if there is none."""
    row = _row(session, study_id, name)
    return None if row is None else _experiment(row)


def _row(session: Session, study_id: int, name: str) -> ExperimentRow | None:
    query = select(ExperimentRow).where(col(ExperimentRow.study_id) == study_id, col(ExperimentRow.name) == name)
    return session.scalars(query).first()


def save(session: Session, study_id: int, definition: Definition) -> int:
    """Add an experiment, or replace the definition of the one with its name; return its id."""
    studies.lock(session, study_id)
    row = _row(session, study_id, definition.name)
    row = row or ExperimentRow(study_id=study_id, name=definition.name, definition="")
    row.definition, row.ceiling = files.to_yaml(definition), definition.ceiling
    session.add(row)
    session.flush()
    return row.id


def records(session: Session, study_id: int) -> Iterator[ExperimentRecord]:
    """Yield the experiments of a study, oldest first."""
    query = select(ExperimentRow).where(col(ExperimentRow.study_id) == study_id).order_by(col(ExperimentRow.id))
    for row in session.scalars(query):
        yield ExperimentRecord(name=row.name, definition=row.definition, ceiling=row.ceiling, created_at=row.created_at)


def add_records(session: Session, study_id: int, added: Sequence[ExperimentRecord]) -> dict[str, int]:
    """Add the experiments that the study does not have; return name -> id of all that it has.

    Raises TiebreakError for a definition that cannot be read, or another one under the same name.
    """
    query = select(ExperimentRow).where(col(ExperimentRow.study_id) == study_id)
    rows = {row.name: row for row in session.scalars(query)}
    for record in added:
        if files.parse(record.definition).name != record.name:
            raise TiebreakError(f"The definition of the experiment {record.name!r} is of another name.")
        new = ExperimentRow(
            study_id=study_id,
            name=record.name,
            definition=record.definition,
            ceiling=record.ceiling,
            created_at=to_utc(record.created_at) or now(),
        )
        row = rows.setdefault(record.name, new)
        if row.definition != record.definition:
            raise TiebreakError(f"The study has another experiment called {record.name!r}; rename one of them.")
        session.add(row)
    session.flush()
    return {name: row.id for name, row in rows.items()}


def runs_of(session: Session, experiment_id: int) -> list[Run]:
    """Return the runs of an experiment, in the order in which they are executed."""
    return runs.select_runs(session, col(RunRow.experiment_id) == experiment_id)


def run_of_cell(session: Session, experiment_id: int, cell: Mapping[str, str] | None, repeat: int) -> int | None:
    """Return the run of a cell and a repetition; None if there is none. Other processes create no run meanwhile."""
    study_id = session.scalars(select(col(ExperimentRow.study_id)).where(col(ExperimentRow.id) == experiment_id)).one()
    studies.lock(session, study_id)
    query = select(col(RunRow.id), col(RunRow.cell)).where(
        col(RunRow.experiment_id) == experiment_id, col(RunRow.repeat) == repeat
    )
    return next((run for run, made in session.execute(query) if (made or {}) == (cell or {})), None)


def budget(session: Session, run: Run) -> tuple[float | None, float]:
    """Return the cost limit that holds for a run, None for none, and the dollars that count towards it."""
    ceiling, ids = run.ceiling, [run.id]
    if run.experiment_id is not None:
        limit = select(col(ExperimentRow.ceiling)).where(col(ExperimentRow.id) == run.experiment_id)
        of_experiment = select(col(RunRow.id)).where(col(RunRow.experiment_id) == run.experiment_id)
        ceiling, ids = session.scalars(limit).one(), list(session.scalars(of_experiment))
    if ceiling is None:
        return None, 0.0
    # If a worker was killed, calls can be stored that no event has.
    return ceiling, max(call_totals.of_runs(session, ids).dollars, calls.dollars(session, ids))


def progress(session: Session, experiment_id: int) -> Progress:
    """Return the counts over all runs of an experiment."""
    of_experiment = runs_of(session, experiment_id)
    ids = [run.id for run in of_experiment]
    by_run = runs.progress_by_run(session, ids)
    of_runs = list(by_run.values())
    return Progress(
        runs=len(ids),
        finished=sum(
            one.traces == one.done + one.failed
            for run, one in zip(of_experiment, of_runs, strict=True)
            if one.traces and run.state != "stopped"
        ),
        traces=sum(one.traces for one in of_runs),
        done=sum(one.done for one in of_runs),
        failed=sum(one.failed for one in of_runs),
        no_verdict=sum(one.no_verdict for one in of_runs),
        states=dict(Counter(run.state for run in of_experiment)),  # `asdict` copies no Counter
        active=any(run.active for run in of_experiment),
        totals=call_totals.add_up(one.totals for one in of_runs),
        per_minute=_per_minute(session, ids),
        statuses=tuple(_status(run, by_run[run.id]) for run in of_experiment),
        problem=_describe_stopped([run for run in of_experiment if run.state == "stopped"]),
    )


def _describe_stopped(stopped: Sequence[Run]) -> str:
    """Return each reason why runs are stopped, after their names."""
    by_problem: dict[str, list[str]] = defaultdict(list)
    for run in stopped:
        by_problem[run.problem].append(run.name)
    return " ".join(f"{list_names(names)}: {problem}" for problem, names in by_problem.items())


def _per_minute(session: Session, run_ids: Sequence[int]) -> float:
    """Return how many traces ended in each minute of the last period, since the first of them."""
    at = clock(session)
    ended = (col(EventRow.run_id).in_(run_ids), col(EventRow.type).in_(("verdict", "failed")))
    query = select(func.count(), func.min(col(EventRow.at))).where(*ended, col(EventRow.at) > at - PERIOD)
    count, first = session.execute(query).one()
    return 60 * count / max((at - first).total_seconds(), 1.0) if count else 0.0


def cancel(session: Session, experiment_id: int) -> int:
    """Request that every run of an experiment stops; return the number of runs that had not ended.

    Stored events remain, and the experiment can be resumed.
    """
    waiting = [run.id for run in runs_of(session, experiment_id) if run.state == "requested"]
    for run_id in waiting:
        runs.cancel(session, run_id)
    return len(waiting)


def _experiment(row: ExperimentRow) -> Experiment:
    definition = files.parse(row.definition)
    return Experiment(row.id, row.study_id, row.name, definition, row.ceiling, row.created_at)
