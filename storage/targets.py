"""Targets: what a person and a protocol can both judge, by their numbers."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Kind, Target
from core.problems import Problem
from storage import items
from storage.database import insert_new
from storage.tables import ItemRow, TargetRow

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["item", "scenario", "group", "kind", "criterion", "part"]


def find(session: Session, study_id: int, target: Target) -> int | None:
    """The number of a target; None where nothing was ever said of it."""
    return session.scalars(
        select(col(TargetRow.id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(
            col(ItemRow.study_id) == study_id,
            col(ItemRow.key) == target.item,
            col(TargetRow.kind) == target.kind,
            col(TargetRow.criterion) == target.criterion,
            col(TargetRow.part) == target.part,
        )
    ).first()


def get(session: Session, number: int) -> Target:
    """The target of that number."""
    query = select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = query.join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id)).where(col(TargetRow.id) == number)
    return of_row(*session.execute(query).one())


def number(session: Session, study_id: int, target: Target) -> int:
    """The number of a target, which is made where it is new."""
    found = find(session, study_id, target)
    return found if found is not None else numbers(session, study_id, [target])[target]


def numbers(session: Session, study_id: int, targets: Iterable[Target]) -> dict[Target, int]:
    """The numbers of many targets; one whose item is not in the study is refused."""
    wanted = set(targets)
    keys = {target.item for target in wanted}
    places = items.ids(session, study_id, keys)
    missing = keys - places.keys()
    if missing:
        raise Problem(f"There is no item {min(missing)!r} in this study.")
    known = _known(session, study_id, keys)
    new = [
        {"study_id": study_id, "item_id": places[t.item], "kind": t.kind, "criterion": t.criterion, "part": t.part}
        for t in wanted - known.keys()
    ]
    if not new:
        return known
    insert_new(session, TargetRow, sorted(new, key=_in_order))
    return _known(session, study_id, keys)


def _in_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Everybody adds targets in the same order, so that no two wait for each other."""
    return row["item_id"], row["kind"], row["criterion"], row["part"]


def all_of(session: Session, study_id: int) -> list[tuple[int, Target]]:
    """(number, target) of all that was ever judged, in an order that is the same on every database."""
    query = _targets(study_id).add_columns(col(ItemRow.position))
    found = [(position, of_row(*rest), number) for number, *rest, position in session.execute(query)]
    found.sort(key=lambda row: (row[0], row[1].kind, row[1].criterion, row[1].part))
    return [(number, target) for _, target, number in found]


def frame(session: Session, study_id: int) -> "pd.DataFrame":
    """The study's targets by their number: item, scenario, group, kind, criterion, part."""
    import pandas as pd

    query = _targets(study_id).add_columns(col(ItemRow.scenario), col(ItemRow.cluster))
    columns = ["id", "item", "kind", "criterion", "part", "scenario", "group"]
    rows = [tuple(row) for row in session.execute(query)]
    return pd.DataFrame(rows, columns=columns).set_index("id")[COLUMNS]


def _known(session: Session, study_id: int, keys: set[str]) -> dict[Target, int]:
    query = _targets(study_id)
    if len(keys) <= items.FEW:
        query = query.where(col(ItemRow.key).in_(keys))
    return {of_row(*rest): number for number, *rest in session.execute(query)}


def _targets(study_id: int) -> Select[*tuple[Any, ...]]:
    return (
        select(col(TargetRow.id), col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(TargetRow.study_id) == study_id)
    )


def of_row(item: str, kind: str, criterion: str, part: str) -> Target:
    """Without validation: there may be hundreds of thousands, and they were validated on their way in."""
    return Target.model_construct(item=item, kind=cast(Kind, kind), criterion=criterion, part=part)
