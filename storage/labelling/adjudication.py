"""The targets to adjudicate: annotators disagree, or annotators and judges do, in the order of their value.

Aspect weights are left out: people's weights are averaged, not adjudicated.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from statistics import fmean
from typing import Any, Literal

from sqlalchemy import ColumnElement, Text, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.contention import DISPUTE_THRESHOLD, contention, is_disputed
from core.labels import Scale, Target, Value
from storage import annotators, studies, targets
from storage.studies import Scales, Study
from storage.tables import AdjudicationRow, AnnotatorRow, ItemRow, LabelRow, OpinionRow, TargetRow

UNDECIDED_KINDS = ("aspect_weights",)
"""Kinds that are not adjudicated."""
FLOOR = 0.1
"""Added to both factors of the priority: a target that is contentious on one side only is behind those on both sides,
and is still ordered."""
State = Literal["open", "new_labels", "decided"]


@dataclass(frozen=True)
class Decision:
    """The newest adjudication of a target."""

    value: Value
    rule: str
    reason: str
    adjudicator: str
    at: datetime | None


@dataclass
class Case:
    """A target with its labels and verdicts, and the decision if there is one."""

    id: int
    """The id of the target."""
    target: Target
    scenario: str | None
    position: int
    scale: Scale | None
    values: list[Value] = field(default_factory=list)
    """The current labels."""
    opinions: list[Value | None] = field(default_factory=list)
    """The judges' last opinions."""
    verdicts: list[Value] = field(default_factory=list)
    own: bool = False
    """Whether the adjudicator ever labelled the target."""
    decision: Decision | None = None
    new_labels: int = 0
    """Labels that are newer than the decision."""

    @property
    def state(self) -> State:
        """Open, decided, or decided with new labels since. A new label does not reopen a case."""
        if self.decision is None:
            return "open"
        return "new_labels" if self.new_labels else "decided"

    @cached_property
    def human_split(self) -> float:
        """The disagreement of the labels, 0 to 1."""
        return contention(self.values, self.scale) or 0.0

    @cached_property
    def judge_conflict(self) -> float:
        """The distance of the verdicts from the annotators' value, 0 to 1."""
        people = self._people_value()
        if people is None:
            return 0.0
        return max((contention([people, verdict], self.scale) or 0.0 for verdict in self.verdicts), default=0.0)

    @cached_property
    def contention(self) -> float:
        """The disagreement of the judges with each other, or with the annotators."""
        return max(contention(self.opinions, self.scale) or 0.0, self.judge_conflict)

    @property
    def priority(self) -> float:
        """The priority of a decision: contention times human split."""
        return (FLOOR + self.contention) * (FLOOR + self.human_split)

    @property
    def is_contested(self) -> bool:
        """Whether annotators disagree with each other or with a verdict; scores by more than half of their scale."""
        return is_disputed(max(self.human_split, self.judge_conflict), DISPUTE_THRESHOLD if self._is_ordered else 0.0)

    @property
    def _is_ordered(self) -> bool:
        return self.scale is not None and self.scale.level != "nominal"

    def _people_value(self) -> Value | None:
        """Return the annotators' mean on an ordered scale, otherwise the value of more than half of them."""
        numbers = [float(v) for v in self.values if isinstance(v, int | float) and not isinstance(v, bool)]
        if self._is_ordered and numbers:
            return fmean(numbers)
        return next((value for value in self.values if 2 * self.values.count(value) > len(self.values)), None)


def read(session: Session, study: Study, adjudicator: str, target_ids: Sequence[int]) -> list[Case]:
    """Return some targets in this order, without those that have no label and no decision."""
    found = {case.id: case for case in _read(session, study, adjudicator, col(TargetRow.id).in_(target_ids))}
    return [found[target_id] for target_id in target_ids if target_id in found]


def find_case(session: Session, study: Study, adjudicator: str, target_id: int) -> Case | None:
    """Return one target, whether it is contested or not; None if it has no label and no decision."""
    candidates = _read(session, study, adjudicator, col(TargetRow.id) == target_id)
    return next(iter(candidates), None)


def _read(session: Session, study: Study, adjudicator: str, condition: ColumnElement[bool]) -> list[Case]:
    """Return the targets of a condition that have a label or a decision."""
    scales = studies.scales(session, study.id)
    conditions = [col(TargetRow.study_id) == study.id, condition]
    decisions = _decisions(session, conditions)
    labels = _labels(session, conditions)
    cases_by_target = _cases(session, scales, conditions, labels.keys() | decisions.keys())
    own = annotators.find_id(session, adjudicator)
    for target_id, case in cases_by_target.items():
        newest = labels.get(target_id, {})
        case.values = [parse_value(text) for text, _ in newest.values() if text is not None]
        case.own = own in newest
        case.decision = decisions.get(target_id)
        case.new_labels = _count_newer(case.decision, [at for _, at in newest.values()])
    for target_id, stage, text in _opinions(session, conditions):
        if target_id in cases_by_target and stage == "last":
            cases_by_target[target_id].opinions.append(parse_value(text))
        elif target_id in cases_by_target and text is not None:
            cases_by_target[target_id].verdicts.append(parse_value(text))
    return list(cases_by_target.values())


def _cases(
    session: Session, scales: Scales, conditions: Sequence[ColumnElement[bool]], known: set[int]
) -> dict[int, Case]:
    query = (
        select(TargetRow, col(ItemRow.key), col(ItemRow.scenario), col(ItemRow.position))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(*conditions)
    )
    cases_by_target = {}
    for row, key, scenario, position in session.execute(query):
        if row.id in known:
            target = targets.from_columns(key, row.kind, row.criterion, row.part)
            scale = scales.get((target.kind, target.criterion)) or studies.DEFAULT_SCALES.get(target.kind)
            cases_by_target[row.id] = Case(row.id, target, scenario, position, scale)
    return cases_by_target


def _labels(
    session: Session, conditions: Sequence[ColumnElement[bool]]
) -> dict[int, dict[int, tuple[str | None, datetime | None]]]:
    """Return target id -> annotator id -> value and time of the newest label; value None for a withdrawn one."""
    query = (
        select(
            col(LabelRow.target_id),
            col(LabelRow.annotator_id),
            sql_cast(col(LabelRow.value), Text),
            col(LabelRow.at),
        )
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(*conditions)
        .order_by(col(LabelRow.id))
    )
    newest: dict[int, dict[int, tuple[str | None, datetime | None]]] = defaultdict(dict)
    for target_id, annotator_id, value, at in session.execute(query):
        newest[target_id][annotator_id] = value, at
    return newest


def _opinions(session: Session, conditions: Sequence[ColumnElement[bool]]) -> list[tuple[int, str, str | None]]:
    """Return (target id, stage, value) of the last opinions and the verdicts."""
    query = (
        select(col(OpinionRow.target_id), col(OpinionRow.stage), sql_cast(col(OpinionRow.value), Text))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(*conditions, col(OpinionRow.stage).in_(("last", "verdict")))
    )
    return [(target_id, stage, value) for target_id, stage, value in session.execute(query)]


def _decisions(session: Session, conditions: Sequence[ColumnElement[bool]]) -> Mapping[int, Decision]:
    """Return target id -> its newest adjudication."""
    query = (
        select(AdjudicationRow, col(AnnotatorRow.name))
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AdjudicationRow.annotator_id))
        .where(*conditions)
        .order_by(col(AdjudicationRow.id))
    )
    return {
        row.target_id: Decision(row.value, row.rule, row.reason, name, row.at) for row, name in session.execute(query)
    }


def _count_newer(decision: Decision | None, times: Sequence[datetime | None]) -> int:
    """Count the labels after a decision; of imported ones without a time it is not known, and they are not counted."""
    return 0 if decision is None else count_after(decision.at, times)


def count_after(decided: datetime | None, times: Sequence[datetime | None]) -> int:
    """Count the times after that of a decision."""
    return 0 if decided is None else sum(at is not None and at > decided for at in times)


@lru_cache(maxsize=4096)  # a study has few different values
def parse_value(text: str | None) -> Any:
    """Return the value of its JSON; None for a value that could not be read."""
    return None if text is None else json.loads(text)
