"""The cost of each judge of a study, per 1,000 items."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, distinct, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.tables import EventRow, RunRow

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class JudgeCost:
    """The cost of a judge's calls, over the traces with at least one."""

    dollars: float
    traces: int
    unpriced: int
    """Calls whose price is unknown."""

    @property
    def per_thousand(self) -> float | None:
        """Dollars per 1,000 items; None if a price is unknown, or if there are no calls."""
        return None if self.unpriced or not self.traces else 1000 * self.dollars / self.traces


def cost_by_judge(session: Session, study_id: int, opinions: "pd.DataFrame") -> dict[str, JudgeCost]:
    """Return judge -> cost, for the judges of `storage.reports.alignment.load_data`.

    A verdict costs all calls of its run; a last opinion costs the judge's own calls. First opinions have no cost: their
    calls are not stored separately.
    """
    if opinions.empty:
        return {}
    by_speaker = {(run, speaker): _sum([row]) for run, speaker, *row in session.execute(_speaker_query(study_id))}
    by_run = {run: _sum([row]) for run, *row in session.execute(_run_query(study_id))}
    costs: dict[str, list[JudgeCost]] = {}
    for judge, rater, run, stage in (
        opinions[["judge", "rater", "run", "stage"]].drop_duplicates().itertuples(index=False)
    ):
        cost = by_run.get(run) if stage == "verdict" else by_speaker.get((run, rater)) if stage == "last" else None
        if cost is not None:
            costs.setdefault(judge, []).append(cost)
    return {judge: _sum((c.dollars, c.unpriced, c.traces) for c in of_judge) for judge, of_judge in costs.items()}


def _sum(rows: Iterable[Any]) -> JudgeCost:
    """Add up rows of (dollars, unpriced, traces)."""
    dollars, unpriced, traces = zip(*rows, strict=True)
    return JudgeCost(sum(amount or 0.0 for amount in dollars), sum(traces), sum(unpriced))


def _calls(study_id: int) -> Any:
    """Select the answered asks of the study: run, speaker, dollars, trace."""
    return (
        select(
            col(EventRow.run_id).label("run"),
            col(EventRow.body)["turn"]["speaker"].as_string().label("speaker"),
            col(EventRow.dollars).label("dollars"),
            col(EventRow.trace_id).label("trace"),
        )
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(EventRow.type).in_(("turn", "unreadable", "extracted")))
        .subquery()
    )


def _speaker_query(study_id: int) -> Select[*tuple[Any, ...]]:
    calls = _calls(study_id).c
    return select(calls.run, calls.speaker, *_sums(calls)).group_by(calls.run, calls.speaker)


def _run_query(study_id: int) -> Select[*tuple[Any, ...]]:
    calls = _calls(study_id).c
    return select(calls.run, *_sums(calls)).group_by(calls.run)


def _sums(calls: Any) -> tuple[Any, ...]:
    unpriced = func.count().filter(calls.dollars.is_(None))
    return func.sum(calls.dollars), unpriced, func.count(distinct(calls.trace))
