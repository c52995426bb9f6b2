"""The training items of a study: targets with a known answer, entered by the owner or taken from adjudications."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.critiques import critique_targets, hypothesis_critiques, reference_critique
from core.errors import TiebreakError
from core.labels import Kind, Target, Value
from storage import aspects, studies, targets
from storage.database import insert_all, upsert
from storage.labelling import critique_queue
from storage.labelling.opaque_ids import OpaqueIds
from storage.labelling.panels import checked_weights
from storage.labelling.work import AIU_KINDS, QueueName, queue_of
from storage.tables import AdjudicationRow, ItemRow, KnownAnswerRow, LabelRow, TargetRow, now


@dataclass(frozen=True)
class ListedItem:
    """A training item as the owner of a study sees it."""

    target_id: int
    item: str
    kind: Kind
    queue: QueueName
    criterion: str
    part: str
    value: Value
    reason: str


def list_items(session: Session, study_id: int) -> list[ListedItem]:
    """Return the training items of a study in the order of the items."""
    query = (
        select(KnownAnswerRow, TargetRow, col(ItemRow.key))
        .join(TargetRow, col(TargetRow.id) == col(KnownAnswerRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(KnownAnswerRow.study_id) == study_id)
        .order_by(col(ItemRow.position), col(TargetRow.id))
    )
    return [
        ListedItem(
            target.id, item, cast(Kind, target.kind), name, target.criterion, target.part, known.value, known.reason
        )
        for known, target, item in session.execute(query)
        if (name := queue_of(target.kind, target.criterion)) is not None
    ]


def add(session: Session, study_id: int, target: Target, value: Value, reason: str = "") -> None:
    """Make a target a training item, or change its known answer.

    Raises TiebreakError for a value that is not on the scale, and for a kind of target that has no training.
    """
    if not _has_training(target.kind, target.criterion):
        raise TiebreakError("There is no training for targets of this kind.")
    if target.kind == "aspect_weights":
        value = checked_weights(aspects.of_target(session, study_id, target), value)
    studies.check_value(studies.scales(session, study_id), target.kind, target.criterion, value)
    target_id = targets.get_or_create_id(session, study_id, target)
    row = {"study_id": study_id, "target_id": target_id, "value": value, "reason": reason.strip(), "at": now()}
    upsert(session, KnownAnswerRow, ("target_id",), row)


def remove(session: Session, study_id: int, target_ids: list[int]) -> None:
    """Remove training items; their stored answers are kept."""
    of_study = col(KnownAnswerRow.study_id) == study_id
    session.execute(delete(KnownAnswerRow).where(of_study, col(KnownAnswerRow.target_id).in_(target_ids)))


def candidates(session: Session, study_id: int) -> list[tuple[int, Value, str]]:
    """Return (target, value, reason) of the adjudicated targets that are not training items yet.

    In a random order of the study, unlabelled ones first; the AIUs of an item follow each other.
    """
    query = (
        select(AdjudicationRow, TargetRow)
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(col(AdjudicationRow.id))
    )
    rows = session.execute(query).all()
    newest = {target.id: row for row, target in rows if _has_training(target.kind, target.criterion)}
    used = set(session.scalars(select(col(KnownAnswerRow.target_id)).where(col(KnownAnswerRow.study_id) == study_id)))
    labelled = set(session.scalars(select(col(LabelRow.target_id)).where(col(LabelRow.target_id).in_(newest))))
    ids = OpaqueIds(studies.secret(session, study_id))
    unused = [(target_id, row.value, row.reason) for target_id, row in newest.items() if target_id not in used]
    group = {target.id: target.item_id if target.kind in AIU_KINDS else target.id for _, target in rows}
    labelled_groups = {group[target_id] for target_id in labelled}

    def rank(candidate: tuple[int, Value, str]) -> tuple[bool, bytes, int]:
        own = group[candidate[0]]
        return own in labelled_groups, ids.digest("training item", own), candidate[0]

    return sorted(unused, key=rank)


def possible_targets(session: Session, study_id: int) -> list[Target]:
    """Return the targets of a study that can be training items and are not, in the order of the items; AIUs last."""
    query = (
        select(TargetRow, col(ItemRow.key), col(KnownAnswerRow.id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .outerjoin(KnownAnswerRow, col(KnownAnswerRow.target_id) == col(TargetRow.id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(col(ItemRow.position), col(TargetRow.id))
    )
    found = [
        (targets.from_columns(item, row.kind, row.criterion, row.part), known)
        for row, item, known in session.execute(query)
    ]
    used = {target for target, known in found if known is not None}
    unused = [
        target
        for target, known in found
        if known is None and target.kind not in AIU_KINDS and _has_training(target.kind, target.criterion)
    ]
    aius = (Target(item=item, kind=kind, part=part) for item, kind, part in aiu_texts(session, study_id))
    return [*unused, *(target for target in aius if target not in used)]


def _has_training(kind: str, criterion: str) -> bool:
    """Return whether targets of a kind can be training items: the ratings of a critique's texts cannot."""
    queue = queue_of(kind, criterion)
    return queue is not None and (queue != "aius" or kind in AIU_KINDS)


def aiu_texts(session: Session, study_id: int) -> dict[tuple[str, Kind, str], str]:
    """Return (item, kind, part) -> the text of the AIU, for the targets of AIUs after all edits."""
    found: dict[tuple[str, Kind, str], str] = {}
    for item, state in critique_queue.current_states(session, study_id).items():
        reference = reference_critique(state.critiques)
        for critique in hypothesis_critiques(state.critiques):
            texts = [aiu.text for aiu in (*(critique.aius or ()), *((reference.aius or ()) if reference else ()))]
            targets_of_critique = critique_targets(item, critique, reference)
            found |= {
                (item, target.kind, target.part): text for target, text in zip(targets_of_critique, texts, strict=True)
            }
    return found


def draw(session: Session, study_id: int, count: int) -> int:
    """Make adjudicated targets training items, `count` at most; return how many."""
    chosen = candidates(session, study_id)[:count]
    rows = [
        {"study_id": study_id, "target_id": target_id, "value": value, "reason": reason, "at": now()}
        for target_id, value, reason in chosen
    ]
    insert_all(session, KnownAnswerRow, rows)
    return len(rows)
