"""Items and the targets on them."""

from collections.abc import Iterable
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.items import Item
from core.labels import Kind, Target
from core.problems import Problem
from storage.tables import ItemRow, TargetRow


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


def target_id(session: Session, study_id: int, target: Target) -> int:
    """The number of a target, which is made where it is new."""
    return target_ids(session, study_id, [target])[target]


def target_ids(session: Session, study_id: int, targets: Iterable[Target]) -> dict[Target, int]:
    """The numbers of many targets; one whose item is not in the study is refused."""
    wanted = list(dict.fromkeys(targets))
    keys = {target.item for target in wanted}
    items = _item_ids(session, study_id, keys)
    missing = keys - items.keys()
    if missing:
        raise Problem(f"There is no item {min(missing)!r} in this study.")
    known = _known_targets(session, study_id, keys)
    new = [
        TargetRow(study_id=study_id, item_id=items[t.item], kind=t.kind, criterion=t.criterion, part=t.part)
        for t in wanted
        if t not in known
    ]
    if not new:
        return known
    session.add_all(new)
    session.flush()
    return _known_targets(session, study_id, keys)


FEW = 200
"""Up to so many keys are named in a query; beyond, all of the study's are read at once."""


def _item_ids(session: Session, study_id: int, keys: set[str]) -> dict[str, int]:
    query = select(col(ItemRow.key), col(ItemRow.id)).where(col(ItemRow.study_id) == study_id)
    if len(keys) <= FEW:
        query = query.where(col(ItemRow.key).in_(keys))
    return dict(session.execute(query).tuples().all())


def _known_targets(session: Session, study_id: int, keys: set[str]) -> dict[Target, int]:
    query = (
        select(col(TargetRow.id), col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(TargetRow.study_id) == study_id)
    )
    if len(keys) <= FEW:
        query = query.where(col(ItemRow.key).in_(keys))
    return {
        Target.model_construct(item=key, kind=cast(Kind, kind), criterion=criterion, part=part): number
        for number, key, kind, criterion, part in session.execute(query)
    }
