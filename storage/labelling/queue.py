"""The labelling queue: targets and their leases, drafts, skips, flags and notes."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, delete, exists, func, not_, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.expression import SQLColumnExpression
from sqlmodel import col

from core import designs
from core.formats.study_records import MarkRecord
from core.labels import Kind, Target
from storage.db.columns import sanitize
from storage.db.connections import execute, insert_missing, upsert
from storage.db.fingerprints import mark_row, with_fingerprint
from storage.db.guards import QUEUE, reading_for
from storage.db.tables import (
    AdjudicationRow,
    DraftRow,
    ItemRow,
    KnownAnswerRow,
    LabelRow,
    LeaseRow,
    MarkRow,
    OpinionRow,
    RepeatDraftRow,
    TargetRow,
    TraceRow,
    now,
)
from storage.labels import targets
from storage.labels.views import views_condition
from storage.studies import annotators

Mark = Literal["skip", "flag", "note"]
# There is at most one draft and one lease of a target and an annotator.
ONE_EACH = ("target_id", "annotator_id")
ANNOTATOR = bindparam("annotator", type_=Integer)
NOW: ColumnElement[Any] = bindparam("now")


@dataclass(frozen=True)
class Queue:
    """The targets of a kind that the judges could not agree on, or `every` one; None means no filter."""

    study_id: int
    kind: Kind = "preference"
    criterion: str | None = None
    scenario: str | None = None
    run_id: int | None = None
    every: bool = False
    """All targets of the kind; otherwise the disputed ones."""
    compared: bool = False
    """Only targets on which a judge has a value: otherwise there are no refined answers to compare."""
    reserved: tuple[str, ...] = ()
    """Criteria with separate queues; they are not in a queue of all criteria."""
    scored_by: int | None = None
    """Only items that this annotator has scored on the criterion, because the tasks show the judges' scores."""


class TargetState(NamedTuple):
    """One task in a queue by its id, as one annotator sees it."""

    id: int
    item: str
    labelled: bool
    skipped: bool
    flagged: bool
    full: bool
    """As many others as the overlap allows have labelled it or have a lease of it."""
    scenario: str | None
    position: int
    """The place of the item in the study."""
    labels: int
    """How many of its required targets the annotator has labelled."""
    available: int
    """How many of its required targets the annotator has labelled or can label."""
    newest: int = 0
    """The id of the annotator's newest label in it."""
    parts: tuple[int, ...] = ()
    """Its required targets: itself, or of a critique its AIUs, if all of them have a target."""


def save_draft(session: Session, target_id: int, annotator_id: int, body: Any, *, repeat: bool = False) -> None:
    """Save an annotator's unfinished input for a target, or for its repeat; it replaces an earlier draft."""
    row = {"target_id": target_id, "annotator_id": annotator_id, "body": sanitize(dict(body)), "at": now()}
    upsert(session, RepeatDraftRow if repeat else DraftRow, ONE_EACH, row)


def set_mark(
    session: Session, study_id: int, target: Target, annotator: str, mark: Mark, *, text: str = "", on: bool = True
) -> None:
    """Skip, flag or note a target, or withdraw that (`on=False`). A skip ends the lease."""
    record = MarkRecord(target=target, annotator=annotator, mark=mark, text=text, on=on, at=now())
    target_id = targets.get_or_create_id(session, study_id, target)
    annotator_id = annotators.get_or_create_id(session, annotator)
    insert_missing(session, MarkRow, [with_fingerprint(mark_row(record, target_id, annotator_id))])
    if mark == "skip":
        own = (col(LeaseRow.target_id) == target_id, col(LeaseRow.annotator_id) == annotator_id)
        session.execute(delete(LeaseRow).where(*own))


def marks_on(
    session: Session, annotator_id: int, *conditions: ColumnElement[bool]
) -> defaultdict[int, dict[Mark, str]]:
    """Return target -> mark -> text of the annotator's marks that are on; the conditions are on marks or targets."""
    query = (
        select(col(MarkRow.target_id), col(MarkRow.mark), col(MarkRow.on), col(MarkRow.text))
        .join(TargetRow, col(TargetRow.id) == col(MarkRow.target_id))
        .where(col(MarkRow.annotator_id) == annotator_id, *conditions)
        .order_by(col(MarkRow.id))
    )
    found: defaultdict[int, dict[Mark, str]] = defaultdict(dict)
    newest = {(target_id, mark): (on, text) for target_id, mark, on, text in execute(session, query)}
    for (target_id, mark), (on, text) in newest.items():
        if on:
            found[target_id][mark] = text
    return found


def has_targets(session: Session, queue: Queue) -> bool:
    """Return whether a queue has a target for any annotator."""
    with reading_for(QUEUE):
        return session.execute(target_query(col(TargetRow.id), queue=queue).limit(1)).first() is not None


def target_query(*columns: Any, queue: Queue, with_items: bool = False) -> Select[*tuple[Any, ...]]:
    """Select columns of the targets of a queue, and of their items if the queue or `with_items` needs them."""
    query = select(*columns).select_from(TargetRow)
    query = query.where(col(TargetRow.study_id) == queue.study_id, col(TargetRow.kind) == queue.kind)
    if with_items or queue.scenario is not None:
        query = query.join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    if queue.scenario is not None:
        query = query.where(col(ItemRow.scenario) == queue.scenario)
    if queue.criterion is not None:
        query = query.where(col(TargetRow.criterion) == queue.criterion)
    elif queue.reserved:
        query = query.where(col(TargetRow.criterion).not_in(queue.reserved))
    opinions = exists().where(col(OpinionRow.target_id) == col(TargetRow.id))
    if queue.compared:
        query = query.where(opinions.where(col(OpinionRow.value).is_not(None)))
    if queue.kind == "score":  # without a design people are asked about every score
        query = query.where(or_(col(TargetRow.probability).is_(None), col(TargetRow.disputed).is_(True)))
    query = query.where(*_scored_by(queue.scored_by))
    if queue.run_id is not None:
        of_run = opinions.where(col(OpinionRow.run_id) == queue.run_id)
        # What `TargetRow.disputed` summarizes for all runs.
        of_trace = (col(OpinionRow.stage) == "verdict", col(TraceRow.id) == col(OpinionRow.trace_id))
        has_design, is_drawn = col(TargetRow.probability).is_not(None), col(TargetRow.drawn).is_(True)
        is_asked = or_(
            and_(targets.own_outcome().in_(targets.DISPUTED), or_(not_(has_design), is_drawn)),
            and_(is_drawn, or_(col(TargetRow.stratum) != designs.DISPUTED, targets.runs_differ())),
        )
        return query.where(of_run if queue.every else of_run.where(*of_trace, is_asked))
    return query if queue.every else query.where(col(TargetRow.disputed).is_(True))


def _scored_by(annotator_id: int | None) -> list[ColumnElement[bool]]:
    """Return whether an annotator has scored the item of the outer query's target on its criterion; empty for None."""
    if annotator_id is None:
        return []
    label, scored = aliased(LabelRow), aliased(TargetRow)
    own = exists().where(
        col(scored.item_id) == col(TargetRow.item_id), col(scored.kind).in_(("score", "answer")),
        col(scored.criterion) == col(TargetRow.criterion), col(label.target_id) == col(scored.id),
        col(label.annotator_id) == annotator_id, targets.is_current(label),
    )  # fmt: skip
    return [own]


def _current_labels(*conditions: Callable[[Any], ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """Select the current labels of the outer query's target."""
    label = aliased(LabelRow)
    return (
        select(col(label.id))
        .where(col(label.target_id) == col(TargetRow.id), targets.is_current(label))
        .where(*(condition(label) for condition in conditions))
        .correlate(TargetRow, LeaseRow)
    )


def _labelled_by(annotator_id: SQLColumnExpression[int]) -> ColumnElement[bool]:
    return _current_labels(lambda label: col(label.annotator_id) == annotator_id).exists()


def full_condition(leased_target: SQLColumnExpression[int] | None = None) -> ColumnElement[bool]:
    """Return whether as many others as the overlap allows have labelled the outer query's target or hold a lease of it.

    `leased_target` is the target that is leased, if that is another one.
    """
    if leased_target is None:
        leased_target = col(TargetRow.id)
    leased = (
        select(func.count())
        .where(col(LeaseRow.target_id) == leased_target, col(LeaseRow.annotator_id) != ANNOTATOR)
        .where(col(LeaseRow.until) > NOW, not_(_labelled_by(col(LeaseRow.annotator_id))))
    )
    labelled = _current_labels(lambda label: and_(col(label.annotator_id) != ANNOTATOR, not_(col(label.surplus))))
    return labelled.with_only_columns(func.count()).scalar_subquery() + leased.scalar_subquery() >= wanted_labels()


def wanted_labels() -> ColumnElement[int]:
    """Return the requested labels of the outer query's target; `:overlap` is the study's overlap."""
    return func.coalesce(col(TargetRow.overlap), bindparam("overlap", type_=Integer))


@cache  # building the query takes longer than executing it
def claim_query() -> Select[*tuple[Any, ...]]:
    """Select of `:target` whether it is full for `:annotator`, and `:leased`, the target that is leased for it, has
    expired leases; whether the annotator's next label of it is not blind; whether it is a training item; and whether it
    was adjudicated by another person.
    """
    leased = bindparam("leased", type_=Integer)
    expired = exists().where(col(LeaseRow.target_id) == leased, col(LeaseRow.until) <= NOW)
    training = exists().where(col(KnownAnswerRow.target_id) == col(TargetRow.id))
    decided = exists().where(col(AdjudicationRow.target_id) == col(TargetRow.id))
    own = decided.where(col(AdjudicationRow.annotator_id) == ANNOTATOR)
    columns = (full_condition(leased), expired, views_condition(), training, decided & ~own)
    query = select(*columns).select_from(TargetRow)
    return query.where(col(TargetRow.id) == bindparam("target", type_=Integer))
