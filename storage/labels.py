"""Labels and rulings. Both are only ever added: the newest stands, and nothing that was said is lost."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Row, Select, Text, delete, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import MarkRecord
from core.labels import Gold, Kind, Label, Ruling, Target, Value, gold
from core.problems import Problem
from storage import annotators, studies, targets
from storage.database import insert_new
from storage.fingerprints import label_row, ruling_row, with_origin
from storage.tables import (
    AnnotatorRow,
    DraftRow,
    ItemRow,
    LabelRow,
    LeaseRow,
    MarkRow,
    OpinionRow,
    RulingRow,
    SeenRow,
    TargetRow,
    now,
)

if TYPE_CHECKING:
    import pandas as pd


def put(
    session: Session,
    study_id: int,
    target: Target,
    annotator: str,
    value: Value | None,
    *,
    reason: str = "",
    seconds: float | None = None,
) -> Label:
    """Add a label; whether it is blind is decided here, by what the annotator was shown before.

    The annotator's draft and lease of the target end. A value that is not on the declared scale is refused.
    """
    studies.must_hold(studies.scales(session, study_id), target.kind, target.criterion, value)
    name = annotators.name_of(annotator)
    target_id, annotator_id = targets.number(session, study_id, target), annotators.annotator_id(session, name)
    label = Label(
        target=target,
        annotator=name,
        value=value,
        blind=not _has_seen(session, target_id, annotator_id),
        reason=reason,
        seconds=seconds,
        at=now(),
    )
    insert_new(session, LabelRow, [with_origin(label_row(label, study_id, target_id, annotator_id))])
    for table in (DraftRow, LeaseRow):
        ended = delete(table).where(col(table.target_id) == target_id, col(table.annotator_id) == annotator_id)
        session.execute(ended)
    return label


def history(session: Session, study_id: int, target: Target, annotator: str | None = None) -> list[Label]:
    """Everything said of a target, oldest first."""
    query = (
        _labels()
        .where(
            col(ItemRow.study_id) == study_id,
            col(ItemRow.key) == target.item,
            col(TargetRow.kind) == target.kind,
            col(TargetRow.criterion) == target.criterion,
            col(TargetRow.part) == target.part,
        )
        .order_by(col(LabelRow.id))
    )
    if annotator is not None:
        query = query.where(col(AnnotatorRow.name) == annotators.name_of(annotator))
    return [_label(row) for row in session.execute(query)]


def own(session: Session, study_id: int, target: Target, annotator: str) -> Label | None:
    """The annotator's standing label, if they gave one and did not take it back."""
    said = history(session, study_id, target, annotator)
    return said[-1] if said and said[-1].value is not None else None


def reveal(session: Session, study_id: int, target: Target, annotator: str) -> list[Label]:
    """Other people's standing labels, once the annotator has labelled; from now on theirs are not blind."""
    name = annotators.name_of(annotator)
    newest = {label.annotator: label for label in history(session, study_id, target)}
    if name not in newest or newest[name].value is None:
        raise Problem("Other people's labels are shown after your own.")
    see(session, study_id, target, name)
    return [label for other, label in newest.items() if other != name and label.value is not None]


def see(session: Session, study_id: int, target: Target, annotator: str) -> None:
    """Record that the annotator was shown what the judges or others said of a target."""
    target_id, annotator_id = targets.number(session, study_id, target), annotators.annotator_id(session, annotator)
    insert_new(session, SeenRow, [{"target_id": target_id, "annotator_id": annotator_id, "at": now()}])


def rule(
    session: Session, study_id: int, target: Target, value: Value, *, rule: str, reason: str, adjudicator: str
) -> Ruling:
    """Add an adjudication, which stands above all labels."""
    if not reason.strip():
        raise Problem("A ruling needs a reason.")
    studies.must_hold(studies.scales(session, study_id), target.kind, target.criterion, value)
    name = annotators.name_of(adjudicator)
    ruling = Ruling(target=target, value=value, rule=rule, reason=reason, adjudicator=name, at=now())
    target_id, annotator_id = targets.number(session, study_id, target), annotators.annotator_id(session, name)
    insert_new(session, RulingRow, [with_origin(ruling_row(ruling, target_id, annotator_id))])
    return ruling


def all_of(session: Session, study_id: int) -> Iterator[Label]:
    """Every label ever given in a study, oldest first."""
    query = _labels().where(col(LabelRow.study_id) == study_id).order_by(col(LabelRow.id))
    for row in session.execute(query.execution_options(yield_per=5000)):
        yield _label(row)


def rulings(session: Session, study_id: int) -> list[Ruling]:
    """Every adjudication of a study, oldest first."""
    query = _said_in(RulingRow).where(col(TargetRow.study_id) == study_id).order_by(col(RulingRow.id))
    return [
        Ruling(
            target=_target(key, target),
            value=row.value,
            rule=row.rule,
            reason=row.reason,
            adjudicator=name,
            at=row.at,
        )
        for row, key, target, name in session.execute(query)
    ]


def marks(session: Session, study_id: int) -> list[MarkRecord]:
    """Every skip, flag and note, oldest first."""
    query = _said_in(MarkRow).where(col(TargetRow.study_id) == study_id).order_by(col(MarkRow.id))
    return [
        MarkRecord(target=_target(key, target), annotator=name, mark=row.mark, text=row.text, on=row.on, at=row.at)
        for row, key, target, name in session.execute(query)
    ]


def version(session: Session, study_id: int) -> tuple[int, int]:
    """Changes whenever a label or a judge's opinion is added: cheap enough to ask every second.

    Rows are counted: on PostgreSQL the row with the highest number need not be the last that was committed.
    """
    return (
        session.scalars(select(func.count()).where(col(LabelRow.study_id) == study_id)).one(),
        session.scalars(select(func.count()).where(col(OpinionRow.study_id) == study_id)).one(),
    )


def frame(session: Session, study_id: int) -> "pd.DataFrame":
    """Standing labels, one a row: item, scenario, group, kind, criterion, part, rater, value."""
    import pandas as pd

    standing = _standing(session, study_id)
    names = _names(session)
    labels = targets.frame(session, study_id).reindex([target for target, _ in standing]).reset_index(drop=True)
    labels["rater"] = pd.Series([names[person] for _, person in standing], dtype="str")
    labels["value"] = pd.Series(list(standing.values()), dtype=object)
    return labels


def golds(session: Session, study_id: int) -> Iterator[Gold]:
    """What stands for every target that was labelled, ruled on or judged, in a stable order."""
    names = _names(session)
    standing: dict[int, dict[str, Value]] = defaultdict(dict)
    for (target_id, person), value in _standing(session, study_id).items():
        standing[target_id][names[person]] = value
    ruled = {ruling.target: ruling for ruling in rulings(session, study_id)}
    verdicts, judged = _verdicts(session, study_id), _judged(session, study_id)
    for number, target in targets.all_of(session, study_id):
        if number in standing or number in judged or target in ruled:
            yield gold(target, standing.get(number, {}), ruled.get(target), verdicts.get(number, ()))


def _judged(session: Session, study_id: int) -> set[int]:
    """The targets of which a judge gave an opinion, or should have."""
    query = select(col(OpinionRow.target_id)).where(col(OpinionRow.study_id) == study_id).distinct()
    return set(session.scalars(query))


def _verdicts(session: Session, study_id: int) -> dict[int, list[Value]]:
    query = select(col(OpinionRow.target_id), col(OpinionRow.value)).where(
        col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == "verdict", col(OpinionRow.value).is_not(None)
    )
    found: dict[int, list[Value]] = defaultdict(list)
    for target_id, value in session.execute(query):
        found[target_id].append(value)
    return found


def _standing(session: Session, study_id: int) -> dict[tuple[int, int], Value]:
    """(target, annotator) -> the value of the newest label, where it was not taken back."""
    value = sql_cast(col(LabelRow.value), Text)
    query = (
        select(col(LabelRow.target_id), col(LabelRow.annotator_id), value)
        .where(col(LabelRow.study_id) == study_id)
        .order_by(col(LabelRow.id))
    )
    newest = {(target, person): text for target, person, text in session.execute(query)}
    return dict(_read(newest.items()))


def _read(said: Iterable[tuple[Any, str | None]]) -> Iterator[tuple[Any, Value]]:
    """Values from JSON; the same few occur again and again, and are read once."""
    known: dict[str, Value] = {}
    for key, text in said:
        if text is not None:
            if text not in known:
                known[text] = json.loads(text)
            yield key, known[text]


def _names(session: Session) -> dict[int, str]:
    return dict(session.execute(select(col(AnnotatorRow.id), col(AnnotatorRow.name))).all())


def _has_seen(session: Session, target_id: int, annotator_id: int) -> bool:
    """Whether the annotator was shown more than the item; an import tells it by a label that was not blind."""
    shown = select(col(SeenRow.id)).where(
        col(SeenRow.target_id) == target_id, col(SeenRow.annotator_id) == annotator_id
    )
    told = select(col(LabelRow.id)).where(
        col(LabelRow.target_id) == target_id, col(LabelRow.annotator_id) == annotator_id, col(LabelRow.blind).is_(False)
    )
    return session.execute(shown.union_all(told).limit(1)).first() is not None


def _labels() -> Select[*tuple[Any, ...]]:
    return (
        select(
            col(ItemRow.key),
            col(TargetRow.kind),
            col(TargetRow.criterion),
            col(TargetRow.part),
            col(AnnotatorRow.name),
            col(LabelRow.value),
            col(LabelRow.blind),
            col(LabelRow.reason),
            col(LabelRow.seconds),
            col(LabelRow.at),
        )
        .select_from(LabelRow)
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
    )


def _said_in(table: type[RulingRow] | type[MarkRow]) -> Select[*tuple[Any, ...]]:
    return (
        select(table, col(ItemRow.key), TargetRow, col(AnnotatorRow.name))
        .join(TargetRow, col(TargetRow.id) == col(table.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(table.annotator_id))
    )


def _target(key: str, row: TargetRow) -> Target:
    return Target(item=key, kind=cast(Kind, row.kind), criterion=row.criterion, part=row.part)


def _label(row: Row[*tuple[Any, ...]]) -> Label:
    key, kind, criterion, part, name, value, blind, reason, seconds, at = row
    return Label(
        target=Target(item=key, kind=kind, criterion=criterion, part=part),
        annotator=name,
        value=value,
        blind=blind,
        reason=reason,
        seconds=seconds,
        at=at,
    )
