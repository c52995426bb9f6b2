"""The answered asks of a study's traces, read in one query: what replays and statistics over rounds start from."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Target
from core.trace import Turn, completed_turns
from storage.db.tables import EventRow, ItemRow, RunRow, TraceRow
from storage.labels import targets
from storage.runs.events import parse_event

if TYPE_CHECKING:
    import pandas as pd


# Types of the events that decide which turns count, and with which reading.
TURN_EVENTS = ("turn", "restarted", "extracted", "reading", "reading_withdrawn")


@dataclass(frozen=True)
class TraceTurns:
    """The turns of one trace in the order of the flow, without superseded ones and without their prompts."""

    trace: int
    run: int
    item: str
    part: str
    """The pair of responses that the trace is on; empty if it is on the whole item."""
    scenario: str
    group: str
    """The document or dialogue of the item, otherwise the item."""
    turns: tuple[Turn, ...]

    def of_criterion(self, criterion: str) -> tuple[Turn, ...]:
        """Return the turns on a criterion: all of them if the trace is on one, so that no turn names it."""
        return tuple(turn for turn in self.turns if turn.criterion in ("", criterion))


def by_trace(session: Session, study_id: int, run_ids: Collection[int] | None = None) -> Iterator[TraceTurns]:
    """Yield the turns of each trace of these runs, or of all runs of the study, in the order of the traces."""
    query = (
        select(
            col(EventRow.trace_id), col(EventRow.run_id), col(ItemRow.key), col(TraceRow.part),
            col(ItemRow.scenario), col(ItemRow.cluster), cast(col(EventRow.body), Text),
        )
        .join(TraceRow, col(TraceRow.id) == col(EventRow.trace_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(EventRow.type).in_(TURN_EVENTS))
        .order_by(col(EventRow.trace_id), col(EventRow.seq))
        .execution_options(yield_per=2000)
    )  # fmt: skip
    if run_ids is not None:
        query = query.where(col(EventRow.run_id).in_(run_ids))
    for key, rows in groupby(session.execute(query), key=lambda row: tuple(row[:6])):
        trace, run, item, part, scenario, group = key
        turns = completed_turns([parse_event(row[6]) for row in rows])
        yield TraceTurns(trace, run, item, part, scenario or "", group or item, tuple(turns))


def targets_by_trace(opinions: "pd.DataFrame") -> Mapping[int, Collection[Target]]:
    """Return trace id -> the targets of its opinions, one for each criterion."""
    found: dict[int, dict[Target, None]] = defaultdict(dict)
    for trace, target in zip(opinions["trace"].tolist(), targets.of_frame(opinions), strict=True):
        found[trace][target] = None
    return found
