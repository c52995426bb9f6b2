"""The adjudicator's view of one target: the texts, the annotators as A, B, C, and the judges' opinions."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from string import ascii_uppercase

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.aius import EditedAius
from core.critiques import RECALL_SEPARATOR
from core.errors import TiebreakError
from core.items import Criterion, Item
from core.labels import Evidence, Scale, Target, Value
from core.pairs import target_item
from core.protocols.critique_baselines.protocol import PAIR_SEPARATOR, QUALITY, REFINED
from storage import aius, items, studies, views
from storage.labelling import critique_panels
from storage.labelling.adjudication import Case
from storage.labelling.opaque_ids import OpaqueIds
from storage.studies import Study
from storage.tables import LabelRow, MarkRow, OpinionRow, RunRow

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


def open_case(session: Session, study: Study, case: Case, adjudicator: str) -> CaseContent:
    """Return the content of a case, and record that the adjudicator saw it: later labels are not blind."""
    views.record(session, study.id, [case.target], adjudicator)
    item = target_item(items.get(session, study.id, case.target.item), case.target)
    criteria = {criterion.name: criterion for criterion in studies.criteria(session, study.id)}
    criterion = criteria.get(case.target.criterion)
    people = _people(session, study, case)
    return CaseContent(
        question=question(case.target),
        criterion=criterion,
        passages=tuple(_passages(session, study.id, case.target, item)),
        choices=choices(case.target, case.scale, criterion, [person.value for person in people]),
        people=people,
        judges=tuple(_judges(session, case.id)),
    )


def question(target: Target) -> str:
    """Return the decision to make, as a question."""
    on = f" on {target.criterion}" if target.criterion else ""
    match target.kind:
        case "preference":
            noun = compared_texts(target)
            return f"Which {noun} is better{on if noun == 'response' else ''}?"
        case "score":
            return f"Which score{on}?"
        case "answer":
            return "What is the right answer?"
        case "aiu_precision":
            return "Is this claim of the critique true?"
        case "aiu_recall":
            return "Does the critique contain this claim of the reference critique?"
        case _:
            return f"Which rating{on}?"


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
        noun = compared_texts(target).capitalize()
        better = {1: f"{noun} 1 is better", 2: f"{noun} 2 is better", 0: "Neither is better"}
        return tuple(Choice(value, name, PREFERENCE_KEYS[value]) for value, name in better.items())
    values = list(scale.categories) if scale is not None else []
    if not values and all(isinstance(value, str | bool) for value in labelled):
        values = [value for value in dict.fromkeys(labelled) if isinstance(value, str | bool)]
    if target.kind in ("aiu_precision", "aiu_recall"):
        names = ("True", "False") if target.kind == "aiu_precision" else ("Yes", "No")
        return tuple(Choice(value, name, key) for value, name, key in zip((True, False), names, "12", strict=True))
    levels = criterion.levels if criterion and len(criterion.rubric) == len(values) else (("", ""),) * len(values)
    keys = _keys(values)
    return tuple(
        Choice(value, f"{value}: {line}" if line else str(value), key)
        for value, (_, line), key in zip(values, levels, keys, strict=True)
    )


def _keys(values: Sequence[Value]) -> list[str | None]:
    """Return the value itself if every value is a digit, otherwise its place."""
    if len(values) > MOST_KEYS:
        return [None] * len(values)
    digits = all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9 for value in values)
    return [str(value) if digits else str(place % 10) for place, value in enumerate(values, 1)]


def _passages(session: Session, study_id: int, target: Target, item: Item) -> list[Passage]:
    """Return the texts of the item that the decision needs."""
    passages = [Passage("context", "Context", item.context)] if item.context else []
    passages.append(Passage("question", "Question", item.prompt, image=item.image))
    if item.reference:
        passages.append(Passage("reference", "Reference answer", item.reference))
    is_single = len(item.responses) == 1
    chosen = int(target.part) if target.kind == "score" and target.part.isdecimal() else None
    passages += [
        Passage(
            f"response-{number}",
            "Response" if is_single else f"Response {number}",
            response.text,
            number,
            response.image,
        )
        for number, response in enumerate(item.responses, 1)
        if chosen in (None, number)
    ]
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
        pair = critique_panels.find_pair(state.critiques, target.part)
    except TiebreakError:
        return []
    texts = [critique.text for critique in pair]
    if noun == "answer":
        refined = critique_panels.refined_answers(session, study_id, target, item)
        texts = [refined.get(critique.id, "") for critique in pair]
    return [Passage(f"{noun}-{place}", f"{noun.capitalize()} {place}", text) for place, text in enumerate(texts, 1)]


def _critique_passages(state: EditedAius, target: Target) -> list[Passage]:
    """Return the critiques that a target is about, and its claim."""
    aiu_id, _, critique_id = target.part.partition(RECALL_SEPARATOR)
    claims = {aiu.id: (aiu, critique) for critique in state.critiques for aiu in critique.aius or ()}
    shown = {critique_id, aiu_id} | ({claims[aiu_id][1].id} if aiu_id in claims else set())
    passages = [
        Passage(
            "critique" if target.kind == "likert" else f"critique-{place}",
            "Reference critique" if critique.role == "reference" else "Critique",
            critique.text,
        )
        for place, critique in enumerate(state.critiques, 1)
        if critique.id in shown
    ]
    return [*passages, Passage("claim", "Claim", claims[aiu_id][0].text)] if aiu_id in claims else passages


def _people(session: Session, study: Study, case: Case) -> tuple[Person, ...]:
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
            letter=_letter(place),
            value=row.value,
            reason=row.reason,
            evidence=tuple(Evidence(**passage) for passage in row.evidence or ()),
            note=marks[row.annotator_id].get("note", ""),
            flagged="flag" in marks[row.annotator_id],
            blind=row.blind,
            new=_is_newer(row.at, decided),
            shown=tuple(row.shown or ()),
        )
        for place, row in enumerate(current)
    )


def _is_newer(at: datetime | None, decided: datetime | None) -> bool:
    return at is not None and decided is not None and at > decided


def _letter(place: int) -> str:
    """Return A to Z, then AA, AB..."""
    first = ascii_uppercase[place // 26 - 1] if place >= 26 else ""
    return first + ascii_uppercase[place % 26]


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
