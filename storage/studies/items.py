"""Items, under their ids in the study's file (`key` in the table) and in its order."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import from_json
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.items import Item
from core.wording import scenario_name
from storage.db.columns import EncodedJson
from storage.db.connections import execute, insert_all
from storage.db.tables import ItemRow

# A query names at most this many keys; for more, all items of the study are read, which is faster.
MAX_KEYS_IN_QUERY = 200
# Rows fetched at once.
CHUNK = 2_000


def get(session: Session, study_id: int, key: str) -> Item:
    """Return the study's item called `key`; raises TiebreakError if there is none."""
    found = by_keys(session, study_id, [key]).get(key)
    if found is None:
        raise TiebreakError(f"There is no item {key!r} in this study.")
    return found


def of_study(session: Session, study_id: int, limit: int | None = None) -> list[Item]:
    """Return the study's items, or the first `limit` of them, in the order of its file."""
    query = (
        select(col(ItemRow.body)).where(col(ItemRow.study_id) == study_id).order_by(col(ItemRow.position)).limit(limit)
    )
    return [Item.model_validate(body) for body in session.scalars(query)]


@dataclass(frozen=True, slots=True)
class Outline:
    """What statistics need of an item, without its texts."""

    scenario: str | None
    systems: tuple[str | None, ...]
    """The system of each response."""
    lengths: tuple[int, ...]
    """The number of characters of each response."""


def outlines(session: Session, study_id: int) -> dict[str, Outline]:
    """Return the outlines of the study's items by their ids in its file, in the order of the file."""
    query = select(col(ItemRow.key), col(ItemRow.body)).where(col(ItemRow.study_id) == study_id)
    rows = session.execute(query.order_by(col(ItemRow.position)), execution_options={"yield_per": CHUNK})
    return {key: _outline(body) for key, body in rows}


def _outline(body: Any) -> Outline:
    """Return the outline of a stored item, which was validated when it was stored."""
    responses = body.get("responses") or ()
    systems = tuple(response.get("system") for response in responses)
    return Outline(body.get("scenario"), systems, tuple(len(response["text"]) for response in responses))


def by_key(session: Session, study_id: int) -> dict[str, Item]:
    """Return the study's items by their ids in its file, in the order of the file."""
    return {item.id: item for item in of_study(session, study_id)}


def first_with_several_pairs(session: Session, study_id: int) -> Item | None:
    """Return the study's first item with more than two responses; None if it has none."""
    responses = func.json_array_length(col(ItemRow.body)["responses"])
    query = select(col(ItemRow.body)).where(col(ItemRow.study_id) == study_id, responses > 2)
    body = session.scalars(query.order_by(col(ItemRow.position)).limit(1)).first()
    return None if body is None else Item.model_validate(body)


def scenarios(session: Session, study_id: int) -> list[str]:
    """Return the scenarios of the study's items, sorted."""
    query = select(col(ItemRow.scenario)).where(col(ItemRow.study_id) == study_id).distinct()
    return sorted(scenario for scenario in session.scalars(query) if scenario is not None)


class NewItem(NamedTuple):
    """An item that may not be in the database yet, without its id."""

    scenario: str | None
    cluster: str | None
    body: str
    """As JSON."""


def add_new(session: Session, study_id: int, new: Mapping[str, NewItem]) -> int:
    """Add the items that a study does not have after its own, and return their number.

    Raises TiebreakError for one that the study has with other content.
    """
    query = select(col(ItemRow.key), col(ItemRow.body)).where(col(ItemRow.study_id) == study_id)
    if len(new) <= MAX_KEYS_IN_QUERY:
        query = query.where(col(ItemRow.key).in_(new))
    stored = {key: body for key, body in session.execute(query.execution_options(yield_per=CHUNK)) if key in new}
    for key, body in stored.items():
        if body != from_json(new[key].body):
            raise TiebreakError(f"Item {key!r} is in this study already, with different content; give it another name.")
    last = session.scalars(select(func.max(col(ItemRow.position))).where(col(ItemRow.study_id) == study_id)).one()
    added = [(key, item) for key, item in new.items() if key not in stored]
    rows = [
        {"study_id": study_id, "key": key, "position": position, **item._asdict(), "body": EncodedJson(item.body)}
        for position, (key, item) in enumerate(added, 0 if last is None else last + 1)
    ]
    insert_all(session, ItemRow, rows)
    return len(rows)


def find_ids(session: Session, study_id: int, keys: set[str]) -> dict[str, int]:
    """Return key -> id for those of the keys that are in the study; for many keys, of all its items."""
    query = select(col(ItemRow.key), col(ItemRow.id)).where(col(ItemRow.study_id) == study_id)
    if len(keys) <= MAX_KEYS_IN_QUERY:
        query = query.where(col(ItemRow.key).in_(keys))
    return {key: id for key, id in execute(session, query)}


def by_keys(session: Session, study_id: int, keys: Iterable[str]) -> dict[str, Item]:
    """Return key -> item for those of the keys that are in the study."""
    wanted = set(keys)
    query = select(col(ItemRow.key), col(ItemRow.body)).where(col(ItemRow.study_id) == study_id)
    if len(wanted) <= MAX_KEYS_IN_QUERY:
        query = query.where(col(ItemRow.key).in_(wanted))
    return {key: Item.model_validate(body) for key, body in session.execute(query) if key in wanted}


def by_ids(session: Session, item_ids: Sequence[int]) -> dict[int, Item]:
    """Return id -> item."""
    query = select(col(ItemRow.id), col(ItemRow.body)).where(col(ItemRow.id).in_(item_ids))
    return {item_id: Item.model_validate(body) for item_id, body in execute(session, query)}


# Which items of a study a run is on.


@dataclass(frozen=True)
class ItemSelection:
    """Conditions on items, applied in the order of the fields; the default is all items."""

    scenario: str | None = None
    items: tuple[str, ...] = ()
    """Names of items; empty for all."""
    sample: int | None = None
    """The number of items that are drawn at random. A larger sample with the same seed contains the smaller one."""
    seed: int = 0
    """Of the sample."""
    limit: int | None = None
    """The first items only."""


def item_ids(session: Session, study_id: int, selection: ItemSelection) -> list[int]:
    """Return the ids of the selected items, in the order of the study; raises TiebreakError for an unknown item."""
    query = select(col(ItemRow.id), col(ItemRow.key)).where(col(ItemRow.study_id) == study_id)
    if selection.scenario is not None:
        query = query.where(func.coalesce(col(ItemRow.scenario), "") == selection.scenario)
    rows = session.execute(query.order_by(col(ItemRow.position))).all()
    if selection.items:
        wanted = set(selection.items)
        rows = [row for row in rows if row.key in wanted]
        if missing := sorted(wanted - {row.key for row in rows}):
            condition = "" if selection.scenario is None else f" in the scenario {scenario_name(selection.scenario)!r}"
            raise TiebreakError(f"The study has no item {missing[0]!r}{condition}.")
    if selection.sample is not None:
        drawn = {row.id for row in sorted(rows, key=lambda row: rank(selection.seed, row.key))[: selection.sample]}
        rows = [row for row in rows if row.id in drawn]
    return [row.id for row in rows[: selection.limit]]


def rank(seed: int, key: str) -> bytes:
    """Return the place of something in the random order of a seed."""
    return hashlib.sha256(f"{seed}:{key}".encode(errors="replace")).digest()
