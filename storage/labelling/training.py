"""The training of annotators: a set of targets with known answers that every annotator labels first.

An answer to a training item is stored separately from labels, so agreement, gold and alignment never contain it. A
critique with AIUs that have known answers is one training task: only these AIUs are asked, without ratings.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.critiques import critique_targets, hypothesis_critiques, reference_critique
from core.errors import TiebreakError
from core.labels import Target, Value
from core.texts import _, mark
from storage.db.connections import insert_all, upsert
from storage.db.opaque_ids import OpaqueIds
from storage.db.tables import (
    AdjudicationRow,
    ItemRow,
    KnownAnswerRow,
    LabelRow,
    MarkRow,
    TargetRow,
    TrainingAnswerRow,
    now,
)
from storage.labelling import claims, critique_queue
from storage.labelling._panels import checked_weights
from storage.labelling.blocks import PAIRS
from storage.labelling.context import AIU_KINDS, Json, QueueContext, QueueName, Refused, queue_of
from storage.labelling.queue import Mark, TargetState, marks_on
from storage.labelling.reveal import find_references
from storage.labels import targets
from storage.runs import aspects
from storage.studies import studies, transcripts

COMES_FIRST = mark("The training comes first.")
ANSWERED = mark("The first answer to a training item counts.")
NOT_ASKED = mark("Only the AIUs with known answers are part of the training.")
NO_EDITS = mark("The AIUs of a training item cannot be edited.")


@dataclass(frozen=True)
class TrainingItem:
    """A target with a known answer."""

    item_id: int
    value: Value
    reason: str
    scenario: str | None
    position: int
    """The place of the item in the study."""
    noun: str = ""
    """What `reason` may refer to by its number in the item, of a pair: see `storage.labelling.blocks.PAIRS`."""


@dataclass(frozen=True)
class Training:
    """The training of one queue, and an annotator's progress."""

    items: Mapping[int, TrainingItem]
    """Target -> its known answer."""
    tasks: Mapping[int, Sequence[int]]
    """Task -> its targets with known answers: for a critique its AIUs, otherwise the task itself."""
    answers: Mapping[int, TrainingAnswerRow]
    """Target -> the answer of the newest attempt."""
    versions: Counter[int]
    """Target -> the number of answers in all attempts."""
    attempt: int
    """The newest attempt, counted from 1; 0 before the first answer."""
    passed: bool | None
    """Whether the newest attempt was passed; None while it is not finished."""
    ever_passed: bool
    required: bool
    pass_mark: float
    number: int
    """The least number of items of an attempt; 0 for all."""

    @cached_property
    def asked(self) -> Mapping[int, Sequence[int]]:
        """The tasks of the newest attempt with their items: those that were answered least often before it."""

        def times_asked(task_id: int) -> tuple[bool, int]:
            targets = self.tasks[task_id]
            earlier = max(self.versions[target_id] - (target_id in self.answers) for target_id in targets)
            return self.answers.keys().isdisjoint(targets), earlier

        chosen: dict[int, Sequence[int]] = {}
        for task_id in sorted(self.tasks, key=times_asked):
            if self.number and sum(map(len, chosen.values())) >= self.number:
                break
            chosen[task_id] = self.tasks[task_id]
        return chosen

    @cached_property
    def asked_items(self) -> frozenset[int]:
        """The items of the newest attempt."""
        return frozenset(chain.from_iterable(self.asked.values()))

    @property
    def is_over(self) -> bool:
        """Whether the annotator gets no more training items."""
        return self.ever_passed or (self.passed is False and not self.required)

    def locks(self, task_id: int, version: int) -> bool:
        """Return whether a task comes after the training; `version` is the number of the annotator's labels of it."""
        return version == 0 and self.required and not self.is_over and task_id not in self.tasks

    @property
    def right(self) -> int:
        """The number of correct answers in the newest attempt."""
        return sum(row.correct for target_id, row in self.answers.items() if target_id in self.asked_items)

    @property
    def left(self) -> int:
        """The number of tasks that are offered and not answered."""
        return 0 if self.is_over else sum(not self.answers.keys() >= set(targets) for targets in self.asked.values())

    @property
    def needed(self) -> int:
        """The number of correct answers needed to pass."""
        asked = len(self.asked_items)
        return next(n for n in range(asked + 1) if n >= self.pass_mark * asked - 1e-9)

    def again(self) -> "Training":
        """Return the next state of the training: a new attempt after a failed one."""
        failed = self.passed is False and not self.is_over
        return replace(self, answers={}, attempt=self.attempt + 1, passed=None) if failed else self

    def finished(self) -> "Training":
        """Return the training with its result, if every item of the attempt is answered."""
        if self.asked_items - self.answers.keys():
            return self
        passed = self.right >= self.needed
        return replace(self, passed=passed, ever_passed=self.ever_passed or passed)

    def feedback(self, target_id: int) -> Json | None:
        """Return the feedback after an answer: whether it is correct, and the known answer with its reason."""
        row, item = self.answers.get(target_id), self.items[target_id]
        if row is None:
            return None
        references = list(find_references(item.reason, (), 2, item.noun)) if item.noun else []
        return {
            "correct": row.correct,
            "expected": item.value,
            "text": item.reason,
            "passed": row.passed,
            **({"references": references} if references else {}),
        }

    def summary(self) -> Json | None:
        """Return the state of the training for the progress of the queue; None if it is over."""
        if self.is_over:
            return None
        return {
            "answered": len(self.answers.keys() & self.asked_items),
            "total": len(self.asked_items),
            "right": self.right,
            "needed": self.needed,
            "required": self.required,
            "passed": self.passed,
        }


# Built once: that takes longer than to execute it, and every action needs it.
_ITEMS = (
    select(KnownAnswerRow, TargetRow, col(ItemRow.scenario), col(ItemRow.position))
    .join(TargetRow, col(TargetRow.id) == col(KnownAnswerRow.target_id))
    .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    .where(col(KnownAnswerRow.study_id) == bindparam("study"))
)


def load(session: Session, work: QueueContext) -> Training | None:
    """Return the training of a queue; None if it has no training items for the annotator."""
    rules = work.study.rules
    if claims.is_excluded(rules, work.annotator):
        return None
    # Regardless of the criterion or scenario of the page.
    known = {
        target.id: TrainingItem(target.item_id, known.value, known.reason, scenario, position, PAIRS.get(work.name, ""))
        for known, target, scenario, position in session.execute(_ITEMS, {"study": work.study.id})
        if queue_of(target.kind, target.criterion) == work.name
    }
    tasks: dict[int, Sequence[int]] = {target_id: (target_id,) for target_id in known}
    if work.name == "aius" and known:  # without critiques from which the AIUs were removed
        found = critique_queue.aius_of_tasks(session, work.study.id, {item.item_id for item in known.values()})
        asked = {
            task_id: [target_id for target_id in targets if target_id in known] for task_id, targets in found.items()
        }
        tasks = {task_id: targets for task_id, targets in asked.items() if targets}
    items = {target_id: known[target_id] for targets in tasks.values() for target_id in targets}
    if not items:
        return None
    query = (
        select(TrainingAnswerRow)
        .where(col(TrainingAnswerRow.annotator_id) == work.annotator_id)
        .where(col(TrainingAnswerRow.target_id).in_(items))
        .order_by(col(TrainingAnswerRow.id))
    )
    rows = session.scalars(query).all()
    attempt = max((row.attempt for row in rows), default=0)
    newest = [row for row in rows if row.attempt == attempt]
    training = Training(
        items=items,
        # In the annotator's own order, so that others get other items first.
        tasks={
            id: tasks[id] for id in sorted(tasks, key=lambda id: work.ids.digest("training", work.annotator_id, id))
        },
        answers={row.target_id: row for row in newest},
        versions=Counter(row.target_id for row in rows),
        attempt=attempt,
        passed=next((row.passed for row in newest if row.passed is not None), None),
        ever_passed=any(row.passed for row in rows),
        required=rules.training_required,
        pass_mark=rules.training_pass_mark,
        number=rules.training_number,
    )
    return training.finished() if training.passed is None else training  # the owner can have removed the last item


def item_states(session: Session, work: QueueContext, training: Training) -> list[TargetState]:
    """Return the training items in a random order of the annotator and the attempt; none if the training is over."""
    if training.is_over:
        return []
    marked = marks_on(session, work.annotator_id, col(MarkRow.target_id).in_([*training.tasks, *training.items]))
    ordered = sorted(
        training.asked, key=lambda id: work.ids.digest("training", work.annotator_id, training.attempt, id)
    )
    return [_state(training, task_id, marked) for task_id in ordered]


def _state(training: Training, task_id: int, marked: Mapping[int, Mapping[Mark, str]]) -> TargetState:
    targets = training.tasks[task_id]
    answered = [target_id for target_id in targets if target_id in training.answers]
    item = training.items[targets[0]]
    return TargetState(
        id=task_id,
        item="",
        labelled=len(answered) == len(targets),
        skipped="skip" in marked.get(task_id, {}),
        flagged=any("flag" in marked.get(id, {}) for id in (task_id, *targets)),
        full=False,
        scenario=item.scenario,
        position=item.position,
        labels=len(answered),
        available=len(targets),
        newest=max((training.answers[target_id].id for target_id in answered), default=0),
    )


def save_answer(
    session: Session, work: QueueContext, training: Training, target_id: int, content: Json, seconds: float | None
) -> Training:
    """Store an answer, and return the training with it. Raises Refused for a second one in the same attempt."""
    training = training.again()  # the first answer after a failed attempt begins another one
    if target_id in training.answers:
        raise Refused("rejected", _(ANSWERED))
    known, value = training.items[target_id], content["value"]
    row = TrainingAnswerRow(
        target_id=target_id,
        annotator_id=work.annotator_id,
        attempt=max(training.attempt, 1),
        value=value,
        reason=content["reason"],
        correct=work.study.rules.is_correct(value, known.value),
        seconds=seconds,
    )
    answered = replace(
        training,
        answers={**training.answers, target_id: row},
        versions=training.versions + Counter([target_id]),
        attempt=row.attempt,
    )
    if not training.is_over:
        answered = answered.finished()
        row.passed = answered.passed
    session.add(row)
    session.flush()
    return answered


# The training items of a study: targets with a known answer, entered by the owner or taken from adjudications.


@dataclass(frozen=True)
class ListedItem:
    """A training item as the owner of a study sees it."""

    target_id: int
    target: Target
    value: Value
    reason: str

    @property
    def queue(self) -> QueueName | None:
        """The queue in which it is labelled."""
        return queue_of(self.target.kind, self.target.criterion)


def list_items(session: Session, study_id: int) -> list[ListedItem]:
    """Return the training items of a study in the order of the items."""
    rows = session.scalars(select(KnownAnswerRow).where(col(KnownAnswerRow.study_id) == study_id))
    known = {row.target_id: row for row in rows}
    return [
        ListedItem(id, target, known[id].value, known[id].reason)
        for id, target in targets.of_study(session, study_id)
        if id in known
    ]


def add_item(session: Session, study_id: int, target: Target, value: Value, reason: str = "") -> None:
    """Make a target a training item, or change its known answer.

    Raises TiebreakError for a value that is not on the scale, and for a kind of target that has no training.
    """
    if not _has_training(target.kind, target.criterion):
        raise TiebreakError(_("There is no training for targets of this kind."))
    if target.kind == "aspect_weights":
        value = checked_weights(aspects.of_target(session, study_id, target), value)
    studies.check_value(studies.scales(session, study_id), target.kind, target.criterion, value)
    transcripts.check_steps(session, study_id, [(target, value)])
    target_id = targets.get_or_create_id(session, study_id, target)
    row = {"study_id": study_id, "target_id": target_id, "value": value, "reason": reason.strip(), "at": now()}
    upsert(session, KnownAnswerRow, ("target_id",), row)


def remove_item(session: Session, study_id: int, target_ids: list[int]) -> None:
    """Remove training items; their stored answers are kept."""
    of_study = col(KnownAnswerRow.study_id) == study_id
    session.execute(delete(KnownAnswerRow).where(of_study, col(KnownAnswerRow.target_id).in_(target_ids)))


def candidate_items(session: Session, study_id: int) -> list[tuple[int, Value, str]]:
    """Return (target, value, reason) of the adjudicated targets that are not training items yet.

    In a random order of the study, unlabelled ones first; the AIUs of an item follow each other.
    """
    query = (
        select(AdjudicationRow, TargetRow)
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(col(AdjudicationRow.id))
    )
    rows = session.execute(query).all()
    newest = {target.id: row for row, target in rows if _has_training(target.kind, target.criterion)}
    used = set(session.scalars(select(col(KnownAnswerRow.target_id)).where(col(KnownAnswerRow.study_id) == study_id)))
    labelled = set(session.scalars(select(col(LabelRow.target_id)).where(col(LabelRow.target_id).in_(newest))))
    ids = OpaqueIds(studies.secret(session, study_id))
    unused = [(target_id, row.value, row.reason) for target_id, row in newest.items() if target_id not in used]
    group = {target.id: target.item_id if target.kind in AIU_KINDS else target.id for _, target in rows}
    labelled_groups = {group[target_id] for target_id in labelled}

    def rank(candidate: tuple[int, Value, str]) -> tuple[bool, bytes, int]:
        own = group[candidate[0]]
        return own in labelled_groups, ids.digest("training item", own), candidate[0]

    return sorted(unused, key=rank)


def possible_targets(session: Session, study_id: int) -> dict[Target, str]:
    """Return the targets of a study that can be training items and are not, with the AIU or the name of their part.

    In the order of the items; AIUs, as all edits made them, last.
    """
    possible = {
        target: target.part
        for _, target in targets.of_study(session, study_id)
        if target.kind not in AIU_KINDS and _has_training(target.kind, target.criterion)
    }
    for item, state in critique_queue.current_states(session, study_id).items():
        reference = reference_critique(state.critiques)
        for critique in hypothesis_critiques(state.critiques):
            aius = (*(critique.aius or ()), *((reference.aius or ()) if reference else ()))
            own = critique_targets(item, critique, reference)
            possible |= {target: aiu.text for target, aiu in zip(own, aius, strict=True)}
    used = {one.target for one in list_items(session, study_id)}
    return {target: text for target, text in possible.items() if target not in used}


def _has_training(kind: str, criterion: str) -> bool:
    """Return whether targets of a kind can be training items: the ratings of a critique's texts cannot."""
    queue = queue_of(kind, criterion)
    return queue is not None and (queue != "aius" or kind in AIU_KINDS)


def draw_items(session: Session, study_id: int, count: int) -> int:
    """Make adjudicated targets training items, `count` at most; return how many."""
    rows = [
        {"study_id": study_id, "target_id": target_id, "value": value, "reason": reason, "at": now()}
        for target_id, value, reason in candidate_items(session, study_id)[:count]
    ]
    insert_all(session, KnownAnswerRow, rows)
    return len(rows)
