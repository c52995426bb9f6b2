"""The import of records into a study: all of them in one transaction, or none.

Importing the same records again adds nothing: items, runs and traces are identified by their names, labels by their
content (see `storage.db.fingerprints`).
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Engine, select, update
from sqlalchemy.exc import DataError
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import FileFormatError, TiebreakError
from core.formats.mapping.rows import parse_label, parse_list, parse_name, parse_text, read_rows
from core.formats.published.prompts import ReleasedPrompts
from core.formats.records import (
    AdjudicationRecord,
    AiuEditRecord,
    AnnotatorRecord,
    CriterionRecord,
    DesignRecord,
    ExperimentRecord,
    GuidelinesReadRecord,
    GuidelinesRecord,
    KnownAnswerRecord,
    MarkRecord,
    PlainLabels,
    Record,
    RepeatRecord,
    ReplyRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    TargetRecord,
    TrainingAnswerRecord,
    ViewRecord,
)
from core.labels import Adjudication, Kind, Scale, Target, Value
from storage.db import audit
from storage.db.audit import Action
from storage.db.columns import sanitize
from storage.db.connections import insert_all, insert_missing, update_statistics, writing
from storage.db.fingerprints import FileFingerprints, Row, adjudication_row, encoded_columns, mark_row, to_utc
from storage.db.tables import AdjudicationRow, LabelRow, MarkRow, ReplyRow, TargetRow, now
from storage.labels import designs, labels, targets
from storage.runs import aius, experiments
from storage.runs.inputs import Input
from storage.studies import annotators, items, studies, transcripts
from storage.transfer import _spool, participation
from storage.transfer._spool import BATCH, SortedRecords, SpooledLabel

# New items and labels from which the statistics of the database are renewed.
ANALYZED_FROM = 100
# How the counts of values begin that differ in the study.
CHANGES = ("replaced", "superseded")
# Called with the number of records imported so far, and of all records.
Progress = Callable[[int, int], None]


@dataclass
class ImportCounts:
    """Numbers of records that an import added; those already in the study are not counted."""

    items: int = 0
    runs: int = 0
    traces: int = 0
    labels: int = 0
    marks: int = 0
    rulings: int = 0
    """Adjudications, under the name of their records."""
    edits: int = 0
    replies: int = 0
    replaced: int = 0
    """New labels without a time in place of which the study had another value."""
    superseded: int = 0
    """Known labels without a time in place of which the study has another value."""
    replaced_rulings: int = 0
    superseded_rulings: int = 0
    """The same of adjudications."""
    superseded_traces: int = 0
    """Traces of judges of which the study has other values."""

    def summary(self) -> str:
        """Return the counts as a phrase, such as "added 32 items, 1 run"."""
        nouns = {"rulings": "adjudications", "edits": "AIU edits"}
        added = {name: count for name, count in asdict(self).items() if count and not name.startswith(CHANGES)}
        counts = [(count, nouns.get(name, name)) for name, count in added.items()]
        parts = [f"{count:,} {noun if count > 1 else noun.removesuffix('s')}" for count, noun in counts]
        text = "added " + ", ".join(parts) if parts else "nothing new: the study has all records"
        later = "of the file have another value in the study, which stays: an import of these values was later"
        for noun, replaced, superseded in (
            ("labels", self.replaced, self.superseded),
            ("adjudications", self.replaced_rulings, self.superseded_rulings),
        ):
            text += f"; {replaced:,} of the {noun} replace another value" if replaced else ""
            text += f"; {superseded:,} {noun} {later}" if superseded else ""
        if self.superseded_traces:
            text += f"; {self.superseded_traces:,} traces of judges have other values in the study, which stay"
        return text


def import_records(
    engine: Engine,
    study: str,
    records: Iterable[Record | PlainLabels],
    progress: Progress | None = None,
    *,
    draws: bool = False,
) -> ImportCounts:
    """Import records into the study called `study`, which is created if new. Raises TiebreakError for invalid ones.

    `draws` makes the default design of criteria that have verdicts and no label: for a file that a person imports and
    that has neither labels nor gold. The records are read to their end before the transaction begins, so others can
    write while a file is read.
    """
    with _garbage_collection_off(), _refuse_write_errors(), closing(SortedRecords(records)) as sorted_records:
        study_records = sorted_records.of(StudyRecord)
        try:
            with writing(engine) as session:
                study_record = study_records[-1] if study_records else None
                versions = sorted_records.of(GuidelinesRecord)
                study_id = studies.get_or_create(session, study, study_record, versions).id
                counts = _Import(session, study_id, sorted_records, progress or (lambda done, total: None)).run()
                if draws and counts.traces and not counts.labels + counts.rulings:
                    designs.add_defaults(session, study_id)
                audit.record(session, Action.import_, study_id=study_id, result=counts.summary())
        except (DataError, OverflowError, UnicodeError) as error:
            cause = getattr(error, "orig", None) or error
            raise TiebreakError(f"The file has a value that cannot be stored: {str(cause).splitlines()[0]}.") from error
    if counts.items + counts.labels >= ANALYZED_FROM:
        update_statistics(engine)
    return counts


def add_records(session: Session, study_id: int, records: Iterable[Record]) -> ImportCounts:
    """Import records within a transaction, into a study that exists and is locked."""
    with closing(SortedRecords(records)) as sorted_records:
        return _Import(session, study_id, sorted_records, lambda done, total: None).run()


@contextmanager
def _refuse_write_errors() -> Iterator[None]:
    """Raise TiebreakError for errors of temporary files."""
    try:
        yield
    except OSError as error:
        raise TiebreakError(
            f"The import cannot write its temporary files: {error.strerror or error}. The environment variable TMPDIR "
            "can name another folder for them."
        ) from None


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Disable the garbage collector: to search hundreds of thousands of records again and again takes three times as
    long as to read them, and all of them are needed until the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def spelled_value(text: str, scale: Scale) -> Value:
    """Return the value on a scale that a text spells, as in a cell of a table; the text itself if there is none."""
    try:
        value = parse_label(text, scale, {}, 0, "")
    except FileFormatError:
        return text
    return text if value is None else value


class _Import:
    """One import into one study."""

    def __init__(self, session: Session, study_id: int, records: SortedRecords, progress: Progress) -> None:
        self.session, self.study_id, self.records, self.progress = session, study_id, records, progress
        self.done = 0
        self.total = records.items.size + records.repeated_items + len(records.traces.heads) + records.labels.size
        self.target_ids: dict[targets.TargetKey, int] = {}
        self.annotator_ids: dict[str, int] = {}
        self.fingerprints_of_file = FileFingerprints()
        self.spelled: dict[tuple[str, str, str], Value] = {}
        """Kind, criterion and text of labels -> the value on the scale that the text spells, such as "4"."""

    def run(self) -> ImportCounts:
        """Import all records, each type after those that it refers to."""
        for criterion in self.records.of(CriterionRecord):
            studies.add_criterion(self.session, self.study_id, criterion)
        for scale in self.records.of(ScaleRecord):
            studies.declare_scale(self.session, self.study_id, scale)
        self.check_values()
        new_items = self.import_items()
        self.find_ids()
        self.check_steps()
        added = self.records.of(ExperimentRecord)
        experiment_ids = experiments.add_records(self.session, self.study_id, added)
        rulings = [record.ruling for record in self.records.of(AdjudicationRecord)]
        defaults = designs.unlabelled_defaults(self.session, self.study_id)
        designs.add_records(self.session, self.study_id, self.records.of(DesignRecord))
        runs = _spool.add_runs(self.session, self.study_id, self.records.of(RunRecord), experiment_ids)
        traces, superseded_traces = _spool.add_traces(
            self.session, self.study_id, self.records.traces, self.target_ids, self.advance
        )
        counts = ImportCounts(
            items=new_items,
            runs=runs,
            traces=traces,
            superseded_traces=superseded_traces,
            **self.import_labels(),
            marks=self.insert_new(MarkRow, mark_row, [(mark, mark.annotator) for mark in self.records.of(MarkRecord)]),
            **self.import_rulings(rulings),
            edits=aius.add_records(self.session, self.study_id, self.records.of(AiuEditRecord)),
            replies=self.import_participation(),
        )
        if counts.items or counts.traces or self.records.of(DesignRecord):
            designs.apply_to_study(self.session, self.study_id)
        if counts.labels or counts.rulings:
            designs.forget_if_chosen(self.session, self.study_id, defaults)
        return counts

    def check_values(self) -> None:
        """Raise TiebreakError for a value in the file that is not on its scale."""
        scales = studies.scales(self.session, self.study_id)
        self.check_labels(studies.scales_of_labels(self.session, self.study_id))
        decided: list[Adjudication | KnownAnswerRecord] = [*self.records.of(KnownAnswerRecord)]
        decided += [record.ruling for record in self.records.of(AdjudicationRecord)]
        for known in decided:
            studies.check_value(scales, known.target.kind, known.target.criterion, known.value)
        of_traces = (own for batch in self.records.traces.opinions.batches() for own in batch)
        for (_, kind, criterion, _), row in chain.from_iterable(of_traces):
            check = studies.check_verdict if row["stage"] == "verdict" else studies.check_value
            check(scales, cast(Kind, kind), criterion, row["value"])

    def check_labels(self, scales: studies.Scales) -> None:
        """Raise TiebreakError for the first label whose value is not on its scale; collect those that are spelled."""
        for (item, name, criterion, _), value, (_, annotator, _, line) in self.records.label_values():
            kind = cast(Kind, name)
            scale = scales.get((kind, criterion)) or studies.DEFAULT_SCALES.get(kind)
            if isinstance(value, str) and scale is not None and not scale.contains(value):
                value = self.spelled.setdefault((kind, criterion, value), spelled_value(value, scale))
            try:
                studies.check_value(scales, kind, criterion, value)
            except TiebreakError as error:
                message = f"label of {annotator!r} on item {item!r}: {error}"
                raise FileFormatError(message, line=line, field="label.value" if line else None) from None

    def check_steps(self) -> None:
        """Raise TiebreakError for a label or a decision about a step that its transcript does not have."""
        places = {place: targets.from_columns(*key) for key, place in self.records.targets.items()}
        asked = {place: own for place, own in places.items() if transcripts.asks_for_step(own)}
        if asked:
            batches = chain.from_iterable(self.records.labels.batches())
            given = ((asked[own[0]], own[2]["value"]) for own in batches if own[0] in asked)
            decided = ((own.ruling.target, own.ruling.value) for own in self.records.of(AdjudicationRecord))
            transcripts.check_steps(
                self.session, self.study_id, chain(given, decided, ((own, 0) for own in asked.values()))
            )

    def import_items(self) -> int:
        """Add the new ones of the items, and return their number."""
        self.import_transcripts()
        digests, added = self.records.item_digests, 0
        stored = items.stored_contents(self.session, self.study_id, digests)
        self.advance(self.records.repeated_items)
        for batch in self.records.items.batches():
            new = [item for item in batch if item[0] not in stored]
            for key, _, _, body in batch:
                if key in stored and not items.is_same(stored[key], body):
                    raise TiebreakError(
                        f"Item {key!r} is in this study already, with different content; give it another name."
                    )
            items.add_encoded(self.session, self.study_id, new)
            added += len(new)
            self.advance(len(batch))
        return added

    def import_transcripts(self) -> None:
        """Add the new ones of the transcripts; raises TiebreakError if an item refers to one that is nowhere."""
        stored = transcripts.digests(self.session, self.study_id)
        for digest, item in self.records.referenced.items():
            if digest not in stored and digest not in self.records.transcript_digests:
                raise TiebreakError(
                    f"Item {item!r} refers to the transcript {digest!r}, which is neither in the file nor in the study."
                )
        for batch in self.records.transcripts.batches():
            transcripts.add_encoded(self.session, self.study_id, [one for one in batch if one[0] not in stored])

    def find_ids(self) -> None:
        """Set the ids of every target and annotator in the file; new ones are added."""
        wanted: set[Target] = set()
        names = self.records.annotators | {record.name for record in self.records.of(AnnotatorRecord)}
        record_types: tuple[type[Any], ...] = (TargetRecord, *participation.TABLES)
        for record_type in record_types:
            for record in self.records.of(record_type):
                wanted |= {record.target} if hasattr(record, "target") else set()
                names |= {getattr(record, name) for name in participation.PEOPLE if hasattr(record, name)}
        for ruling in (record.ruling for record in self.records.of(AdjudicationRecord)):
            wanted.add(ruling.target)
            names.add(ruling.adjudicator)
        self.records.add_targets(wanted)
        if keys := self.records.all_targets():
            self.target_ids = targets.get_or_create_by_keys(self.session, self.study_id, keys)
        self.annotator_ids = annotators.get_or_create_ids(self.session, names)

    def import_labels(self) -> dict[str, int]:
        """Add the new ones of the labels; return how many, and how many have another value in the study."""
        known, added = self.fingerprints(LabelRow) if self.records.labels.size else set(), 0
        current = labels.current_values(self.session, self.study_id) if known else {}
        # Targets and annotators whose last undated value in the file differs from the study's, and whether it is new.
        different: dict[tuple[int, int], bool] = {}
        dated = set[tuple[int, int]]()  # those of which the file has the study's value with a time
        targets_by_place = [self.target_ids[key] for key in self.records.targets]
        for batch in self.records.labels.batches():
            new = self.label_rows(self.with_values(batch) if self.spelled else batch, targets_by_place)
            if known:
                is_new = [bytes.fromhex(row["fingerprint"]) not in known for row in new]
                for row, adds in zip(new, is_new, strict=True):
                    key = (row["target_id"], row["annotator_id"])
                    is_same = current.get(key) in (None, row["value"])
                    if row["at"] is not None:
                        dated |= {key} if is_same else set()
                    elif is_same:
                        different.pop(key, None)
                    else:
                        different[key] = adds
                new = [row for row, adds in zip(new, is_new, strict=True) if adds]
            insert_all(self.session, LabelRow, new)
            added += len(new)
            self.advance(len(batch))
        if added:
            targets.count_labels_of_study(self.session, self.study_id)
        changes = Counter("replaced" if adds else "superseded" for key, adds in different.items() if key not in dated)
        return {"labels": added, **changes}

    def import_rulings(self, rulings: Sequence[Adjudication]) -> dict[str, int]:
        """Add the new ones of the adjudications; return how many, and how many have another value in the study."""
        before = labels.newest_adjudications(self.session, self.study_id) if rulings else {}
        added = self.insert_new(AdjudicationRow, adjudication_row, [(own, own.adjudicator) for own in rulings])
        stated = {own.target: own for own in rulings if own.at is None}  # the last undated one of a target
        values = {key: own.value for key, own in before.items()}
        dated = {own.target for own in rulings if own.at is not None and values.get(own.target) == own.value}
        changed = [own for key, own in stated.items() if key not in dated and values.get(key) not in (None, own.value)]
        now = labels.newest_adjudications(self.session, self.study_id) if changed else {}
        replaced = sum(now[own.target].value == own.value for own in changed)
        return {
            "rulings": added,
            "replaced_rulings": replaced,
            "superseded_rulings": len(changed) - replaced,
        }

    def with_values(self, labels: Sequence[SpooledLabel]) -> list[SpooledLabel]:
        """Return labels with the values that their texts spell."""
        keys = list(self.records.targets)
        changed = []
        for place, annotator, columns, line in labels:
            _, kind, criterion, _ = keys[place]
            value = columns["value"]
            if isinstance(value, str):
                columns = columns | {"value": self.spelled.get((kind, criterion, value), value)}
            changed.append((place, annotator, columns, line))
        return changed

    def label_rows(self, labels: Sequence[SpooledLabel], targets_by_place: Sequence[int]) -> list[Row]:
        """Return labels as rows."""
        encoded: dict[int, bytes] = {}
        rows = []
        for place, annotator, columns, _ in labels:
            target, by = targets_by_place[place], self.annotator_ids[annotator]
            if id(columns) not in encoded:  # the batch holds the columns, so an id is not used again
                encoded[id(columns)] = encoded_columns(columns)
            own = self.fingerprints_of_file.of_label(self.study_id, target, by, encoded[id(columns)])
            rows.append(
                {"study_id": self.study_id, "target_id": target, "annotator_id": by, **columns, "fingerprint": own}
            )
        return rows

    def import_participation(self) -> int:
        """Add views, read guidelines, overlaps of targets and replies; return the number of replies."""
        for record in self.records.of(TargetRecord):
            if record.overlap is not None:
                is_target = col(TargetRow.id) == self.target_ids[targets.key_of(record.target)]
                unset = update(TargetRow).where(is_target, col(TargetRow.overlap).is_(None))
                self.session.execute(unset.values(overlap=record.overlap, disputed=True))
        # Each target, annotator or both have one record of these types.
        for record_type in (ViewRecord, KnownAnswerRecord, TrainingAnswerRecord, RepeatRecord, GuidelinesReadRecord):
            rows = [self.participation_row(record) for record in self.records.of(record_type)]
            insert_missing(self.session, participation.TABLES[record_type], rows)
        if not (replies := self.records.of(ReplyRecord)):
            return 0
        stored = self.session.scalars(participation.rows_of_study(self.study_id, ReplyRow, ReplyRow))
        known = {tuple(sorted(row.model_dump(exclude={"id"}).items())) for row in stored}
        added = {tuple(sorted(row.items())): row for row in map(self.participation_row, replies)}
        new = [row for key, row in added.items() if key not in known]
        insert_all(self.session, ReplyRow, new)
        return len(new)

    def participation_row(self, record: Any) -> dict[str, Any]:
        """Return the columns of a record of one of `participation.TABLES`."""
        row = record.model_dump(exclude={"type", "target", *participation.PEOPLE})
        row["at"] = to_utc(record.at) or now()
        people = [name for name in participation.PEOPLE if hasattr(record, name)]
        row |= {f"{name}_id": self.annotator_ids[getattr(record, name)] for name in people}
        if hasattr(record, "target"):
            row["target_id"] = self.target_ids[targets.key_of(record.target)]
        if "study_id" in participation.TABLES[type(record)].model_fields:
            row["study_id"] = self.study_id
        stored: dict[str, Any] = sanitize(row)
        return stored

    def insert_new(self, table: Any, make_row: Callable[..., Row], records: Iterable[tuple[Any, str]]) -> int:
        """Insert the rows of records and their annotators that the study does not have, and return their number."""
        rows = []
        for record, annotator in records:
            target_id = self.target_ids[targets.key_of(record.target)]
            row = make_row(record, target_id, self.annotator_ids[annotator])
            rows.append(self.fingerprints_of_file.add_to(row))
        known = self.fingerprints(table) if rows else set()
        new = [row for row in rows if bytes.fromhex(row["fingerprint"]) not in known]
        insert_all(self.session, table, new)
        return len(new)

    def fingerprints(self, table: Any) -> set[bytes]:
        """Return the fingerprints of the study's rows, as bytes."""
        query = select(col(table.fingerprint)).join(TargetRow, col(TargetRow.id) == col(table.target_id))
        query = query.where(col(TargetRow.study_id) == self.study_id).execution_options(yield_per=BATCH)
        return {bytes.fromhex(fingerprint) for fingerprint in self.session.scalars(query)}

    def advance(self, count: int) -> None:
        """Report that `count` more records are imported."""
        self.done += count
        if count:
            self.progress(self.done, self.total)


# Reads a table of references and aspects for items that a study has.


def read_inputs(path: Path) -> dict[str, Input]:
    """Return item -> the inputs in a file; a column or field that is missing leaves them as they are."""
    found: dict[str, Input] = {}
    for line, row in read_rows(path):
        if not {"reference", "aspects"} & row.keys():
            raise FileFormatError("expected a column `reference` or `aspects`", line=line)
        reference = parse_text(row["reference"], line, "reference") or "" if "reference" in row else None
        cell = row.get("aspects")
        lines = cell.splitlines() if isinstance(cell, str) and not cell.startswith("[") else None
        cells = parse_list(cell, line, "aspects") if lines is None else lines
        aspects = tuple(" ".join(str(part).split()) for part in cells if str(part).strip())
        found[parse_name(row.get("item"), line, "item")] = Input(reference, aspects if "aspects" in row else None)
    return found


def save_prompts(engine: Engine, study_id: int, protocol: str, found: ReleasedPrompts) -> None:
    """Replace a study's prompts of a protocol, and give its criteria the formats that a repository has."""
    with writing(engine) as session:
        stored = studies.by_id(session, study_id).prompts
        others = {key: text for key, text in stored.items() if not key.startswith(f"{protocol}/")}
        own = {f"{protocol}/{name}": text for name, text in found.prompts.items()}
        studies.update_prompts(session, study_id, others | own)
        known = {criterion.name: criterion for criterion in studies.criteria(session, study_id)}
        for criterion in found.criteria:
            changed = known.get(criterion.name, criterion).model_copy(update={"formats": criterion.formats})
            studies.save_criterion(session, study_id, CriterionRecord(criterion=changed))
        audit.record(session, Action.settings, study_id=study_id, change=f"prompts of {protocol}", files=found.files)
