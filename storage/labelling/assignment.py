"""Who labels which targets of a study, and in which order: the rules `annotators`, `groups` and `order`."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Text, distinct, func, or_, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.study_records import StudyRules
from storage.db.guards import QUEUE, reading_for
from storage.db.opaque_ids import OpaqueIds
from storage.db.tables import ItemRow, LabelRow, OpinionRow, TargetRow

if TYPE_CHECKING:
    import numpy as np

    from storage.labelling.context import Task, Work

NOT_ASSIGNED = "This item is assigned to other annotators."
NO_LIMIT = 1 << 30
"""More labels than any target has: complete targets are not filtered here."""


def is_assigned(rules: StudyRules, annotator: str, scenario: str | None) -> bool:
    """Return whether an annotator labels the items of a scenario.

    A scenario with its own annotators is labelled by them, every other one by the study's annotators.
    """
    group = rules.groups.get(scenario or "") or rules.annotators
    return not group or annotator in group


def is_named(rules: StudyRules, name: str) -> bool:
    """Return whether a study names an annotator."""
    return name in rules.annotators or any(name in group for group in rules.groups.values())


def may_label(work: "Work", task: "Task") -> bool:
    """Return whether a task is assigned to the annotator."""
    return is_assigned(work.study.rules, work.annotator, task.scenario)


def assigned_condition(work: "Work") -> ColumnElement[bool] | None:
    """Return the condition on an item that `is_assigned` is; None if all annotators label all items."""
    rules = work.study.rules
    if not rules.annotators and not rules.groups:
        return None
    scenario = func.coalesce(col(ItemRow.scenario), "")
    grouped = [name for name, group in rules.groups.items() if group]
    own = scenario.in_([name for name in grouped if work.annotator in rules.groups[name]])
    is_general = not rules.annotators or work.annotator in rules.annotators
    return or_(own, scenario.not_in(grouped)) if is_general else own


def order_ids(session: Session, work: "Work", places: Mapping[int, int]) -> list[int]:
    """Return targets in the order of the study's rules; `places` are the positions of their items."""
    match work.study.rules.order:
        case "fixed":
            return sorted(places, key=lambda target_id: (places[target_id], target_id))
        case "informative":
            ids = sorted(places, key=lambda target_id: (places[target_id], target_id))
            ranks = _informative_places(session, work, ids)
            return sorted(ids, key=lambda target_id: ranks[target_id])
    return sorted(places, key=lambda target_id: shuffled_key(work.ids, work.annotator_id, target_id))


def shuffled_key(ids: OpaqueIds, annotator_id: int, target_id: int) -> bytes:
    """Return a reproducible random number for a target, from the annotator and the study's key."""
    return ids.digest("order", annotator_id, target_id)


def _informative_places(session: Session, work: "Work", target_ids: Sequence[int]) -> dict[int, int]:
    """Return target -> its place, most informative first: see `core.statistics.measures.planning.next_targets`."""
    from core.statistics.measures.planning import next_targets

    labels, opinions = _label_votes(session, work), _opinion_votes(session, work)
    values = sorted({value for side in (labels, opinions) for votes in side.values() for value in votes})
    order = next_targets(_vote_array(labels, target_ids, values), _vote_array(opinions, target_ids, values), NO_LIMIT)
    return {target_ids[number]: place for place, number in enumerate(order)}


def _vote_array(
    votes: Mapping[int, Counter[str]], target_ids: Sequence[int], values: Sequence[str]
) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return votes as an array of targets x values."""
    import numpy as np

    columns = {value: column for column, value in enumerate(values)}
    counts = np.zeros((len(target_ids), max(len(values), 1)))
    for row, target_id in enumerate(target_ids):
        for value, count in votes.get(target_id, {}).items():
            counts[row, columns[value]] = count
    return counts


def _label_votes(session: Session, work: "Work") -> Mapping[int, Counter[str]]:
    """Return target -> value -> number of annotators whose newest label it is."""
    query = (
        select(col(LabelRow.target_id), col(LabelRow.annotator_id), sql_cast(col(LabelRow.value), Text))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(col(TargetRow.study_id) == work.study.id, col(TargetRow.kind) == work.queue.kind)
        .order_by(col(LabelRow.id))
    )
    newest = {(target, annotator): value for target, annotator, value in session.execute(query)}
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for (target, _), value in newest.items():
        if value is not None:
            votes[target][value] += 1
    return votes


@reading_for(QUEUE)
def _opinion_votes(session: Session, work: "Work") -> Mapping[int, Counter[str]]:
    """Return target -> value -> number of judges whose last opinion it is."""
    query = (
        select(col(OpinionRow.target_id), sql_cast(col(OpinionRow.value), Text))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(TargetRow.study_id) == work.study.id, col(TargetRow.kind) == work.queue.kind)
        .where(col(OpinionRow.stage) == "last", col(OpinionRow.value).is_not(None))
    )
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for target, value in session.execute(query):
        votes[target][value] += 1
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
