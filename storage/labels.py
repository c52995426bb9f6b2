"""Labels and rulings. Both are only ever added: the newest stands, and nothing that was said is lost."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import MarkRecord
from core.labels import Gold, Label, Ruling, Target, Value, gold
from core.problems import Problem
from storage import items, people
from storage.origins import origin
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
    """Add a label; whether it is blind is decided here, by what the annotator was shown before."""
    target_id, annotator_id = items.target_id(session, study_id, target), people.annotator_id(session, annotator)
    blind = not _seen(session, target_id, annotator_id)
    label = Label(
        target=target, annotator=annotator, value=value, blind=blind, reason=reason, seconds=seconds, at=now()
    )
    session.add(row_of(label, study_id, target_id, annotator_id, origin(study_id, label)))
    for table in (DraftRow, LeaseRow):
        for row in session.scalars(
            select(table).where(col(table.target_id) == target_id, col(table.annotator_id) == annotator_id)
        ):
            session.delete(row)
    return label


def row_of(label: Label, study_id: int, target_id: int, annotator_id: int, source: str) -> LabelRow:
    """The row that keeps a label."""
    return LabelRow(
        study_id=study_id,
        target_id=target_id,
        annotator_id=annotator_id,
        value=label.value,
        blind=label.blind,
        reason=label.reason,
        seconds=label.seconds,
        at=label.at,
        origin=source,
    )


def history(session: Session, study_id: int, target: Target, annotator: str | None = None) -> list[Label]:
    """Everything said of a target, oldest first."""
    query = (
        _labels()
        .where(
            col(TargetRow.study_id) == study_id,
            col(ItemRow.key) == target.item,
            col(TargetRow.kind) == target.kind,
            col(TargetRow.criterion) == target.criterion,
            col(TargetRow.part) == target.part,
        )
        .order_by(col(LabelRow.id))
    )
    if annotator is not None:
        query = query.where(col(AnnotatorRow.name) == annotator)
    return [_label(*row) for row in session.execute(query)]


def own(session: Session, study_id: int, target: Target, annotator: str) -> Label | None:
    """The annotator's standing label, if they gave one and did not take it back."""
    said = history(session, study_id, target, annotator)
    return said[-1] if said and said[-1].value is not None else None


def reveal(session: Session, study_id: int, target: Target, annotator: str) -> list[Label]:
    """Other people's standing labels, once the annotator has labelled; from now on theirs are not blind."""
    if own(session, study_id, target, annotator) is None:
        raise Problem("Other people's labels are shown after your own.")
    see(session, study_id, target, annotator)
    newest: dict[str, Label] = {label.annotator: label for label in history(session, study_id, target)}
    return [label for name, label in newest.items() if name != annotator and label.value is not None]


def see(session: Session, study_id: int, target: Target, annotator: str) -> None:
    """Record that the annotator was shown what the judges or others said of a target."""
    target_id, annotator_id = items.target_id(session, study_id, target), people.annotator_id(session, annotator)
    if not _seen(session, target_id, annotator_id):
        session.add(SeenRow(target_id=target_id, annotator_id=annotator_id))


def rule(
    session: Session, study_id: int, target: Target, value: Value, *, rule: str, reason: str, adjudicator: str
) -> Ruling:
    """Add an adjudication, which stands above all labels."""
    if not reason.strip():
        raise Problem("A ruling needs a reason.")
    ruling = Ruling(target=target, value=value, rule=rule, reason=reason, adjudicator=adjudicator, at=now())
    target_id, annotator_id = items.target_id(session, study_id, target), people.annotator_id(session, adjudicator)
    session.add(ruling_row(ruling, target_id, annotator_id, origin(study_id, ruling)))
    return ruling


def ruling_row(ruling: Ruling, target_id: int, annotator_id: int, source: str) -> RulingRow:
    """The row that keeps a ruling."""
    return RulingRow(
        target_id=target_id,
        annotator_id=annotator_id,
        value=ruling.value,
        rule=ruling.rule,
        reason=ruling.reason,
        at=ruling.at,
        origin=source,
    )


def mark_row(mark: MarkRecord, target_id: int, annotator_id: int, source: str) -> MarkRow:
    """The row that keeps a skip, a flag or a note."""
    return MarkRow(
        target_id=target_id,
        annotator_id=annotator_id,
        mark=mark.mark,
        text=mark.text,
        on=mark.on,
        at=mark.at,
        origin=source,
    )


def rulings(session: Session, study_id: int) -> list[Ruling]:
    """Every adjudication of a study, oldest first."""
    query = (
        select(RulingRow, col(ItemRow.key), TargetRow, col(AnnotatorRow.name))
        .join(TargetRow, col(TargetRow.id) == col(RulingRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(RulingRow.annotator_id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(col(RulingRow.id))
    )
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


def version(session: Session, study_id: int) -> tuple[int, int]:
    """Changes whenever a label or a judge's opinion is added: cheap enough to ask every second."""
    newest_label = select(func.max(col(LabelRow.id))).where(col(LabelRow.study_id) == study_id)
    newest_opinion = select(func.max(col(OpinionRow.id))).where(col(OpinionRow.study_id) == study_id)
    return session.scalars(newest_label).one() or 0, session.scalars(newest_opinion).one() or 0


def frame(session: Session, study_id: int) -> "pd.DataFrame":
    """Standing labels, one a row: item, scenario, group, kind, criterion, part, rater, value."""
    import pandas as pd

    query = (
        select(
            col(ItemRow.key),
            col(ItemRow.scenario),
            col(ItemRow.cluster),
            col(TargetRow.kind),
            col(TargetRow.criterion),
            col(TargetRow.part),
            col(AnnotatorRow.name),
            col(LabelRow.value),
        )
        .select_from(LabelRow)
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(col(LabelRow.id).in_(_standing_ids(study_id)), col(LabelRow.value).is_not(None))
        .order_by(col(LabelRow.id))
    )
    columns = ["item", "scenario", "group", "kind", "criterion", "part", "rater", "value"]
    return pd.DataFrame([tuple(row) for row in session.execute(query)], columns=columns).astype({"value": object})


def golds(session: Session, study_id: int) -> Iterator[Gold]:
    """What stands for every target that was labelled, ruled on or judged, in a stable order."""
    standing: dict[int, dict[str, Value]] = defaultdict(dict)
    query = (
        select(col(LabelRow.target_id), col(AnnotatorRow.name), col(LabelRow.value))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(col(LabelRow.id).in_(_standing_ids(study_id)), col(LabelRow.value).is_not(None))
    )
    for target_id, name, value in session.execute(query):
        standing[target_id][name] = value
    ruled = {ruling.target: ruling for ruling in rulings(session, study_id)}
    verdicts = _verdicts(session, study_id)
    targets = (
        select(TargetRow, col(ItemRow.key))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(
            col(ItemRow.position), col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part)
        )
    )
    for row, key in session.execute(targets):
        target = _target(key, row)
        yield gold(target, standing.get(row.id, {}), ruled.get(target), verdicts.get(row.id, ()))


def _verdicts(session: Session, study_id: int) -> dict[int, list[Value]]:
    query = select(col(OpinionRow.target_id), col(OpinionRow.value)).where(
        col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == "verdict", col(OpinionRow.value).is_not(None)
    )
    found: dict[int, list[Value]] = defaultdict(list)
    for target_id, value in session.execute(query):
        found[target_id].append(value)
    return found


def standing_ids() -> Any:
    """A query of the newest label's id of each annotator and target."""
    return select(func.max(col(LabelRow.id))).group_by(col(LabelRow.target_id), col(LabelRow.annotator_id))


def _standing_ids(study_id: int) -> Any:
    return standing_ids().where(col(LabelRow.study_id) == study_id)


def _seen(session: Session, target_id: int, annotator_id: int) -> bool:
    query = select(col(SeenRow.id)).where(
        col(SeenRow.target_id) == target_id, col(SeenRow.annotator_id) == annotator_id
    )
    return session.scalars(query).first() is not None


def _labels() -> Any:
    return (
        select(LabelRow, col(ItemRow.key), TargetRow, col(AnnotatorRow.name))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
    )


def all_of(session: Session, study_id: int) -> Iterator[Label]:
    """Every label ever given in a study, oldest first."""
    query = _labels().where(col(LabelRow.study_id) == study_id).order_by(col(LabelRow.id))
    for row in session.execute(query.execution_options(yield_per=2000)):
        yield _label(*row)


def marks(session: Session, study_id: int) -> list[MarkRecord]:
    """Every skip, flag and note, oldest first."""
    query = (
        select(MarkRow, col(ItemRow.key), TargetRow, col(AnnotatorRow.name))
        .join(TargetRow, col(TargetRow.id) == col(MarkRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(MarkRow.annotator_id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(col(MarkRow.id))
    )
    return [
        MarkRecord(target=_target(key, target), annotator=name, mark=row.mark, text=row.text, on=row.on, at=row.at)
        for row, key, target, name in session.execute(query)
    ]


def _target(key: str, row: TargetRow) -> Target:
    return Target(item=key, kind=row.kind, criterion=row.criterion, part=row.part)


def _label(row: LabelRow, key: str, target: TargetRow, name: str) -> Label:
    return Label(
        target=_target(key, target),
        annotator=name,
        value=row.value,
        blind=row.blind,
        reason=row.reason,
        seconds=row.seconds,
        at=row.at,
    )
