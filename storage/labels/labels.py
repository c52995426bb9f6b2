"""Labels, adjudications and gold.

Rows are never changed or deleted. An annotator's newest label of a target is the current one; a newest label without a
value withdraws the earlier ones. Gold is people's decisions: see `core.labels.resolve_gold`.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Row, Select, delete, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.labels import Adjudication, Evidence, Gold, Kind, Label, Target, Value, resolve_gold
from core.texts import _
from storage.db import audit
from storage.db.connections import execute, insert_missing
from storage.db.fingerprints import adjudication_row, label_row, with_fingerprint
from storage.db.tables import (
    AdjudicationRow,
    AnnotatorRow,
    DraftRow,
    ItemRow,
    LabelRow,
    LeaseRow,
    OpinionRow,
    StudyRow,
    TargetRow,
    now,
)
from storage.labels import targets, views
from storage.studies import annotators, studies, transcripts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


# Labels fetched at once.
CHUNK = 5_000


def add(
    session: Session, study_id: int, label: Label, target_id: int, annotator_id: int, *, viewed: bool | None = None
) -> Label:
    """Add a label of a target that is locked, with a checked value, and end the annotator's draft and lease of it.

    Time and blindness are set here. `viewed`: whether the label is not blind (`views.views_condition`); None if that
    has not been read.
    """
    if viewed is None:
        viewed = views.is_viewed(session, target_id, annotator_id)
    label = label.model_copy(update={"blind": not viewed, "at": now()})
    insert_missing(session, LabelRow, [with_fingerprint(label_row(label, study_id, target_id, annotator_id))])
    targets.count_labels(session, [target_id])
    for table in (DraftRow, LeaseRow):
        delete_own(session, table, target_id, annotator_id)
    return label


def delete_own(session: Session, table: Any, target_id: int, annotator_id: int) -> None:
    """Delete an annotator's draft or lease of a target."""
    own = (col(table.target_id) == target_id, col(table.annotator_id) == annotator_id)
    execute(session, delete(table.__table__).where(*own))


def own_rows(session: Session, table: Any, annotator_id: int, target_ids: Collection[int]) -> Sequence[Any]:
    """Return an annotator's labels of targets, or answers to their repeats, the oldest first."""
    if not target_ids:
        return []
    own = (col(table.annotator_id) == annotator_id, col(table.target_id).in_(target_ids))
    return execute(session, select(table).where(*own).order_by(col(table.id))).all()


def drafts(session: Session, table: Any, annotator_id: int, target_ids: Collection[int]) -> dict[int, Any]:
    """Return target -> the annotator's draft of it, or of its repeat, the oldest first."""
    own = (col(table.annotator_id) == annotator_id, col(table.target_id).in_(target_ids))
    query = select(col(table.target_id), col(table.body)).where(*own).order_by(col(table.at))
    return dict(session.execute(query).all()) if target_ids else {}


def history(session: Session, study_id: int, target: Target, annotator: str | None = None) -> list[Label]:
    """Return every label of a target, oldest first; of one annotator if a name is passed."""
    of_target = col(LabelRow.target_id) == targets.find_id(session, study_id, target)
    query = _labels().where(of_target).order_by(col(LabelRow.id))
    if annotator is not None:
        query = query.where(col(AnnotatorRow.name) == annotators.normalize_name(annotator))
    return [_label(row) for row in session.execute(query)]


def current(session: Session, study_id: int, target: Target, annotator: str) -> Label | None:
    """Return the annotator's newest label of a target; None if there is none or it was withdrawn."""
    labels = history(session, study_id, target, annotator)
    return labels[-1] if labels and labels[-1].value is not None else None


def adjudicate(
    session: Session,
    study_id: int,
    target: Target,
    value: Value,
    *,
    rule: str,
    reason: str,
    adjudicator: str,
    known: int | None = None,
) -> Adjudication:
    """Add an adjudication, which takes precedence over all labels.

    `known` is the id of the newest one that the adjudicator has seen, 0 for none; None if that does not matter. Raises
    TiebreakError if there is a newer one, without a reason if no annotator chose the value, and for an adjudicator who
    ever labelled the target, unless the study allows it.
    """
    name = annotators.normalize_name(adjudicator)
    given = history(session, study_id, target)
    newest = {label.annotator: label.value for label in given}
    if name in newest and not studies.by_id(session, study_id).rules.adjudicate_own:
        raise TiebreakError(_("You labelled this item: another person has to decide it."))
    target_id = targets.get_or_create_id(session, study_id, target)
    if known is not None:
        _check_newest(session, target_id, known)
    if not reason.strip() and value not in newest.values():
        raise TiebreakError(_("An adjudication needs a reason if no annotator chose the value."))
    studies.check_value(studies.scales(session, study_id), target.kind, target.criterion, value)
    transcripts.check_steps(session, study_id, [(target, value)])
    adjudication = Adjudication(target=target, value=value, rule=rule, reason=reason, adjudicator=name, at=now())
    annotator_id = annotators.get_or_create_id(session, name)
    row = adjudication_row(adjudication, target_id, annotator_id)
    insert_missing(session, AdjudicationRow, [with_fingerprint(row)])
    audit.record(session, audit.Action.adjudication, study_id=study_id, actor=name, item=target.item, kind=target.kind)
    return adjudication


def _check_newest(session: Session, target_id: int, known: int) -> None:
    """Raise TiebreakError if a target has a newer adjudication; none is added until the end of the transaction."""
    targets.lock_targets(session, [target_id])
    query = (
        select(col(AnnotatorRow.name), col(AdjudicationRow.value))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AdjudicationRow.annotator_id))
        .where(col(AdjudicationRow.target_id) == target_id, col(AdjudicationRow.id) > known)
    )
    if newer := session.execute(query.order_by(col(AdjudicationRow.id).desc())).first():
        raise TiebreakError(_("{name} has decided {value} meanwhile.", name=newer[0], value=newer[1]))


def of_study(session: Session, study_id: int) -> Iterator[Label]:
    """Yield every label of a study, oldest first."""
    query = _labels().where(col(LabelRow.study_id) == study_id).order_by(col(LabelRow.id))
    for row in session.execute(query.execution_options(yield_per=CHUNK)):
        yield _label(row)


def of_items(session: Session, study_id: int, keys: Collection[str]) -> list[Label]:
    """Return the labels of a few items of a study, oldest first."""
    query = _labels().where(col(ItemRow.study_id) == study_id, col(ItemRow.key).in_(keys))
    return [_label(row) for row in session.execute(query.order_by(col(LabelRow.id)))]


def decision(session: Session, study_id: int, target: Target) -> tuple[Gold, str] | None:
    """Return the gold of one target and its adjudicator, "" without one; None before it has a value."""
    values = {label.annotator: label.value for label in history(session, study_id, target)}
    target_id = targets.find_id(session, study_id, target)
    adjudicated = adjudications(session, study_id, col(AdjudicationRow.target_id) == target_id)
    newest = adjudicated[-1] if adjudicated else None
    given = {annotator: value for annotator, value in values.items() if value is not None}
    gold = resolve_gold(target, given, newest, studies.scale(session, study_id, target.kind, target.criterion))
    return None if gold.value is None else (gold, newest.adjudicator if newest else "")


def adjudications(session: Session, study_id: int, *conditions: ColumnElement[bool]) -> list[Adjudication]:
    """Return every adjudication of a study that meets conditions, oldest first."""
    query = (
        select(AdjudicationRow, col(ItemRow.key), TargetRow, col(AnnotatorRow.name))
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AdjudicationRow.annotator_id))
        .where(col(TargetRow.study_id) == study_id, *conditions)
        .order_by(col(AdjudicationRow.id))
    )
    found = []
    for row, key, target, name in session.execute(query):
        about = targets.from_columns(key, target.kind, target.criterion, target.part)
        decision = {"value": row.value, "rule": row.rule, "reason": row.reason, "at": row.at}
        found.append(Adjudication(target=about, adjudicator=name, **decision))
    return found


def version(session: Session, study_id: int) -> tuple[int, ...]:
    """Return numbers that change with every label, opinion and deletion; fast enough to be read every second.

    Rows are counted: on PostgreSQL the row with the highest id need not be the last that was committed.
    """
    return (
        session.scalars(select(func.count()).where(col(LabelRow.study_id) == study_id)).one(),
        session.scalars(select(func.count()).where(col(OpinionRow.study_id) == study_id)).one(),
        session.scalars(select(col(StudyRow.removals)).where(col(StudyRow.id) == study_id)).one(),
    )


def frame(session: Session, study_id: int) -> "pd.DataFrame":
    """Return the current labels, one per row: item, scenario, group, kind, criterion, part, rater, value."""
    import pandas as pd

    from storage.labels import current_labels

    target_ids, annotator_ids, texts = current_labels.read(session, study_id).present()
    names = _annotator_names(session)
    raters = pd.Series([names[one] for one in annotator_ids.tolist()], dtype="str")
    values = pd.Series(_parsed(texts), dtype=object)
    return current_labels.read_targets(session, study_id).rows_of(target_ids).assign(rater=raters, value=values)


def gold_labels(session: Session, study_id: int, kinds: Collection[Kind] | None = None) -> Iterator[Gold]:
    """Yield the gold of every target that was labelled or adjudicated, in a stable order; of some kinds, or of all."""
    return (gold for _, gold in gold_by_target_id(session, study_id, kinds))


def gold_by_target_id(
    session: Session, study_id: int, kinds: Collection[Kind] | None = None
) -> Iterator[tuple[int, Gold]]:
    """Yield the same with the ids of the targets."""
    of_kinds = targets.of_study(session, study_id, kinds)
    if not of_kinds:
        return
    values = annotator_values(session, study_id)
    newest = newest_adjudications(session, study_id)
    scales = studies.scales(session, study_id)
    for target_id, target in of_kinds:
        if target_id in values or target in newest:
            scale = scales.get((target.kind, target.criterion))
            yield target_id, resolve_gold(target, values.get(target_id, {}), newest.get(target), scale)


def annotator_values(session: Session, study_id: int) -> dict[int, dict[str, Value]]:
    """Return target id -> annotator -> current value."""
    from storage.labels import current_labels

    target_ids, annotator_ids, texts = current_labels.read(session, study_id).present()
    names = _annotator_names(session)
    values: dict[int, dict[str, Value]] = defaultdict(dict)
    for target_id, annotator, value in zip(target_ids.tolist(), annotator_ids.tolist(), _parsed(texts), strict=True):
        values[target_id][names[annotator]] = value
    return dict(values)


def current_values(session: Session, study_id: int) -> dict[tuple[int, int], Value]:
    """Return (target id, annotator id) -> current value."""
    from storage.labels import current_labels

    target_ids, annotator_ids, texts = current_labels.read(session, study_id).present()
    places = zip(target_ids.tolist(), annotator_ids.tolist(), strict=True)
    return dict(zip(places, _parsed(texts), strict=True))


def annotators_of(session: Session, study_id: int) -> list[str]:
    """Return the names of the annotators with a label in a study, sorted."""
    ids = select(col(LabelRow.annotator_id)).where(col(LabelRow.study_id) == study_id)
    return sorted(session.scalars(select(col(AnnotatorRow.name)).where(col(AnnotatorRow.id).in_(ids))))


def newest_adjudications(session: Session, study_id: int) -> dict[Target, Adjudication]:
    """Return target -> its newest adjudication."""
    return {adjudication.target: adjudication for adjudication in adjudications(session, study_id)}


def _parsed(texts: "npt.NDArray[np.object_]") -> list[Value]:
    """Return values from JSON. A study has few different ones, and each is parsed once."""
    listed = texts.tolist()
    known = {text: json.loads(text) for text in set(listed)}
    return [known[text] for text in listed]


def _annotator_names(session: Session) -> dict[int, str]:
    return dict(session.execute(select(col(AnnotatorRow.id), col(AnnotatorRow.name))).all())


# Columns that a label has as they are stored.
PLAIN = ("value", "blind", "reason", "seconds", "at", "surplus", "guidelines")


def _labels() -> Select[*tuple[Any, ...]]:
    target = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    own = (getattr(LabelRow, name) for name in (*PLAIN, "evidence", "shown"))
    return (
        select(*target, col(AnnotatorRow.name), *own)
        .select_from(LabelRow)
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
    )


def _label(row: Row[*tuple[Any, ...]]) -> Label:
    key, kind, criterion, part, name, *plain, evidence, shown = row
    return Label(
        target=Target(item=key, kind=kind, criterion=criterion, part=part),
        annotator=name,
        evidence=tuple(Evidence(**passage) for passage in evidence or ()),
        shown=tuple(shown or ()),
        **dict(zip(PLAIN, plain, strict=True)),
    )
