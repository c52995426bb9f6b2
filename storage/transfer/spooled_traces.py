"""The traces of an import as the rows that are stored, in a temporary file."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from core.contention import verdict_contention
from core.current_events import current_events
from core.formats.records import TraceRecord
from core.trace import Event, TraceFailed, Verdict, VerdictReached
from core.uncertainty import uncertainty
from storage import shown_orders, unread
from storage.events import event_row, opinion_row, opinion_target, verdict_columns
from storage.fingerprints import Row
from storage.items import content_digest
from storage.json_columns import to_json
from storage.targets import TargetKey, key_of
from storage.transfer.entries import Spool

BATCH = 500
"""Traces in memory at once."""
NO_ID = 0
"""In place of the ids of rows, which are not known before they are stored."""
SpooledTrace = tuple[Row, list[Row], list[tuple[int, Event]], list[tuple[TargetKey, Row]]]
"""The columns of the trace without ids; the rows of its events; those of the events that change the list of unreadable
replies, with their numbers; the target and the row of each opinion."""


class TraceHead(NamedTuple):
    """What identifies a trace of a file, and what it is compared by."""

    run: str
    item: str
    part: str
    events: int
    """Their number."""
    times: int
    """Their number."""
    digest: bytes
    """That of the events and times."""


class SpooledTraces:
    """Traces in the order of the file; their heads and the targets of their opinions are in memory."""

    def __init__(self) -> None:
        self.heads: list[TraceHead] = []
        self.targets: dict[TargetKey, None] = {}
        self._traces = Spool[SpooledTrace](BATCH)

    def add(self, record: TraceRecord) -> None:
        """Append a trace."""
        events = [
            event_row(event, NO_ID, NO_ID, seq, at)
            for seq, (event, at) in enumerate(zip_longest(record.events, record.times[: len(record.events)]))
        ]
        listed = [(seq, event) for seq, event in enumerate(record.events) if unread.is_listed(event)]
        verdicts = _verdicts(record)
        opinions = [
            (key_of(opinion_target(record.item, opinion)), opinion_row(NO_ID, NO_ID, NO_ID, NO_ID, opinion, columns))
            for verdict in verdicts
            for columns in [verdict_columns(verdict)]
            for opinion in verdict.opinions
        ]
        self.targets.update(dict.fromkeys(key for key, _ in opinions))
        digest = content_digest(to_json([[[row["body"], row["prompt"]] for row in events], record.times]))
        head = TraceHead(record.run, record.item, record.part, len(record.events), len(record.times), digest)
        self.heads.append(head)
        self._traces.add((_trace_columns(record, verdicts), events, listed, opinions))

    def batches(self) -> Iterator[list[tuple[int, SpooledTrace]]]:
        """Yield the traces with their places in `heads`; nothing can be added afterwards."""
        first = 0
        for batch in self._traces.batches():
            yield list(enumerate(batch, first))
            first += len(batch)

    def opinions(self) -> Iterator[tuple[TargetKey, Row]]:
        """Yield the target and the row of every opinion."""
        for batch in self._traces.batches():
            for *_, opinions in batch:
                yield from opinions

    def close(self) -> None:
        """Delete the temporary file."""
        self._traces.close()


def _verdicts(record: TraceRecord) -> list[Verdict]:
    return [event.verdict for event in current_events(record.events) if isinstance(event, VerdictReached)]


def _trace_columns(record: TraceRecord, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the columns of a trace without ids; its outcome follows from the last event."""
    row = {
        "outcome": "waiting",
        "problem": "",
        "uncertainty": 0.0,
        "contention": None,
        "shown_orders": shown_orders.of_events(record.events) if verdicts else None,
    }
    match record.events[-1] if record.events else None:
        case VerdictReached(verdict=verdict):
            row |= {
                "outcome": verdict.outcome,
                "uncertainty": uncertainty(verdict.opinions),
                "contention": verdict_contention(verdict),
            }
        case TraceFailed(problem=problem):
            row |= {"outcome": "failed", "problem": problem}
    return row
