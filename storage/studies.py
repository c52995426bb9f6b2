"""Studies: their rules, criteria and scales, and how far they are."""

from dataclasses import dataclass

from sqlalchemy import distinct, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import CriterionRecord, ScaleRecord, StudyRecord, StudyRules
from core.items import Criterion
from core.labels import PREFERENCE, TRUTH, Kind, Scale
from core.problems import Problem
from storage.tables import CriterionRow, ItemRow, LabelRow, RunRow, ScaleRow, StudyRow, TargetRow

LONGEST_NAME = 120
USUAL_SCALES: dict[str, Scale] = {"preference": PREFERENCE, "aiu_precision": TRUTH, "aiu_recall": TRUTH}


@dataclass(frozen=True)
class Study:
    """A study as pages and commands know it."""

    id: int
    name: str
    description: str
    guidelines: str
    rules: StudyRules
    prompts: dict[str, str]
    sample: bool


@dataclass(frozen=True)
class Progress:
    """How much of a study is there."""

    items: int
    runs: int
    labels: int
    labelled: int
    """Targets with at least one label."""
    annotators: int


def create(session: Session, name: str, record: StudyRecord | None = None) -> Study:
    """A new study; a name that is taken is refused."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        raise Problem(f"A study needs a name of at most {LONGEST_NAME} characters.")
    if session.scalars(select(StudyRow).where(col(StudyRow.name) == name)).first():
        raise Problem(f"There is a study called {name!r} already.")
    record = record or StudyRecord()
    row = StudyRow(
        name=name,
        description=record.description,
        guidelines=record.guidelines,
        rules=record.rules.model_dump(),
        prompts={},
        sample=record.sample,
    )
    session.add(row)
    session.flush()
    return _study(row)


def names(session: Session) -> list[str]:
    """Every study, newest first."""
    return list(session.scalars(select(col(StudyRow.name)).order_by(col(StudyRow.id).desc())).all())


def get(session: Session, name: str) -> Study:
    """The study called `name`."""
    row = session.scalars(select(StudyRow).where(col(StudyRow.name) == name)).first()
    if row is None:
        known = ", ".join(repr(other) for other in names(session)[:8]) or "none yet"
        raise Problem(f"There is no study called {name!r}; studies here: {known}.")
    return _study(row)


def of_id(session: Session, study_id: int) -> Study:
    """The study of that number."""
    return _study(session.get_one(StudyRow, study_id))


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
        session.add(ScaleRow(study_id=study_id, kind=record.kind, criterion=record.criterion, body=body))


def scales(session: Session, study_id: int) -> dict[tuple[str, str], Scale]:
    """The declared scales by (kind, criterion)."""
    rows = session.scalars(select(ScaleRow).where(col(ScaleRow.study_id) == study_id)).all()
    return {(row.kind, row.criterion): Scale.model_validate(row.body) for row in rows}


def scale(session: Session, study_id: int, kind: Kind, criterion: str) -> Scale | None:
    """The scale of one kind and criterion: as declared, else the usual one of the kind."""
    return scales(session, study_id).get((kind, criterion)) or USUAL_SCALES.get(kind)


def progress(session: Session) -> dict[int, Progress]:
    """How far each study is, by its number."""
    counts = {
        "items": _count(session, ItemRow),
        "runs": _count(session, RunRow),
        "labels": _count(session, LabelRow),
    }
    people = select(
        col(LabelRow.study_id),
        func.count(distinct(col(LabelRow.target_id))),
        func.count(distinct(col(LabelRow.annotator_id))),
    ).group_by(col(LabelRow.study_id))
    labelled = {study: (targets, annotators) for study, targets, annotators in session.execute(people)}
    return {
        study: Progress(
            **{name: found.get(study, 0) for name, found in counts.items()},
            labelled=labelled.get(study, (0, 0))[0],
            annotators=labelled.get(study, (0, 0))[1],
        )
        for study in session.scalars(select(col(StudyRow.id))).all()
    }


def _count(session: Session, table: type[ItemRow] | type[RunRow] | type[LabelRow] | type[TargetRow]) -> dict[int, int]:
    query = select(col(table.study_id), func.count()).group_by(col(table.study_id))
    return dict(session.execute(query).tuples().all())


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
