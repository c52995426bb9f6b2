"""Runs: created with a trace for every item, claimed by workers, cancelled and resumed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, false, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.items import Item
from core.protocols import registry
from core.wording import format_count
from storage.db import audit
from storage.db.connections import clock, insert_all
from storage.db.tables import RunRow, TraceRow
from storage.runs import call_totals, calls, claims
from storage.studies import items, studies


@dataclass(frozen=True)
class Run:
    """One protocol with one settings over many items; see `RunRow` for the columns."""

    id: int
    study_id: int
    name: str
    protocol: str
    criterion: str
    settings: dict[str, Any]
    prompts: dict[str, str]
    seed: int
    ceiling: float | None
    parallel: int
    extractor: dict[str, Any] | None
    pairs: str
    repeat: int
    fresh: bool
    experiment_id: int | None
    cell: dict[str, str] | None
    source: str
    state: str
    problem: str
    created_at: datetime
    active: bool
    """Whether a worker executes it now."""

    @property
    def name_of_cell(self) -> str:
        """The name, which is the same for all repeats of a cell of an experiment."""
        return self.name if self.experiment_id is None else self.name.removesuffix(f" · repeat {self.repeat}")


@dataclass(frozen=True)
class Progress:
    """Counts of a run's traces, and the totals of its calls."""

    traces: int
    done: int
    failed: int
    agreed: int
    disputed: int
    no_verdict: int
    totals: call_totals.Totals
    first_problem: str = ""
    """Why the first failed trace failed; empty if none did."""

    def summary(self) -> str:
        """Return one sentence without its full stop. An unknown price is never shown as $0.00."""
        totals = self.totals
        failed = f"{self.failed} failed: {self.first_problem}" if self.first_problem else f"{self.failed} failed"
        refused = format_count(totals.refused_schemas, "refused JSON schema")
        errors = format_count(totals.errors, "error")
        note = f" (and {refused}, asked for text instead)" if totals.refused_schemas else ""
        return (
            f"{self.done + self.failed} of {self.traces} traces: {self.agreed} agreed, {self.disputed} disputed, "
            f"{self.no_verdict} no verdict, {failed.rstrip('.')}; {totals.describe_calls()}, "
            f"{totals.describe_tokens()}, {totals.describe_cost()}, {errors}{note}"
        )


def create(
    session: Session,
    study_id: int,
    name: str,
    *,
    parts: Callable[[Item], Sequence[str]] | None = None,
    selection: items.ItemSelection | None = None,
    **columns: Any,
) -> int:
    """Create a run over the study's items, or a selection of them, and return its id.

    `parts` returns the part of each trace of an item; without it an item has one trace. The other columns are those of
    `RunRow`. A worker that looks for requested runs executes it.
    """
    studies.lock(session, study_id)
    row = RunRow(study_id=study_id, name=unused_name(session, study_id, name), source="live", **columns)
    session.add(row)
    session.flush()
    _insert_traces(session, row, selection or items.ItemSelection(), parts)
    _record(session, row, "started")
    return row.id


def _insert_traces(
    session: Session, row: RunRow, selection: items.ItemSelection, parts: Callable[[Item], Sequence[str]] | None
) -> None:
    """Insert a waiting trace for each part of each selected item; raises TiebreakError if there is none."""
    waiting = {
        "study_id": row.study_id,
        "run_id": row.id,
        "outcome": "waiting",
        "problem": "",
        "uncertainty": 0.0,
        "contention": None,
    }
    selected = items.item_ids(session, row.study_id, selection)
    by_id = items.by_ids(session, selected) if parts is not None else {}
    traces = [
        waiting | {"item_id": item_id, "part": part}
        for item_id in selected
        for part in (("",) if parts is None else parts(by_id[item_id]))
    ]
    if not traces:
        raise TiebreakError("There are no items to run over; import some first.")
    insert_all(session, TraceRow, traces)


def sample_items(
    session: Session, study_id: int, selection: items.ItemSelection, *, size: int = 50
) -> tuple[int, list[Item]]:
    """Return how many items such a run would have, and at most `size` of them, evenly from first to last."""
    ids = items.item_ids(session, study_id, selection)
    sample = items.by_ids(session, ids[:: max(1, -(-len(ids) // max(1, size)))])
    return len(ids), [sample[item_id] for item_id in sorted(sample)]


def unused_name(session: Session, study_id: int, wanted: str) -> str:
    """Return `wanted` on one line, with a number if the study has a run of that name."""
    wanted = " ".join(wanted.split()) or "run"
    used = set(session.scalars(select(col(RunRow.name)).where(col(RunRow.study_id) == study_id)))
    name, number = wanted, 2
    while name in used:
        name, number = f"{wanted} {number}", number + 1
    return name


def get(session: Session, run_id: int) -> Run:
    """Return the run with that id; raises TiebreakError if there is none."""
    row = session.execute(_with_activity(clock(session)).where(col(RunRow.id) == run_id)).first()
    if row is None:
        raise TiebreakError(f"There is no run {run_id}.")
    return _run(row[0], row[1])


def by_ids(session: Session, run_ids: Sequence[int]) -> list[Run]:
    """Return the runs with these ids, newest first."""
    return select_runs(session, col(RunRow.id).in_(run_ids))[::-1]


def of_study(session: Session, study_id: int) -> list[Run]:
    """Return a study's runs, newest first."""
    return select_runs(session, col(RunRow.study_id) == study_id)[::-1]


def count_items(session: Session, study_id: int, experiment_id: int | None = None) -> int:
    """Return the number of items with a finished trace, of all runs or of those of an experiment."""
    of = select(col(RunRow.id)).where(col(RunRow.study_id) == study_id)
    of = of if experiment_id is None else of.where(col(RunRow.experiment_id) == experiment_id)
    finished = (col(TraceRow.run_id).in_(of), col(TraceRow.outcome) != "waiting")
    return session.scalar(select(func.count(col(TraceRow.item_id).distinct())).where(*finished)) or 0


def states(session: Session, study_id: int) -> dict[int, str]:
    """Return run id -> state of a study's runs, oldest first: what other visitors may have changed."""
    query = select(col(RunRow.id), col(RunRow.state)).where(col(RunRow.study_id) == study_id)
    return dict(session.execute(query.order_by(col(RunRow.id))).all())


def select_runs(session: Session, condition: ColumnElement[bool]) -> list[Run]:
    """Return the runs that meet a condition, oldest first."""
    query = _with_activity(clock(session)).where(condition).order_by(col(RunRow.id))
    return [_run(row, active) for row, active in session.execute(query)]


def uninstalled_protocol_notes(session: Session, study_id: int) -> list[str]:
    """Return a sentence for each run whose protocol is not installed here."""
    names = set(registry.PROTOCOLS)
    return [
        f"The protocol {run.protocol!r} of run {run.name!r} is not installed here."
        for run in of_study(session, study_id)
        if run.protocol not in names
    ]


def progress(session: Session, run_id: int) -> Progress:
    """Return the counts of a run's traces, and the totals of its calls."""
    return progress_by_run(session, [run_id])[run_id]


def progress_by_run(session: Session, run_ids: Sequence[int]) -> dict[int, Progress]:
    """Return run id -> the counts of its traces, and the totals of its calls; the statements are as many as for one."""
    query = select(col(TraceRow.run_id), col(TraceRow.outcome), func.count()).where(col(TraceRow.run_id).in_(run_ids))
    counts: dict[int, dict[str, int]] = {run_id: {} for run_id in run_ids}
    for run_id, outcome, count in session.execute(query.group_by(col(TraceRow.run_id), col(TraceRow.outcome))):
        counts[run_id][outcome] = count
    totals = call_totals.by_run(session, run_ids)
    problems = _first_problems(session, [run_id for run_id in run_ids if counts[run_id].get("failed")])
    return {run_id: _progress(counts[run_id], totals[run_id], problems.get(run_id, "")) for run_id in run_ids}


def _progress(counts: Mapping[str, int], totals: call_totals.Totals, first_problem: str) -> Progress:
    verdicts = {outcome: counts.get(outcome, 0) for outcome in ("agreed", "disputed", "no_verdict")}
    return Progress(
        traces=sum(counts.values()),
        done=sum(verdicts.values()),
        failed=counts.get("failed", 0),
        **verdicts,
        totals=totals,
        first_problem=first_problem,
    )


def _first_problems(session: Session, run_ids: Sequence[int]) -> dict[int, str]:
    """Return run id -> why the first failed trace of a run failed, in the order of the traces."""
    if not run_ids:
        return {}
    has_failed = (col(TraceRow.run_id).in_(run_ids), col(TraceRow.outcome) == "failed")
    first = select(func.min(col(TraceRow.id))).where(*has_failed).group_by(col(TraceRow.run_id))
    query = select(col(TraceRow.run_id), col(TraceRow.problem)).where(col(TraceRow.id).in_(first))
    return dict(session.execute(query).all())


def cancel(session: Session, run_id: int) -> None:
    """Request that a run stops. Stored events remain, and the run can be resumed."""
    row = claims.locked(session, run_id)
    if row.state == "requested":
        row.state = "cancelling" if claims.is_active(row, clock(session)) else "cancelled"


def executed_state(session: Session, run_id: int) -> str:
    """Return the state of a run of which calls may be in progress; empty if no worker executes it."""
    row = claims.locked(session, run_id)
    return row.state if claims.is_active(row, clock(session)) else ""


def resume(session: Session, run_id: int, ceiling: float | None = None, *, interrupted: bool = False) -> None:
    """Request the rest of a run; failed traces are run again. A `ceiling`, in dollars, replaces that of the run.

    Raises TiebreakError for an imported run, for one whose protocol is not installed, for a ceiling of a run of an
    experiment, and for a run that is requested already: a second request would begin its cost limit again. A requested
    run that nobody executes can be requested again if it is stated to be `interrupted`.
    """
    row = claims.locked(session, run_id)
    if row.source != "live":
        raise TiebreakError("Only a run that was created here can be resumed; this one was imported.")
    if row.state == "requested" and not (interrupted and not claims.is_active(row, clock(session))):
        raise TiebreakError(f"The run {row.name!r} is requested already, so it was not resumed again.")
    registry.get(row.protocol)
    session.execute(
        update(TraceRow)
        .where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "failed")
        .values(outcome="waiting", problem="")
    )
    row.state, row.problem, row.ended_at, row.call_totals = "requested", "", None, None
    if ceiling is not None and row.experiment_id is not None:
        raise TiebreakError("This run is part of an experiment; the cost limit of the experiment applies.")
    changed = ceiling is not None and ceiling != row.ceiling
    row.ceiling = row.ceiling if ceiling is None else ceiling
    _record(session, row, f"resumed with a cost limit of ${ceiling:g}" if changed else "resumed")


def _record(session: Session, row: RunRow, change: str) -> None:
    """Record who lets a run call models, and with which keys."""
    settings = [row.settings, row.extractor]
    audit.record(
        session,
        audit.Action.run,
        study_id=row.study_id,
        run=row.name,
        change=change,
        models=calls.model_names(settings),
        keys=calls.key_variables(settings),
    )


def _with_activity(at: datetime) -> Select[RunRow, bool]:
    """Select runs, and whether workers execute them at a time of the database's clock."""
    return select(RunRow, func.coalesce(col(RunRow.claimed_until) > at, false()))


def _run(row: RunRow, active: bool) -> Run:
    columns: Any = row.model_dump(
        include={field.name for field in fields(Run)} - {"state", "active"},
        warnings=False,  # about seeds that are texts; see `exports`
    )
    # The worker that should have ended a cancelled run may have crashed.
    state = "cancelled" if row.state == "cancelling" and not active else row.state
    return Run(**columns, state=state, active=bool(active))
