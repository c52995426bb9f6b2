"""Critiques that are compared or rated as a whole, and answers that were refined by them (MetaCritique's baselines).

The targets are those of the judges: `core.protocols.critique_baselines`. Authors are hidden. A value
names the text and not the place where it is shown: `storage.labelling.response_order`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from string import ascii_lowercase
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session

from core import aiu_texts, critique_ratings
from core.aius import Add, Change, EditedAius, Merge, NotAtomic, Piece, Remove, Reword, Split
from core.critiques import Aiu, Critique, hypothesis_critiques, precision_target, recall_target, reference_critique
from core.errors import TiebreakError
from core.items import Criterion, Item
from core.labels import Target
from core.protocols.critique_baselines.protocol import CritiqueAsk, list_asks, pair_name
from core.protocols.registry import PROTOCOLS
from core.trace import TurnCompleted
from storage.db.guards import TASK, reading_for
from storage.labelling.blocks import above, better_options, block, level_options, target_json
from storage.labelling.context import Json, Refused, Task, Work, target_name
from storage.labelling.response_order import Order
from storage.runs import aius, runs, traces
from storage.runs.traces import Trace


def content(session: Session, work: Work, task: Task, item: Item, order: Order) -> Json:
    """Return panel, question, texts and targets of a rating or a comparison."""
    critiques = aius.current_state(session, work.study.id, item.id).critiques
    if work.name == "critique_ratings":
        return _rating(work, task, item, critiques)
    pair = find_pair(critiques, task.target.part)
    if work.name == "critiques":
        texts = [critique.text for critique in pair]
        return {
            **_comparison(work, task, "critique", texts, order),
            "question": "Which critique is better?",
            "above": _criticised(work, task, item, pair[0]),
        }
    refined = refined_answers(session, work.study.id, task.target, item)
    return {
        **_comparison(work, task, "answer", [refined.get(critique.id, "") for critique in pair], order),
        "question": "Which answer is better?",
        "above": above(work, task, item),
    }


def find_pair(critiques: Sequence[Critique], part: str) -> tuple[Critique, Critique]:
    """Return the critiques of a pair by the part of its target; raises TiebreakError if one is missing."""
    for first, second in permutations(hypothesis_critiques(critiques), 2):
        if pair_name(first, second) == part:
            return first, second
    raise TiebreakError("A critique of this pair is not in the study any more.")


@reading_for(TASK)
def refined_answers(session: Session, study_id: int, target: Target, item: Item) -> dict[str, str]:
    """Return critique -> the answer refined by it, from the newest run that compared them."""
    for trace in traces.of_target(session, study_id, target):
        asks = [ask for ask in asks_of(session, trace, item) if ask.step == "refine" and ask.turn is not None]
        if asks:
            return {ask.critiques[0].id: str(ask.turn.reading or "") for ask in asks if ask.turn is not None}
    return {}


def asks_of(session: Session, trace: Trace, item: Item) -> list[CritiqueAsk]:
    """Return the asks of a trace; an imported one may have invalid settings, and has none."""
    turns = {event.ask: event.turn for _, event in traces.events(session, trace.id) if isinstance(event, TurnCompleted)}
    try:
        settings: Any = PROTOCOLS[trace.protocol].settings.model_validate(runs.get(session, trace.run_id).settings)
        return list_asks(item, settings, turns)
    except (KeyError, AttributeError, ValidationError, TiebreakError):
        return []


def _comparison(work: Work, task: Task, noun: str, texts: Sequence[str], order: Order) -> Json:
    """Return two texts in an order. The id of a block has the text's own number, its title the place."""
    title = noun.capitalize()
    columns = [
        block(f"{noun}-{number}", f"{title} {place}", texts[number - 1]) | {"number": place}
        for place, number in enumerate(order, 1)
    ]
    targets = [target_json(work, task.target) | {"options": better_options(title, order)}]
    return {"panel": "critiques", "criterion": None, "columns": columns, "targets": targets}


def _rating(work: Work, task: Task, item: Item, critiques: Sequence[Critique]) -> Json:
    critique = next((critique for critique in hypothesis_critiques(critiques) if critique.id == task.target.part), None)
    if critique is None:
        raise TiebreakError("This critique is not in the study any more.")
    criterion = critique_ratings.CRITIQUE
    options = level_options(critique_ratings.SEVEN_POINT_SCALE, criterion)
    return {
        "panel": "scores",
        "question": "How good is the critique, 1 to 7?",
        "criterion": {"name": "critique", "definition": criterion.definition, "rubric": list(criterion.rubric)},
        "above": _criticised(work, task, item, critique),
        "columns": [block("critique", "Critique", critique.text)],
        "targets": [target_json(work, task.target) | {"options": options}],
    }


def _criticised(work: Work, task: Task, item: Item, critique: Critique) -> list[Json]:
    """Return the question and the answer of a critique; the reference answer is collapsed."""
    answer = item.responses[critique.of - 1].text if critique.of <= len(item.responses) else ""
    question, reference = above(work, task, item, reference=False), above(work, task, item)
    return [*question, block(f"response-{critique.of}", "Answer", answer), *reference[len(question) :]]


# A critique as a task: its AIUs and the reference's are targets, ratings of the texts follow; and edits of the AIUs.
#
# The ids of critiques and AIUs are derived from the author's name, so browsers receive other ids.

CRITIQUE, REFERENCE = "critique", "reference-critique"
"""The blocks of the texts whose AIUs are labelled."""
QUESTIONS: Mapping[str, tuple[str, str, str, str]] = {
    "aiu_precision": ("precision", "Is it factual?", "Factual", "Not factual"),
    "aiu_recall": ("recall", "Does the critique cover it?", "Covered", "Not covered"),
}
"""Kind of an AIU's target -> its group, the question, and the labels of true and false."""
WRONG_TEXT = "An AIU is one sentence of at most 2,000 characters. A split makes 2 to 26 of them."


@dataclass(frozen=True)
class CritiqueState:
    """A critique and the item's reference critique with all edits of their AIUs applied."""

    state: EditedAius
    critique: Critique
    reference: Critique | None

    def block_of(self, critique: Critique) -> str:
        """Return the block of one of the two texts."""
        return CRITIQUE if critique is self.critique else REFERENCE


@dataclass(frozen=True)
class _Question:
    """A target of the task: an AIU with its critique, otherwise a rating with its criterion."""

    target: Target
    aiu: Aiu | None = None
    number: int = 0
    critique: Critique | None = None
    criterion: Criterion = critique_ratings.AIU_EXTRACTION


def targets_of(session: Session, work: Work, task: Task) -> list[Target]:
    """Return the targets of a critique: its AIUs, the reference's AIUs, then the ratings."""
    return [question.target for question in _questions(task.target.item, _load(session, work, task))]


def aiu_content(session: Session, work: Work, task: Task, item: Item) -> Json:
    """Return panel, texts and targets of a critique. The author is hidden, to avoid bias."""
    loaded = _load(session, work, task)
    texts = [(CRITIQUE, "Critique", loaded.critique)]
    texts += [(REFERENCE, "Reference critique", loaded.reference)] if loaded.reference else []
    missing = [title for _, title, critique in texts if critique.aius is None]
    can_adopt = bool(missing) or loaded.reference is None
    return {
        "panel": "aius",
        "question": "Which AIUs are true?",
        "criterion": None,
        "above": _above(work, task, item, loaded),
        "columns": [block(name, title, critique.text) for name, title, critique in texts],
        "targets": [_target(work, task, loaded, question) for question in _questions(item.id, loaded)],
        "missing": missing,
        "adopts": can_adopt and aius.find_adoptable(session, work.study.id, item.id) is not None,
    }


def save_edit(session: Session, work: Work, task: Task, body: Mapping[str, Any]) -> tuple[int, Target | None]:
    """Save an edit of the AIUs; return its number and the target to go to, if the edit made one."""
    change = _parse(session, work, task, body)
    edit = aius.save_edit(session, work.study.id, task.target.item, work.annotator, change)
    return edit.number, created_target(session, work, task, edit.number)


def created_target(session: Session, work: Work, task: Task, edit: int) -> Target | None:
    """Return the first target of a critique that an edit made."""
    loaded = _load(session, work, task)
    made = {aiu for aiu in loaded.state.origins if _made_by(aiu, edit)}
    questions = _questions(task.target.item, loaded)
    return next((question.target for question in questions if question.aiu and question.aiu.id in made), None)


def _made_by(aiu: str, edit: int) -> bool:
    """Return whether an AIU's id ends with the number of an edit, and optionally a letter."""
    return aiu.rpartition(".e")[2].rstrip(ascii_lowercase) == str(edit)


def _load(session: Session, work: Work, task: Task) -> CritiqueState:
    state = aius.current_state(session, work.study.id, task.target.item)
    critique = next(
        (critique for critique in hypothesis_critiques(state.critiques) if critique.id == task.target.part), None
    )
    if critique is None:
        raise TiebreakError("This critique is not in the study any more.")
    return CritiqueState(state, critique, reference_critique(state.critiques))


def _questions(item: str, loaded: CritiqueState) -> Iterator[_Question]:
    critique, reference = loaded.critique, loaded.reference
    for number, aiu in enumerate(critique.aius or (), 1):
        yield _Question(precision_target(item, aiu.id), aiu, number, critique)
    for number, aiu in enumerate(reference.aius or () if reference else (), 1):
        yield _Question(recall_target(item, aiu.id, critique.id), aiu, number, reference)
    if critique.aius is not None:
        target = critique_ratings.extraction_target(item, critique.id)
        yield _Question(target)
    if reference is not None:
        target = critique_ratings.critique_target(item, reference)
        yield _Question(target, criterion=critique_ratings.REFERENCE_CRITIQUE)
    if loaded.state.answer is not None:
        yield _Question(critique_ratings.answer_target(item), criterion=critique_ratings.REFERENCE_ANSWER)


def _above(work: Work, task: Task, item: Item, loaded: CritiqueState) -> list[Json]:
    """Return the question, the answer that is criticised, and the reference answer."""
    number = loaded.critique.of
    answer = item.responses[number - 1].text if number <= len(item.responses) else ""
    blocks = [*above(work, task, item, reference=False), block(f"response-{number}", "Answer", answer)]
    return [*blocks, block("reference", "Reference answer", loaded.state.answer)] if loaded.state.answer else blocks


def _target(work: Work, task: Task, loaded: CritiqueState, question: _Question) -> Json:
    content = target_json(work, question.target)
    if question.aiu is None or question.critique is None:
        criterion = question.criterion
        asked = {"group": "rating", "required": False, "question": f"Rate the {criterion.name}"}
        options = level_options(critique_ratings.SEVEN_POINT_SCALE, criterion)
        return content | asked | {"definition": criterion.definition, "options": options}
    group, asked_question, yes, no = QUESTIONS[question.target.kind]
    span = _spans(question.critique).get(question.aiu.id)
    return content | {
        "group": group,
        "question": asked_question,
        "options": [
            {"key": "1", "value": True, "label": yes, "short": yes.lower(), "colour": "true"},
            {"key": "2", "value": False, "label": no, "short": no.lower(), "colour": "false"},
        ],
        "claim": {
            "number": question.number,
            "text": question.aiu.text,
            "aiu": _aiu_name(work, task, question.aiu.id),
            "block": loaded.block_of(question.critique),
            "spans": [list(span)] if span else [],
            "atomic": question.aiu.id not in loaded.state.not_atomic,
        },
    }


@lru_cache(maxsize=1024)  # a critique is shown with every action on it, and the search takes milliseconds
def _spans(critique: Critique) -> dict[str, aiu_texts.Span]:
    return aiu_texts.locate_aius(critique)


def _aiu_name(work: Work, task: Task, aiu: str) -> str:
    """Return the id of an AIU in a browser."""
    return target_name(work, Target(item=task.target.item, kind="aiu_precision", part=aiu)).replace("g-", "u-", 1)


def _parse(session: Session, work: Work, task: Task, body: Mapping[str, Any]) -> Change:
    """Return the change that a browser describes; raises TiebreakError if it is not valid."""
    if body.get("type") == "adopt":
        return _adoption(session, work, task)
    loaded = _load(session, work, task)
    critiques = {CRITIQUE: loaded.critique} | ({REFERENCE: loaded.reference} if loaded.reference else {})
    ids = {_aiu_name(work, task, aiu.id): aiu.id for critique in critiques.values() for aiu in critique.aius or ()}
    try:
        names = [body["aiu"]] if "aiu" in body else body.get("aius") or []
        if any(name not in ids for name in names):
            raise TiebreakError("This AIU was changed in the meantime. Review it again.")
        return _change(body, ids, {name: critique.id for name, critique in critiques.items()})
    except (ValidationError, KeyError, TypeError):
        raise TiebreakError(WRONG_TEXT) from None


def _change(body: Mapping[str, Any], aiu_ids: Mapping[str, str], critiques: Mapping[str, str]) -> Change:
    match body.get("type"):
        case "split":
            return Split(aiu=aiu_ids[body["aiu"]], into=tuple(Piece(text=text) for text in body["into"]))
        case "merge":
            return Merge(aius=tuple(aiu_ids[name] for name in body["aius"]), piece=Piece(text=body["text"]))
        case "add":
            return Add(critique=critiques[body["block"]], piece=Piece(text=body["text"], at=body.get("at")))
        case "edit":
            return Reword(aiu=aiu_ids[body["aiu"]], piece=Piece(text=body["text"]))
        case "remove":
            return Remove(aiu=aiu_ids[body["aiu"]])
        case "not_atomic":
            return NotAtomic(aiu=aiu_ids[body["aiu"]], on=body.get("on") is not False)
    raise Refused("rejected", "This is not an edit of AIUs.")


def _adoption(session: Session, work: Work, task: Task) -> Change:
    adoptable = aius.find_adoptable(session, work.study.id, task.target.item)
    if adoptable is None:
        raise Refused("rejected", "No run has AIUs that are missing here.")
    return adoptable
