"""The calls of runs: tokens, durations and dollars, with those of reused replies separately."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, not_, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.call_totals import ANSWERED
from storage.tables import EventRow


@dataclass(frozen=True)
class RunCost:
    """Sums over the calls of a run. A reused reply counts with the values of the call that was made for it."""

    traces: int = 0
    """Traces with at least one call."""
    calls: int = 0
    reused: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Durations of the calls, one after another."""
    dollars: float = 0.0
    """As far as prices are known."""
    unpriced: int = 0
    """Calls whose price is unknown."""
    paid_dollars: float = 0.0
    """Without reused replies."""
    uncounted: int = 0
    """Calls whose tokens are unknown."""
    untimed: int = 0
    """Calls whose duration is unknown."""

    @property
    def dollars_per_thousand(self) -> float | None:
        """Dollars per 1,000 traces; None if a price is unknown, or without calls."""
        return None if self.unpriced or not self.traces else 1000 * self.dollars / self.traces

    @property
    def tokens_per_trace(self) -> float | None:
        """Tokens of prompts and replies per trace; None if a number of tokens is unknown, or without calls."""
        known = self.traces and not self.uncounted
        return (self.prompt_tokens + self.completion_tokens) / self.traces if known else None

    @property
    def seconds_per_trace(self) -> float | None:
        """Seconds of calls per trace; None if a duration is unknown, or without calls."""
        return self.seconds / self.traces if self.traces and not self.untimed else None


def cost_by_run(session: Session, run_ids: Sequence[int]) -> dict[int, RunCost]:
    """Return run id -> the sums over its calls; a run without calls has zeros."""
    dollars, tokens = col(EventRow.dollars), (col(EventRow.prompt_tokens), col(EventRow.completion_tokens))
    query = (
        select(
            col(EventRow.run_id),
            func.count(col(EventRow.trace_id).distinct()),
            func.count(),
            func.count().filter(col(EventRow.reused)),
            func.coalesce(func.sum(col(EventRow.prompt_tokens)), 0),
            func.coalesce(func.sum(col(EventRow.completion_tokens)), 0),
            func.coalesce(func.sum(col(EventRow.seconds)), 0.0),
            func.coalesce(func.sum(dollars), 0.0),
            func.count().filter(dollars.is_(None)),
            func.coalesce(func.sum(dollars).filter(not_(col(EventRow.reused))), 0.0),
            func.count().filter(or_(*(column.is_(None) for column in tokens))),
            func.count().filter(col(EventRow.seconds).is_(None)),
        )
        .where(col(EventRow.run_id).in_(run_ids), col(EventRow.type).in_(ANSWERED))
        .group_by(col(EventRow.run_id))
    )
    found = {run: RunCost(*sums) for run, *sums in session.execute(query)}
    return {run: found.get(run, RunCost()) for run in run_ids}
