"""The annotators of a study: labels, pace, agreement, drift, changes after the reveal, training, checks and repeats."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from statistics import fmean, median
from typing import Any, Self

from sqlalchemy import Select, Text, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Value, is_number
from core.statistics.data.arrays import Estimate
from core.statistics.measures.means import mean_estimate, wilson_proportion
from storage.db.guards import REVEAL, reading_for
from storage.db.tables import (
    AdjudicationRow,
    AnnotatorRow,
    ItemRow,
    LabelRow,
    OpinionRow,
    OpinionViewRow,
    RepeatRow,
    TargetRow,
    TrainingAnswerRow,
)
from storage.labelling.context import queue_of
from storage.reports import disagreements
from storage.studies.studies import Study

# Kinds with rarely equal values: they are excluded from agreement by equal values.
CONTINUOUS_KINDS = ("aspect_weights",)
# Kinds with numeric values, compared by their distance to a mean.
NUMERIC_KINDS = ("score", "likert", "aspect_quality")
RESAMPLES = 1000
# With more, the opinions on all targets are read.
MAX_TARGETS_IN_QUERY = 500


@dataclass(frozen=True)
class LabelEvent:
    """A label or its withdrawal, in the order of the events."""

    target: int
    annotator: str
    value: Value | None
    blind: bool
    seconds: float | None
    at: datetime | None
    kind: str
    cluster: str
    """The document or dialogue of the item, otherwise the item."""


@dataclass(frozen=True)
class Share:
    """A share with Wilson's 95 % interval."""

    hits: int
    n: int

    @classmethod
    def of(cls, right: Sequence[bool]) -> Self:
        """Return the share of those that are true."""
        return cls(sum(right), len(right))

    @property
    def interval(self) -> tuple[float | None, float | None, float | None]:
        """Value, low and high; None if n is 0."""
        return wilson_proportion(self.hits, self.n)


@dataclass(frozen=True)
class Changes:
    """Labels whose targets were revealed after a blind label, and how many were changed then."""

    revealed: int = 0
    changed: int = 0
    towards: int = 0
    """Changed to a value that is nearer to the judges' last opinions."""
    away: int = 0

    @property
    def share_changed(self) -> Share:
        """Changed labels of those that were revealed."""
        return Share(self.changed, self.revealed)

    @property
    def share_towards(self) -> Share:
        """Changes towards the judges of those revealed: the anchoring."""
        return Share(self.towards, self.revealed)


@dataclass(frozen=True)
class Pace:
    """The number of labelled targets and the active time, of one day or in total."""

    labels: int
    timed: int
    """Labels whose time is known."""
    seconds: float
    """Active time of the timed labels: pauses count 30 s at most."""

    @property
    def per_hour(self) -> float | None:
        """Labels per hour of active time; None if it is not known."""
        return 3600 * self.timed / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True)
class AnnotatorSummary:
    """The activity of one annotator in a study."""

    name: str
    labels: int
    """Targets with a current label."""
    by_kind: Mapping[str, int]
    first: datetime | None
    last: datetime | None
    pace: Pace
    median_seconds: float | None
    others: Estimate
    """Mean share of the other annotators' labels on the same target that are equal, over targets."""
    gold: Share
    """Labels that equal the adjudicated value."""
    drift: tuple[tuple[date, Share], ...]
    """By week: labels that equal the majority of the others."""
    changes: Changes


def version(session: Session, study_id: int) -> tuple[int, ...]:
    """Return numbers that change with every label, opinion, adjudication and view."""
    views = _named(OpinionViewRow, study_id, col(OpinionViewRow.id)).order_by(None).subquery()
    count = session.scalars(select(func.count()).select_from(views)).one()
    return (*disagreements.version(session, study_id), count)


def _named(table: Any, study_id: int, *columns: Any) -> Select[Any]:
    """Return a query of columns of the rows of a table about the targets of a study, with the annotators' names."""
    return (
        select(*columns, col(AnnotatorRow.name))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(table.annotator_id))
        .join(TargetRow, col(TargetRow.id) == col(table.target_id))
        .where(col(TargetRow.study_id) + 0 == study_id)  # without the index: there are more targets than such rows
        .order_by(col(table.id))
    )


def label_events(
    session: Session, study_id: int, annotator_id: int | None = None, *, among: Select[int] | None = None
) -> list[LabelEvent]:
    """Return every label of a study, of one annotator or only on the targets that a query selects, oldest first."""
    query = (
        select(
            col(LabelRow.target_id),
            col(AnnotatorRow.name),
            sql_cast(col(LabelRow.value), Text),
            col(LabelRow.blind),
            col(LabelRow.seconds),
            col(LabelRow.at),
            col(TargetRow.kind),
            col(ItemRow.cluster),
            col(ItemRow.key),
        )
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(LabelRow.study_id) == study_id)
        .order_by(col(LabelRow.id))
    )
    if annotator_id is not None:
        query = query.where(col(LabelRow.annotator_id) == annotator_id)
    if among is not None:
        query = query.where(col(LabelRow.target_id).in_(among))
    values: dict[str | None, Any] = {None: None}  # a study has few different ones
    return [
        LabelEvent(target, name, _parsed(values, text), blind, seconds, at, kind, cluster or key)
        for target, name, text, blind, seconds, at, kind, cluster, key in session.execute(query)
    ]


def _parsed(values: dict[str | None, Any], text: str | None) -> Any:
    if text not in values:
        values[text] = json.loads(text or "null")
    return values[text]


def summaries(session: Session, study_id: int, zone: tzinfo) -> list[AnnotatorSummary]:
    """Return a summary of every annotator with a label, in the order of the names.

    `zone` is the time zone of the weeks.
    """
    events = label_events(session, study_id)
    newest = {(event.target, event.annotator): event for event in events}
    current = [event for event in newest.values() if event.value is not None]
    by_target: dict[int, dict[str, Value]] = defaultdict(dict)
    for event in current:
        if event.value is not None and event.kind not in CONTINUOUS_KINDS:
            by_target[event.target][event.annotator] = event.value
    gold = {target: decided.value for target, decided in _gold(session, study_id).items()}
    changed = changes(session, study_id, events)
    given, own = _by_annotator(events), _by_annotator(current)
    return [
        _summary(name, given[name], own.get(name, []), by_target, gold, changed.get(name, Changes()), zone)
        for name in sorted(given)
    ]


def _by_annotator(events: Iterable[LabelEvent]) -> dict[str, list[LabelEvent]]:
    found: dict[str, list[LabelEvent]] = defaultdict(list)
    for event in events:
        found[event.annotator].append(event)
    return found


def without_gold(summary: AnnotatorSummary) -> AnnotatorSummary:
    """Return a summary without the agreement with gold: its n would show an annotator which target was a check."""
    return replace(summary, gold=Share(0, 0))


def _summary(
    name: str,
    events: Sequence[LabelEvent],
    current: Sequence[LabelEvent],
    by_target: Mapping[int, Mapping[str, Value]],
    gold: Mapping[int, Value],
    changed: Changes,
    zone: tzinfo,
) -> AnnotatorSummary:
    comparable = [event for event in current if event.kind not in CONTINUOUS_KINDS]
    shared = [event for event in comparable if len(by_target[event.target]) > 1]
    decided = [event for event in comparable if event.target in gold]
    times = [event.at for event in events if event.at is not None]
    seconds = list(_seconds_by_target(events).values())
    return AnnotatorSummary(
        name=name,
        labels=len(current),
        by_kind=Counter(event.kind for event in current),
        first=min(times, default=None),
        last=max(times, default=None),
        pace=measure_pace(events),
        median_seconds=median(seconds) if seconds else None,
        others=mean_estimate(
            [
                sum(_equal(event.value, value) for name, value in of_target.items() if name != event.annotator)
                / (len(of_target) - 1)
                for event in shared
                for of_target in [by_target[event.target]]
            ],
            groups=[event.cluster for event in shared],
            raters=len({other for event in shared for other in by_target[event.target]}),
            pairs=sum(len(by_target[event.target]) - 1 for event in shared),
            resamples=RESAMPLES,
        ),
        gold=Share.of([_equal(event.value, gold[event.target]) for event in decided]),
        drift=tuple(_drift(shared, by_target, zone)),
        changes=changed,
    )


def measure_pace(events: Iterable[LabelEvent]) -> Pace:
    """Return the pace over labels; several labels of one target are one, and their times are added."""
    listed = [event for event in events if event.value is not None]
    seconds = _seconds_by_target(listed)
    return Pace(len({event.target for event in listed}), len(seconds), sum(seconds.values()))


def pace_of_day(session: Session, study_id: int, annotator_id: int, zone: tzinfo, today: date) -> Pace:
    """Return an annotator's pace on one day of a time zone."""
    query = (
        select(col(LabelRow.target_id), col(LabelRow.seconds), col(LabelRow.at))
        .where(col(LabelRow.study_id) == study_id, col(LabelRow.annotator_id) == annotator_id)
        .where(col(LabelRow.value).is_not(None), col(LabelRow.at).is_not(None))
    )
    dated = [(at.astimezone(zone).date(), target, seconds) for target, seconds, at in session.execute(query) if at]
    rows = [(target, seconds) for day, target, seconds in dated if day == today]
    timed: dict[int, float] = defaultdict(float)
    for target, seconds in rows:
        if seconds is not None:
            timed[target] += seconds
    return Pace(len({target for target, _ in rows}), len(timed), sum(timed.values()))


def changes(session: Session, study_id: int, events: Sequence[LabelEvent]) -> dict[str, Changes]:
    """Return annotator -> the changes after the reveal.

    The last blind label of a target is compared with the current one. It counts as revealed if a view is recorded,
    whether the label was changed or not. Files have no views, so imported labels do not count: those that are not
    blind alone would all be changes. A change is towards the judges if the new value is nearer to
    their last opinions than the blind one: for numbers by the distance to their mean, otherwise by the share of judges.
    """
    blind: dict[tuple[int, str], Value] = {}
    newest: dict[tuple[int, str], LabelEvent] = {}
    for event in events:
        key = event.target, event.annotator
        newest[key] = event
        if event.blind and event.value is not None:
            blind[key] = event.value
    seen = session.execute(_named(OpinionViewRow, study_id, col(OpinionViewRow.target_id)))
    revealed = blind.keys() & {(target, name) for target, name in seen}
    changed = {key for key in revealed if newest[key].value is not None and not _equal(newest[key].value, blind[key])}
    with reading_for(REVEAL):  # these annotators have seen the opinions, and only counts leave here
        opinions = _last_opinions(session, study_id, {target for target, _ in changed})
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for key in revealed:
        now, count = newest[key].value, counts[key[1]]
        count[0] += 1
        if key not in changed or now is None:
            continue
        kind, judges = newest[key].kind, opinions.get(key[0], ())
        nearer = _closeness(kind, now, judges) - _closeness(kind, blind[key], judges)
        count[1] += 1
        count[2] += nearer > 0
        count[3] += nearer < 0
    return {name: Changes(*count) for name, count in counts.items()}


def _closeness(kind: str, value: Value, opinions: Sequence[Value]) -> float:
    """Return the closeness of a value to the judges' opinions; 0 without opinions."""
    numbers = [float(opinion) for opinion in opinions if is_number(opinion)]
    if kind in NUMERIC_KINDS and numbers and is_number(value):
        return -abs(float(value) - fmean(numbers))
    return sum(_equal(value, opinion) for opinion in opinions) / len(opinions) if opinions else 0.0


def _equal(a: Value | None, b: Value | None) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _drift(
    shared: Sequence[LabelEvent], by_target: Mapping[int, Mapping[str, Value]], zone: tzinfo
) -> Iterator[tuple[date, Share]]:
    """Yield (Monday, share of labels that equal the others' majority) of each week with a comparable label."""
    weeks: dict[date, list[bool]] = defaultdict(list)
    for event in shared:
        others = [value for name, value in by_target[event.target].items() if name != event.annotator]
        majority = next((value for value in others if 2 * sum(_equal(value, o) for o in others) > len(others)), None)
        if event.at is not None and majority is not None:
            day = event.at.astimezone(zone).date()
            weeks[date.fromordinal(day.toordinal() - day.weekday())].append(_equal(event.value, majority))
    for monday in sorted(weeks):
        yield monday, Share.of(weeks[monday])


def _seconds_by_target(events: Iterable[LabelEvent]) -> dict[int, float]:
    """Return target -> active seconds, of the targets with a known time."""
    seconds: dict[int, float] = defaultdict(float)
    for event in events:
        if event.seconds is not None and event.value is not None:
            seconds[event.target] += event.seconds
    return seconds


def _last_opinions(session: Session, study_id: int, target_ids: Collection[int]) -> dict[int, list[Any]]:
    """Return target -> the judges' readable last opinions; verdicts if a protocol has no opinions.

    They are of these targets, and also of others if the targets are many.
    """
    if not target_ids:
        return {}
    query = (
        select(col(OpinionRow.target_id), col(OpinionRow.stage), sql_cast(col(OpinionRow.value), Text))
        .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) != "first")
        .where(col(OpinionRow.value).is_not(None))
        .order_by(col(OpinionRow.id))
    )
    if len(target_ids) <= MAX_TARGETS_IN_QUERY:
        query = query.where(col(OpinionRow.target_id).in_(target_ids))
    by_stage: dict[str, dict[int, list[Any]]] = {"verdict": defaultdict(list), "last": defaultdict(list)}
    for target, stage, text in session.execute(query):
        by_stage[stage][target].append(json.loads(text))
    return {**by_stage["verdict"], **by_stage["last"]}


# The results of training, of hidden checks and of repeats, by annotator.


CHECKED_KINDS = (
    "preference", "score", "answer", "likert", "aspect_weights", "aiu_precision", "aiu_recall", "misleading_peer",
)  # fmt: skip


@dataclass(frozen=True)
class TrainingResult:
    """An annotator's answers to training items, hidden checks and repeats."""

    annotator: str
    attempts: int
    """The most attempts at the training of one queue; 0 without training."""
    first: Share
    """Right answers of the first attempts: later ones were made after feedback."""
    passed: bool | None
    """Whether the training of all queues is passed; None while no attempt is finished."""
    checks: Share
    """Last blind labels that equal the adjudicated value, of the targets that were adjudicated before the label."""
    repeats: Share
    """Repeats with the same value as the label before: see `repeats`."""


def results(session: Session, study: Study) -> list[TrainingResult]:
    """Return the results of everybody who answered a training item, a check or a repeat, in the order of the names."""
    answers, checks, repeated = _answers(session, study.id), _checks(session, study), repeats(session, study.id)
    found = []
    for name in sorted({*answers, *checks, *repeated}):
        own = answers.get(name, [])
        finished = {queue: False for queue, row in own if row.passed is not None}
        finished |= {queue: True for queue, row in own if row.passed}
        found.append(
            TrainingResult(
                annotator=name,
                attempts=max((row.attempt for _, row in own), default=0),
                first=Share.of([row.correct for _, row in own if row.attempt == 1]),
                passed=all(finished.values()) if finished else None,
                checks=Share.of(checks.get(name, [])),
                repeats=repeated.get(name, Share(0, 0)),
            )
        )
    return found


def repeats(session: Session, study_id: int, annotator_id: int | None = None) -> dict[str, Share]:
    """Return annotator -> the repeats with the same value as the annotator's label before.

    The last blind answer to a repeat is compared with the last blind label before it: neither is a change after the
    reveal. Withdrawn answers are left out.
    """
    answers = _repeated(session, study_id, annotator_id)
    first: dict[tuple[int, str], LabelEvent] = {}
    among = select(col(RepeatRow.target_id)).where(col(RepeatRow.study_id) == study_id)
    for event in label_events(session, study_id, annotator_id, among=among) if answers else ():
        key = event.target, event.annotator
        is_before = key in answers and (event.at is None or event.at <= answers[key].at)
        if is_before and event.blind and event.value is not None:
            first[key] = event
    same = {key: _equal(event.value, answers[key].value) for key, event in first.items()}
    return {name: Share.of([same[key] for key in same if key[1] == name]) for _, name in same}


def _repeated(session: Session, study_id: int, annotator_id: int | None) -> dict[tuple[int, str], RepeatRow]:
    """Return (target, annotator) -> the last blind answer to each repeat that was not withdrawn."""
    query = select(RepeatRow, col(AnnotatorRow.name)).where(col(RepeatRow.study_id) == study_id)
    query = query.join(AnnotatorRow, col(AnnotatorRow.id) == col(RepeatRow.annotator_id)).order_by(col(RepeatRow.id))
    if annotator_id is not None:
        query = query.where(col(RepeatRow.annotator_id) == annotator_id)
    rows = [((row.target_id, name), row) for row, name in session.execute(query)]
    newest = dict(rows)
    return {key: row for key, row in rows if row.blind and row.value is not None and newest[key].value is not None}


def _answers(session: Session, study_id: int) -> dict[str, list[tuple[str, TrainingAnswerRow]]]:
    """Return annotator -> the queue and the row of each answer."""
    query = _named(TrainingAnswerRow, study_id, TrainingAnswerRow, col(TargetRow.kind), col(TargetRow.criterion))
    answers_by_annotator: dict[str, list[tuple[str, TrainingAnswerRow]]] = defaultdict(list)
    for row, kind, criterion, name in session.execute(query):
        answers_by_annotator[name].append((queue_of(kind, criterion) or "", row))
    return answers_by_annotator


@dataclass
class _Gold:
    """The newest adjudication of a target, when the first one was made, and by whom."""

    value: Value
    since: datetime | None
    """None for an imported one without a time, which counts as earlier than every label."""
    adjudicators: set[str]


def _checks(session: Session, study: Study) -> dict[str, list[bool]]:
    """Return annotator -> whether each of the last blind labels on adjudicated targets is right."""
    gold = _gold(session, study.id)
    blind = {
        (event.target, event.annotator): event
        for event in label_events(session, study.id, among=select(col(AdjudicationRow.target_id)))
        if event.blind and event.value is not None and event.kind in CHECKED_KINDS and event.target in gold
    }
    matches_by_annotator: dict[str, list[bool]] = defaultdict(list)
    for (target, name), event in blind.items():
        truth = gold[target]
        known = truth.since is None or (event.at is not None and truth.since < event.at)
        if event.value is not None and known and name not in truth.adjudicators:
            matches_by_annotator[name].append(study.rules.is_correct(event.value, truth.value))
    return matches_by_annotator


def _gold(session: Session, study_id: int) -> Mapping[int, _Gold]:
    gold_by_target: dict[int, _Gold] = {}
    for row, name in session.execute(_named(AdjudicationRow, study_id, AdjudicationRow)):
        gold = gold_by_target.setdefault(row.target_id, _Gold(row.value, row.at, set()))
        gold.value = row.value
        gold.adjudicators.add(name)
    return gold_by_target
