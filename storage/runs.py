"""Runs: made with a trace for every item, claimed in one transaction, carried, resumed."""

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from sqlalchemy import case, func, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.items import Item
from core.problems import Problem
from storage import items, studies
from storage.database import insert_all
from storage.tables import ItemRow, RunRow, TraceRow, now
from storage.traces import Totals, totals

LEASE = timedelta(seconds=15)
"""How long a claim holds when nobody renews it: after a crash the work is free again so soon."""


@dataclass(frozen=True)
class Run:
    """A run as pages and commands know it."""

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
    source: str
    state: str
    problem: str
    alive: bool
    """Whether some process carries it now."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    traces: int
    done: int
    failed: int
    agreed: int
    disputed: int
    no_verdict: int
    totals: Totals

    def sentence(self) -> str:
        """In words."""
        took = self.totals
        unknown = f"{took.unpriced:,} calls of unknown price" if took.unpriced else ""
        priced = f"${took.dollars:,.2f}" if took.dollars or not unknown else ""
        money = " and ".join(filter(None, (priced, unknown)))
        return (
            f"{self.done + self.failed} of {self.traces} traces: {self.agreed} agreed, {self.disputed} need a person, "
            f"{self.no_verdict} no verdict, {self.failed} failed; {took.calls:,} calls, "
            f"{took.prompt_tokens + took.completion_tokens:,} tokens, {money}, {took.errors} errors"
        )


def create(
    session: Session,
    study_id: int,
    name: str,
    *,
    protocol: str,
    criterion: str,
    settings: dict[str, Any],
    prompts: dict[str, str],
    seed: int = 0,
    ceiling: float | None = None,
    parallel: int = 8,
    limit: int | None = None,
    scenario: str | None = None,
) -> int:
    """A new run over the study's items, or the first `limit` of them; whoever carries runs will see it."""
    studies.lock(session, study_id)
    row = RunRow(
        study_id=study_id,
        name=free_name(session, study_id, name),
        protocol=protocol,
        criterion=criterion,
        settings=settings,
        prompts=prompts,
        seed=seed,
        ceiling=ceiling,
        parallel=parallel,
        source="live",
    )
    session.add(row)
    session.flush()
    traces = [
        {"study_id": study_id, "run_id": row.id, "item_id": item, "outcome": "waiting", "problem": "", "doubt": 0.0}
        for item in _chosen(session, study_id, limit, scenario)
    ]
    if not traces:
        raise Problem("There are no items to run over; import some first.")
    insert_all(session, TraceRow, traces)
    return row.id


def planned(
    session: Session, study_id: int, *, limit: int | None = None, scenario: str | None = None, shown: int = 50
) -> tuple[int, list[Item]]:
    """How many items such a run would have, and about `shown` of them, evenly from first to last."""
    ids = _chosen(session, study_id, limit, scenario)
    some = items.by_number(session, ids[:: max(1, -(-len(ids) // shown))])
    return len(ids), [some[number] for number in sorted(some)]


def _chosen(session: Session, study_id: int, limit: int | None, scenario: str | None) -> list[int]:
    """The items of a run, in the order of the study."""
    query = select(col(ItemRow.id)).where(col(ItemRow.study_id) == study_id).order_by(col(ItemRow.position))
    if scenario is not None:
        query = query.where(col(ItemRow.scenario) == scenario)
    return list(session.scalars(query.limit(limit)))


def free_name(session: Session, study_id: int, wanted: str) -> str:
    """`wanted`, or with a number behind it where the study has a run of that name."""
    wanted = " ".join(wanted.split()) or "run"
    taken = set(session.scalars(select(col(RunRow.name)).where(col(RunRow.study_id) == study_id)))
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted} {number}", number + 1
    return name


def get(session: Session, run_id: int) -> Run:
    """The run of that number."""
    row = session.get(RunRow, run_id)
    if row is None:
        raise Problem(f"There is no run {run_id}.")
    return _run(row)


def of_study(session: Session, study_id: int) -> list[Run]:
    """A study's runs, newest first."""
    query = select(RunRow).where(col(RunRow.study_id) == study_id).order_by(col(RunRow.id).desc())
    return [_run(row) for row in session.scalars(query)]


def progress(session: Session, run_id: int) -> Progress:
    """Counts of traces by outcome, and what the calls took."""
    query = (
        select(col(TraceRow.outcome), func.count())
        .where(col(TraceRow.run_id) == run_id)
        .group_by(col(TraceRow.outcome))
    )
    found = dict(session.execute(query).all())
    ended = {outcome: found.get(outcome, 0) for outcome in ("agreed", "disputed", "no_verdict")}
    return Progress(
        traces=sum(found.values()),
        done=sum(ended.values()),
        failed=found.get("failed", 0),
        **ended,
        totals=totals(session, run_id=run_id),
    )


def waiting(session: Session) -> list[int]:
    """The runs that somebody asked for and nobody carries."""
    query = (
        select(col(RunRow.id))
        .where(col(RunRow.state) == "requested", _free(col(RunRow.carried_until)))
        .order_by(col(RunRow.id))
    )
    return list(session.scalars(query))


def take(session: Session, run_id: int, worker: str) -> bool:
    """Become the one process that carries the run, so that its limits and its ceiling hold; False if one does."""
    query = (
        update(RunRow)
        .where(
            col(RunRow.id) == run_id,
            col(RunRow.state) == "requested",
            or_(_free(col(RunRow.carried_until)), col(RunRow.carried_by) == worker),
        )
        .values(carried_by=worker, carried_until=now() + LEASE)
        .returning(col(RunRow.id))
    )
    return session.execute(query).first() is not None


def claim(session: Session, run_id: int, worker: str, limit: int) -> list[tuple[int, int]]:
    """Claim up to `limit` traces that wait, in one transaction: (trace, item) numbers in the order of the items."""
    free = (
        select(col(TraceRow.id), col(TraceRow.item_id))
        .where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "waiting", _free(col(TraceRow.claimed_until)))
        .order_by(col(TraceRow.id))
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    chosen = [(trace, item) for trace, item in session.execute(free)]
    ids = [trace for trace, _ in chosen]
    if ids:
        session.execute(
            update(TraceRow).where(col(TraceRow.id).in_(ids)).values(claimed_by=worker, claimed_until=now() + LEASE)
        )
    return chosen


def renew(session: Session, run_id: int, worker: str) -> bool:
    """Say that the worker is alive; False where the run is no longer its own or was asked to stop.

    A run that was asked to stop is still held, until what is under way has ended.
    """
    until = now() + LEASE
    session.execute(
        update(TraceRow)
        .where(col(TraceRow.run_id) == run_id, col(TraceRow.claimed_by) == worker)
        .values(claimed_until=until)
    )
    query = (
        update(RunRow)
        .where(col(RunRow.id) == run_id, col(RunRow.carried_by) == worker)
        .values(carried_until=until)
        .returning(col(RunRow.state))
    )
    return session.execute(query).scalars().first() == "requested"


def release(session: Session, run_id: int, worker: str, state: str | None = None, problem: str = "") -> None:
    """Give back whatever the worker holds, and say how the run ended; by default what its traces tell."""
    row = _locked(session, run_id)
    session.execute(
        update(TraceRow)
        .where(col(TraceRow.run_id) == run_id, col(TraceRow.claimed_by) == worker)
        .values(claimed_by=None, claimed_until=None)
    )
    if row.carried_by != worker:
        return
    row.carried_by, row.carried_until = None, None
    row.state, row.problem = state or ("cancelled" if row.state == "cancelling" else _ending(session, run_id)), problem
    if row.state != "requested":
        row.ended_at = now()


def cancel(session: Session, run_id: int) -> None:
    """Ask a run to stop; what is stored stays and it can be resumed."""
    row = _locked(session, run_id)
    if row.state == "requested":
        row.state = "cancelling" if _alive(row) else "cancelled"


def resume(session: Session, run_id: int) -> None:
    """Ask for the rest of a run; traces that failed wait again."""
    row = _locked(session, run_id)
    if row.source != "live":
        raise Problem("Only runs that were made here can be resumed; this one was imported.")
    session.execute(
        update(TraceRow)
        .where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome) == "failed")
        .values(outcome="waiting", problem="")
    )
    row.state, row.problem, row.ended_at = "requested", "", None


def _locked(session: Session, run_id: int) -> RunRow:
    """The run, which nobody else changes until the end of the transaction; its events are still added."""
    query = select(RunRow).where(col(RunRow.id) == run_id).with_for_update(key_share=True)
    row = session.scalars(query.execution_options(populate_existing=True)).first()
    if row is None:
        raise Problem(f"There is no run {run_id}.")
    return row


def _ending(session: Session, run_id: int) -> str:
    open_traces = func.sum(case((col(TraceRow.outcome) == "waiting", 1), else_=0))
    left = session.scalars(select(open_traces).where(col(TraceRow.run_id) == run_id)).one()
    return "requested" if left else "finished"


def _free(until: Any) -> Any:
    return or_(until.is_(None), until <= now())


def _run(row: RunRow) -> Run:
    plain: Any = row.model_dump(include={field.name for field in fields(Run)} - {"state", "alive"})
    alive = _alive(row)
    return Run(**plain, state="cancelled" if row.state == "cancelling" and not alive else row.state, alive=alive)


def _alive(row: RunRow) -> bool:
    return row.carried_until is not None and row.carried_until > now()
