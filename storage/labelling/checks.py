"""Hidden checks: targets with an adjudicated value, mixed into every annotator's queue.

A check is labelled, revealed and counted as any other target, and its label is a label like any other. It is only
offered to all annotators, regardless of the overlap. In a study with checks, targets with an adjudicated value are
offered as checks only.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import Integer, bindparam, exists, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.labelling.queue import TargetState
from storage.labelling.work import AIU_KINDS, Work
from storage.tables import AdjudicationRow, KnownAnswerRow, TargetRow


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


def mix(work: Work, target_ids: Sequence[int], check_ids: Sequence[int]) -> Sequence[int]:
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
