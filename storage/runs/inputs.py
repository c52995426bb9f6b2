"""The standing references and aspects of items: what a new run judges by. Annotators' edits replace what was imported.

Edits are stored with those of AIUs (`core.aius`), so every run has the inputs of its start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Select, Text, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aius import Change, Edit, SetAspects, SetReference, active_edits, apply_edits
from core.errors import TiebreakError
from core.items import Item
from core.protocols import registry
from storage.db import audit
from storage.db.columns import START, Page, read_page
from storage.db.tables import ItemRow
from storage.runs import aius, runs, search, turns
from storage.runs.aspects import parse_settings
from storage.studies import items, studies

IMPORTED = "imported"
PRESELECTED = 500
"""Items with a text in their stored form that are read at once."""
ASPECTS_STEP = "aspects"
"""The step of the asks in which a judge proposes the aspects of an item."""


@dataclass(frozen=True)
class StandingInput:
    """The reference and the aspects of an item, and who gave them: a name, IMPORTED, or "" for none."""

    item: str
    prompt: str
    reference: str | None
    aspects: tuple[str, ...]
    reference_by: str
    aspects_by: str


@dataclass(frozen=True)
class Input:
    """The reference and the aspects that an item shall have; None leaves them as they are, "" and () are none."""

    reference: str | None = None
    aspects: tuple[str, ...] | None = None


def standing(session: Session, study_id: int) -> list[StandingInput]:
    """Return the standing inputs of every item, in the order of the study."""
    edits = aius.edits_by_item(session, study_id)
    return [_standing(item, edits.get(item.id, [])) for item in items.of_study(session, study_id)]


def page(session: Session, study_id: int, text: str = "", *, after: int, size: int) -> Page[StandingInput]:
    """Return the page that begins after an item of the items with a text in their name or prompt; case is ignored.

    They are in the order of the study. Without a text it is a page of all items.
    """

    def read(after: int, limit: int, backwards: bool) -> list[int]:
        position = col(ItemRow.position)
        query = select(col(ItemRow.id)).where(col(ItemRow.study_id) == study_id)
        query = query.order_by(position.desc() if backwards else position)
        if after != START:
            place = select(position).where(col(ItemRow.id) == after).scalar_subquery()
            query = query.where(position < place if backwards else position > place)
        return _with_text(session, query, text, limit) if text else list(session.scalars(query.limit(limit)))

    found = read_page(read, after, size)
    by_id = items.by_ids(session, found.rows)
    edits = aius.edits_by_item(session, study_id, [item.id for item in by_id.values()])
    standing = [_standing(by_id[id], edits.get(by_id[id].id, [])) for id in found.rows]
    return Page(standing, found.previous, found.next, found.last)


def _with_text(session: Session, query: Select[int], text: str, limit: int) -> list[int]:
    """Return the first items with a text in their name or prompt; the database preselects them."""
    body, wanted = sql_cast(col(ItemRow.body), Text), text.casefold()
    query = query.where(search.contains(session, body, text, in_json=True))
    texts = query.add_columns(col(ItemRow.key), col(ItemRow.body)["prompt"].as_string())
    rows = session.execute(texts.execution_options(yield_per=PRESELECTED))
    return list(islice((id for id, *found in rows if any(wanted in one.casefold() for one in found)), limit))


def save(session: Session, study_id: int, annotator: str, wanted: Mapping[str, Input], run: str = "") -> int:
    """Store the inputs that differ from the standing ones; returns the number of changed items.

    Raises TiebreakError for an item that the study does not have.
    """
    studies.lock(session, study_id)
    edits = aius.edits_by_item(session, study_id)
    found = items.by_keys(session, study_id, wanted)
    changes: dict[str, list[Change]] = {}
    for key, input in wanted.items():
        if key not in found:
            raise TiebreakError(f"There is no item {key!r} in this study.")
        if own := _changes(_standing(found[key], edits.get(key, [])), input, run):
            changes[key] = own
    aius.save_changes(session, study_id, annotator, changes)
    audit.record_change(session, study_id, f"inputs of {len(changes)} items")
    return len(changes)


def adopt_aspects(session: Session, study_id: int, annotator: str, run: str) -> int:
    """Make the aspects that a run proposed the standing ones of items that have none; returns the number of items.

    If several judges proposed aspects, those of the first one count. Raises TiebreakError for a run without any.
    """
    found = [other for other in runs.of_study(session, study_id) if other.name == run]
    if not found or found[0].protocol not in registry.with_artifact("aspects"):
        raise TiebreakError(f"The study has no run called {run!r} in which judges propose aspects.")
    settings = parse_settings(found[0].settings)
    proposer = (settings.proposer or settings.judges[0]).name
    lacking = {row.item for row in standing(session, study_id) if not row.aspects}
    wanted: dict[str, Input] = {}
    for trace in turns.by_trace(session, study_id, [found[0].id]):
        proposed = [turn.reading for turn in trace.turns if (turn.step, turn.speaker) == (ASPECTS_STEP, proposer)]
        if trace.item in lacking and proposed and isinstance(proposed[-1], str):
            wanted[trace.item] = Input(aspects=tuple(proposed[-1].splitlines()))
    return save(session, study_id, annotator, wanted, run)


def _changes(row: StandingInput, wanted: Input, run: str) -> list[Change]:
    changes: list[Change] = []
    if wanted.reference is not None and (wanted.reference.strip() or None) != row.reference:
        changes.append(SetReference(text=wanted.reference.strip() or None))
    if wanted.aspects is not None and wanted.aspects != row.aspects:
        try:
            changes.append(SetAspects(aspects=wanted.aspects, run=run))
        except ValueError as error:  # pydantic's first line names the class, the last one its address
            reason = str(error).splitlines()[2].strip().removeprefix("Value error, ").partition(" [type=")[0]
            raise TiebreakError(f"The aspects of item {row.item!r}: {reason}.") from None
    return changes


def _standing(item: Item, edits: list[Edit]) -> StandingInput:
    state = apply_edits(item, edits)
    reference_by, aspects_by = IMPORTED if item.reference else "", IMPORTED if item.aspects else ""
    for edit in active_edits(edits):
        match edit.change:
            case SetReference():
                reference_by = edit.annotator
            case SetAspects(run=run):
                aspects_by = f"{edit.annotator}, from {run}" if run else edit.annotator
    return StandingInput(
        item.id,
        item.prompt,
        state.answer,
        state.aspects,
        reference_by or ("a run" if state.answer else ""),
        aspects_by,
    )
