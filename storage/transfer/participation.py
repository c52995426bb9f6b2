"""Records of how annotators took part: names and pseudonyms, views, read guidelines, replies, overlaps of targets."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Select, and_, exists, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.formats.records import (
    AdjudicationRecord,
    GuidelinesReadRecord,
    ItemRecord,
    KnownAnswerRecord,
    LabelRecord,
    MarkRecord,
    Record,
    RepeatRecord,
    ReplyRecord,
    ScaleRecord,
    TargetRecord,
    TraceRecord,
    TrainingAnswerRecord,
    ViewRecord,
)
from storage.db.opaque_ids import OpaqueIds
from storage.db.tables import (
    AccountRow,
    AdjudicationRow,
    AnnotatorRow,
    EventRow,
    GuidelinesReadRow,
    ItemRow,
    KnownAnswerRow,
    LabelRow,
    MarkRow,
    MemberRow,
    OpinionRow,
    OpinionViewRow,
    RepeatRow,
    ReplyRow,
    RunRow,
    TargetRow,
    TrainingAnswerRow,
    row_types,
)
from storage.labels import targets
from storage.studies import studies

# The beginning of `read_by` in the row of a turn if a person read the reply.
PERSON = "person: "
Rename = Callable[[str], str]
# Rows fetched at once.
CHUNK = 2_000
# Tables whose records name their target.
REFERRING = (LabelRow, OpinionRow, MarkRow, ReplyRow, AdjudicationRow, OpinionViewRow, KnownAnswerRow)
# Records whose fields are columns of the same names, apart from the target and the people, of which a row has ids.
TABLES: Mapping[type[Any], Any] = {
    MarkRecord: MarkRow,
    ReplyRecord: ReplyRow,
    KnownAnswerRecord: KnownAnswerRow,
    TrainingAnswerRecord: TrainingAnswerRow,
    RepeatRecord: RepeatRow,
    ViewRecord: OpinionViewRow,
    GuidelinesReadRecord: GuidelinesReadRow,
}
PEOPLE = ("annotator", "author")
_TARGET = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))


def stored_records(session: Session, study_id: int, record_type: type[Any]) -> Iterator[Record]:
    """Yield the records of one of the TABLES, oldest first."""
    table, fields = TABLES[record_type], record_type.model_fields
    people = {name: aliased(AnnotatorRow) for name in PEOPLE if name in fields}
    columns = {name: col(person.name) for name, person in people.items()}
    columns |= {name: getattr(table, name) for name in fields if name not in ("type", "target", *PEOPLE)}
    query = select(*columns.values()).select_from(table).order_by(col(table.id)).execution_options(yield_per=CHUNK)
    for name, person in people.items():
        query = query.join(person, col(person.id) == getattr(table, f"{name}_id"))
    if "target" not in fields:
        for row in session.execute(query.where(col(table.study_id) == study_id)):
            yield record_type(**dict(zip(columns, row, strict=True)))
        return
    query = query.join(TargetRow, col(TargetRow.id) == col(table.target_id)).where(col(TargetRow.study_id) == study_id)
    query = query.join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id)).add_columns(*_TARGET)
    for stored in session.execute(query):
        target = targets.from_columns(*stored[len(columns) :])
        yield record_type(target=target, **dict(zip(columns, stored, strict=False)))


def rows_of_study(study_id: int, table: Any, column: Any) -> Select[Any]:
    """Select a column of the rows of a table that are of a study, or of its targets."""
    query = select(column).select_from(table)
    if "study_id" in table.model_fields:
        return query.where(col(table.study_id) == study_id)
    return query.join(TargetRow, col(TargetRow.id) == col(table.target_id)).where(col(TargetRow.study_id) == study_id)


def annotator_names(session: Session, study: studies.Study) -> list[str]:
    """Return the sorted names of all participants and assigned annotators of a study."""
    tables = [table for table in row_types().values() if "annotator_id" in table.model_fields]
    took_part = [table for table in tables if table not in (AccountRow, MemberRow)]
    ids = [rows_of_study(study.id, table, col(table.annotator_id)) for table in took_part]
    ids.append(rows_of_study(study.id, ReplyRow, col(ReplyRow.author_id)))
    names = set(session.scalars(select(col(AnnotatorRow.name)).where(or_(*(col(AnnotatorRow.id).in_(q) for q in ids)))))
    reader = col(EventRow.body)["read_by"].as_string()
    stated = select(reader).join(RunRow, col(RunRow.id) == col(EventRow.run_id))
    stated = stated.where(col(RunRow.study_id) == study.id, col(EventRow.type) == "reading", reader.startswith(PERSON))
    names |= {name.removeprefix(PERSON) for name in session.scalars(stated.distinct())}
    names |= {*study.rules.annotators, *(name for group in study.rules.groups.values() for name in group)}
    return sorted(names)


def target_records(session: Session, study_id: int) -> Iterator[TargetRecord]:
    """Yield the targets with their own overlap, and those that no other record refers to."""
    query = (
        select(*_TARGET, col(TargetRow.overlap))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(_is_exported(study_id))
        .order_by(col(TargetRow.id))
        .execution_options(yield_per=CHUNK)
    )
    for *columns, overlap in session.execute(query):
        yield TargetRecord(target=targets.from_columns(*columns), overlap=overlap)


def _is_exported(study_id: int) -> Any:
    unused = [~exists().where(col(table.target_id) == col(TargetRow.id)) for table in REFERRING]
    return and_(col(TargetRow.study_id) == study_id, or_(col(TargetRow.overlap).is_not(None), and_(*unused)))


# Pseudonyms in place of annotators' names: the same ones in every export of a study.


def pseudonyms(session: Session, study_id: int) -> Rename:
    """Return the function from an annotator's name to a pseudonym, which the study's key derives from the name."""
    ids = OpaqueIds(studies.secret(session, study_id))

    def pseudonym(name: str) -> str:
        return f"annotator {ids.digest('annotator', name).hex()[:8]}" if name else ""

    return pseudonym


def rename_records(records: Iterable[Record], rename: Rename) -> Iterator[Record]:
    """Yield what other tools' files hold, with pseudonyms: items, scales, traces, labels and adjudications.

    Names of people within traces and in free text are not changed; other records are left out.
    """
    for record in records:
        match record:
            case LabelRecord(label=label):
                yield LabelRecord(label=label.model_copy(update={"annotator": rename(label.annotator)}))
            case AdjudicationRecord(ruling=ruling):
                yield AdjudicationRecord(ruling=ruling.model_copy(update={"adjudicator": rename(ruling.adjudicator)}))
            case ItemRecord() | ScaleRecord() | TraceRecord():
                yield record


def rename_readers(rows: Iterable[dict[str, Any]], rename: Rename) -> Iterator[dict[str, Any]]:
    """Yield the rows of turns with pseudonyms of the people who read replies or withdrew a reading."""

    def renamed(read_by: str) -> str:
        return PERSON + rename(read_by.removeprefix(PERSON)) if read_by.startswith(PERSON) else read_by

    for row in rows:
        earlier = tuple(
            past
            | {
                "read_by": renamed(past["read_by"]),
                "withdrawn_by": past["withdrawn_by"] and rename(past["withdrawn_by"]),
            }
            for past in row["earlier_readings"]
        )
        yield row | {"read_by": renamed(row["read_by"]), "earlier_readings": earlier}
