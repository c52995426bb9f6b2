"""Search for a text in a study: in its items, in the turns of its traces, and in what people wrote with their labels.

The database preselects rows with LIKE, and each text is then searched exactly, ignoring case: JSON columns contain more
than the texts, and SQLite's LIKE ignores case for ASCII letters only.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Text, exists, literal, select, tuple_
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import TiebreakError
from core.items import Item
from core.labels import Target
from core.trace import TurnCompleted
from storage.db.tables import AdjudicationRow, AnnotatorRow, EventRow, ItemRow, LabelRow, MarkRow, TargetRow, TraceRow
from storage.labels import targets
from storage.runs import trace_opinions
from storage.runs.events import parse_event

Area = Literal["items", "turns", "labels"]
AREAS: tuple[Area, ...] = get_args(Area)
MIN_LENGTH, MAX_LENGTH = 2, 200
# Matches on a page.
PAGE = 10
# Characters before and after a match.
CONTEXT = 90
BATCH = 200
# The key of the last row that was searched: the position and id of an item, the trace and number of a turn, or the
# number of a table and the id of its row.
Place = tuple[int, int]
START: Place = (0, -1)
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
    if text not in AREAS:
        raise TiebreakError(f"There is no area {text!r} to search in; there are {', '.join(AREAS)}.")
    return text


@dataclass(frozen=True)
class Found:
    """The matches of a part of an area."""

    matches: list[Match]
    next: Place | None
    """The place after which the search goes on; None at the end of the area."""


def find(
    session: Session,
    study_id: int,
    text: str,
    area: Area,
    *,
    after: Place = START,
    limit: int = PAGE,
) -> Found:
    """Return the first matches of an area after a place, in a stable order: all of the last row, so a few more.

    Raises TiebreakError for a text that is too short or too long.
    """
    wanted = " ".join(text.split())
    shortest = MIN_LENGTH if wanted.isascii() else 1  # one Chinese character can be a word
    if not shortest <= len(wanted) <= MAX_LENGTH:
        raise TiebreakError(f"Enter {MIN_LENGTH} to {MAX_LENGTH} characters to search for.")
    pattern = re.compile(r"\s+".join(map(re.escape, wanted.split())), re.IGNORECASE)
    found: list[Match] = []
    for place, row in _rows(session, study_id, area, wanted, after):
        found += _matches(row, pattern)
        if len(found) >= limit:
            return Found(_with_traces(session, study_id, found), place)
    return Found(_with_traces(session, study_id, found), None)


def parse_place(text: str) -> Place:
    """Return the place that `format_place` wrote; raises TiebreakError for any other text."""
    if not re.fullmatch(r"[0-9]{1,12}\.[0-9]{1,12}", text):
        raise TiebreakError(f"A place of a search is two numbers, not {text[:20]!r}.")
    first, second = map(int, text.split("."))
    return first, second - 1


def format_place(place: Place) -> str:
    """Return a place as a text for an address."""
    return f"{place[0]}.{place[1] + 1}"


def shown_targets(session: Session, matches: Collection[Match], viewer: str | None) -> list[Target]:
    """Return the targets about which these matches show opinions, labels or notes of others than the viewer."""
    traces = {match.trace for match in matches if match.trace is not None and match.target is None}
    judged = [target for trace in sorted(traces) for target in trace_opinions.judged_targets(session, trace)]
    written = [match.target for match in matches if match.target is not None and match.author != viewer]
    return list(dict.fromkeys([*judged, *written]))


@dataclass(frozen=True)
class _Row:
    """The texts of a row of the database, by the name of the field, with its place in the study."""

    item: str
    texts: Mapping[str, str | None]
    trace: int | None = None
    target: Target | None = None
    author: str = ""


Rows = Iterator[tuple[Place, _Row]]


def _rows(session: Session, study_id: int, area: Area, wanted: str, after: Place) -> Rows:
    """Return the preselected rows of an area after a place, each with its own place."""
    if area == "items":
        return _in_items(session, study_id, wanted, after)
    if area == "turns":
        return _in_turns(session, study_id, wanted, after)
    return _in_labels(session, study_id, wanted, after)


def _in_items(session: Session, study_id: int, wanted: str, after: Place) -> Rows:
    place = (col(ItemRow.position), col(ItemRow.id))
    query = (
        select(*place, col(ItemRow.body))
        .where(
            col(ItemRow.study_id) == study_id,
            tuple_(*place) > tuple_(*map(literal, after)),
            contains(session, sql_cast(col(ItemRow.body), Text), wanted, in_json=True),
        )
        .order_by(*place)
    )
    for position, id, body in session.execute(query.execution_options(yield_per=BATCH)):
        item = Item.model_validate(body)
        texts = {"item": item.id, "question": item.prompt, "context": item.context, "reference": item.reference}
        texts |= {f"response {number}": one.text for number, one in enumerate(item.responses, 1)}
        texts |= {f"critique {one.id}": one.text for one in item.critiques}
        yield (position, id), _Row(item.id, texts)


def _in_turns(session: Session, study_id: int, wanted: str, after: Place) -> Rows:
    later = aliased(EventRow)
    is_superseded = exists().where(
        col(later.trace_id) == col(EventRow.trace_id),
        col(later.type) == "restarted",
        col(later.seq) > col(EventRow.seq),
    )
    body = sql_cast(col(EventRow.body), Text)
    place = (col(EventRow.trace_id), col(EventRow.seq))
    query = (
        select(*place, col(ItemRow.key), body)
        .join(TraceRow, col(TraceRow.id) == col(EventRow.trace_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(
            col(EventRow.trace_id) >= after[0],  # SQLite and PostgreSQL do not conclude it from the places
            tuple_(*place) > tuple_(*map(literal, after)),
            col(TraceRow.study_id) + 0 == study_id,  # otherwise SQLite begins with all traces of the study
            col(EventRow.type) == "turn",
            contains(session, body, wanted, in_json=True),
        )
        .where(~is_superseded)
        .order_by(*place)
    )
    for trace, seq, item, text in session.execute(query.execution_options(yield_per=BATCH)):
        event = parse_event(text)
        if isinstance(event, TurnCompleted):
            field = f"{event.turn.speaker}, {event.turn.step}, round {event.turn.round}"
            yield (trace, seq), _Row(item, {field: event.turn.reply}, trace)


def _in_labels(session: Session, study_id: int, wanted: str, after: Place) -> Rows:
    """Yield reasons of labels, then notes, then reasons of decisions."""
    tables: tuple[tuple[Any, Any, str], ...] = (
        (LabelRow, col(LabelRow.reason), "reason"),
        (MarkRow, col(MarkRow.text), "note"),
        (AdjudicationRow, col(AdjudicationRow.reason), "reason of the decision"),
    )
    for number, (table, text, noun) in list(enumerate(tables))[after[0] :]:
        query = (
            select(
                table.id, col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part),
                col(AnnotatorRow.name), text,
            )
            .select_from(table)
            .join(TargetRow, col(TargetRow.id) == table.target_id)
            .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
            .join(AnnotatorRow, col(AnnotatorRow.id) == table.annotator_id)
            .where(
                col(TargetRow.study_id) == study_id,
                table.id > (after[1] if number == after[0] else -1),
                text != "",
                contains(session, text, wanted, in_json=False),
            )
            .order_by(table.id)
            .execution_options(yield_per=BATCH)
        )  # fmt: skip
        for id, item, kind, criterion, part, author, written in session.execute(query):
            target = targets.from_columns(item, kind, criterion, part)
            yield (number, id), _Row(item, {f"{noun} by {author}": written}, target=target, author=author)


def contains(session: Session, column: Any, wanted: str, *, in_json: bool) -> ColumnElement[bool]:
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


def _matches(row: _Row, pattern: re.Pattern[str]) -> Iterator[Match]:
    """Yield the first match in each of the texts."""
    for field, text in row.texts.items():
        found = pattern.search(text) if text else None
        if text and found:
            start, end = found.span()
            yield Match(
                row.item, field, ("…" if start > CONTEXT else "") + text[max(0, start - CONTEXT) : start],
                text[start:end], text[end : end + CONTEXT] + ("…" if end + CONTEXT < len(text) else ""),
                row.trace, row.target, row.author,
            )  # fmt: skip


def _with_traces(session: Session, study_id: int, matches: list[Match]) -> list[Match]:
    """Return the matches, those on targets with the newest trace about them."""
    wanted = [match.target for match in matches if match.target is not None]
    found = targets.newest_traces(session, study_id, wanted) if wanted else {}
    return [match if match.target is None else replace(match, trace=found.get(match.target)) for match in matches]
