"""Studies: their rules, criteria and scales, and how far they are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Text, distinct, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import CriterionRecord, ScaleRecord, StudyRecord, StudyRules
from core.items import Criterion
from core.labels import PREFERENCE, TRUTH, Kind, Scale, Value
from core.problems import Problem
from core.protocols import registry
from storage.database import insert_new
from storage.tables import CriterionRow, ItemRow, LabelRow, RunRow, ScaleRow, StudyRow, TargetRow, now

LONGEST_NAME = 120
USUAL_SCALES: dict[Kind, Scale] = {"preference": PREFERENCE, "aiu_precision": TRUTH, "aiu_recall": TRUTH}
Scales = Mapping[tuple[Kind, str], Scale]


@dataclass(frozen=True)
class Study:
    """A study as pages and commands know it."""

    id: int
    name: str
    description: str
    guidelines: str
    rules: StudyRules
    prompts: dict[str, str]
    """The study's own texts in place of ours: "protocol/ask" -> template."""
    sample: bool

    def templates(self, protocol: str) -> dict[str, str]:
        """Every template of a protocol as this study wants it."""
        kept = [(name.partition("/"), text) for name, text in self.prompts.items()]
        return registry.get(protocol).prompts_with({ask: text for (whose, _, ask), text in kept if whose == protocol})


@dataclass(frozen=True)
class Progress:
    """How much of a study is there."""

    items: int
    runs: int
    labels: int
    labelled: int
    """Targets with at least one label."""
    annotators: int
    targets: int = 0
    """Everything of which a person or a judge has said something."""


def create(session: Session, name: str, record: StudyRecord | None = None) -> Study:
    """A new study; a name that is taken is refused."""
    if _find(session, name_of(name)) is not None:
        raise Problem(f"There is a study called {name_of(name)!r} already.")
    return get_or_create(session, name, record)


def get_or_create(session: Session, name: str, record: StudyRecord | None = None) -> Study:
    """The study called `name`, which is made as `record` says where it is new; locked (see `lock`)."""
    name, record = name_of(name), record or StudyRecord()
    row = {
        "name": name,
        "description": record.description,
        "guidelines": record.guidelines,
        "rules": record.rules.model_dump(),
        "prompts": record.prompts,
        "sample": record.sample,
        "created_at": now(),
    }
    if _find(session, name) is None:
        insert_new(session, StudyRow, [row])
    study = get(session, name)
    lock(session, study.id)
    return study


def name_of(text: str) -> str:
    """A study's name as it is kept: one line, no blanks around it."""
    name = " ".join(text.split())
    if not name or len(name) > LONGEST_NAME:
        raise Problem(f"A study needs a name of at most {LONGEST_NAME} characters.")
    return name


def lock(session: Session, study_id: int) -> None:
    """Let nobody else change what the study's targets and runs are until the end of the transaction.

    On SQLite a writer is alone anyway. On PostgreSQL rows that refer to the study can still be added meanwhile.
    """
    row = select(col(StudyRow.id)).where(col(StudyRow.id) == study_id)
    session.execute(row.with_for_update(key_share=True))


def names(session: Session) -> list[str]:
    """Every study, newest first."""
    return list(session.scalars(select(col(StudyRow.name)).order_by(col(StudyRow.id).desc())).all())


def get(session: Session, name: str) -> Study:
    """The study called `name`."""
    row = _find(session, name)
    if row is None:
        known = ", ".join(repr(other) for other in names(session)[:8]) or "none yet"
        raise Problem(f"There is no study called {name!r}; studies here: {known}.")
    return _study(row)


def of_id(session: Session, study_id: int) -> Study:
    """The study of that number."""
    return _study(session.get_one(StudyRow, study_id))


def _find(session: Session, name: str) -> StudyRow | None:
    return session.scalars(select(StudyRow).where(col(StudyRow.name) == name)).first()


def change(session: Session, study_id: int, *, description: str, guidelines: str, rules: StudyRules) -> None:
    """Say otherwise what a study is about, and how it is labelled; labels given before stay as they are."""
    row = session.get_one(StudyRow, study_id)
    row.description, row.guidelines, row.rules = description, guidelines, rules.model_dump()


def change_prompts(session: Session, study_id: int, prompts: dict[str, str]) -> None:
    """Replace the study's own templates; the protocol's are used where it has none."""
    session.get_one(StudyRow, study_id).prompts = prompts


def criteria(session: Session, study_id: int) -> list[Criterion]:
    """The study's criteria, by name."""
    rows = session.scalars(
        select(CriterionRow).where(col(CriterionRow.study_id) == study_id).order_by(col(CriterionRow.name))
    )
    return [Criterion.model_validate(row.body) for row in rows]


def put_criterion(session: Session, study_id: int, record: CriterionRecord) -> None:
    """Add a criterion, or change the one of that name."""
    criterion = record.criterion
    row = session.scalars(
        select(CriterionRow).where(col(CriterionRow.study_id) == study_id, col(CriterionRow.name) == criterion.name)
    ).first() or CriterionRow(study_id=study_id, name=criterion.name, body={})
    row.body = criterion.model_dump(mode="json")
    session.add(row)


def add_criterion(session: Session, study_id: int, record: CriterionRecord) -> None:
    """Add a criterion from a file: a bare name changes nothing, other words than the study's are refused."""
    criterion = record.criterion
    known = {one.name: one for one in criteria(session, study_id)}.get(criterion.name)
    if known is None:
        put_criterion(session, study_id, record)
    elif criterion not in (known, Criterion(name=criterion.name)):
        raise Problem(f"Criterion {criterion.name!r} is in this study already, with other words.")


def put_scale(session: Session, study_id: int, record: ScaleRecord) -> None:
    """Declare a scale once; another declaration of the same is refused when it differs."""
    row = session.scalars(
        select(ScaleRow).where(
            col(ScaleRow.study_id) == study_id,
            col(ScaleRow.kind) == record.kind,
            col(ScaleRow.criterion) == record.criterion,
        )
    ).first()
    body = record.scale.model_dump(mode="json")
    if row is not None and row.body != body:
        raise Problem(f"The scale of {record.kind} on {record.criterion!r} is declared otherwise in this study.")
    if row is None:
        for value in _labels_of(session, study_id, record.kind, record.criterion):
            must_hold({(record.kind, record.criterion): record.scale}, record.kind, record.criterion, value)
        session.add(ScaleRow(study_id=study_id, kind=record.kind, criterion=record.criterion, body=body))


def _labels_of(session: Session, study_id: int, kind: str, criterion: str) -> list[Value]:
    """The different values that were given; compared as text, for PostgreSQL's json has no equality."""
    query = (
        select(sql_cast(col(LabelRow.value), Text))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == kind, col(TargetRow.criterion) == criterion)
        .where(col(LabelRow.value).is_not(None))
        .distinct()
    )
    return [json.loads(value) for value in session.scalars(query)]


def scales(session: Session, study_id: int) -> dict[tuple[Kind, str], Scale]:
    """The declared scales by (kind, criterion)."""
    rows = session.scalars(select(ScaleRow).where(col(ScaleRow.study_id) == study_id)).all()
    return {(cast(Kind, row.kind), row.criterion): Scale.model_validate(row.body) for row in rows}


def scale(session: Session, study_id: int, kind: Kind, criterion: str) -> Scale | None:
    """The scale of one kind and criterion: as declared, else the usual one of the kind."""
    return scales(session, study_id).get((kind, criterion)) or USUAL_SCALES.get(kind)


def must_hold(declared: Scales, kind: Kind, criterion: str, value: Value | None) -> None:
    """Refuse a value that is not on the scale of its kind and criterion; where no scale is declared, all values go."""
    scale = declared.get((kind, criterion)) or USUAL_SCALES.get(kind)
    if value is not None and scale is not None and not scale.holds(value):
        place = f"{kind} on {criterion!r}" if criterion else kind
        raise Problem(f"{value!r} is not on the scale of {place}: expected {_words(scale)}.")


def must_span(declared: Scales, kind: Kind, criterion: str, value: Value | None) -> None:
    """The same for what a run concludes, which may be a mean: it lies between the ends of its scale."""
    scale = declared.get((kind, criterion)) or USUAL_SCALES.get(kind)
    if kind != "score" or scale is None or not scale.spans(value):
        must_hold(declared, kind, criterion, value)


def _words(scale: Scale) -> str:
    if scale.categories:
        return " or ".join(repr(category) for category in scale.categories)
    return f"a number from {scale.low} to {scale.high}"


def progress(session: Session) -> dict[int, Progress]:
    """How far each study is, by its number."""
    said = select(
        col(LabelRow.study_id),
        func.count(),
        func.count(distinct(col(LabelRow.target_id))),
        func.count(distinct(col(LabelRow.annotator_id))),
    ).group_by(col(LabelRow.study_id))
    labels = {study: (count, labelled, people) for study, count, labelled, people in session.execute(said)}
    items, runs, targets = _count(session, ItemRow), _count(session, RunRow), _count(session, TargetRow)
    return {
        study: Progress(items.get(study, 0), runs.get(study, 0), *labels.get(study, (0, 0, 0)), targets.get(study, 0))
        for study in session.scalars(select(col(StudyRow.id))).all()
    }


def _count(session: Session, table: type[ItemRow] | type[RunRow] | type[TargetRow]) -> dict[int, int]:
    query = select(col(table.study_id), func.count()).group_by(col(table.study_id))
    return dict(session.execute(query).all())


def _study(row: StudyRow) -> Study:
    return Study(
        id=row.id,
        name=row.name,
        description=row.description,
        guidelines=row.guidelines,
        rules=StudyRules.model_validate(row.rules),
        prompts=dict(row.prompts),
        sample=row.sample,
    )
