"""Items: what is judged, under the study's own names and in the order of its file."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.items import Item
from core.problems import Problem
from storage.database import insert_all
from storage.tables import ItemRow

FEW = 200
"""Up to so many keys are named in a query; beyond, all of the study's are read at once."""


def get(session: Session, study_id: int, key: str) -> Item:
    """The study's item called `key`."""
    body = session.scalars(
        select(col(ItemRow.body)).where(col(ItemRow.study_id) == study_id, col(ItemRow.key) == key)
    ).first()
    if body is None:
        raise Problem(f"There is no item {key!r} in this study.")
    return Item.model_validate(body)


def all_of(session: Session, study_id: int, limit: int | None = None) -> list[Item]:
    """The study's items in the order of its file."""
    query = (
        select(col(ItemRow.body)).where(col(ItemRow.study_id) == study_id).order_by(col(ItemRow.position)).limit(limit)
    )
    return [Item.model_validate(body) for body in session.scalars(query)]


def scenarios(session: Session, study_id: int) -> list[str]:
    """The scenarios that occur."""
    query = (
        select(col(ItemRow.scenario))
        .where(col(ItemRow.study_id) == study_id, col(ItemRow.scenario).is_not(None))
        .distinct()
    )
    return sorted(scenario for scenario in session.scalars(query) if scenario is not None)


def fresh(session: Session, study_id: int, wanted: Iterable[Item]) -> list[Item]:
    """The items that the study does not have; one that it has with other words is refused."""
    given: dict[str, Item] = {}
    for item in wanted:
        if given.setdefault(item.id, item) != item:
            raise Problem(f"Item {item.id!r} is in the file twice, with different words.")
    known = _bodies(session, study_id, given.keys())
    for key, body in known.items():
        if given[key].model_dump(mode="json") != body:
            raise Problem(f"Item {key!r} is in this study already, with other words; give it another name.")
    return [item for key, item in given.items() if key not in known]


def add(session: Session, study_id: int, new: Sequence[Item]) -> None:
    """Put new items behind those that are there."""
    last = select(func.max(col(ItemRow.position))).where(col(ItemRow.study_id) == study_id)
    newest = session.scalars(last).one()
    start = 0 if newest is None else newest + 1
    rows = [_row(study_id, place, item) for place, item in enumerate(new, start)]
    insert_all(session, ItemRow, rows)


def _row(study_id: int, position: int, item: Item) -> dict[str, Any]:
    return {
        "study_id": study_id,
        "key": item.id,
        "position": position,
        "scenario": item.scenario,
        "cluster": item.group,
        "body": item,
    }


def _bodies(session: Session, study_id: int, keys: Iterable[str]) -> dict[str, Any]:
    """The stored items of those names, as they are kept."""
    wanted = set(keys)
    query = select(col(ItemRow.key), col(ItemRow.body)).where(col(ItemRow.study_id) == study_id)
    if len(wanted) <= FEW:
        query = query.where(col(ItemRow.key).in_(wanted))
    return {key: body for key, body in session.execute(query) if key in wanted}


def ids(session: Session, study_id: int, keys: set[str]) -> dict[str, int]:
    """The numbers of those of the items that are in the study (and of others, where many are asked for)."""
    query = select(col(ItemRow.key), col(ItemRow.id)).where(col(ItemRow.study_id) == study_id)
    if len(keys) <= FEW:
        query = query.where(col(ItemRow.key).in_(keys))
    return dict(session.execute(query).all())


def by_number(session: Session, item_ids: Sequence[int]) -> dict[int, Item]:
    """The items of those numbers."""
    query = select(col(ItemRow.id), col(ItemRow.body)).where(col(ItemRow.id).in_(item_ids))
    return {number: Item.model_validate(body) for number, body in session.execute(query)}
