"""Pseudonyms in place of annotators' names: the same ones in every export of a study."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sqlalchemy.orm import Session

from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, Record, ScaleRecord, TraceRecord
from core.formats.turns import TurnRow
from storage.db.opaque_ids import OpaqueIds
from storage.studies import studies

PERSON = "person: "
"""The beginning of `TurnRow.read_by` if a person read the reply."""
Rename = Callable[[str], str]


def of_study(session: Session, study_id: int) -> Rename:
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


def rename_readers(rows: Iterable[TurnRow], rename: Rename) -> Iterator[TurnRow]:
    """Yield the rows with pseudonyms of the people who read replies or withdrew a reading."""

    def renamed(read_by: str) -> str:
        return PERSON + rename(read_by.removeprefix(PERSON)) if read_by.startswith(PERSON) else read_by

    for row in rows:
        earlier = tuple(
            past
            | {
                "read_by": renamed(past["read_by"]),
                "withdrawn_by": past["withdrawn_by"] and rename(past["withdrawn_by"]),
            }
            for past in row.earlier_readings
        )
        yield replace(row, read_by=renamed(row.read_by), earlier_readings=earlier)
