"""Targets: the units that a person and a protocol can both judge. In the database a target has an id."""

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.labels import Kind, Target
from core.wording import stored_criterion
from storage import items
from storage.database import batches, execute, insert_missing
from storage.tables import ItemRow, OpinionRow, TargetRow

if TYPE_CHECKING:
    import pandas as pd


TargetKey = tuple[str, str, str, str]
"""A target as its item, kind, criterion and part, which takes a fifth of its memory."""
CHUNK = 2_000
"""Rows fetched at once."""
COLUMNS = ["item", "scenario", "group", "kind", "criterion", "part"]


def find_id(session: Session, study_id: int, target: Target) -> int | None:
    """Return the id of a target; None if it has never been labelled, marked or judged."""
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


def ids_of_item(session: Session, study_id: int, item: str) -> list[int]:
    """Return the ids of every target of an item."""
    query = select(col(TargetRow.id)).join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    return list(session.scalars(query.where(col(ItemRow.study_id) == study_id, col(ItemRow.key) == item)))


def get(session: Session, target_id: int) -> Target:
    """Return the target with that id."""
    query = select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = query.join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id)).where(col(TargetRow.id) == target_id)
    return from_columns(*session.execute(query).one())


def get_or_create_id(session: Session, study_id: int, target: Target) -> int:
    """Return the id of a target, which is added if new."""
    existing = find_id(session, study_id, target)
    return existing if existing is not None else get_or_create_ids(session, study_id, [target])[target]


def get_or_create_ids(session: Session, study_id: int, targets: Iterable[Target]) -> dict[Target, int]:
    """Return target -> id for many targets; raises TiebreakError for an item that is not in the study."""
    wanted = {key_of(target): target for target in targets}
    return {wanted[key]: id for key, id in get_or_create_by_keys(session, study_id, wanted).items()}


def get_or_create_by_keys(session: Session, study_id: int, wanted: Collection[TargetKey]) -> dict[TargetKey, int]:
    """Do the same for the keys of targets."""
    names = {item for item, _, _, _ in wanted}
    item_ids = items.find_ids(session, study_id, names)
    missing = names - item_ids.keys()
    if missing:
        raise TiebreakError(f"There is no item {min(missing)!r} in this study.")
    ids = _ids_by_key(session, study_id, wanted, item_ids)
    # All transactions insert in the same order: two that add the same targets never wait for each other in a cycle.
    new = sorted((item_ids[item], kind, criterion, part) for item, kind, criterion, part in set(wanted) - ids.keys())
    if not new:
        return ids
    for batch in batches(new, CHUNK):
        rows = [
            {"study_id": study_id, "item_id": item_id, "kind": kind, "criterion": criterion, "part": part}
            for item_id, kind, criterion, part in batch
        ]
        insert_missing(session, TargetRow, rows)
    return _ids_by_key(session, study_id, wanted, item_ids)


def key_of(target: Target) -> TargetKey:
    """Return a target as a tuple."""
    return target.item, target.kind, target.criterion, target.part


def of_study(session: Session, study_id: int, kinds: Collection[Kind] | None = None) -> list[tuple[int, Target]]:
    """Return (id, target) of every target of a study, in an order that is the same on every database.

    With `kinds`, only targets of these kinds.
    """
    keys = keys_of_study(session, study_id)
    return [(id, from_columns(*key)) for id, key in keys if kinds is None or key[1] in kinds]


def keys_of_study(session: Session, study_id: int) -> list[tuple[int, TargetKey]]:
    """Return the same with keys, in half of the time; shared, so do not modify."""
    from storage import current_labels

    return current_labels.read_targets(session, study_id).keys


def frame(session: Session, study_id: int) -> "pd.DataFrame":
    """Return the study's targets by id: item, scenario, group, kind, criterion, part; shared, so do not modify.

    Criteria have their names in reports, see `core.wording.report_criterion`.
    """
    from storage import current_labels

    return current_labels.read_targets(session, study_id).frame


def of_frame(frame: "pd.DataFrame") -> list[Target]:
    """Return the target of each row of a data frame with the columns item, kind, criterion and part.

    The frame has the names of criteria in reports, as `frame`.
    """
    columns = (frame[name].tolist() for name in ("item", "kind", "criterion", "part"))
    rows = zip(*columns, strict=True)
    return [from_columns(item, kind, stored_criterion(criterion), part) for item, kind, criterion, part in rows]


def with_stored_criteria(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return rows with the stored names of criteria instead of those in reports."""
    return frame.assign(criterion=frame["criterion"].map(stored_criterion))


def newest_traces(session: Session, study_id: int, targets: Collection[Target]) -> dict[Target, int]:
    """Return target -> the newest trace with an opinion about it, for the targets that have one."""
    query = (
        select(
            col(ItemRow.key),
            col(TargetRow.kind),
            col(TargetRow.criterion),
            col(TargetRow.part),
            func.max(col(OpinionRow.trace_id)),
        )
        .join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .where(col(ItemRow.study_id) == study_id, col(ItemRow.key).in_({target.item for target in targets}))
        .group_by(col(TargetRow.id), col(ItemRow.key))
    )
    return {from_columns(*columns): trace for *columns, trace in session.execute(query)}


def from_columns(item: str, kind: str, criterion: str, part: str) -> Target:
    """Return a target without validation: there may be hundreds of thousands, and they were validated when stored."""
    return Target.model_construct(item=item, kind=cast(Kind, kind), criterion=criterion, part=part)


def _ids_by_key(
    session: Session, study_id: int, wanted: Collection[TargetKey], item_ids: Mapping[str, int]
) -> dict[TargetKey, int]:
    """Return key -> id of those of the keys that are targets of the study."""
    own = {(item_ids[key[0]], *key[1:]): key for key in wanted}
    if len(item_ids) <= items.MAX_KEYS_IN_QUERY:
        rows = execute(session, _query_of_items(), {"items": list(item_ids.values())})
    else:
        rows = execute(session, _query_of_study(), {"study": study_id})
    found = ((own.get((item, kind, criterion, part)), id) for id, item, kind, criterion, part in rows)
    return {key: id for key, id in found if key is not None}


@cache  # to build these queries takes longer than to execute them
def _query_of_items() -> Any:
    return _keys_query().where(col(TargetRow.item_id).in_(bindparam("items", expanding=True)))


@cache
def _query_of_study() -> Any:
    query = _keys_query().where(col(TargetRow.study_id) == bindparam("study"))
    return query.execution_options(yield_per=CHUNK)


def _keys_query() -> Any:
    columns = (TargetRow.id, TargetRow.item_id, TargetRow.kind, TargetRow.criterion, TargetRow.part)
    return select(*map(col, columns))
