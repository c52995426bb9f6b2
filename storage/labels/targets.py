"""Targets: the units that a person and a protocol can both judge. In the database a target has an id."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import ColumnElement, Text, and_, case, exists, func, not_, or_, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import TiebreakError
from core.labels import Kind, Target
from core.wording import stored_criterion
from storage.db import audit
from storage.db.connections import batches, execute, insert_missing
from storage.db.tables import ItemRow, LabelRow, OpinionRow, StudyRow, TargetRow, TraceRow
from storage.studies import items

if TYPE_CHECKING:
    import pandas as pd


# A target as its item, kind, criterion and part, which takes a fifth of its memory.
TargetKey = tuple[str, str, str, str]
# Rows fetched at once.
CHUNK = 2_000


def find_id(session: Session, study_id: int, target: Target) -> int | None:
    """Return the id of a target; None if it has never been labelled, marked or judged."""
    return find_ids(session, study_id, [target]).get(target)


def find_ids(session: Session, study_id: int, wanted: Collection[Target]) -> dict[Target, int]:
    """Return target -> id for those of the targets that have ever been labelled, marked or judged."""
    if not wanted:
        return {}
    by_key = {key_of(target): target for target in wanted}
    item_ids = items.find_ids(session, study_id, {target.item for target in wanted})
    known = [key for key in by_key if key[0] in item_ids]
    return {by_key[key]: id for key, id in _ids_by_key(session, study_id, known, item_ids).items()}


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
    return get_or_create_ids(session, study_id, [target])[target]


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
    from storage.labels import current_labels

    return current_labels.read_targets(session, study_id).keys


def frame(session: Session, study_id: int) -> "pd.DataFrame":
    """Return the study's targets by id: item, scenario, group, kind, criterion, part; shared, so do not modify.

    Criteria have their names in reports, see `core.wording.report_criterion`.
    """
    from storage.labels import current_labels

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
    target = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = (
        select(*target, func.max(col(OpinionRow.trace_id)))
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
    parts = (col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = select(col(TargetRow.id), col(TargetRow.item_id), *parts).execution_options(yield_per=CHUNK)
    if len(item_ids) <= items.MAX_KEYS_IN_QUERY:
        rows = execute(session, query.where(col(TargetRow.item_id).in_(item_ids.values())))
    else:
        rows = execute(session, query.where(col(TargetRow.study_id) == study_id))
    found = ((own.get((item, kind, criterion, part)), id) for id, item, kind, criterion, part in rows)
    return {key: id for key, id in found if key is not None}


# Columns of targets that follow from their labels and opinions, so a queue is counted without reading both.
#
# They are written in the transactions that change labels and opinions. On PostgreSQL the targets are locked first: of
# two transactions, the second one counts what the first one stored.

# Outcomes about which people are asked.
DISPUTED = ("disputed", "no_verdict")


def lock_targets(session: Session, target_ids: Collection[int]) -> None:
    """Lock targets until the end of the transaction.

    All transactions lock in the same order. SQLite has one writer at a time anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        query = select(col(TargetRow.id)).where(col(TargetRow.id).in_(target_ids)).order_by(col(TargetRow.id))
        execute(session, query.with_for_update(key_share=True))


def count_labels(session: Session, target_ids: Collection[int]) -> None:
    """Count the labels of targets again; they must be locked."""
    _set(session, col(TargetRow.id).in_(target_ids), counted=counted_labels())


def count_labels_of_study(session: Session, study_id: int) -> None:
    """Count the labels of every target of a study."""
    _set(session, col(TargetRow.study_id) == study_id, counted=counted_labels())


def mark_disputed(session: Session, target_ids: Collection[int]) -> None:
    """Set whether people are asked about targets, after their draws or opinions have changed; they must be locked."""
    _set(session, col(TargetRow.id).in_(target_ids), disputed=is_disputed())


def mark_disputed_of_study(session: Session, study_id: int) -> None:
    """Set whether people are asked about the targets of a study."""
    _set(session, col(TargetRow.study_id) == study_id, disputed=is_disputed())


def concluded_targets(session: Session, trace_ids: Collection[int]) -> set[int]:
    """Return the targets of the verdicts of traces."""
    query = select(col(OpinionRow.target_id)).where(col(OpinionRow.stage) == "verdict")
    return set(session.scalars(query.where(col(OpinionRow.trace_id).in_(trace_ids)))) if trace_ids else set()


def is_current(label: Any) -> ColumnElement[bool]:
    """Return whether a label (the table or an alias) is its annotator's newest of the target and not withdrawn."""
    newer = aliased(LabelRow)
    replaced = exists().where(
        col(newer.target_id) == col(label.target_id),
        col(newer.annotator_id) == col(label.annotator_id),
        col(newer.id) > col(label.id),
    )
    return col(label.value).is_not(None) & ~replaced


def _set(session: Session, condition: ColumnElement[bool], **values: Any) -> None:
    table: Any = TargetRow
    execute(session, update(table.__table__).where(condition).values(**values))


def counted_labels() -> Any:
    """Return the number of current labels of the outer query's target that count towards its overlap."""
    own = select(func.count()).select_from(LabelRow).where(col(LabelRow.target_id) == col(TargetRow.id))
    return own.where(is_current(LabelRow), not_(col(LabelRow.surplus))).correlate(TargetRow).scalar_subquery()


def own_outcome() -> ColumnElement[str]:
    """Return the outcome of the target of a verdict, which is an opinion joined with its trace.

    It is that of the trace, unless the trace judges several criteria that have their own.
    """
    return func.coalesce(col(OpinionRow.outcome), col(TraceRow.outcome))


def is_disputed() -> Any:
    """Return whether people are asked about the outer query's target.

    Its labels were requested, or its design draws it, or it has no design and a verdict on it is no agreement.
    """
    has_design = col(TargetRow.probability).is_not(None)
    is_drawn = case((has_design, col(TargetRow.drawn)), else_=is_contested())
    return col(TargetRow.overlap).is_not(None) | is_drawn


def is_contested() -> ColumnElement[bool]:
    """Return whether a verdict is no agreement on the outer query's target."""
    return (
        exists()
        .where(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.stage) == "verdict")
        .where(col(TraceRow.id) == col(OpinionRow.trace_id), own_outcome().in_(DISPUTED))
        .correlate(TargetRow)
    )


def runs_differ() -> ColumnElement[bool]:
    """Return whether two runs have another preference, or another answer, on the outer query's target.

    Scores differ by degrees, which needs their scale: see `storage.labels.designs`.
    """
    one, other = aliased(OpinionRow), aliased(OpinionRow)
    verdicts = [
        condition
        for row in (one, other)
        for condition in (col(row.target_id) == col(TargetRow.id), col(row.stage) == "verdict")
    ]
    values = [sql_cast(col(row.value), Text) for row in (one, other)]
    differ = exists().where(*verdicts, col(one.run_id) < col(other.run_id), values[0] != values[1])
    return and_(col(TargetRow.kind).in_(("preference", "answer")), differ.correlate(TargetRow))


# Compares the summaries that are stored with targets to the labels and opinions they follow from, and corrects them.
#
# The writers update them (`storage.labels.targets`); a difference is a fault, or a change from outside of Tiebreak.

# Targets in a statement.
BATCH = 2_000


def summary_differences(
    session: Session, study_id: int | None = None, *, rebuild: bool = False
) -> list[audit.Difference]:
    """Return the differences of a study, or of all studies, in the order of the targets.

    With `rebuild` they are corrected, and each study has an audit entry. Targets are locked before they are counted, so
    labels that are stored meanwhile are counted too.
    """
    counted = counted_labels().label("counted_again")
    disputed = is_disputed().label("disputed_again")
    query = (
        select(
            col(TargetRow.id), col(StudyRow.id), col(StudyRow.name), col(ItemRow.key), col(TargetRow.kind),
            col(TargetRow.criterion), col(TargetRow.part), col(TargetRow.counted), counted, col(TargetRow.disputed),
            disputed,
        )
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(StudyRow, col(StudyRow.id) == col(TargetRow.study_id))
        .where(or_(col(TargetRow.counted) != counted, col(TargetRow.disputed) != disputed))
        .order_by(col(TargetRow.id))
    )  # fmt: skip
    if study_id is not None:
        query = query.where(col(TargetRow.study_id) == study_id)
    names = ("study", "item", "kind", "criterion", "part", "labels stored", "labels")
    found = []
    for id, study, *cells, was, now in session.execute(query):
        disputes = {"disputed stored": bool(was), "disputed": bool(now)}
        found.append(audit.Difference(id, study, None, dict(zip(names, cells, strict=True)) | disputes))
    if rebuild:
        for batch in batches([one.id for one in found], BATCH):
            lock_targets(session, batch)
            count_labels(session, batch)
            mark_disputed(session, batch)
        audit.record_rebuilt(session, found, "summaries", "target")
    return found
