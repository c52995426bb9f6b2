"""Claims of single tasks, which lock the task and not the study."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Integer, bindparam, delete, exists, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.study_records import ScaleRecord
from core.items import pair_parts
from core.labels import PREFERENCE, Kind
from storage.db import audit
from storage.db.audit import Action
from storage.db.connections import batches, clock, execute, upsert
from storage.db.tables import AdjudicationRow, ItemRow, KnownAnswerRow, LeaseRow, TargetRow
from storage.labelling import critique_queue
from storage.labelling.context import AIU_KINDS, CRITERIA, Task, Work
from storage.labelling.queue import ONE_EACH, TargetState, read_claims
from storage.labels import targets
from storage.labels.targets import TargetKey, lock_targets
from storage.studies import studies
from storage.studies.items import rank
from storage.studies.studies import Study

# Hidden checks: targets with an adjudicated value, mixed into every annotator's queue.
#
# A check is labelled, revealed and counted as any other target, and its label is a label like any other. It is only
# offered to all annotators, regardless of the overlap. In a study with checks, targets with an adjudicated value are
# offered as checks only.


def ignores_overlap(session: Session, work: Work, target_id: int) -> bool:
    """Return whether a target is a training item, or a check for the annotator, so the overlap does not matter."""
    parameters = {"target": target_id, "annotator": work.annotator_id}
    return bool(session.scalar(_ignores_query(with_checks=has_checks(work)), parameters))


@cache  # to build the query takes longer than to execute it
def _ignores_query(*, with_checks: bool) -> Any:
    target = bindparam("target", type_=Integer)
    training = exists().where(col(KnownAnswerRow.target_id) == target)
    if not with_checks:
        return select(training)
    decided = exists().where(col(AdjudicationRow.target_id) == target)
    own = decided.where(col(AdjudicationRow.annotator_id) == bindparam("annotator", type_=Integer))
    return select(training | (decided & ~own))


def select_checks(work: Work, available: int, states: Sequence[TargetState]) -> list[TargetState]:
    """Return the checks that the annotator gets of those that are possible, in a random order of the annotator.

    With n ordinary targets that the annotator has labelled or can label, and a share s of checks, n s / (1 - s) checks
    are added, rounded up.
    """
    share = work.study.rules.check_share
    count = -int(-available * share / (1 - share) // 1)
    possible = sorted(states, key=lambda state: work.ids.digest("check", work.annotator_id, state.id))
    checks = [state for place, state in enumerate(possible) if place < count or state.labelled]
    return [replace(state, full=False, available=len(state.parts) or 1) for state in checks]


def mix_checks(work: Work, target_ids: Sequence[int], check_ids: Sequence[int]) -> Sequence[int]:
    """Return targets in their order with the checks at random positions, one in each block of equal length."""
    if not check_ids:
        return target_ids
    length = len(target_ids) / len(check_ids)
    places = [(number + _uniform(work, check_id)) * length for number, check_id in enumerate(check_ids)]
    placed = [*((float(number), id) for number, id in enumerate(target_ids)), *zip(places, check_ids, strict=True)]
    return [target_id for _, target_id in sorted(placed, key=lambda pair: pair[0])]


def _uniform(work: Work, target_id: int) -> float:
    """Return a reproducible random number from 0 to 1 for a target and an annotator."""
    return int.from_bytes(work.ids.digest("place", work.annotator_id, target_id)[:6]) / (1 << 48)


def is_check(session: Session, work: Work, target_ids: Sequence[int]) -> bool:
    """Return whether each of a critique's AIUs is a check for the annotator."""
    if not target_ids or not has_checks(work):
        return False
    decided = decided_targets(session, work)
    return all(decided.get(target_id) is False for target_id in target_ids)


def has_checks(work: Work) -> bool:
    """Return whether hidden checks are mixed into a queue with adjudicated targets."""
    return work.study.rules.check_share > 0


def decided_targets(session: Session, work: Work) -> dict[int, bool]:
    """Return the adjudicated targets of a queue's kind, or AIUs -> whether the annotator adjudicated them."""
    study = (
        col(TargetRow.study_id) + 0 == work.study.id
    )  # without the index: there are fewer adjudications than targets
    query = (
        select(col(AdjudicationRow.target_id), col(AdjudicationRow.annotator_id) == work.annotator_id)
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(study, col(TargetRow.kind).in_(AIU_KINDS if work.name == "aius" else (work.queue.kind,)))
    )
    decided: dict[int, bool] = {}
    for target_id, own in session.execute(query):
        decided[target_id] = decided.get(target_id, False) or bool(own)
    return decided


def is_complete(session: Session, work: Work, task: Task, target_id: int) -> tuple[bool, bool]:
    """Return whether as many others as the overlap allows have labelled a target, or have a claim of its task.

    Also whether the annotator's label of it is not blind. Expired leases of the task end here: those of closed browsers
    are removed nowhere else. Training items and hidden checks never are complete.
    """
    full, viewed, _ = _completeness(session, work, task, target_id)
    return full, viewed


def _completeness(session: Session, work: Work, task: Task, target_id: int) -> tuple[bool, bool, datetime]:
    """Return `is_complete`, and the time of the database."""
    found = read_claims(session, target_id, work.annotator_id, work.study.rules.overlap, leased=task.id)
    if found.expired:
        execute(session, _delete_expired(), {"target": task.id, "now": found.at})
    return found.full and not ignores_overlap(session, work, target_id), found.viewed, found.at


def claim(session: Session, work: Work, task: Task) -> bool:
    """Lease a task, or extend the lease; return False if it is full. Only the task is locked."""
    lock_targets(session, [task.id])
    full, at = _task_completeness(session, work, task)
    if full:
        return False
    until = at + timedelta(minutes=work.study.rules.lease_minutes)
    upsert(session, LeaseRow, ONE_EACH, {"target_id": task.id, "annotator_id": work.annotator_id, "until": until})
    return True


def renew(session: Session, work: Work, task: Task) -> bool:
    """Extend the annotator's lease of a task; return False if there is none, or if it expired and the task is full."""
    query = select(col(LeaseRow.id)).where(
        col(LeaseRow.annotator_id) == work.annotator_id, col(LeaseRow.target_id) == task.id
    )
    return session.scalars(query).first() is not None and claim(session, work, task)


@cache  # to build the statement takes longer than to execute it
def _delete_expired() -> Any:
    table: Any = LeaseRow
    return delete(table.__table__).where(
        col(LeaseRow.target_id) == bindparam("target"), col(LeaseRow.until) <= bindparam("now")
    )


def _task_completeness(session: Session, work: Work, task: Task) -> tuple[bool, datetime]:
    """Return whether a task is full for the annotator, and the time of the database."""
    if work.name != "aius":
        full, _, at = _completeness(session, work, task, task.id)
        return full, at
    at = clock(session)
    execute(session, _delete_expired(), {"target": task.id, "now": at})
    state = critique_queue.critique_state(session, work.queue, work.annotator_id, work.study.rules.overlap, task)
    return state is not None and state.full and not is_check(session, work, state.parts), at


def release(session: Session, work: Work, task: Task) -> None:
    """End the annotator's claim of a task."""
    own = (col(LeaseRow.annotator_id) == work.annotator_id, col(LeaseRow.target_id) == task.id)
    session.execute(delete(LeaseRow).where(*own))


def release_all(session: Session, work: Work) -> None:
    """End every claim of the annotator in a queue. Labels need none, and drafts are unchanged."""
    of_kind = select(col(TargetRow.id)).where(
        col(TargetRow.study_id) == work.queue.study_id, col(TargetRow.kind) == work.queue.kind
    )
    own = col(LeaseRow.annotator_id) == work.annotator_id
    session.execute(delete(LeaseRow).where(own, col(LeaseRow.target_id).in_(of_kind)))


# Pairs of responses that are offered to annotators although the judges agree on them, or have not judged them.

KIND: Kind = "preference"
IDS_IN_STATEMENT = 500


@dataclass(frozen=True)
class Offer:
    """The result of an offer."""

    added: int
    """Pairs that are in the annotators' queue now, and were not before."""
    drawn: int
    total: int
    """All pairs of the study on the criterion."""


def offered_criteria(session: Session, study_id: int) -> list[str]:
    """Return the criteria on which pairs can be offered: the study's, and those on which judges compared pairs."""
    judged = select(col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == KIND)
    names = {one.name for one in studies.criteria(session, study_id)} | set(session.scalars(judged.distinct()))
    return sorted(names - set(CRITERIA.values()))


def offer(session: Session, study: Study, criterion: str, *, count: int | None = None, seed: int = 0) -> Offer:
    """Add pairs on a criterion to the annotators' queue: `count` of all pairs, drawn at random, or every pair for None.

    A larger sample with the same seed contains the smaller one. Each added pair gets the study's overlap. Raises
    TiebreakError if the study has no such criterion, or no item with two responses.
    """
    names = offered_criteria(session, study.id)
    if criterion not in names:
        raise TiebreakError(
            f"The study has no criterion {criterion!r}; it has: {', '.join(names) or 'none; add it on Studies'}."
        )
    pairs = list(_pairs(session, study.id, criterion))
    if not pairs:
        raise TiebreakError("The study has no item with two responses.")
    drawn = pairs if count is None else sorted(pairs, key=lambda pair: rank(seed, f"{pair[0]}:{pair[3]}"))[:count]
    if (KIND, criterion) not in studies.scales(session, study.id):
        studies.declare_scale(session, study.id, ScaleRecord(kind=KIND, criterion=criterion, scale=PREFERENCE))
    added = _add(session, study, list(targets.get_or_create_by_keys(session, study.id, drawn).values()))
    audit.record(
        session, Action.settings, study_id=study.id, change="pairs offered", criterion=criterion, drawn=len(drawn),
        added=added, seed=seed,
    )  # fmt: skip
    return Offer(added, len(drawn), len(pairs))


def _pairs(session: Session, study_id: int, criterion: str) -> Iterator[TargetKey]:
    """Yield the pairs that were judged or labelled of each item, or all of its pairs if there are none."""
    query = select(col(TargetRow.item_id), col(TargetRow.part)).where(col(TargetRow.study_id) == study_id)
    known: dict[int, list[str]] = defaultdict(list)
    for item_id, part in session.execute(
        query.where(col(TargetRow.kind) == KIND, col(TargetRow.criterion) == criterion)
    ):
        known[item_id].append(part)
    responses = func.json_array_length(col(ItemRow.body)["responses"])
    items = select(col(ItemRow.id), col(ItemRow.key), responses).where(col(ItemRow.study_id) == study_id)
    for item_id, key, count in session.execute(items.order_by(col(ItemRow.position))):
        for part in known.get(item_id) or pair_parts(count):
            yield key, KIND, criterion, part


def _add(session: Session, study: Study, target_ids: list[int]) -> int:
    """Set the overlap of targets that are not offered yet; returns how many these are."""
    added = 0
    for batch in batches(target_ids, IDS_IN_STATEMENT):
        statement = (
            update(TargetRow)
            .where(col(TargetRow.id).in_(batch), col(TargetRow.disputed).is_(False))
            .values(overlap=study.rules.overlap, disputed=True)
            .returning(col(TargetRow.id))
        )
        added += len(session.scalars(statement, execution_options={"synchronize_session": False}).all())
    return added
