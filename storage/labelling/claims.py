"""Who labels which targets of a study, in which order, and who holds the claim of a task at the moment."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from math import log

from sqlalchemy import ColumnElement, Text, delete, distinct, func, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.study_records import StudyRules
from core.texts import mark
from storage.db.connections import clock, execute, upsert
from storage.db.guards import QUEUE, reading_for
from storage.db.tables import AdjudicationRow, LabelRow, LeaseRow, OpinionRow, TargetRow
from storage.labelling import critique_queue
from storage.labelling.context import AIU_KINDS, QueueContext, Task
from storage.labelling.queue import ONE_EACH, TargetState, claim_query
from storage.labels.targets import is_current, lock_targets

# The rules `annotators`, `groups` and `order`.

NOT_ASSIGNED = mark("This item is assigned to other annotators.")
# Of a target without votes.
UNKNOWN_ENTROPY = 1e-9


def is_assigned(rules: StudyRules, annotator: str, scenario: str | None) -> bool:
    """Return whether an annotator labels the items of a scenario.

    A scenario with its own annotators is labelled by them, every other one by the study's annotators.
    """
    group = rules.groups.get(scenario or "") or rules.annotators
    return not group or annotator in group


def is_named(rules: StudyRules, name: str) -> bool:
    """Return whether a study names an annotator."""
    return name in rules.annotators or any(name in group for group in rules.groups.values())


def is_excluded(rules: StudyRules, name: str) -> bool:
    """Return whether a study has annotators, and this is none of them."""
    return bool(rules.annotators) and not is_named(rules, name)


def order_ids(session: Session, work: QueueContext, places: Mapping[int, int]) -> list[int]:
    """Return targets in the order of the study's rules; `places` are the positions of their items."""
    ids = sorted(places, key=lambda target_id: (places[target_id], target_id))
    match work.study.rules.order:
        case "fixed":
            return ids
        case "informative":
            return _informative(session, work, ids)
    return sorted(ids, key=lambda target_id: work.ids.digest("order", work.annotator_id, target_id))


def _informative(session: Session, work: QueueContext, target_ids: Sequence[int]) -> list[int]:
    """Return targets, the most informative first, then the one with the fewest labels.

    That is the highest entropy of the votes of annotators and judges, of which each side has the same weight. Targets
    without votes are after every disagreement and before agreement.
    """
    labels = _votes(session, work, LabelRow, is_current(LabelRow))
    with reading_for(QUEUE):
        is_last = col(OpinionRow.stage) == "last"
        opinions = _votes(session, work, OpinionRow, is_last, col(OpinionRow.value).is_not(None))

    def rank(target_id: int) -> tuple[float, int]:
        shares: Counter[str] = Counter()
        for side in (labels.get(target_id, Counter()), opinions.get(target_id, Counter())):
            shares.update({value: count / side.total() for value, count in side.items()})
        parts = [share / shares.total() for share in shares.values()]
        entropy = -sum(part * log(part) for part in parts) if parts else UNKNOWN_ENTROPY
        return -round(entropy, 12), labels.get(target_id, Counter()).total()

    return sorted(target_ids, key=rank)


def _votes(
    session: Session, work: QueueContext, table: type[LabelRow] | type[OpinionRow], *conditions: ColumnElement[bool]
) -> Mapping[int, Counter[str]]:
    """Return target -> value -> number of annotators or judges who gave it."""
    query = (
        select(col(table.target_id), sql_cast(col(table.value), Text))
        .join(TargetRow, col(TargetRow.id) == col(table.target_id))
        .where(col(TargetRow.study_id) == work.study.id, col(TargetRow.kind) == work.queue.kind, *conditions)
    )
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for target_id, value in session.execute(query):
        votes[target_id][value] += 1
    return votes


def request_label(session: Session, study_id: int, target_id: int) -> int:
    """Set the overlap of one target to one more than its labels, and return it."""
    request_labels(session, study_id, [target_id])
    return session.scalars(select(col(TargetRow.overlap)).where(col(TargetRow.id) == target_id)).one() or 0


def request_labels(session: Session, study_id: int, target_ids: Collection[int]) -> None:
    """Set the overlap of targets to one more than their labels; targets without a dispute are in the queue then too."""
    labelled = (
        select(func.count(distinct(col(LabelRow.annotator_id))))
        .where(col(LabelRow.target_id) == col(TargetRow.id))
        .correlate(TargetRow)
        .scalar_subquery()
    )
    statement = (
        update(TargetRow)
        .where(col(TargetRow.id).in_(target_ids), col(TargetRow.study_id) == study_id)
        .values(overlap=labelled + 1, disputed=True)
    )
    session.execute(statement, execution_options={"synchronize_session": False})


# Hidden checks: targets with an adjudicated value, mixed into every annotator's queue.
#
# A check is labelled, revealed and counted as any other target, and its label is a label like any other. It is only
# offered to all annotators, regardless of the overlap. In a study with checks, targets with an adjudicated value are
# offered as checks only.


def has_checks(work: QueueContext) -> bool:
    """Return whether hidden checks are mixed into a queue with adjudicated targets."""
    return work.study.rules.check_share > 0


def select_checks(work: QueueContext, available: int, states: Sequence[TargetState]) -> list[TargetState]:
    """Return the checks that the annotator gets of those that are possible, in a random order of the annotator.

    With n ordinary targets that the annotator has labelled or can label, and a share s of checks, n s / (1 - s) checks
    are added, rounded up.
    """
    return select_share(work, "check", work.study.rules.check_share, available, states, {})


def select_share(
    work: QueueContext, name: str, share: float, available: int, states: Sequence[TargetState], begun: Mapping[int, int]
) -> list[TargetState]:
    """Return the first of targets so that they are a share of all, in a random order of the annotator and a name.

    Those that are labelled, or `begun` (task -> its place, before all others), are returned in any case.
    """
    count = -int(-available * share / (1 - share) // 1)

    def rank(state: TargetState) -> tuple[int, bytes]:
        return begun.get(state.id, len(begun)), work.ids.digest(name, work.annotator_id, state.id)

    possible = enumerate(sorted(states, key=rank))
    chosen = [state for place, state in possible if place < count or state.labelled or state.id in begun]
    return [state._replace(full=False, available=len(state.parts) or 1) for state in chosen]


def mix(
    work: QueueContext,
    ordered: Sequence[int],
    mixed_ids: Sequence[int],
    length: float,
    first: int = 0,
    start: float = 0,
) -> list[int]:
    """Return targets in their order with others at random places after `first`, one in each block and from `start`."""
    placed = [(float(number), target_id) for number, target_id in enumerate(ordered)]
    for number, mixed_id in enumerate(mixed_ids):
        # A reproducible random number from 0 to 1 for the task and the annotator.
        uniform = int.from_bytes(work.ids.digest("place", work.annotator_id, mixed_id)[:6]) / (1 << 48)
        placed.append((max(first + (number + uniform) * length, start + number * length), mixed_id))
    return [target_id for _, target_id in sorted(placed, key=lambda pair: pair[0])]


def decided_targets(session: Session, work: QueueContext) -> dict[int, bool]:
    """Return the adjudicated targets of a queue's kind, or AIUs -> whether the annotator adjudicated them."""
    kinds = AIU_KINDS if work.name == "aius" else (work.queue.kind,)
    query = (
        select(col(AdjudicationRow.target_id), col(AdjudicationRow.annotator_id) == work.annotator_id)
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(col(TargetRow.study_id) == work.study.id, col(TargetRow.kind).in_(kinds))
    )
    decided: dict[int, bool] = {}
    for target_id, own in session.execute(query):
        decided[target_id] = decided.get(target_id, False) or bool(own)
    return decided


# Claims of single tasks, which lock the task and not the study.


def completeness(session: Session, work: QueueContext, task: Task, target_id: int) -> tuple[bool, bool, datetime]:
    """Return whether as many others as the overlap allows have labelled a target, or have a claim of its task.

    Also whether the annotator's label of it is not blind, and the time of the database. Expired leases of the task end
    here: those of closed browsers are removed nowhere else. Training items and hidden checks never are complete.
    """
    at, overlap = clock(session), work.study.rules.overlap
    own = {"annotator": work.annotator_id, "overlap": overlap, "leased": task.id, "target": target_id, "now": at}
    is_full, has_expired, is_viewed, is_training, is_decided = map(bool, execute(session, claim_query(), own).one())
    if has_expired:
        _delete_expired(session, task, at)
    ignores_overlap = is_training or (is_decided and has_checks(work))
    return is_full and not ignores_overlap, is_viewed, at


def claim(session: Session, work: QueueContext, task: Task) -> bool:
    """Lease a task, or extend the lease; return False if it is full. Only the task is locked."""
    if task.repeat:  # takes no label from others
        return True
    lock_targets(session, [task.id])
    full, at = _task_completeness(session, work, task)
    if full:
        return False
    until = at + timedelta(minutes=work.study.rules.lease_minutes)
    upsert(session, LeaseRow, ONE_EACH, {"target_id": task.id, "annotator_id": work.annotator_id, "until": until})
    return True


def renew(session: Session, work: QueueContext, task: Task) -> bool:
    """Extend the annotator's lease of a task; return False if there is none, or if it expired and the task is full."""
    is_held = session.scalars(select(col(LeaseRow.id)).where(*_own(work, task))).first() is not None
    return is_held and claim(session, work, task)


def _task_completeness(session: Session, work: QueueContext, task: Task) -> tuple[bool, datetime]:
    """Return whether a task is full for the annotator, and the time of the database."""
    if work.name != "aius":
        full, _, at = completeness(session, work, task, task.id)
        return full, at
    at = clock(session)
    _delete_expired(session, task, at)
    state = critique_queue.critique_state(session, work, task)
    return state is not None and state.full and not _is_check(session, work, state.parts), at


def _is_check(session: Session, work: QueueContext, aiu_ids: Sequence[int]) -> bool:
    """Return whether each of a critique's AIUs is a check for the annotator."""
    if not aiu_ids or not has_checks(work):
        return False
    decided = decided_targets(session, work)
    return all(decided.get(aiu_id) is False for aiu_id in aiu_ids)


def release(session: Session, work: QueueContext, task: Task) -> None:
    """End the annotator's claim of a task."""
    session.execute(delete(LeaseRow).where(*_own(work, task)))


def release_all(session: Session, work: QueueContext) -> None:
    """End every claim of the annotator in a queue. Labels need none, and drafts are unchanged."""
    of_kind = select(col(TargetRow.id)).where(
        col(TargetRow.study_id) == work.queue.study_id, col(TargetRow.kind) == work.queue.kind
    )
    own = col(LeaseRow.annotator_id) == work.annotator_id
    session.execute(delete(LeaseRow).where(own, col(LeaseRow.target_id).in_(of_kind)))


def _own(work: QueueContext, task: Task) -> tuple[ColumnElement[bool], ...]:
    return col(LeaseRow.annotator_id) == work.annotator_id, col(LeaseRow.target_id) == task.id


def _delete_expired(session: Session, task: Task, at: datetime) -> None:
    expired = (col(LeaseRow.target_id) == task.id, col(LeaseRow.until) <= at)
    session.execute(delete(LeaseRow).where(*expired), execution_options={"synchronize_session": False})
