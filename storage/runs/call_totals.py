"""Sums over calls. Those of a run that has ended are stored with it, so a list of runs does not read their events."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Select, func, not_, or_, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.wording import format_count
from storage.db import audit
from storage.db.tables import EventRow, RunRow, StudyRow
from storage.runs import calls

ANSWERED = ("turn", "unreadable", "extracted")


@dataclass(frozen=True)
class Totals:
    """Sums over the calls of a trace or of runs. Tokens, seconds and dollars are without those of reused replies."""

    calls: int = 0
    """Answered asks, with those whose reply was reused."""
    errors: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0
    unpriced: int = 0
    """Calls whose price is unknown: they are not in `dollars`."""
    uncounted: int = 0
    """Calls whose tokens the provider did not state, or not as possible numbers."""
    refused_schemas: int = 0
    """Requests for JSON that were refused and made as text instead; they are not errors."""
    reused: int = 0
    """Calls that were not made, because their replies were stored."""
    saved_dollars: float = 0.0
    """The cost of the reused calls when they were made, as far as it is known."""
    interrupted: int = 0
    """Calls that were in flight when a worker ended; each may have been paid."""

    def describe_calls(self) -> str:
        """Return `120 calls (90 reused, 2 interrupted)`."""
        details = [
            f"{count:,} {word}" for count, word in ((self.reused, "reused"), (self.interrupted, "interrupted")) if count
        ]
        return format_count(self.calls, "call") + (f" ({', '.join(details)})" if details else "")

    def describe_tokens(self) -> str:
        """Return the tokens in words. Unknown tokens are never shown as 0 tokens."""
        tokens = self.prompt_tokens + self.completion_tokens
        unknown = f"tokens unknown for {format_count(self.uncounted, 'call')}" if self.uncounted else ""
        return ", ".join(filter(None, (format_count(tokens, "token") if tokens or not unknown else "", unknown)))

    def describe_cost(self) -> str:
        """Return the cost in words. An unknown price is never shown as $0.00."""
        unpriced = f"{format_count(self.unpriced, 'call')} of unknown price" if self.unpriced else ""
        priced = f"${self.dollars:,.2f}" if self.dollars or not unpriced else ""
        saved = f" (saved ${self.saved_dollars:,.2f})" if self.saved_dollars else ""
        return " and ".join(filter(None, (priced, unpriced))) + saved


# The sums over events.
NAMES = tuple(field.name for field in fields(Totals) if field.name != "interrupted")


def of_trace(session: Session, trace_id: int) -> Totals:
    """Return the sums over the calls of a trace."""
    return Totals(**_sums(session, col(EventRow.trace_id) == trace_id))


def of_runs(session: Session, run_ids: Sequence[int]) -> Totals:
    """Return the sums over the calls of runs together."""
    return add_up(by_run(session, run_ids).values())


def add_up(totals: Iterable[Totals]) -> Totals:
    """Return the sums of sums."""
    summed = Counter[str]()
    for one in totals:
        summed.update(asdict(one))
    return Totals(**summed)


def by_run(session: Session, run_ids: Sequence[int]) -> dict[int, Totals]:
    """Return run id -> the sums over its calls: the stored ones of a run that has ended."""
    stored = select(col(RunRow.id), col(RunRow.call_totals)).where(col(RunRow.id).in_(run_ids))
    sums = {run: found for run, found in session.execute(stored) if found is not None}
    if others := [run for run in run_ids if run not in sums]:
        query = select(col(EventRow.run_id), *_columns()).where(col(EventRow.run_id).in_(others))
        for run, *values in session.execute(query.group_by(col(EventRow.run_id))):
            sums[run] = dict(zip(NAMES, values, strict=True))
    interrupted = calls.count_interrupted(session, run_ids)
    return {run: Totals(**sums.get(run, {}), interrupted=interrupted.get(run, 0)) for run in run_ids}


def of_ended_run(session: Session, run_id: int) -> dict[str, Any]:
    """Return the sums over the calls of a run, as they are stored with it when it ends."""
    return _sums(session, col(EventRow.run_id) == run_id)


def update_runs(session: Session, run_ids: Sequence[int]) -> None:
    """Store the sums of runs again."""
    for run_id in run_ids:
        statement = update(RunRow).where(col(RunRow.id) == run_id).values(call_totals=of_ended_run(session, run_id))
        session.execute(statement, execution_options={"synchronize_session": False})


def differences(session: Session, study_id: int | None = None, *, rebuild: bool = False) -> list[audit.Difference]:
    """Return the differences of the runs of a study, or of all studies, that have stored sums.

    With `rebuild` they are corrected, and each study has an audit entry.
    """
    found = []
    for id, study, name, run, stored in session.execute(_of_studies(study_id, col(RunRow.call_totals))).all():
        again = {} if stored is None else of_ended_run(session, id)
        names = [name for name in again if not _is_equal(stored.get(name), again[name])]
        if names:
            before, now = ({name: sums.get(name) for name in names} for sums in (stored, again))
            cells = {"study": name, "run": run, "sums stored": str(before), "sums": str(now)}
            found.append(audit.Difference(id, study, now, cells))
    if rebuild:
        update_runs(session, [one.id for one in found])
        audit.record_rebuilt(session, found, "sums over the calls", "run")
    return found


def _is_equal(stored: float | None, again: float) -> bool:
    """Return whether two sums are equal; the order in which a database adds floats is not fixed."""
    return stored is not None and math.isclose(stored, again, rel_tol=1e-9, abs_tol=1e-9)


def _sums(session: Session, condition: ColumnElement[bool]) -> dict[str, Any]:
    """Return the sums over the events that meet a condition, by the names of `Totals`."""
    return dict(zip(NAMES, session.execute(select(*_columns()).where(condition)).one(), strict=True))


def _columns() -> list[ColumnElement[Any]]:
    """Return the sums over events, in the order of NAMES."""
    answered, reused = col(EventRow.type).in_(ANSWERED), col(EventRow.reused)
    paid = not_(reused)
    uncounted = or_(col(EventRow.prompt_tokens).is_(None), col(EventRow.completion_tokens).is_(None))
    return [
        func.count().filter(answered),
        func.count().filter(col(EventRow.type) == "call_failed"),
        func.coalesce(func.sum(col(EventRow.prompt_tokens)).filter(paid), 0),
        func.coalesce(func.sum(col(EventRow.completion_tokens)).filter(paid), 0),
        func.coalesce(func.sum(col(EventRow.seconds)).filter(paid), 0.0),
        func.coalesce(func.sum(col(EventRow.dollars)).filter(paid), 0.0),
        func.count().filter(answered, paid, col(EventRow.dollars).is_(None)),
        func.count().filter(answered, paid, uncounted),
        func.count().filter(col(EventRow.type) == "schema_refused"),
        func.count().filter(reused),
        func.coalesce(func.sum(col(EventRow.dollars)).filter(reused), 0.0),
    ]


def _of_studies(study_id: int | None, *columns: Any) -> Select[*tuple[Any, ...]]:
    """Select the id of each run, the id and the name of its study, its name, and columns of it."""
    query = select(col(RunRow.id), col(StudyRow.id), col(StudyRow.name), col(RunRow.name), *columns)
    query = query.join(StudyRow, col(StudyRow.id) == col(RunRow.study_id)).order_by(col(RunRow.id))
    return query if study_id is None else query.where(col(RunRow.study_id) == study_id)
