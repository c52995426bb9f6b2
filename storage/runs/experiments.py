"""Experiments: their definitions, their runs, and their progress. One run of an experiment is executed at a time."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from sqlalchemy import Integer, cast, extract, func, literal_column, not_, select
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
from storage.runs import call_totals, calls, claims, runs
from storage.runs.runs import Run
from storage.studies import studies

# The rate at which the traces of runs end while the runs are executed, without the pauses between two executions.

# The rate is that of this last period.
PERIOD = timedelta(seconds=120)
# A longer time without an event and without a call in flight is a pause: nothing was executed.
PAUSE = timedelta(seconds=20)
# Events are summed over steps of this length: there can be many thousands in a period.
STEP_SECONDS = 5


@dataclass(frozen=True)
class Rate:
    """What ended in the last period, since the last pause in it."""

    per_minute: float
    """Traces; 0.0 if none ended."""
    concurrency: float
    """The mean number of calls in flight, of those whose reply arrived; reused replies are none."""


def rate_of(session: Session, run_ids: Sequence[int], since: datetime | None = None) -> Rate:
    """Return the rate of the last period, since the last pause in it and since a time of the database's clock.

    The time begins with the first call whose reply arrived in it.
    """
    at = clock(session)
    start = at - PERIOD if since is None else max(since, at - PERIOD)
    # A literal: PostgreSQL does not take two parameters for equal, one to group by and one to order by.
    step = cast(extract("epoch", col(EventRow.at)), Integer) // literal_column(str(STEP_SECONDS), Integer)
    query = (
        select(
            func.count().filter(col(EventRow.type).in_(("verdict", "failed"))),
            func.min(col(EventRow.at)),
            func.max(col(EventRow.at)),
            func.max(col(EventRow.seconds)).filter(not_(col(EventRow.reused))),
            func.sum(col(EventRow.seconds)).filter(not_(col(EventRow.reused))),
        )
        .where(col(EventRow.run_id).in_(run_ids), col(EventRow.at) > start)
        .group_by(step)
        .order_by(step.desc())
    )
    ended, of_calls, began = 0, 0.0, at
    for index, (count, first, last, longest, seconds) in enumerate(session.execute(query)):
        if index and began - last > PAUSE:
            break
        ended, of_calls = ended + count, of_calls + (seconds or 0.0)
        began = max(start, min(began, first - timedelta(seconds=longest or 0.0)))
    elapsed = max((at - began).total_seconds(), 1.0)
    return Rate(60 * ended / elapsed, of_calls / elapsed)


# A worker renews its claim every second; one that has not for this time may have ended.
UNSEEN = timedelta(seconds=3)


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
    seconds_of_calls_left: float | None
    """What the calls of its other traces take, one after another; None without recorded calls."""
    problem: str = ""
    """Why it is stopped, or why its first failed trace failed."""

    @property
    def is_failing(self) -> bool:
        """Whether it is stopped, or traces of it failed."""
        return self.state == "stopped" or self.failed > 0


def _statuses(made: Sequence[Run], progress: Mapping[int, runs.Progress]) -> tuple[RunStatus, ...]:
    """Return the status of each run. A trace takes the mean seconds of calls of those that ended in its run, otherwise
    in the other repetitions of its cell, otherwise in all runs."""
    recorded: dict[str, list[tuple[float, int]]] = defaultdict(list)
    keys = {run.id: (f"run {run.id}", f"cell {sorted((run.cell or {}).items())}", "all") for run in made}
    for run in made:
        of_run = progress[run.id]
        if ended := of_run.done + of_run.failed:
            for key in keys[run.id]:
                recorded[key].append((of_run.totals.seconds, ended))
    statuses = []
    for run in made:
        of_run = progress[run.id]
        known = next((recorded[key] for key in keys[run.id] if recorded[key]), [])
        left = of_run.traces - of_run.done - of_run.failed
        mean = sum(seconds for seconds, _ in known) / sum(ended for _, ended in known) if known else None
        status = RunStatus(
            run=run.name,
            state=_state(run, of_run),
            traces=of_run.traces,
            done=of_run.done,
            failed=of_run.failed,
            no_verdict=of_run.no_verdict,
            seconds_of_calls_left=0.0 if not left else None if mean is None else left * mean,
            problem=run.problem or of_run.first_problem,
        )
        statuses.append(status)
    return tuple(statuses)


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
    """Traces that ended in each of the last minutes in which runs were executed; see `storage.runs.experiments`."""
    problem: str = ""
    """Which runs are stopped, and why; empty if none is. The others are executed."""
    unseen: str = ""
    """The process that executes a run, if it has not renewed its claim: it may have ended."""
    claim_seconds: int = 0
    """The seconds after which another process continues the run of an unseen one."""
    concurrency: float = 0.0
    """The mean number of calls in flight in the same minutes."""
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
    def seconds_left(self) -> float | None:
        """The time that the calls of the other traces take, with as many at a time as in the last minutes; at the rate
        of the last minutes if no call was made in them; None if it is not known."""
        remaining = self.traces - self.done - self.failed
        of_calls = [one.seconds_of_calls_left for one in self.statuses]
        if remaining and self.concurrency and None not in of_calls:
            return sum(seconds or 0.0 for seconds in of_calls) / self.concurrency
        return 60 * remaining / self.per_minute if remaining and self.per_minute else None

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
        if self.per_minute and self.active and not self.unseen:
            parts.append(f"{self.per_minute:,.0f} traces a minute")
            if self.seconds_left is not None:
                parts.append(f"{format_minutes(self.seconds_left)} left")
        return "; ".join(parts)

    @property
    def wait(self) -> str:
        """What the experiment waits for, as a sentence; empty if a process that responds executes it."""
        if not self.unseen:
            return ""
        left = format_count(self.claim_seconds, "second")
        return f"The process {self.unseen} does not respond; its run is continued in {left}."


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


def progress(session: Session, experiment_id: int, since: datetime | None = None) -> Progress:
    """Return the counts over all runs of an experiment; the rate is that since a time of the database's clock."""
    of_experiment = runs_of(session, experiment_id)
    ids = [run.id for run in of_experiment]
    by_run = runs.progress_by_run(session, ids)
    of_runs = list(by_run.values())
    rate = rate_of(session, ids, since)
    unseen, claim_seconds = _unseen_worker(session, ids)
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
        per_minute=rate.per_minute,
        concurrency=rate.concurrency,
        statuses=_statuses(of_experiment, by_run),
        problem=_describe_stopped([run for run in of_experiment if run.state == "stopped"]),
        unseen=unseen,
        claim_seconds=claim_seconds,
    )


def _describe_stopped(stopped: Sequence[Run]) -> str:
    """Return each reason why runs are stopped, after their names."""
    by_problem: dict[str, list[str]] = defaultdict(list)
    for run in stopped:
        by_problem[run.problem].append(run.name)
    return " ".join(f"{list_names(names)}: {problem}" for problem, names in by_problem.items())


def _unseen_worker(session: Session, run_ids: Sequence[int]) -> tuple[str, int]:
    """Return the machine and the process id of a worker that has a run and may have ended, and the seconds until its
    claim expires; ("", 0) if there is none."""
    at = clock(session)
    oldest = at + claims.LEASE - UNSEEN
    query = select(col(RunRow.claimed_by), col(RunRow.claimed_until)).where(
        col(RunRow.id).in_(run_ids), col(RunRow.claimed_until) > at, col(RunRow.claimed_until) <= oldest
    )
    row = session.execute(query.order_by(col(RunRow.claimed_until).desc())).first()
    worker, until = row or (None, None)
    if worker is None or until is None:
        return "", 0
    return worker.rpartition(":")[0], ceil((until - at).total_seconds())


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
