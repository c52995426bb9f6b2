"""The import of records into a study: all of them in one transaction, or none.

Importing the same records again adds nothing: items, runs and traces are identified by their names, labels by their
content (see `storage.db.fingerprints`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

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
    ItemRecord,
    KnownAnswerRecord,
    LabelRecord,
    MarkRecord,
    Record,
    RepeatRecord,
    ReplyRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    TargetRecord,
    TraceRecord,
    TrainingAnswerRecord,
    TranscriptRecord,
    ViewRecord,
)
from core.formats.text import current_line
from core.labels import Adjudication, Kind, Scale, Target, Value
from storage.db import audit
from storage.db.audit import Action
from storage.db.columns import sanitize, to_json
from storage.db.connections import batches, insert_all, insert_missing, update_statistics, writing
from storage.db.fingerprints import FileFingerprints, Row, adjudication_row, label_columns, mark_row, to_utc
from storage.db.tables import AdjudicationRow, LabelRow, MarkRow, ReplyRow, TargetRow, now
from storage.labelling import critique_queue
from storage.labels import designs, labels, targets
from storage.runs import aius, experiments
from storage.runs.inputs import Input
from storage.studies import annotators, items, studies, transcripts
from storage.transfer import _imported_runs, participation

# Labels whose rows are in memory at once.
BATCH = 4_000
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
    records: Iterable[Record],
    progress: Progress | None = None,
    *,
    draws: bool = False,
) -> ImportCounts:
    """Import records into the study called `study`, which is created if new. Raises TiebreakError for invalid ones.

    `draws` makes the default design of criteria that have verdicts and no label: for a file that a person imports and
    that has neither labels nor gold. The records are read to their end before the transaction begins, so others can
    write while a file is read.
    """
    sorted_records = SortedRecords(records)
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
    return _Import(session, study_id, SortedRecords(records), lambda done, total: None).run()


def spelled_value(text: str, scale: Scale) -> Value:
    """Return the value on a scale that a text spells, as in a cell of a table; the text itself if there is none."""
    try:
        value = parse_label(text, scale, {}, 0, "")
    except FileFormatError:
        return text
    return text if value is None else value


RecordType = TypeVar("RecordType")


class NewLabel(NamedTuple):
    """A label of a file, which takes a fifth of the memory of its record."""

    target: targets.TargetKey
    annotator: str
    columns: Row
    """Those without ids."""
    line: int | None
    """In the file, if it is read by lines."""


class SortedRecords:
    """The content of records by type, in the order of the file."""

    def __init__(self, records: Iterable[Record]) -> None:
        """Read the records to their end; raises TiebreakError for two different items or traces with one name."""
        self.items: dict[str, items.NewItem] = {}
        self.transcripts: dict[str, bytes] = {}
        self.referenced: dict[str, str] = {}
        """Digest of each transcript that an item refers to -> the first such item."""
        self.traces: dict[tuple[str, str, str], TraceRecord] = {}
        self.labels: list[NewLabel] = []
        self.targets: dict[targets.TargetKey, targets.TargetKey] = {}
        """The targets of labels, opinions and critiques: each key is in memory once."""
        self._by_type: dict[type[Any], list[Any]] = defaultdict(list)
        for record in records:
            self._add(record)

    def of(self, record_type: type[RecordType]) -> list[RecordType]:
        """Return all records of one type, which is not that of items, transcripts, labels or traces."""
        return self._by_type[record_type]

    def add_target(self, key: targets.TargetKey) -> targets.TargetKey:
        """Add a target, and return its key."""
        return self.targets.setdefault(key, key)

    def _add(self, record: Record) -> None:
        match record:
            case LabelRecord(label=label):
                target = self.add_target(targets.key_of(label.target))
                self.labels.append(NewLabel(target, label.annotator, label_columns(label), current_line()))
            case ItemRecord():
                self._add_item(record)
            case TranscriptRecord(transcript=transcript):
                digest, body = transcripts.encode(transcript)
                self.transcripts[digest] = body
            case TraceRecord(run=run, item=name, part=part):
                if self.traces.setdefault((run, name, part), record) != record:
                    raise TiebreakError(f"The trace of item {name!r} in run {run!r} is in the file twice.")
                for key, _, _ in _imported_runs.opinions_of(record):
                    self.add_target(key)
            case _:
                self._by_type[type(record)].append(record)

    def _add_item(self, record: ItemRecord) -> None:
        item = record.item
        new = items.NewItem(item.scenario, item.group, to_json(item))
        if self.items.setdefault(item.id, new) != new:
            raise TiebreakError(f"Item {item.id!r} is in the file twice, with different content.")
        for referenced in item.transcripts:
            self.referenced.setdefault(referenced, item.id)
        for target in critique_queue.targets_of_item(item.id, item.critiques) if item.critiques else ():
            self.add_target(targets.key_of(target))


class _Import:
    """One import into one study."""

    def __init__(self, session: Session, study_id: int, records: SortedRecords, progress: Progress) -> None:
        self.session, self.study_id, self.records, self.progress = session, study_id, records, progress
        self.done = 0
        self.total = len(records.items) + len(records.traces) + len(records.labels)
        self.target_ids: dict[targets.TargetKey, int] = {}
        self.annotator_ids: dict[str, int] = {}
        self.fingerprints_of_file = FileFingerprints()

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
        runs = _imported_runs.add_runs(self.session, self.study_id, self.records.of(RunRecord), experiment_ids)
        traces, superseded_traces = _imported_runs.add_traces(
            self.session, self.study_id, list(self.records.traces.values()), self.target_ids, self.advance
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
        for _, own, _ in chain.from_iterable(map(_imported_runs.opinions_of, self.records.traces.values())):
            check = studies.check_verdict if own.stage == "verdict" else studies.check_value
            check(scales, own.kind, own.criterion, own.value)

    def check_labels(self, scales: studies.Scales) -> None:
        """Raise TiebreakError for the first label off its scale; a text that spells a value becomes this value."""
        for label in self.records.labels:
            item, name, criterion, _ = label.target
            kind, value = cast(Kind, name), label.columns["value"]
            scale = scales.get((kind, criterion)) or studies.DEFAULT_SCALES.get(kind)
            if isinstance(value, str) and scale is not None and not scale.contains(value):
                label.columns["value"] = value = spelled_value(value, scale)
            try:
                studies.check_value(scales, kind, criterion, value)
            except TiebreakError as error:
                message, line = f"label of {label.annotator!r} on item {item!r}: {error}", label.line
                raise FileFormatError(message, line=line, field="label.value" if line else None) from None

    def check_steps(self) -> None:
        """Raise TiebreakError for a label or a decision about a step that its transcript does not have."""
        found = {key: targets.from_columns(*key) for key in self.records.targets}
        asked = {key: own for key, own in found.items() if transcripts.asks_for_step(own)}
        given = ((asked[own.target], own.columns["value"]) for own in self.records.labels if own.target in asked)
        decided = ((own.ruling.target, own.ruling.value) for own in self.records.of(AdjudicationRecord))
        if asked:
            named = ((own, 0) for own in asked.values())
            transcripts.check_steps(self.session, self.study_id, chain(given, decided, named))

    def import_items(self) -> int:
        """Add the new ones of the items, and return their number."""
        self.import_transcripts()
        added = items.add_new(self.session, self.study_id, self.records.items)
        self.advance(len(self.records.items))
        return added

    def import_transcripts(self) -> None:
        """Add the new ones of the transcripts; raises TiebreakError if an item refers to one that is nowhere."""
        stored = transcripts.digests(self.session, self.study_id)
        for digest, item in self.records.referenced.items():
            if digest not in stored and digest not in self.records.transcripts:
                raise TiebreakError(
                    f"Item {item!r} refers to the transcript {digest!r}, which is neither in the file nor in the study."
                )
        new = [one for one in self.records.transcripts.items() if one[0] not in stored]
        transcripts.add_encoded(self.session, self.study_id, new)

    def find_ids(self) -> None:
        """Set the ids of every target and annotator in the file; new ones are added."""
        wanted: set[Target] = set()
        names = {label.annotator for label in self.records.labels}
        names |= {record.name for record in self.records.of(AnnotatorRecord)}
        record_types: tuple[type[Any], ...] = (TargetRecord, *participation.TABLES)
        for record_type in record_types:
            for record in self.records.of(record_type):
                wanted |= {record.target} if hasattr(record, "target") else set()
                names |= {getattr(record, name) for name in participation.PEOPLE if hasattr(record, name)}
        for ruling in (record.ruling for record in self.records.of(AdjudicationRecord)):
            wanted.add(ruling.target)
            names.add(ruling.adjudicator)
        for target in wanted:
            self.records.add_target(targets.key_of(target))
        if keys := self.records.targets:
            self.target_ids = targets.get_or_create_by_keys(self.session, self.study_id, keys)
        self.annotator_ids = annotators.get_or_create_ids(self.session, names)

    def import_labels(self) -> dict[str, int]:
        """Add the new ones of the labels; return how many, and how many have another value in the study."""
        known, added = self.fingerprints(LabelRow) if self.records.labels else set(), 0
        current = labels.current_values(self.session, self.study_id) if known else {}
        # Targets and annotators whose last undated value in the file differs from the study's, and whether it is new.
        different: dict[tuple[int, int], bool] = {}
        dated = set[tuple[int, int]]()  # those of which the file has the study's value with a time
        for batch in batches(self.records.labels, BATCH):
            new = []
            for row in map(self.label_row, batch):
                key, adds = (row["target_id"], row["annotator_id"]), row["fingerprint"] not in known
                new += [row] if adds else []
                is_same = current.get(key) in (None, row["value"])
                if row["at"] is not None:
                    dated |= {key} if is_same else set()
                elif is_same:
                    different.pop(key, None)
                else:
                    different[key] = adds
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

    def label_row(self, label: NewLabel) -> Row:
        """Return the row of a label."""
        ids = {"study_id": self.study_id, "target_id": self.target_ids[label.target]}
        return self.fingerprints_of_file.add_to(
            {**ids, "annotator_id": self.annotator_ids[label.annotator], **label.columns}
        )

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
        new = [row for row in rows if row["fingerprint"] not in known]
        insert_all(self.session, table, new)
        return len(new)

    def fingerprints(self, table: Any) -> set[str]:
        """Return the fingerprints of the study's rows."""
        query = select(col(table.fingerprint)).join(TargetRow, col(TargetRow.id) == col(table.target_id))
        return set(self.session.scalars(query.where(col(TargetRow.study_id) == self.study_id)))

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
