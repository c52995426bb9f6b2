"""The turns of a study's traces as rows, oldest run first, in the order of the items and of the flow."""

from collections.abc import Iterator

from sqlalchemy import Engine

from core.formats.turns import TurnRow, turn_row
from core.trace import TurnCompleted
from storage import runs, traces
from storage.database import reading
from storage.studies import Study
from storage.traces import Filter

BATCH = 200
"""Traces read at once."""


def turn_rows(engine: Engine, study: Study) -> Iterator[TurnRow]:
    """Yield every turn with its current reading."""
    with reading(engine) as session:
        for run in reversed(runs.of_study(session, study.id)):
            filter = Filter(study.id, run.id)
            for first in range(0, traces.count(session, filter), BATCH):
                for trace in traces.find(session, filter, offset=first, limit=BATCH):
                    events = [event for _, event in traces.events(session, trace.id)]
                    completed = [event for event in events if isinstance(event, TurnCompleted)]
                    for event in sorted(completed, key=lambda event: event.ask):
                        yield turn_row(
                            event.turn,
                            event.ask,
                            run=trace.run,
                            protocol=trace.protocol,
                            item=trace.item,
                            part=trace.part,
                            scenario=trace.scenario,
                            criterion=trace.criterion,
                            outcome=trace.status,
                            contention=trace.contention,
                        )
