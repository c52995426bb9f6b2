"""Taking a file's records into a study: everything in one transaction, or nothing.

Taking the same records again adds nothing: items, runs and traces are known by their names, labels by what they say.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from sqlalchemy import Engine, func, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.doubt import doubt
from core.formats.records import (
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
from core.labels import Target
from core.problems import Problem
from core.trace import TraceFailed, VerdictReached
from storage import items, labels, people, studies
from storage.database import writing
from storage.origins import Repeats
from storage.tables import EventRow, ItemRow, LabelRow, MarkRow, OpinionRow, RulingRow, RunRow, StudyRow, TraceRow
from storage.traces import event_row, opinion_row, target_of

Thing = TypeVar("Thing")
Sort = TypeVar("Sort")
BATCH = 5_000
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

    def sentence(self) -> str:
        """In words."""
        parts = [f"{count:,} {name}" for name, count in asdict(self).items() if count]
        return "added " + ", ".join(parts) if parts else "nothing new: everything in it was here already"


def load(engine: Engine, study: str, records: Iterable[Record], progress: Progress | None = None) -> Added:
    """Take all records into the study called `study`, which is made where it is new.

    The file is read to its end before the database is touched, so that nobody waits for a slow file.
    """
    held = _Sorted(records)
    with writing(engine) as session:
        study_id = _study(session, study, held.of(StudyRecord))
        return _Load(session, study_id, progress or (lambda done, there: None)).take(held)


class _Sorted:
    """A file's records by sort, in the order of the file."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._held: dict[type[Any], list[Any]] = defaultdict(list)
        for record in records:
            self._held[type(record)].append(record)

    def of(self, sort: type[Sort]) -> list[Sort]:
        """The records of one sort."""
        return self._held[sort]


def _study(session: Session, name: str, told: Sequence[StudyRecord]) -> int:
    found = session.scalars(select(col(StudyRow.id)).where(col(StudyRow.name) == name)).first()
    return found if found is not None else studies.create(session, name, told[-1] if told else None).id


class _Load:
    """One import on its way into one study."""

    def __init__(self, session: Session, study_id: int, progress: Progress) -> None:
        self.session, self.study_id, self.progress = session, study_id, progress
        self.added, self.done, self.there = Added(), 0, 0
        self.item_ids: dict[str, int] = {}
        self.targets: dict[Target, int] = {}
        self.people: dict[str, int] = {}

    def take(self, held: _Sorted) -> Added:
        """Everything, each sort after what it refers to."""
        self.there = len(held.of(ItemRecord)) + len(held.of(TraceRecord)) + len(held.of(LabelRecord))
        for criterion in held.of(CriterionRecord):
            studies.put_criterion(self.session, self.study_id, criterion)
        for scale in held.of(ScaleRecord):
            studies.put_scale(self.session, self.study_id, scale)
        self.take_items([record.item for record in held.of(ItemRecord)])
        self.know_targets(held)
        self.take_traces(held.of(RunRecord), held.of(TraceRecord))
        self.take_said(held)
        return self.added

    def take_items(self, wanted: Sequence[Item]) -> None:
        """New items; one that is here with other words is refused."""
        known = self._known_items({item.id for item in wanted})
        fresh = []
        for item in wanted:
            if item.id not in known:
                fresh.append(item)
            elif known[item.id] != item.model_dump(mode="json"):
                raise Problem(f"Item {item.id!r} is in this study already, with other words; give it another name.")
        start = self.session.scalars(
            select(func.coalesce(func.max(col(ItemRow.position)) + 1, 0)).where(col(ItemRow.study_id) == self.study_id)
        ).one()
        for batch in _batches(list(enumerate(fresh, start))):
            self.session.execute(insert(ItemRow), [_item_row(self.study_id, place, item) for place, item in batch])
            self.step(len(batch))
        self.added.items = len(fresh)
        pairs = select(col(ItemRow.key), col(ItemRow.id)).where(col(ItemRow.study_id) == self.study_id)
        self.item_ids = dict(self.session.execute(pairs).tuples().all())

    def _known_items(self, keys: set[str]) -> dict[str, Any]:
        query = select(col(ItemRow.key), col(ItemRow.body)).where(col(ItemRow.study_id) == self.study_id)
        return {key: body for key, body in self.session.execute(query) if key in keys}

    def know_targets(self, held: _Sorted) -> None:
        """The numbers of every target and annotator that the file speaks of."""
        wanted = {record.label.target: None for record in held.of(LabelRecord)}
        wanted |= {record.target: None for record in held.of(MarkRecord)}
        wanted |= {record.ruling.target: None for record in held.of(RulingRecord)}
        for trace in held.of(TraceRecord):
            wanted |= {target_of(trace.item, opinion): None for opinion in _opinions(trace)}
        if wanted:
            self.targets = items.target_ids(self.session, self.study_id, wanted)
        names = [record.label.annotator for record in held.of(LabelRecord)] + [
            record.annotator for record in held.of(MarkRecord)
        ]
        names += [record.ruling.adjudicator for record in held.of(RulingRecord)]
        self.people = people.annotator_ids(self.session, [people.name_of(name) for name in dict.fromkeys(names)])

    def take_traces(self, runs: Sequence[RunRecord], traces: Sequence[TraceRecord]) -> None:
        """New runs, and the traces that their runs do not have yet."""
        run_ids = self.take_runs(runs)
        here = set(
            self.session.execute(
                select(col(TraceRow.run_id), col(TraceRow.item_id)).where(col(TraceRow.study_id) == self.study_id)
            ).tuples()
        )
        for batch in _batches(traces):
            fresh = []
            for record in batch:
                place = (self._run(run_ids, record), self._item(record.item))
                if place not in here:
                    here.add(place)
                    fresh.append((place, record))
            self._insert_traces(fresh)
            self.step(len(batch))

    def take_runs(self, runs: Sequence[RunRecord]) -> dict[str, int]:
        """The numbers of the study's runs by name, the file's new ones among them."""
        query = select(RunRow).where(col(RunRow.study_id) == self.study_id)
        known = {row.name: row for row in self.session.scalars(query)}
        for record in runs:
            row = known.get(record.name)
            if row is None:
                known[record.name] = row = _run_row(self.study_id, record)
                self.session.add(row)
                self.added.runs += 1
            elif (row.protocol, row.settings) != (record.protocol, record.settings):
                raise Problem(f"The study has a run {record.name!r} with other settings; rename one of them.")
        self.session.flush()
        return {name: row.id for name, row in known.items()}

    def _insert_traces(self, fresh: Sequence[tuple[tuple[int, int], TraceRecord]]) -> None:
        rows = [_trace_row(self.study_id, run, item, record) for (run, item), record in fresh]
        self.session.add_all(rows)
        self.session.flush()
        events, opinions = [], []
        for row, (_, record) in zip(rows, fresh, strict=True):
            events += [event_row(event, row.id, row.run_id, seq) for seq, event in enumerate(record.events)]
            opinions += [opinion_row(row, self.targets[target_of(record.item, o)], o) for o in _opinions(record)]
        if events:
            self.session.execute(insert(EventRow), events)
        if opinions:
            self.session.execute(insert(OpinionRow), opinions)
        self.added.traces += len(rows)

    def take_said(self, held: _Sorted) -> None:
        """Labels, marks and rulings that were not taken before."""
        repeats = Repeats(self.study_id)
        said = select(col(LabelRow.origin)).where(col(LabelRow.study_id) == self.study_id)
        known = set(self.session.scalars(said))
        for batch in _batches(held.of(LabelRecord)):
            rows = []
            for record in batch:
                label, source = record.label, repeats.origin(record.label)
                if source not in known:
                    target, person = self.targets[label.target], self.people[people.name_of(label.annotator)]
                    rows.append(labels.row_of(label, self.study_id, target, person, source))
            self._insert_said(LabelRow, rows)
            self.added.labels += len(rows)
            self.step(len(batch))
        self.added.marks = self._take_marks(held.of(MarkRecord), repeats)
        self.added.rulings = self._take_rulings(held.of(RulingRecord), repeats)

    def _take_marks(self, marks: Sequence[MarkRecord], repeats: Repeats) -> int:
        known = set(self.session.scalars(select(col(MarkRow.origin)))) if marks else set()
        rows = [
            labels.mark_row(mark, self.targets[mark.target], self.people[people.name_of(mark.annotator)], source)
            for mark in marks
            if (source := repeats.origin(mark)) not in known
        ]
        return self._insert_said(MarkRow, rows)

    def _take_rulings(self, rulings: Sequence[RulingRecord], repeats: Repeats) -> int:
        known = set(self.session.scalars(select(col(RulingRow.origin)))) if rulings else set()
        rows = [
            labels.ruling_row(
                one.ruling, self.targets[one.ruling.target], self.people[people.name_of(one.ruling.adjudicator)], source
            )
            for one in rulings
            if (source := repeats.origin(one.ruling)) not in known
        ]
        return self._insert_said(RulingRow, rows)

    def _insert_said(self, table: Any, rows: Sequence[Any]) -> int:
        if rows:
            self.session.execute(insert(table), [row.model_dump(exclude={"id"}) for row in rows])
        return len(rows)

    def _run(self, run_ids: dict[str, int], record: TraceRecord) -> int:
        if record.run not in run_ids:
            raise Problem(f"A trace speaks of a run {record.run!r} that is neither in the file nor in the study.")
        return run_ids[record.run]

    def _item(self, key: str) -> int:
        if key not in self.item_ids:
            raise Problem(f"There is no item {key!r} in this study.")
        return self.item_ids[key]

    def step(self, count: int) -> None:
        """Tell how far the import is."""
        self.done += count
        self.progress(self.done, self.there)


def _batches(things: Sequence[Thing]) -> Iterator[Sequence[Thing]]:
    for start in range(0, len(things), BATCH):
        yield things[start : start + BATCH]


def _opinions(record: TraceRecord) -> Iterator[Any]:
    for event in record.events:
        if isinstance(event, VerdictReached):
            yield from event.verdict.opinions


def _item_row(study_id: int, position: int, item: Item) -> dict[str, Any]:
    return {
        "study_id": study_id,
        "key": item.id,
        "position": position,
        "scenario": item.scenario,
        "cluster": item.group,
        "body": item.model_dump(mode="json"),
    }


def _run_row(study_id: int, record: RunRecord) -> RunRow:
    row = RunRow(
        study_id=study_id,
        name=record.name,
        protocol=record.protocol,
        criterion=record.criterion,
        settings=record.settings,
        prompts=record.prompts,
        seed=record.seed,
        source="imported" if record.source == "live" else record.source,
        state="finished",
    )
    if record.created_at is not None:
        row.created_at = record.created_at
    return row


def _trace_row(study_id: int, run_id: int, item_id: int, record: TraceRecord) -> TraceRow:
    row = TraceRow(study_id=study_id, run_id=run_id, item_id=item_id)
    match record.events[-1] if record.events else None:
        case VerdictReached(verdict=verdict):
            row.outcome, row.doubt = verdict.outcome, doubt(verdict.opinions)
        case TraceFailed(problem=problem):
            row.outcome, row.problem = "failed", problem
    return row
