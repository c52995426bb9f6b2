"""Hidden checks: targets with an adjudicated value, mixed into every annotator's queue.

A check is labelled, revealed and counted as any other target, and its label is a label like any other. It is only
offered to all annotators, whatever the overlap. In a study with checks, targets with an adjudicated value are offered
as checks only.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import exists, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.labelling.queue import TargetState
from storage.labelling.training import QUEUES
from storage.tables import AdjudicationRow, KnownAnswerRow, TargetRow

if TYPE_CHECKING:
    from storage.labelling.work import Work


def ignores_overlap(session: Session, work: "Work", target_id: int) -> bool:
    """Return whether a target is a training item, or a check for the annotator, so the overlap does not matter."""
    if work.name not in QUEUES:
        return False
    training = exists().where(col(KnownAnswerRow.target_id) == target_id)
    if not _has_checks(work):
        return bool(session.scalar(select(training)))
    decided = exists().where(col(AdjudicationRow.target_id) == target_id)
    own = decided.where(col(AdjudicationRow.annotator_id) == work.annotator_id)
    return bool(session.scalar(select(training | (decided & ~own))))


def select_checks(
    session: Session, work: "Work", states: Sequence[TargetState]
) -> tuple[list[TargetState], list[TargetState]]:
    """Return the checks that the annotator gets, in a random order of the annotator, and the ordinary targets.

    With n ordinary targets that the annotator has labelled or can label, and a share s of checks, n s / (1 - s) checks
    are added, rounded up. Without ordinary targets there are no checks.
    """
    decided = _decided(session, work) if _has_checks(work) else {}
    others = [state for state in states if state.id not in decided]
    available = sum(state.available > 0 for state in others)
    if not decided or not others:
        return [], list(states)
    share = work.study.rules.check_share
    count = -int(-available * share / (1 - share) // 1)
    possible = [state for state in states if state.id in decided and not decided[state.id]]
    possible.sort(key=lambda state: work.ids.digest("check", work.annotator_id, state.id))
    checks = [state for place, state in enumerate(possible) if place < count or state.labelled]
    own = [state for state in states if decided.get(state.id) and state.labelled]
    return [replace(state, full=False, available=1) for state in checks], others + own


def mix(work: "Work", states: Sequence[TargetState], checks: Sequence[TargetState]) -> list[TargetState]:
    """Return targets in their order with the checks at random places, one in each stretch of equal length."""
    if not checks:
        return list(states)
    length = len(states) / len(checks)
    places = [(number + _uniform(work, check.id)) * length for number, check in enumerate(checks)]
    placed = [*((float(number), state) for number, state in enumerate(states)), *zip(places, checks, strict=True)]
    return [state for _, state in sorted(placed, key=lambda pair: pair[0])]


def _uniform(work: "Work", target_id: int) -> float:
    """Return a random number of 0 to 1 for a target that depends on the annotator and stays the same."""
    return int.from_bytes(work.ids.digest("place", work.annotator_id, target_id)[:6]) / (1 << 48)


def _has_checks(work: "Work") -> bool:
    return work.study.rules.check_share > 0 and work.name in QUEUES


def _decided(session: Session, work: "Work") -> dict[int, bool]:
    """Return the adjudicated targets of a kind -> whether the annotator adjudicated them."""
    study = (
        col(TargetRow.study_id) + 0 == work.study.id
    )  # without the index: there are fewer adjudications than targets
    query = (
        select(col(AdjudicationRow.target_id), col(AdjudicationRow.annotator_id) == work.annotator_id)
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(study, col(TargetRow.kind) == work.queue.kind)
    )
    decided: dict[int, bool] = {}
    for target_id, own in session.execute(query):
        decided[target_id] = decided.get(target_id, False) or bool(own)
    return decided
