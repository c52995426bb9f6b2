"""What each judge of a study cost, for 1,000 items."""

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
class Cost:
    """Of a judge's calls, over the traces in which it spoke."""

    dollars: float
    traces: int
    unpriced: int
    """Calls whose price is not known."""

    @property
    def per_thousand(self) -> float | None:
        """Dollars for 1,000 items; None where a price is not known, or nothing was asked."""
        return None if self.unpriced or not self.traces else 1000 * self.dollars / self.traces


def costs(session: Session, study_id: int, opinions: "pd.DataFrame") -> dict[str, Cost]:
    """By judge, as `storage.reports.alignment.sides` names them.

    A verdict rests on everything that its run asked; a judge's opinion on the judge's own calls. What first opinions
    alone cost is not told apart, so they have no cost.
    """
    if opinions.empty:
        return {}
    own = {(run, speaker): _cost([row]) for run, speaker, *row in session.execute(_by_speaker(study_id))}
    whole = {run: _cost([row]) for run, *row in session.execute(_by_run(study_id))}
    found: dict[str, list[Cost]] = {}
    said = opinions[["judge", "rater", "run", "stage"]].drop_duplicates()
    for judge, rater, run, stage in said.itertuples(index=False):
        cost = whole.get(run) if stage == "verdict" else own.get((run, rater)) if stage == "last" else None
        if cost is not None:
            found.setdefault(judge, []).append(cost)
    return {
        judge: _cost([(one.dollars, one.unpriced, one.traces) for one in several]) for judge, several in found.items()
    }


def _cost(rows: Iterable[Any]) -> Cost:
    """The sum of rows (dollars, unpriced, traces)."""
    dollars, unpriced, traces = zip(*rows, strict=True)
    return Cost(sum(one or 0.0 for one in dollars), sum(traces), sum(unpriced))


def _calls(study_id: int) -> Any:
    """Every answered ask of the study, with its speaker."""
    return (
        select(
            col(EventRow.run_id).label("run"),
            col(EventRow.body)["turn"]["speaker"].as_string().label("speaker"),
            col(EventRow.dollars).label("dollars"),
            col(EventRow.trace_id).label("trace"),
        )
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(EventRow.type).in_(("turn", "unreadable")))
        .subquery()
    )


def _by_speaker(study_id: int) -> Select[*tuple[Any, ...]]:
    calls = _calls(study_id).c
    return select(calls.run, calls.speaker, *_sums(calls)).group_by(calls.run, calls.speaker)


def _by_run(study_id: int) -> Select[*tuple[Any, ...]]:
    calls = _calls(study_id).c
    return select(calls.run, *_sums(calls)).group_by(calls.run)


def _sums(calls: Any) -> tuple[Any, ...]:
    unpriced = func.count().filter(calls.dollars.is_(None))
    return func.sum(calls.dollars), unpriced, func.count(distinct(calls.trace))
