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
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import ColumnElement, Text, exists, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.aius import EditedAius
from core.critiques import RECALL_SEPARATOR
from core.errors import TiebreakError
from core.items import Criterion, Item, target_item
from core.labels import Evidence, Scale, Target, Value
from core.protocols.critique_baselines.protocol import PAIR_SEPARATOR, QUALITY, REFINED
from core.texts import _, mark
from core.transcripts import step_of
from core.verdicts import DISPUTE_THRESHOLD, contention, is_disputed
from storage.db.opaque_ids import OpaqueIds
from storage.db.tables import AdjudicationRow, AnnotatorRow, ItemRow, LabelRow, MarkRow, OpinionRow, RunRow, TargetRow
from storage.labelling import _panels, peers
from storage.labelling.blocks import PAIR_TEXTS, level_keys
from storage.labels import targets, views
from storage.runs import aius
from storage.studies import annotators, items, studies, transcripts

if TYPE_CHECKING:
    pass

# Kinds that are not adjudicated.
UNDECIDED_KINDS = ("aspect_weights",)
# Added to both factors of the priority: a target that is contentious on one side only is behind those on both sides,
# and is still ordered.
FLOOR = 0.1
State = Literal["open", "new_labels", "decided"]


@dataclass(frozen=True)
class Decision:
    """The newest adjudication of a target."""

    id: int
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


def find_case(session: Session, study: studies.Study, adjudicator: str, target_id: int) -> Case | None:
    """Return one target, whether it is contested or not; None if it has no label and no decision."""
    return next(iter(read(session, study, adjudicator, [target_id])), None)


def read(session: Session, study: studies.Study, adjudicator: str, target_ids: Sequence[int]) -> list[Case]:
    """Return some targets in this order, without those that have no label and no decision."""
    found = _read(session, study, [col(TargetRow.id).in_(target_ids)], annotators.find_id(session, adjudicator))
    return [found[target_id] for target_id in target_ids if target_id in found]


def _read(
    session: Session, study: studies.Study, conditions: Sequence[ColumnElement[bool]], own: int | None = None
) -> dict[int, Case]:
    """Return target id -> its case, of the targets of a study that meet the conditions and have a label or a decision.

    The cases are in the order of the items; `own` is the id of the adjudicator.
    """
    conditions, scales = [col(TargetRow.study_id) == study.id, *conditions], studies.scales(session, study.id)
    decisions, labels = _decisions(session, conditions), _labels(session, conditions)
    query = (
        select(col(TargetRow.id), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .add_columns(col(ItemRow.key), col(ItemRow.scenario))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(*conditions)
        .order_by(col(ItemRow.position), col(TargetRow.id))
    )
    found: dict[int, Case] = {}
    for target_id, kind, criterion, part, key, scenario in session.execute(query):
        newest, decision = labels.get(target_id, {}), decisions.get(target_id)
        if newest or decision:
            target = targets.from_columns(key, kind, criterion, part)
            found[target_id] = Case(
                target_id,
                target,
                scenario,
                scales.get((target.kind, target.criterion)) or studies.DEFAULT_SCALES.get(target.kind),
                values=[parse_value(text) for text, _ in newest.values() if text is not None],
                own=own in newest,
                decision=decision,
                new_labels=count_after(decision.at, [at for _, at in newest.values()]) if decision else 0,
            )
    opinions = (
        select(col(OpinionRow.target_id), col(OpinionRow.stage), sql_cast(col(OpinionRow.value), Text))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(*conditions, col(OpinionRow.stage).in_(("last", "verdict")))
        .where(exists().where(col(LabelRow.target_id) == col(TargetRow.id)))
    )
    for target_id, stage, text in session.execute(opinions):
        if stage == "last":
            found[target_id].opinions.append(parse_value(text))
        elif text is not None:
            found[target_id].verdicts.append(parse_value(text))
    return found


def _labels(
    session: Session, conditions: Sequence[ColumnElement[bool]]
) -> dict[int, dict[int, tuple[str | None, datetime | None]]]:
    """Return target id -> annotator id -> value and time of the newest label; value None for a withdrawn one."""
    text = sql_cast(col(LabelRow.value), Text)
    query = (
        select(col(LabelRow.target_id), col(LabelRow.annotator_id), text, col(LabelRow.at))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(*conditions)
        .order_by(col(LabelRow.id))
    )
    newest: dict[int, dict[int, tuple[str | None, datetime | None]]] = defaultdict(dict)
    for target_id, annotator_id, value, at in session.execute(query):
        newest[target_id][annotator_id] = value, at
    return newest


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
        row.target_id: Decision(row.id, row.value, row.rule, row.reason, name, row.at)
        for row, name in session.execute(query)
    }


def count_after(decided: datetime | None, times: Sequence[datetime | None]) -> int:
    """Count the labels after a decision; of imported ones without a time it is not known, and they are not counted."""
    return 0 if decided is None else sum(at is not None and at > decided for at in times)


@lru_cache(maxsize=4096)  # a study has few different values
def parse_value(text: str | None) -> Any:
    """Return the value of its JSON; None for a value that could not be read."""
    return None if text is None else json.loads(text)


@dataclass(frozen=True)
class CaseOrder:
    """The contested and the decided targets, highest priority first."""

    states: Mapping[int, State]
    """Target id -> its state."""

    def select(self, state: State) -> list[int]:
        """Return the ids of the cases in one state."""
        return [target_id for target_id, own in self.states.items() if own == state]

    @property
    def undecided(self) -> int:
        """The number of cases without a decision, or with labels that are newer than it."""
        return sum(state != "decided" for state in self.states.values())

    def with_state(self, target_id: int, state: State) -> "CaseOrder":
        """Return the same order, in which one case has another state."""
        return CaseOrder({**self.states, target_id: state} if target_id in self.states else self.states)


def order_cases(session: Session, study: studies.Study) -> CaseOrder:
    """Return the order of the cases of a study."""
    cases = [
        case
        for case in _read(session, study, []).values()
        if case.target.kind not in UNDECIDED_KINDS and (case.decision or (case.values and case.is_contested))
    ]
    return CaseOrder({case.id: case.state for case in sorted(cases, key=lambda case: -case.priority)})


def labelled_by(session: Session, study_id: int, annotator: str) -> set[int]:
    """Return the targets that an annotator ever labelled."""
    annotator_id = annotators.find_id(session, annotator)
    query = select(col(LabelRow.target_id)).where(col(LabelRow.study_id) == study_id)
    return set(session.scalars(query.where(col(LabelRow.annotator_id) == annotator_id).distinct()))


# The adjudicator's view of one target: the texts, the annotators as A, B, C, and the judges' opinions.

MOST_KEYS = 10
PREFERENCE_KEYS = {1: "1", 2: "2", 0: "0"}


@dataclass(frozen=True)
class Passage:
    """A text of the item. `id` is the block that evidence refers to."""

    id: str
    title: str
    text: str
    number: int | None = None
    """The number of a response."""
    image: str | None = None
    """The path or the URL of its image."""
    transcript: str | None = None
    """The digest of the transcript that the text has."""

    @property
    def is_item_text(self) -> bool:
        """Whether it is Markdown if the study declares its items' texts as Markdown."""
        return self.number is not None or self.id in ("context", "question", "reference")


@dataclass(frozen=True)
class Choice:
    """A value that can be decided, with its key; without one if there are more values than digits."""

    value: Value
    name: str
    key: str | None


@dataclass(frozen=True)
class Person:
    """An annotator's label, under a letter."""

    letter: str
    value: Value
    reason: str
    evidence: tuple[Evidence, ...]
    note: str
    flagged: bool
    blind: bool
    new: bool
    """Whether the label is newer than the decision."""
    shown: tuple[int, ...] = ()
    """The order in which the annotator saw the texts; here they have the item's order."""


@dataclass(frozen=True)
class JudgeRow:
    """A judge's opinions in one trace."""

    trace: int
    run: str
    judge: str
    first: Value | None
    last: Value | None
    verdict: bool
    """Whether this is the conclusion of the trace; `last` is then the verdict."""
    problem: str


@dataclass(frozen=True)
class CaseContent:
    """The details of a case that the list of cases does not have."""

    question: str
    criterion: Criterion | None
    passages: tuple[Passage, ...]
    choices: tuple[Choice, ...]
    """Empty if the value is typed as a number."""
    people: tuple[Person, ...]
    judges: tuple[JudgeRow, ...]


def open_case(session: Session, study: studies.Study, case: Case, adjudicator: str) -> CaseContent:
    """Return the content of a case, and record that the adjudicator saw it: later labels are not blind."""
    views.record(session, study.id, [case.target], adjudicator)
    found = transcripts.with_text(session, study.id, items.get(session, study.id, case.target.item))
    item = target_item(found, case.target)
    criteria = {criterion.name: criterion for criterion in studies.criteria(session, study.id)}
    criterion = criteria.get(case.target.criterion)
    people = _people(session, study, case)
    return CaseContent(
        question=question(case.target),
        criterion=criterion,
        passages=(
            *_steps(
                session, study.id, case.target, item, [*case.opinions, *case.verdicts, *(own.value for own in people)]
            ),
            *_passages(session, study.id, case.target, item),
        ),
        choices=choices(case.target, case.scale, criterion, [person.value for person in people]),
        people=people,
        judges=tuple(_judges(session, case.id)),
    )


def question(target: Target) -> str:
    """Return the decision to make, as a question."""
    match target.kind:
        case "preference":
            return _panels.preference_question(compared_texts(target), target.criterion)
        case "score":
            asked = mark("Which score on {criterion}?") if target.criterion else mark("Which score?")
        case "answer":
            return _panels.answer_question(target)
        case "aiu_precision":
            return _("Is this claim of the critique true?")
        case "aiu_recall":
            return _("Does the critique contain this claim of the reference critique?")
        case "misleading_peer":
            return _("Which peer misled the chair?")
        case _other:
            asked = mark("Which rating on {criterion}?") if target.criterion else mark("Which rating?")
    return _(asked, criterion=target.criterion)


def compared_texts(target: Target) -> str:
    """Return what a preference compares: "critique" or "answer" (MetaCritique's baselines), otherwise "response"."""
    if PAIR_SEPARATOR not in target.part:
        return "response"
    return {QUALITY: "critique", REFINED: "answer"}.get(target.criterion, "response")


def choices(
    target: Target, scale: Scale | None, criterion: Criterion | None, labelled: Sequence[Value]
) -> tuple[Choice, ...]:
    """Return the possible decisions; without categories, none for numbers, otherwise the annotators' values."""
    if target.kind == "preference":
        named = PAIR_TEXTS[compared_texts(target)][2]
        better = {1: _(named, number=1), 2: _(named, number=2), 0: _("Neither is better")}
        return tuple(Choice(value, name, PREFERENCE_KEYS[value]) for value, name in better.items())
    values = list(scale.categories) if scale is not None else []
    if not values and all(isinstance(value, str | bool) for value in labelled):
        values = [value for value in dict.fromkeys(labelled) if isinstance(value, str | bool)]
    if target.kind in ("aiu_precision", "aiu_recall"):
        names = (_("True"), _("False")) if target.kind == "aiu_precision" else (_("Yes"), _("No"))
        return tuple(Choice(value, name, key) for value, name, key in zip((True, False), names, "12", strict=True))
    levels = criterion.levels if criterion and len(criterion.rubric) == len(values) else (("", ""),) * len(values)
    keys = level_keys(values) if len(values) <= MOST_KEYS else [None] * len(values)
    return tuple(
        Choice(value, f"{value}: {line}" if line else str(value), key)
        for value, (_, line), key in zip(values, levels, keys, strict=True)
    )


def _steps(
    session: Session, study_id: int, target: Target, item: Item, values: Sequence[Value | None]
) -> list[Passage]:
    """Return the steps of the transcript that a decision is about: the target's own, or those that anybody named."""
    response, step = step_of(target.part) or (target.part, None)
    named = [value for value in values if isinstance(value, int | float)] if step is None else [step]
    if not transcripts.asks_for_step(target) or not (digest := transcripts.asked_transcript(item, response)):
        return []
    own = dict(transcripts.by_digest(session, study_id, [digest]))[digest]
    return [
        Passage(f"step-{part.number}", _("Step {number}", number=part.number), part.line())
        for part in own.parts
        if part.number in named
    ]


def _passages(session: Session, study_id: int, target: Target, item: Item) -> list[Passage]:
    """Return the texts of the item that the decision needs."""
    passages = [Passage("context", _("Context"), item.context)] if item.context else []
    passages.append(Passage("question", _("Question"), item.prompt, image=item.image))
    if item.reference:
        passages.append(Passage("reference", _("Reference answer"), item.reference))
    is_single = len(item.responses) == 1
    part = (step_of(target.part) or (target.part, None))[0]
    chosen = int(part) if target.kind in ("score", "answer") and part.isdecimal() else None
    for number, response in enumerate(item.responses, 1):
        if chosen in (None, number):
            title = _("Response") if is_single else _("Response {number}", number=number)
            name = f"response-{number}"
            passages.append(Passage(name, title, response.text, number, response.image, response.transcript))
    if target.kind == peers.KIND:
        chair, reviews = peers.review_texts(session, study_id, target)
        passages += [Passage(*text) for text in ([chair] if chair else []) + reviews]
    if item.critiques:
        state = aius.current_state(session, study_id, item.id)
        compared = compared_texts(target)
        if compared == "response":
            passages += _critique_passages(state, target)
        else:
            passages += _compared_passages(session, study_id, target, item, state, compared)
    return passages


def _compared_passages(
    session: Session, study_id: int, target: Target, item: Item, state: EditedAius, noun: str
) -> list[Passage]:
    """Return the two critiques of a pair, or the answers refined by them; none if a critique was removed."""
    try:
        pair = _panels.find_pair(state.critiques, target.part)
    except TiebreakError:
        return []
    texts = [critique.text for critique in pair]
    if noun == "answer":
        refined = _panels.refined_answers(session, study_id, target, item)
        texts = [refined.get(critique.id, "") for critique in pair]
    return [
        Passage(f"{noun}-{place}", _(PAIR_TEXTS[noun][1], number=place), text) for place, text in enumerate(texts, 1)
    ]


def _critique_passages(state: EditedAius, target: Target) -> list[Passage]:
    """Return the critiques that a target is about, and its claim."""
    aiu_id, _separator, critique_id = target.part.partition(RECALL_SEPARATOR)
    claims = {aiu.id: (aiu, critique) for critique in state.critiques for aiu in critique.aius or ()}
    shown = {critique_id, aiu_id} | ({claims[aiu_id][1].id} if aiu_id in claims else set())
    passages = [
        Passage(
            "critique" if target.kind == "likert" else f"critique-{place}",
            _("Reference critique") if critique.role == "reference" else _("Critique"),
            critique.text,
        )
        for place, critique in enumerate(state.critiques, 1)
        if critique.id in shown
    ]
    return [*passages, Passage("claim", _("Claim"), claims[aiu_id][0].text)] if aiu_id in claims else passages


def _people(session: Session, study: studies.Study, case: Case) -> tuple[Person, ...]:
    """Return the current labels under letters.

    The order of the letters is random for each target, so it does not identify anyone.
    """
    ids = OpaqueIds(studies.secret(session, study.id))
    newest: dict[int, LabelRow] = {}
    for row in session.scalars(select(LabelRow).where(col(LabelRow.target_id) == case.id).order_by(col(LabelRow.id))):
        newest[row.annotator_id] = row
    current = [row for row in newest.values() if row.value is not None]
    current.sort(key=lambda row: ids.digest("adjudication", case.id, row.annotator_id))
    marks = _newest_marks(session, case.id)
    decided = case.decision.at if case.decision else None
    return tuple(
        Person(
            # A to Z, then AA, AB...
            letter=ascii_uppercase[place // 26 - 1 : place // 26] + ascii_uppercase[place % 26],
            value=row.value,
            reason=row.reason,
            evidence=tuple(Evidence(**passage) for passage in row.evidence or ()),
            note=marks[row.annotator_id].get("note", ""),
            flagged="flag" in marks[row.annotator_id],
            blind=row.blind,
            new=count_after(decided, [row.at]) > 0,
            shown=tuple(row.shown or ()),
        )
        for place, row in enumerate(current)
    )


def _newest_marks(session: Session, target_id: int) -> defaultdict[int, dict[str, str]]:
    """Return annotator id -> mark -> text of the marks that are on."""
    texts: defaultdict[int, dict[str, str]] = defaultdict(dict)
    query = select(MarkRow).where(col(MarkRow.target_id) == target_id).order_by(col(MarkRow.id))
    for row in session.scalars(query):
        if row.on:
            texts[row.annotator_id][row.mark] = row.text
        else:
            texts[row.annotator_id].pop(row.mark, None)
    return texts


def _judges(session: Session, target_id: int) -> list[JudgeRow]:
    """Return the judges' first and last opinions and the verdicts, in the order of the runs."""
    opinion, first = aliased(OpinionRow), aliased(OpinionRow)
    query = (
        select(opinion, col(first.value), col(RunRow.name))
        .join(RunRow, col(RunRow.id) == col(opinion.run_id))
        .outerjoin(
            first,
            (col(first.trace_id) == col(opinion.trace_id))
            & (col(first.target_id) == col(opinion.target_id))
            & (col(first.judge) == col(opinion.judge))
            & (col(first.stage) == "first"),
        )
        .where(col(opinion.target_id) == target_id, col(opinion.stage) != "first")
        .order_by(col(opinion.run_id), col(opinion.id))
    )
    return [
        JudgeRow(row.trace_id, run, row.judge, value, row.value, row.stage == "verdict", row.problem)
        for row, value, run in session.execute(query)
    ]
