"""The order of the cases of a study: computed from arrays and groups of equal values, without an object for each case.

The database groups the judges' values, and targets with equal labels and equal values of judges are compared once.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import Text, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.db.tables import AdjudicationRow, LabelRow, OpinionRow, TargetRow
from storage.labelling.adjudication import UNDECIDED_KINDS, Case, State, count_after, parse_value
from storage.labels import targets
from storage.studies import annotators, studies
from storage.studies.studies import Study

if TYPE_CHECKING:
    import numpy as np

STATES: tuple[State, ...] = ("open", "new_labels", "decided")
Texts = tuple[str, ...]
"""Sorted values as JSON."""


@dataclass(frozen=True)
class JudgeValues:
    """The judges' readable values for a target, as sorted JSON: their last opinions, and their distinct verdicts."""

    last: Texts = ()
    verdicts: Texts = ()


@dataclass(frozen=True)
class CaseOrder:
    """The contested and the decided targets, highest priority first."""

    ids: "np.ndarray"
    """Their ids, of shape (cases,)."""
    states: "np.ndarray"
    """Indices into STATES, of the same shape."""

    def select(self, state: State) -> "np.ndarray":
        """Return the ids of the cases in one state."""
        selected: np.ndarray = self.ids[self.states == STATES.index(state)]
        return selected

    @property
    def undecided(self) -> int:
        """The number of cases without a decision, or with labels that are newer than it."""
        return len(self.ids) - len(self.select("decided"))

    def with_state(self, target_id: int, state: State) -> "CaseOrder":
        """Return the same order, in which one case has another state."""
        states = self.states.copy()
        states[self.ids == target_id] = STATES.index(state)
        return replace(self, states=states)


def judge_values(session: Session, study_id: int) -> dict[int, JudgeValues]:
    """Return target id -> the judges' values; of the last opinions that cannot be read, none counts."""
    value = sql_cast(col(OpinionRow.value), Text)
    columns = (col(OpinionRow.target_id), col(OpinionRow.stage), value)
    query = (
        select(*columns, func.count())
        .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.stage).in_(("last", "verdict")), value.is_not(None))
        .group_by(*columns)
    )
    found: dict[int, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for target_id, stage, text, number in session.execute(query):
        last, verdicts = found[target_id]
        last.extend([text] * number) if stage == "last" else verdicts.append(text)
    equal: dict[JudgeValues, JudgeValues] = {}
    values = {}
    for target_id, (last, verdicts) in found.items():
        own = JudgeValues(tuple(sorted(last)), tuple(sorted(verdicts)))
        values[target_id] = equal.setdefault(own, own)
    return values


def order_cases(session: Session, study: Study, judges: Mapping[int, JudgeValues]) -> CaseOrder:
    """Return the order of the cases; `judges` is that of `judge_values`."""
    import numpy as np

    labels = _labels(session, study.id)
    decided = _decided_states(session, study.id)
    measured = _Measures(studies.scales(session, study.id))
    nothing = JudgeValues()
    found = []
    for target_id, kind, criterion, position in _targets(session, study.id):
        given = labels.get(target_id, ())
        if not given and target_id not in decided:
            continue
        priority, is_contested = measured.of(kind, criterion, given, judges.get(target_id, nothing))
        if target_id in decided or (given and is_contested):
            found.append((-priority, position, target_id))
    ids = [target_id for *_, target_id in sorted(found)]
    states = [STATES.index(decided.get(target_id, "open")) for target_id in ids]
    return CaseOrder(np.array(ids, dtype=np.int64), np.array(states, dtype=np.int8))


def labelled_by(session: Session, study_id: int, annotator: str) -> set[int]:
    """Return the targets that an annotator ever labelled."""
    annotator_id = annotators.find_id(session, annotator)
    query = select(col(LabelRow.target_id)).where(col(LabelRow.study_id) == study_id)
    return set(session.scalars(query.where(col(LabelRow.annotator_id) == annotator_id).distinct()))


class _Measures:
    """Priority and contest of targets, computed once for equal values on equal scales."""

    def __init__(self, scales: studies.Scales) -> None:
        self._scales = scales
        self._known: dict[tuple[str, str, Texts, JudgeValues], tuple[float, bool]] = {}

    def of(self, kind: str, criterion: str, given: Texts, judged: JudgeValues) -> tuple[float, bool]:
        key = (kind, criterion, given, judged)
        if key not in self._known:
            self._known[key] = self._measure(*key)
        return self._known[key]

    def _measure(self, kind: str, criterion: str, given: Texts, judged: JudgeValues) -> tuple[float, bool]:
        target = targets.from_columns("", kind, criterion, "")
        scale = self._scales.get((target.kind, criterion)) or studies.DEFAULT_SCALES.get(target.kind)
        values, opinions, verdicts = (list(map(parse_value, texts)) for texts in (given, judged.last, judged.verdicts))
        case = Case(0, target, None, 0, scale, values, opinions, verdicts)
        return case.priority, case.is_contested


def _targets(session: Session, study_id: int) -> Iterator[tuple[int, str, str, int]]:
    """Yield the id, kind and criterion of each target that can be adjudicated, and the position of its item."""
    from storage.labels import current_labels

    known = current_labels.read_targets(session, study_id)
    kinds, criteria = (known.stored[name].tolist() for name in ("kind", "criterion"))
    for row in zip(known.ids.tolist(), kinds, criteria, known.positions.tolist(), strict=True):
        if row[1] not in UNDECIDED_KINDS:
            yield row


def _labels(session: Session, study_id: int) -> dict[int, Texts]:
    """Return target id -> the current labels."""
    from storage.labels import current_labels

    target_ids, _, texts = current_labels.read(session, study_id).present()
    given: dict[int, list[str]] = defaultdict(list)
    for target_id, text in zip(target_ids.tolist(), texts.tolist(), strict=True):
        given[target_id].append(text)
    return {target_id: tuple(sorted(listed)) for target_id, listed in given.items()}


def _decided_states(session: Session, study_id: int) -> dict[int, State]:
    """Return the state of each target with a decision."""
    of_study = col(TargetRow.study_id) == study_id
    decisions = (
        select(col(AdjudicationRow.target_id), col(AdjudicationRow.at))
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(of_study)
        .order_by(col(AdjudicationRow.id))
    )
    decided = {target_id: at for target_id, at in session.execute(decisions)}
    if not decided:
        return {}
    has_decision = select(col(AdjudicationRow.id)).where(col(AdjudicationRow.target_id) == col(LabelRow.target_id))
    later = (
        select(col(LabelRow.target_id), col(LabelRow.annotator_id), col(LabelRow.at))
        .where(col(LabelRow.study_id) == study_id, has_decision.exists())
        .order_by(col(LabelRow.id))
    )
    newest = {(target_id, annotator_id): at for target_id, annotator_id, at in session.execute(later)}
    times = defaultdict(list)
    for (target_id, _), at in newest.items():
        times[target_id].append(at)
    return {
        target_id: "new_labels" if count_after(at, times[target_id]) else "decided" for target_id, at in decided.items()
    }
