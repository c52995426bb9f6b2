"""The cost and the duration of each judge of a study, per 1,000 items, and which judges no other dominates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import ColumnElement, distinct, func, not_, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.trace import Usage
from storage.db.tables import EventRow
from storage.reports.opinions import once
from storage.runs.call_totals import ANSWERED

if TYPE_CHECKING:
    import pandas as pd


Name = TypeVar("Name")

# The calls of runs: tokens, durations and dollars, with those of reused replies separately.


@dataclass(frozen=True)
class RunCost:
    """Sums over the calls of a run or a judge. A reused reply counts as the call that was made for it."""

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

    @classmethod
    def of_usages(cls, traces: int, usages: Sequence[Usage]) -> Self:
        """Return the sums over the calls of these traces."""
        return cls(
            traces,
            len(usages),
            prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
            completion_tokens=sum(usage.completion_tokens or 0 for usage in usages),
            dollars=sum(usage.dollars or 0.0 for usage in usages),
            unpriced=sum(usage.dollars is None for usage in usages),
            uncounted=sum(None in (usage.prompt_tokens, usage.completion_tokens) for usage in usages),
        )

    def amount(self, unit: str) -> float | None:
        """Return dollars or seconds per 1,000 traces, as far as they are known."""
        if unit == "dollars":
            return self.dollars_per_thousand
        return None if self.seconds_per_trace is None else 1000 * self.seconds_per_trace


UNITS = ("dollars", "seconds")


def cost_by_run(session: Session, run_ids: Sequence[int]) -> dict[int, RunCost]:
    """Return run id -> the sums over its calls; a run without calls has zeros."""
    found = _costs(session, run_ids)
    return {run: found.get((run,), RunCost()) for run in run_ids}


def cost_by_speaker(session: Session, run_ids: Sequence[int]) -> dict[tuple[int, str], RunCost]:
    """Return (run, speaker) -> the sums over its answered asks; the speaker is in the event, so the events are read."""
    return _costs(session, run_ids, col(EventRow.body)["turn"]["speaker"].as_string()) if run_ids else {}


def _costs(session: Session, run_ids: Sequence[int], *by: ColumnElement[str]) -> dict[Any, RunCost]:
    """Return the sums over the answered calls of runs, by the run and these expressions."""
    names = ("trace_id", "reused", "prompt_tokens", "completion_tokens", "seconds", "dollars")
    keys = [f"key_{number}" for number in range(len(by) + 1)]
    labelled: list[Any] = [one.label(key) for key, one in zip(keys, (col(EventRow.run_id), *by), strict=True)]
    calls = (
        select(*labelled, *(getattr(EventRow, name) for name in names))
        .where(col(EventRow.run_id).in_(run_ids), col(EventRow.type).in_(ANSWERED))
        .subquery()
        .c
    )
    groups = [calls[key] for key in keys]
    query = select(
        *groups,
        func.count(distinct(calls.trace_id)),
        func.count(),
        func.count().filter(calls.reused),
        func.coalesce(func.sum(calls.prompt_tokens), 0),
        func.coalesce(func.sum(calls.completion_tokens), 0),
        func.coalesce(func.sum(calls.seconds), 0.0),
        func.coalesce(func.sum(calls.dollars), 0.0),
        func.count().filter(calls.dollars.is_(None)),
        func.coalesce(func.sum(calls.dollars).filter(not_(calls.reused)), 0.0),
        func.count().filter(or_(calls.prompt_tokens.is_(None), calls.completion_tokens.is_(None))),
        func.count().filter(calls.seconds.is_(None)),
    ).group_by(*groups)
    return {tuple(row[: len(keys)]): RunCost(*row[len(keys) :]) for row in session.execute(query)}


def cost_by_judge(session: Session, study_id: int, opinions: "pd.DataFrame") -> dict[str, RunCost]:
    """Return judge -> cost, for the judges of `storage.reports.alignment.load_data`; read once for the same opinions.

    A verdict costs all calls of its run; a last opinion costs the judge's own calls. First opinions have no cost: their
    calls are not stored separately.
    """
    return once(opinions, "costs", lambda: _cost_by_judge(session, opinions))


def _cost_by_judge(session: Session, opinions: "pd.DataFrame") -> dict[str, RunCost]:
    if opinions.empty:
        return {}
    last, verdict = (opinions.loc[opinions["stage"] == stage, "run"].unique().tolist() for stage in ("last", "verdict"))
    by_speaker = cost_by_speaker(session, last)
    by_run = {run: cost for run, cost in cost_by_run(session, verdict).items() if cost.calls}
    costs: dict[str, list[RunCost]] = {}
    for judge, rater, run, stage in (
        opinions[["judge", "rater", "run", "stage"]].drop_duplicates().itertuples(index=False)
    ):
        cost = by_run.get(run) if stage == "verdict" else by_speaker.get((run, rater)) if stage == "last" else None
        if cost is not None:
            costs.setdefault(judge, []).append(cost)
    return {judge: sum_costs(of_judge) for judge, of_judge in costs.items()}


def sum_costs(costs: Iterable[RunCost]) -> RunCost:
    """Return the sums of several runs."""
    return RunCost(*map(sum, zip(*map(astuple, costs), strict=True)))


def efficient(points: Mapping[Name, tuple[float, float]]) -> set[Name]:
    """Return the names on the efficient front: no other has a lower cost and at least the same value.

    `points` maps a name to (cost, value). Of two with the same cost and value, both are efficient.
    """
    return {
        name
        for name, (cost, value) in points.items()
        if not any(c <= cost and v >= value and (c, v) != (cost, value) for c, v in points.values())
    }


def with_efficiency(
    costs: Mapping[str, RunCost], values: Mapping[str, float | None]
) -> dict[str, tuple[RunCost, tuple[str, ...]]]:
    """Return judge -> its cost, and in what it is efficient ("dollars", "seconds"), for judges with a cost."""
    known = {judge: (costs[judge], value) for judge, value in values.items() if judge in costs and value is not None}
    found = {
        unit: efficient(
            {
                name: (amount, value)
                for name, (cost, value) in known.items()
                if (amount := cost.amount(unit)) is not None
            }
        )
        for unit in UNITS
    }
    return {name: (cost, tuple(unit for unit in UNITS if name in found[unit])) for name, (cost, _) in known.items()}
