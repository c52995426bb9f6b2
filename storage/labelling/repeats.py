"""Repeats: targets that an annotator has labelled and is asked about again, as about any other target.

The answers are stored apart from labels. A list of ids names the repeat of a target with the negative id (`Task.key`).
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.db.connections import clock
from storage.db.tables import RepeatDraftRow, RepeatRow
from storage.labelling import claims
from storage.labelling.blocks import LISTS
from storage.labelling.context import QueueContext
from storage.labelling.queue import TargetState

# The queues whose targets have one value and one task each.
QUEUES = ("disagreements", *LISTS)
# A target is repeated after so many other labels of the queue, or after so long.
LABELS_SINCE = 20
TIME_SINCE = timedelta(hours=12)
# Tasks that a browser asks for before they are shown.
IN_BROWSER = 30


def select_repeats(
    session: Session, work: QueueContext, total: int, labelled: Mapping[int, Any], marked: Mapping[str, Collection[int]]
) -> list[TargetState]:
    """Return the repeats that are due or answered, in the order in which they are asked.

    `labelled`: target -> the time of the annotator's label, the oldest first, of a `total` of targets. With n that were
    labelled long ago, or will be when a browser has shown its tasks, and a share s, n s / (1 - s) are due, rounded up.
    `marked`: mark -> its targets; flagged or noted ones are not asked again, because the task would show it.
    """
    share = work.study.rules.repeat_share
    if not share or work.name not in QUEUES:
        return []
    own = (col(RepeatRow.study_id) == work.study.id, col(RepeatRow.annotator_id) == work.annotator_id)
    values = select(col(RepeatRow.target_id), col(RepeatRow.value)).where(*own).order_by(col(RepeatRow.id))
    answers: dict[int, Any] = dict(session.execute(values).all())
    drafts = select(col(RepeatDraftRow.target_id)).where(col(RepeatDraftRow.annotator_id) == work.annotator_id)
    others = sorted({*session.scalars(drafts), *marked["skip"]} - answers.keys())
    begun = {-id: place for place, id in enumerate(id for id in (*answers, *others) if id in labelled)}
    since, newest = clock(session) - TIME_SINCE, len(labelled) - LABELS_SINCE
    old = [id for place, (id, at) in enumerate(labelled.items()) if place < newest or at is None or at <= since]
    done = {-target_id for target_id, value in answers.items() if value is not None}
    states = [
        TargetState(key, "", key in done, -key in marked["skip"], False, False, None, 0, int(key in done), 1)
        for key in {**begun, **{-id: 0 for id in old if id not in marked["flag"] and id not in marked["note"]}}
    ]
    available = max(len(old), min(len(labelled) + IN_BROWSER, total) - LABELS_SINCE)
    return claims.select_share(work, "repeat", share, available, states, begun)


def mix_repeats(work: QueueContext, ids: Sequence[int], states: Sequence[TargetState], newest: int) -> Sequence[int]:
    """Return targets in their order with the repeats at random places, and not two together after the newest label."""
    if not states:
        return ids
    length = 1 / work.study.rules.repeat_share - 1
    front = ids.index(newest) + 0.5 if newest in ids else 0  # before the next one
    start = front - length * sum(state.labelled or state.skipped for state in states)
    return claims.mix(work, ids, [state.id for state in states], length, LABELS_SINCE, start)
