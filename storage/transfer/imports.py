"""Taking a file's records into a study: everything in one transaction, or nothing.

Taking the same records again adds nothing: items, runs and traces are known by their names, labels by what they say.
"""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from sqlalchemy import Engine, select
from sqlalchemy.exc import DataError
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import (
    AiuEditRecord,
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    MarkRecord,
    Record,
    RulingRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    TraceRecord,
)
from core.items import Item
from core.labels import Label, Target
from core.problems import Problem
from storage import aius, annotators, items, studies, targets
from storage.database import batches, insert_all, writing
from storage.fingerprints import Row, counting, label_row, mark_row, ruling_row
from storage.tables import LabelRow, MarkRow, RulingRow, TargetRow
from storage.transfer import recorded_runs

Sort = TypeVar("Sort")
BATCH = 10_000
Progress = Callable[[int, int], None]
"""Called with how many records are in, and how many there are."""


@dataclass
class Added:
    """What an import added; what was there already is not counted."""

    items: int = 0
    runs: int = 0
    traces: int = 0
    labels: int = 0
    marks: int = 0
    rulings: int = 0
    edits: int = 0

    def sentence(self) -> str:
        """In words."""
        parts = [f"{count:,} {name}" for name, count in asdict(self).items() if count]
        return "added " + ", ".join(parts) if parts else "nothing new: everything in it was here already"


def load(engine: Engine, study: str, records: Iterable[Record], progress: Progress | None = None) -> Added:
    """Take all records into the study called `study`, which is made where it is new.

    The file is read to its end before the database is touched, so that nobody waits for a slow file.
    """
    with _without_collections():
        held = _Sorted(records)
        told = held.of(StudyRecord)
        try:
            with writing(engine) as session:
                study_id = studies.get_or_create(session, study, told[-1] if told else None).id
                return _Load(session, study_id, held, progress or (lambda done, there: None)).take()
        except (DataError, OverflowError, UnicodeError) as error:
            cause = getattr(error, "orig", None) or error
            raise Problem(f"Something in it cannot be kept: {str(cause).splitlines()[0]}.") from error


@contextmanager
def _without_collections() -> Iterator[None]:
    """Hundreds of thousands of records stay until the end: to look through them again and again for garbage would
    take three times as long as to read them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Sorted:
    """What a file's records hold, by sort, in the order of the file; equal targets are one object."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._held: dict[type[Any], list[Any]] = defaultdict(list)
        targets: dict[Target, Target] = {}
        for record in records:
            match record:
                case LabelRecord(label=label):
                    target = targets.setdefault(label.target, label.target)
                    self._held[Label].append(label.model_copy(update={"target": target}))
                case ItemRecord(item=item):
                    self._held[Item].append(item)
                case _:
                    self._held[type(record)].append(record)

    def of(self, sort: type[Sort]) -> list[Sort]:
        """All of one sort."""
        return self._held[sort]


class _Load:
    """One import on its way into one study."""

    def __init__(self, session: Session, study_id: int, held: _Sorted, progress: Progress) -> None:
        self.session, self.study_id, self.held, self.progress = session, study_id, held, progress
        self.done = 0
        self.there = sum(len(held.of(sort)) for sort in (Item, TraceRecord, Label))
        self.targets: dict[Target, int] = {}
        self.people: dict[str, int] = {}
        self.counted = counting()

    def take(self) -> Added:
        """Everything, each sort after what it refers to."""
        self.take_declarations()
        taken = self.take_items(self.held.of(Item))
        self.know_targets_and_people()
        traces = self.held.of(TraceRecord)
        return Added(
            items=taken,
            runs=recorded_runs.add_runs(self.session, self.study_id, self.held.of(RunRecord)),
            traces=recorded_runs.add_traces(self.session, self.study_id, traces, self.targets, self.step),
            labels=self.take_labels(),
            marks=self.add(MarkRow, self.marks()),
            rulings=self.add(RulingRow, self.rulings()),
            edits=aius.add(self.session, self.study_id, self.held.of(AiuEditRecord)),
        )

    def take_declarations(self) -> None:
        """Criteria and scales, and whether every value in the file lies on its scale."""
        for criterion in self.held.of(CriterionRecord):
            studies.add_criterion(self.session, self.study_id, criterion)
        for scale in self.held.of(ScaleRecord):
            studies.put_scale(self.session, self.study_id, scale)
        scales = studies.scales(self.session, self.study_id)
        for said in self.held.of(Label):
            studies.must_hold(scales, said.target.kind, said.target.criterion, said.value)
        for ruled in (record.ruling for record in self.held.of(RulingRecord)):
            studies.must_hold(scales, ruled.target.kind, ruled.target.criterion, ruled.value)
        for trace in self.held.of(TraceRecord):
            for opinion in recorded_runs.opinions(trace):
                must = studies.must_span if opinion.stage == "verdict" else studies.must_hold
                must(scales, opinion.kind, opinion.criterion, opinion.value)

    def take_items(self, wanted: list[Item]) -> int:
        """New items; how many they were."""
        new = items.fresh(self.session, self.study_id, wanted)
        self.step(len(wanted) - len(new))
        for batch in batches(new, BATCH):
            items.add(self.session, self.study_id, batch)
            self.step(len(batch))
        return len(new)

    def know_targets_and_people(self) -> None:
        """The numbers of every target and annotator that the file speaks of."""
        said = [(one.target, one.annotator) for one in self.held.of(Label)]
        said += [(one.target, one.annotator) for one in self.held.of(MarkRecord)]
        said += [(one.ruling.target, one.ruling.adjudicator) for one in self.held.of(RulingRecord)]
        wanted = {target for target, _ in said} | set(recorded_runs.targets_of(self.held.of(TraceRecord)))
        self.targets = targets.numbers(self.session, self.study_id, wanted) if wanted else {}
        self.people = annotators.annotator_ids(self.session, {name for _, name in said})

    def take_labels(self) -> int:
        """Labels that were not taken before; how many they were."""
        rows = [
            self.counted(label_row(one, self.study_id, self.targets[one.target], self.people[one.annotator]))
            for one in self.held.of(Label)
        ]
        new = self.new(LabelRow, rows)
        self.step(len(rows) - len(new))
        for batch in batches(new, BATCH):
            insert_all(self.session, LabelRow, batch)
            self.step(len(batch))
        return len(new)

    def marks(self) -> Iterator[Row]:
        """The file's skips, flags and notes."""
        for one in self.held.of(MarkRecord):
            yield self.counted(mark_row(one, self.targets[one.target], self.people[one.annotator]))

    def rulings(self) -> Iterator[Row]:
        """The file's rulings."""
        for one in (record.ruling for record in self.held.of(RulingRecord)):
            yield self.counted(ruling_row(one, self.targets[one.target], self.people[one.adjudicator]))

    def add(self, table: Any, rows: Iterable[Row]) -> int:
        """Add what was not taken before; how many rows that were."""
        new = self.new(table, list(rows))
        insert_all(self.session, table, new)
        return len(new)

    def new(self, table: Any, rows: list[Row]) -> list[Row]:
        """The rows that the study does not have."""
        if not rows:
            return []
        query = select(col(table.origin)).join(TargetRow, col(TargetRow.id) == col(table.target_id))
        known = set(self.session.scalars(query.where(col(TargetRow.study_id) == self.study_id)))
        return [row for row in rows if row["origin"] not in known]

    def step(self, count: int) -> None:
        """Tell how far the import is."""
        self.done += count
        if count:
            self.progress(self.done, self.there)
