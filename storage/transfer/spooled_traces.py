"""The traces of an import as the rows that are stored, in temporary files."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

from core.contention import verdict_contention
from core.current_events import current_events
from core.formats.records import TraceRecord
from core.labels import Opinion, Value
from core.trace import Event, TraceFailed, TurnCompleted, Verdict, VerdictReached
from core.uncertainty import uncertainty
from storage import shown_orders, unread
from storage.events import event_row, opinion_row, verdict_columns
from storage.fingerprints import Row
from storage.items import content_digest
from storage.targets import TargetKey
from storage.transfer.distinct_values import DistinctValues
from storage.transfer.entries import Spool

Entry = TypeVar("Entry")
BATCH = 500
"""Traces in memory at once."""
NO_ID = 0
"""In place of the ids of rows, which are not known before they are stored."""
SpooledEvents = tuple[list[Row], list[tuple[int, Event]], list[tuple[TargetKey, Row]]]
"""The rows of a trace's events (`_plain_row`); those of the events that change the list of unreadable replies,
with their numbers; the target and the row of each opinion."""
OpinionSubject = tuple[str, str, bool]
"""Kind and criterion of an opinion, and whether it is a verdict."""


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
        self._columns = Spool[Row](BATCH)
        self._events = Spool[SpooledEvents](BATCH)
        self._values = DistinctValues[OpinionSubject]()

    def add(self, record: TraceRecord) -> None:
        """Append a trace."""
        events = [
            _plain_row(event, seq, at)
            for seq, (event, at) in enumerate(zip_longest(record.events, record.times[: len(record.events)]))
        ]
        listed = [(seq, event) for seq, event in enumerate(record.events) if unread.is_listed(event)]
        current = current_events(record.events)
        verdicts = [event.verdict for event in current if isinstance(event, VerdictReached)]
        opinions = [
            (_target_key(record.item, opinion), opinion_row(NO_ID, NO_ID, NO_ID, NO_ID, opinion, columns))
            for verdict in verdicts
            for columns in [verdict_columns(verdict)]
            for opinion in verdict.opinions
        ]
        for key, row in opinions:
            self.targets[key] = None
            self._values.add(_subject(key, row), row["value"])
        texts = [text for row in events for text in (row["body"], row["prompt"])]
        digest = content_digest("\0".join([*texts, *map(str, record.times)]))
        head = TraceHead(record.run, record.item, record.part, len(record.events), len(record.times), digest)
        self.heads.append(head)
        self._columns.add(_trace_columns(record, current, verdicts))
        self._events.add((events, listed, opinions))

    def columns(self) -> Iterator[list[tuple[int, Row]]]:
        """Yield the columns of the traces without ids, in batches, with their places in `heads`."""
        return _with_places(self._columns)

    def events(self) -> Iterator[list[tuple[int, SpooledEvents]]]:
        """Yield the events and opinions of the traces, in batches of the same traces."""
        return _with_places(self._events)

    def values(self) -> Iterator[tuple[OpinionSubject, Value | None]]:
        """Yield the values of the opinions: all of them, or numbers and texts only once each."""
        if self._values.are_all:
            yield from self._values
            return
        for batch in self._events.batches():
            for *_, opinions in batch:
                yield from ((_subject(key, row), row["value"]) for key, row in opinions)

    def close(self) -> None:
        """Delete the temporary files."""
        self._columns.close()
        self._events.close()


def _with_places(spool: Spool[Entry]) -> Iterator[list[tuple[int, Entry]]]:
    first = 0
    for batch in spool.batches():
        yield list(enumerate(batch, first))
        first += len(batch)


def _plain_row(event: Event, seq: int, at: datetime | None) -> Row:
    """Return the row of an event with its body as JSON in a plain text, and without a time if the file has none.

    Texts of another type and times are pickled in fifty times the time of all other columns.
    """
    row = event_row(event, NO_ID, NO_ID, seq, at)
    return row | {"body": str(row["body"]), "at": None if at is None else row["at"]}


def _target_key(item: str, opinion: Opinion) -> TargetKey:
    return item, opinion.kind, opinion.criterion, opinion.part


def _subject(key: TargetKey, row: Row) -> OpinionSubject:
    _, kind, criterion, _ = key
    return kind, criterion, row["stage"] == "verdict"


def _trace_columns(record: TraceRecord, current: Sequence[Event], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the columns of a trace without ids; its outcome follows from the last event."""
    turns = (event.turn for event in current if isinstance(event, TurnCompleted))
    row = {
        "outcome": "waiting",
        "problem": "",
        "uncertainty": 0.0,
        "contention": None,
        "shown_orders": shown_orders.of_turns(turns) if verdicts else None,
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
