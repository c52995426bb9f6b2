"""Search for a text in a study: in its items, in the turns of its traces, and in what people wrote with their labels.

The database preselects rows with LIKE, and each text is then searched exactly, ignoring case: JSON columns contain more
than the texts, and SQLite's LIKE ignores case for ASCII letters only.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Select, Text, exists, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import TiebreakError
from core.items import Item
from core.labels import Target
from core.trace import TurnCompleted
from storage import targets
from storage.events import parse_event
from storage.tables import (
    AdjudicationRow,
    AnnotatorRow,
    EventRow,
    ItemRow,
    LabelRow,
    MarkRow,
    OpinionRow,
    RunRow,
    TargetRow,
    TraceRow,
)

Area = Literal["items", "turns", "labels"]
AREAS: tuple[Area, ...] = get_args(Area)
MIN_LENGTH, MAX_LENGTH = 2, 200
PAGE = 20
"""Matches on a page."""
CONTEXT = 140
"""Characters before and after a match."""
BATCH = 200
_ESCAPE = "\\"


@dataclass(frozen=True)
class Match:
    """A text that contains the searched one."""

    item: str
    field: str
    """Such as "question", "response 2", "judge A, reply, round 1" or "reason by ann"."""
    before: str
    """Up to `CONTEXT` characters before the match."""
    text: str
    after: str
    trace: int | None = None
    """The trace of a turn, or the newest one about the target."""
    target: Target | None = None
    """Of a label, a note or a decision."""
    author: str = ""
    """The annotator who wrote it."""


def parse_area(text: str) -> Area:
    """Return the area of this name; raises TiebreakError for any other."""
    for area in AREAS:
        if area == text:
            return area
    raise TiebreakError(f"There is no area {text!r} to search in; there are {', '.join(AREAS)}.")


def find(session: Session, study_id: int, text: str, area: Area, *, offset: int = 0, limit: int = PAGE) -> list[Match]:
    """Return the matches of an area from the one at `offset` on, in a stable order.

    Raises TiebreakError for a text that is too short or too long.
    """
    wanted = " ".join(text.split())
    if not MIN_LENGTH <= len(wanted) <= MAX_LENGTH:
        raise TiebreakError(f"Enter {MIN_LENGTH} to {MAX_LENGTH} characters to search for.")
    pattern = re.compile(r"\s+".join(map(re.escape, wanted.split())), re.IGNORECASE)
    places = {"items": _in_items, "turns": _in_turns, "labels": _in_labels}
    found: list[Match] = []
    skipped = 0
    for match in places[area](session, study_id, wanted, pattern):
        if skipped < offset:
            skipped += 1
            continue
        found.append(match)
        if len(found) == limit:
            break
    return _with_traces(session, study_id, found) if area == "labels" else found


def shown_targets(session: Session, matches: Collection[Match], viewer: str | None) -> list[Target]:
    """Return the targets about which these matches show opinions, labels or notes of others than the viewer."""
    traces = {match.trace for match in matches if match.trace is not None and match.target is None}
    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .where(col(OpinionRow.trace_id).in_(traces))
        .distinct()
    )
    judged = [targets.from_columns(*row) for row in session.execute(query)] if traces else []
    written = [match.target for match in matches if match.target is not None and match.author != viewer]
    return list(dict.fromkeys([*judged, *written]))


def _in_items(session: Session, study_id: int, wanted: str, pattern: re.Pattern[str]) -> Iterator[Match]:
    query = (
        select(col(ItemRow.body))
        .where(
            col(ItemRow.study_id) == study_id,
            _contains(session, sql_cast(col(ItemRow.body), Text), wanted, in_json=True),
        )
        .order_by(col(ItemRow.position))
    )
    for body in session.scalars(query.execution_options(yield_per=BATCH)):
        item = Item.model_validate(body)
        texts = {"item": item.id, "question": item.prompt, "context": item.context, "reference": item.reference}
        texts |= {f"response {number}": one.text for number, one in enumerate(item.responses, 1)}
        texts |= {f"critique {one.id}": one.text for one in item.critiques}
        yield from _matches(item.id, texts, pattern)


def _in_turns(session: Session, study_id: int, wanted: str, pattern: re.Pattern[str]) -> Iterator[Match]:
    later = aliased(EventRow)
    is_superseded = exists().where(
        col(later.trace_id) == col(EventRow.trace_id),
        col(later.type) == "restarted",
        col(later.seq) > col(EventRow.seq),
    )
    body = sql_cast(col(EventRow.body), Text)
    query = (
        select(col(EventRow.trace_id), col(ItemRow.key), body)
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .join(TraceRow, col(TraceRow.id) == col(EventRow.trace_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(
            col(RunRow.study_id) == study_id,
            col(EventRow.type) == "turn",
            _contains(session, body, wanted, in_json=True),
        )
        .where(~is_superseded)
        .order_by(col(EventRow.trace_id), col(EventRow.seq))
    )
    for trace, item, text in session.execute(query.execution_options(yield_per=BATCH)):
        event = parse_event(text)
        if isinstance(event, TurnCompleted):
            field = f"{event.turn.speaker}, {event.turn.step}, round {event.turn.round}"
            yield from _matches(item, {field: event.turn.reply}, pattern, trace=trace)


def _in_labels(session: Session, study_id: int, wanted: str, pattern: re.Pattern[str]) -> Iterator[Match]:
    """Yield reasons of labels, then notes, then reasons of decisions."""
    for table, text, noun in (
        (LabelRow, col(LabelRow.reason), "reason"),
        (MarkRow, col(MarkRow.text), "note"),
        (AdjudicationRow, col(AdjudicationRow.reason), "reason of the decision"),
    ):
        for item, kind, criterion, part, author, written in session.execute(
            _written(session, table, text, study_id, wanted).execution_options(yield_per=BATCH)
        ):
            target = targets.from_columns(item, kind, criterion, part)
            yield from _matches(item, {f"{noun} by {author}": written}, pattern, target=target, author=author)


def _written(session: Session, table: Any, text: Any, study_id: int, wanted: str) -> Select[*tuple[Any, ...]]:
    return (
        select(
            col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part),
            col(AnnotatorRow.name), text,
        )
        .select_from(table)
        .join(TargetRow, col(TargetRow.id) == table.target_id)
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == table.annotator_id)
        .where(col(TargetRow.study_id) == study_id, _contains(session, text, wanted, in_json=False))
        .order_by(table.id)
    )  # fmt: skip


def _contains(session: Session, column: Any, wanted: str, *, in_json: bool) -> ColumnElement[bool]:
    """Return a condition that every row with the text fulfils, and few others.

    Spaces match any characters, because texts have line breaks, and so do characters that JSON escapes. Letters beyond
    ASCII match any letter: SQLite does not ignore their case.
    """
    parts = []
    for character in wanted:
        if character.isspace() or (in_json and json.dumps(character, ensure_ascii=False) != f'"{character}"'):
            parts.append("%")
        elif not character.isascii() and character.lower() != character.upper():
            parts.append("_")
        else:
            parts.append(_ESCAPE + character if character in ("%", "_", _ESCAPE) else character)
    like = column.ilike if session.get_bind().dialect.name == "postgresql" else column.like
    condition: ColumnElement[bool] = like(f"%{''.join(parts)}%", escape=_ESCAPE)
    return condition


def _matches(
    item: str,
    texts: Mapping[str, str | None],
    pattern: re.Pattern[str],
    *,
    trace: int | None = None,
    target: Target | None = None,
    author: str = "",
) -> Iterator[Match]:
    """Yield the first match in each of the texts."""
    for field, text in texts.items():
        found = pattern.search(text) if text else None
        if text and found:
            start, end = found.span()
            yield Match(
                item, field, ("…" if start > CONTEXT else "") + text[max(0, start - CONTEXT) : start], text[start:end],
                text[end : end + CONTEXT] + ("…" if end + CONTEXT < len(text) else ""), trace, target, author,
            )  # fmt: skip


def _with_traces(session: Session, study_id: int, matches: list[Match]) -> list[Match]:
    found = targets.newest_traces(session, study_id, [match.target for match in matches if match.target is not None])
    return [
        Match(one.item, one.field, one.before, one.text, one.after, found.get(one.target), one.target, one.author)
        if one.target is not None
        else one
        for one in matches
    ]
