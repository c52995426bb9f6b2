"""Records of how annotators took part: names, views, read guidelines, replies to them, overlaps of targets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, and_, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.formats.records import (
    AnnotatorRecord,
    GuidelinesReadRecord,
    KnownAnswerRecord,
    ReplyRecord,
    TargetRecord,
    TrainingAnswerRecord,
    ViewRecord,
)
from core.labels import Target
from storage.db.columns import sanitize
from storage.db.connections import insert_all, insert_missing
from storage.db.fingerprints import to_utc
from storage.db.tables import (
    ActionRow,
    AdjudicationRow,
    AiuEditRow,
    AnnotatorRow,
    DraftRow,
    EventRow,
    GuidelinesReadRow,
    ItemRow,
    KnownAnswerRow,
    LabelRow,
    LeaseRow,
    MarkRow,
    OpinionRow,
    OpinionViewRow,
    ReplyRow,
    RunRow,
    TargetRow,
    TrainingAnswerRow,
    UndoEntryRow,
    now,
)
from storage.labels import targets
from storage.studies.studies import Study

CHUNK = 2_000
"""Rows fetched at once."""
PERSON = "person: "
OF_STUDY = (LabelRow, GuidelinesReadRow, ActionRow, UndoEntryRow, AiuEditRow)
OF_TARGET = (OpinionViewRow, LeaseRow, DraftRow, MarkRow, ReplyRow, AdjudicationRow, TrainingAnswerRow)
REFERRING = (LabelRow, OpinionRow, MarkRow, ReplyRow, AdjudicationRow, OpinionViewRow, KnownAnswerRow)
"""Tables whose records name their target."""


def annotator_names(session: Session, study: Study) -> list[str]:
    """Return the sorted names of all participants and assigned annotators of a study."""
    ids = [select(col(table.annotator_id)).where(col(table.study_id) == study.id) for table in OF_STUDY]
    ids += [_of_targets(study.id, col(table.annotator_id), table) for table in OF_TARGET]
    ids.append(_of_targets(study.id, col(ReplyRow.author_id), ReplyRow))
    names = set(session.scalars(select(col(AnnotatorRow.name)).where(or_(*(col(AnnotatorRow.id).in_(q) for q in ids)))))
    reader = col(EventRow.body)["read_by"].as_string()
    stated = select(reader).join(RunRow, col(RunRow.id) == col(EventRow.run_id))
    stated = stated.where(col(RunRow.study_id) == study.id, col(EventRow.type) == "reading", reader.startswith(PERSON))
    names |= {name.removeprefix(PERSON) for name in session.scalars(stated.distinct())}
    names |= {*study.rules.annotators, *(name for group in study.rules.groups.values() for name in group)}
    return sorted(names)


def _of_targets(study_id: int, column: Any, table: Any) -> Select[Any]:
    joined = select(column).join(TargetRow, col(TargetRow.id) == col(table.target_id))
    return joined.where(col(TargetRow.study_id) == study_id)


def annotator_records(session: Session, study: Study) -> Iterator[AnnotatorRecord]:
    """Yield the participants and assigned annotators of a study."""
    for name in annotator_names(session, study):
        yield AnnotatorRecord(name=name)


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


def count_targets(session: Session, study_id: int) -> int:
    """Return the number of records that `target_records` yields."""
    return session.scalars(select(func.count()).select_from(TargetRow).where(_is_exported(study_id))).one()


def _is_exported(study_id: int) -> Any:
    unused = [~exists().where(col(table.target_id) == col(TargetRow.id)) for table in REFERRING]
    return and_(col(TargetRow.study_id) == study_id, or_(col(TargetRow.overlap).is_not(None), and_(*unused)))


def reply_records(session: Session, study_id: int) -> Iterator[ReplyRecord]:
    """Yield the replies in the inbox, oldest first."""
    author = aliased(AnnotatorRow)
    query = _with_annotator(ReplyRow, study_id, ReplyRow, col(author.name))
    query = query.join(author, col(author.id) == col(ReplyRow.author_id)).order_by(col(ReplyRow.id))
    for *columns, name, row, author_name in session.execute(query):
        target = targets.from_columns(*columns)
        yield ReplyRecord(
            target=target, annotator=name, author=author_name, text=row.text, closed=row.closed, at=row.at
        )


def view_records(session: Session, study_id: int) -> Iterator[ViewRecord]:
    """Yield the views of each annotator, oldest first."""
    query = _with_annotator(OpinionViewRow, study_id, col(OpinionViewRow.at)).order_by(col(OpinionViewRow.id))
    for *columns, name, at in session.execute(query.execution_options(yield_per=CHUNK)):
        yield ViewRecord(target=targets.from_columns(*columns), annotator=name, at=at)


def known_answer_records(session: Session, study_id: int) -> Iterator[KnownAnswerRecord]:
    """Yield the known answers of training items."""
    query = (
        select(*_TARGET, KnownAnswerRow)
        .select_from(KnownAnswerRow)
        .join(TargetRow, col(TargetRow.id) == col(KnownAnswerRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(KnownAnswerRow.study_id) == study_id)
        .order_by(col(KnownAnswerRow.id))
    )
    for *columns, row in session.execute(query):
        target = targets.from_columns(*columns)
        yield KnownAnswerRecord(target=target, value=row.value, reason=row.reason, at=row.at)


def training_answer_records(session: Session, study_id: int) -> Iterator[TrainingAnswerRecord]:
    """Yield the answers of annotators to training items, oldest first."""
    query = _with_annotator(TrainingAnswerRow, study_id, TrainingAnswerRow).order_by(col(TrainingAnswerRow.id))
    for *columns, name, row in session.execute(query):
        fields: Any = row.model_dump(include=TrainingAnswerRecord.model_fields.keys() - {"type", "target", "annotator"})
        yield TrainingAnswerRecord(target=targets.from_columns(*columns), annotator=name, **fields)


def guidelines_read_records(session: Session, study_id: int) -> Iterator[GuidelinesReadRecord]:
    """Yield the version of the guidelines that each annotator has read."""
    query = (
        select(col(AnnotatorRow.name), GuidelinesReadRow)
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(GuidelinesReadRow.annotator_id))
        .where(col(GuidelinesReadRow.study_id) == study_id)
        .order_by(col(GuidelinesReadRow.id))
    )
    for name, row in session.execute(query):
        yield GuidelinesReadRecord(annotator=name, version=row.version, at=row.at)


_TARGET = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))


def _with_annotator(table: Any, study_id: int, *columns: Any) -> Select[Any]:
    """Select target, annotator's name and columns of the rows of a table with targets and annotators."""
    return (
        select(*_TARGET, col(AnnotatorRow.name), *columns)
        .select_from(table)
        .join(TargetRow, col(TargetRow.id) == col(table.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(table.annotator_id))
        .where(col(TargetRow.study_id) == study_id)
    )


class Importer:
    """Adds the records of a file to a study whose targets and annotators have ids."""

    def __init__(
        self, session: Session, study_id: int, target_ids: Mapping[Target, int], annotator_ids: Mapping[str, int]
    ) -> None:
        self.session, self.study_id = session, study_id
        self.target_ids, self.annotator_ids = target_ids, annotator_ids

    def set_overlaps(self, records: Sequence[TargetRecord]) -> None:
        """Set the overlaps of targets that have none."""
        wanted = [(self.target_ids[record.target], record.overlap) for record in records if record.overlap is not None]
        for target_id, overlap in wanted:
            unset = update(TargetRow).where(col(TargetRow.id) == target_id, col(TargetRow.overlap).is_(None))
            self.session.execute(unset.values(overlap=overlap, disputed=True))

    def add_views(self, records: Sequence[ViewRecord]) -> None:
        """Add the views of annotators."""
        rows = [
            {
                "target_id": self.target_ids[record.target],
                "annotator_id": self.annotator_ids[record.annotator],
                "at": to_utc(record.at) or now(),
            }
            for record in records
        ]
        insert_missing(self.session, OpinionViewRow, rows)

    def add_known_answers(self, records: Sequence[KnownAnswerRecord]) -> None:
        """Add the known answers of targets that have none."""
        rows = [
            {
                "study_id": self.study_id,
                "target_id": self.target_ids[record.target],
                "value": record.value,
                "reason": sanitize(record.reason),
                "at": to_utc(record.at) or now(),
            }
            for record in records
        ]
        insert_missing(self.session, KnownAnswerRow, rows)

    def add_training_answers(self, records: Sequence[TrainingAnswerRecord]) -> None:
        """Add the answers to training items that the study does not have."""
        rows = [
            {
                "target_id": self.target_ids[record.target],
                "annotator_id": self.annotator_ids[record.annotator],
                "attempt": record.attempt,
                "value": record.value,
                "reason": sanitize(record.reason),
                "correct": record.correct,
                "passed": record.passed,
                "seconds": record.seconds,
                "at": to_utc(record.at) or now(),
            }
            for record in records
        ]
        insert_missing(self.session, TrainingAnswerRow, rows)

    def add_guidelines_read(self, records: Sequence[GuidelinesReadRecord]) -> None:
        """Add who read which version, for annotators of whom the study knows none."""
        rows = [
            {
                "study_id": self.study_id,
                "annotator_id": self.annotator_ids[record.annotator],
                "version": record.version,
                "at": to_utc(record.at) or now(),
            }
            for record in records
        ]
        insert_missing(self.session, GuidelinesReadRow, rows)

    def add_replies(self, records: Sequence[ReplyRecord]) -> int:
        """Add the replies that the study does not have, and return their number."""
        if not records:
            return 0
        query = _of_targets(self.study_id, ReplyRow, ReplyRow)
        known = {self._key(row.model_dump()) for row in self.session.scalars(query)}
        rows = [self._reply_row(record) for record in records]
        new = {key: row for row in rows if (key := self._key(row)) not in known}
        insert_all(self.session, ReplyRow, list(new.values()))
        return len(new)

    def _reply_row(self, record: ReplyRecord) -> dict[str, Any]:
        return {
            "target_id": self.target_ids[record.target],
            "annotator_id": self.annotator_ids[record.annotator],
            "author_id": self.annotator_ids[record.author],
            "text": sanitize(record.text),
            "closed": record.closed,
            "at": to_utc(record.at) or now(),
        }

    @staticmethod
    def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in ("target_id", "annotator_id", "author_id", "text", "closed", "at"))
