"""The content of a task by its queue: texts, targets and their options, and the check of a value.

The targets of critiques are those of the judges: `core.protocols.critique_baselines`. Authors are hidden. A value names
the text and not the place where it is shown: see `storage.labelling.blocks`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from string import ascii_lowercase
from typing import Any, cast

from pydantic import ValidationError
from sqlalchemy.orm import Session

from core import critique_ratings
from core.aius import Add, Change, EditedAius, Merge, NotAtomic, Piece, Remove, Reword, Span, Split, locate_aius
from core.critiques import Aiu, Critique, hypothesis_critiques, precision_target, recall_target, reference_critique
from core.errors import TiebreakError
from core.formats.study_records import ScaleRecord
from core.items import Criterion, Item
from core.labels import Kind, Scale, Target, Value, is_match
from core.protocols.critique_baselines.protocol import CritiqueAsk, list_asks, pair_name
from core.protocols.dna_eval.settings import QUALITIES
from core.protocols.registry import PROTOCOLS
from core.texts import _, mark
from core.trace import TurnCompleted
from core.transcripts import FIRST_WRONG_STEP, step_of
from storage.db.guards import TASK, reading_for
from storage.labelling import peers
from storage.labelling.blocks import (
    PAIR_TEXTS,
    Order,
    above,
    better_options,
    block,
    level_options,
    response_blocks,
    target_json,
)
from storage.labelling.context import Json, QueueContext, Refused, Task, target_name
from storage.runs import aius, aspects, runs, traces
from storage.studies import studies, transcripts

CHANGED_AIU = mark("This AIU was changed in the meantime. Review it again.")
# Scales that the first label of a study declares.
OWN_SCALES: Mapping[Kind, Scale] = {"aspect_quality": aspects.QUALITY, "likert": critique_ratings.SEVEN_POINT_SCALE}


def task_content(
    session: Session, work: QueueContext, task: Task, item: Item, criterion: Criterion | None, order: Order = ()
) -> Json:
    """Return panel, question, texts and targets of a task; no opinions of judges or other annotators.

    `order` is that of the texts that are side by side; the item's if it is empty.
    """
    match work.name:
        case "aius":
            return _aiu_content(session, work, task, item)
        case "critiques" | "critique_ratings" | "refined_answers":
            return _critique_content(session, work, task, item, order or (1, 2))
        case "disagreements":
            return _preference(work, task, item, order)
        case "weights":
            return _weights(session, work, task, item)
        case "peers":
            return _peers(session, work, task, item)
        case _:
            return _score(session, work, task, item, criterion, order)


def targets_of(session: Session, work: QueueContext, task: Task) -> list[Target]:
    """Return the targets of a task: of a critique its AIUs, the reference's AIUs, then the ratings."""
    match work.name:
        case "aius":
            return [question.target for question in _questions(task.target.item, _load(session, work, task))]
        case "weights":
            return [task.target, *(aspects.quality_target(task.target, quality) for quality in QUALITIES)]
        case _:
            return [task.target]


def find_target(session: Session, work: QueueContext, task: Task, name: str) -> Target:
    """Return the target of a task that has an opaque id; raises Refused if there is none."""
    for target in targets_of(session, work, task):
        if target_name(work, target, repeat=task.repeat) == name:
            return target
    if work.name == "aius":
        raise Refused("rejected", _(CHANGED_AIU))
    raise Refused("rejected", _("This answer belongs to another item."))


def is_required(work: QueueContext, task: Task, target: Target) -> bool:
    """Return whether a task is finished only with a label of this target; the overlap counts these labels."""
    return target.kind in QUESTIONS if work.name == "aius" else target == task.target


def checked_value(session: Session, work: QueueContext, target: Target, value: Any) -> Value:
    """Return a value as it is stored; raises Refused or TiebreakError for one that is not on the scale."""
    if value is None:
        raise Refused("rejected", _("Choose an answer first."))
    if target.kind == "aspect_weights":
        return checked_weights(aspects.of_target(session, work.study.id, target), value)
    if isinstance(value, dict | list) or (
        target.kind == peers.KIND and not peers.is_peer(session, work, target, value)
    ):
        raise Refused("rejected", _("This value is not on the scale."))
    declared, key = studies.scales(session, work.study.id), (target.kind, target.criterion)
    scale = declared.get(key) or studies.DEFAULT_SCALES.get(target.kind)
    if scale is None and target.kind in OWN_SCALES:
        scale = OWN_SCALES[target.kind]
        record = ScaleRecord(kind=target.kind, criterion=target.criterion, scale=scale)
        studies.declare_scale(session, work.study.id, record)
        declared = {key: scale}
    studies.check_value(declared, target.kind, target.criterion, value)
    transcripts.check_steps(session, work.study.id, [(target, value)])
    categories = scale.categories if scale else ()
    return next((category for category in categories if is_match(value, category)), cast(Value, value))  # 1.0 is 1


def checked_weights(names: Sequence[str], value: Any) -> dict[str, float]:
    """Return weights as they are stored; raises TiebreakError if they are not percentages that sum to 100."""
    wrong = TiebreakError(_("Weights are percentages of all aspects that sum to 100."))
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise wrong
    if any(isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0 for weight in value.values()):
        raise wrong
    if not abs(sum(value.values()) - 100) <= 0.01:  # NaN is refused too
        raise wrong
    return {name: float(value[name]) for name in names}


def preference_question(noun: str, criterion: str) -> str:
    """Return the question of a comparison of two texts, each of which is a response, a critique or an answer."""
    if noun != "response" or not criterion:
        return _(PAIR_TEXTS[noun][0])
    return _("Which response is better on {criterion}?", criterion=criterion)


def _preference(work: QueueContext, task: Task, item: Item, order: Order) -> Json:
    return {
        "panel": "choice",
        "question": preference_question("response", task.target.criterion),
        "above": above(work, task, item),
        "columns": response_blocks(work, task, item, order),
        "targets": [target_json(work, task.target) | {"options": better_options("response", order or (1, 2))}],
    }


def _score(
    session: Session, work: QueueContext, task: Task, item: Item, criterion: Criterion | None, order: Order
) -> Json:
    target = task.target
    scale = studies.scale(session, work.study.id, target.kind, target.criterion) or Scale(level="interval")
    is_answer = target.kind == "answer"
    field: Json = {"options": level_options(scale, criterion)}
    if not scale.categories or len(scale.categories) > 10:  # a value without a key is typed as a number
        numbers = [value for value in scale.categories if isinstance(value, int | float)]
        low, high = (min(numbers), max(numbers)) if numbers else (scale.low, scale.high)
        field = {"number": {"low": low, "high": high}}
    if is_answer and target.criterion == FIRST_WRONG_STEP:
        field |= {"steps": True}
        if "number" in field and (count := transcripts.count_steps(session, work.study.id, item, target.part)):
            field["number"]["high"] = count
    response, step = step_of(target.part) or (target.part, None)
    columns = response_blocks(work, task, item, order)
    if response.isdecimal():
        number = int(response)
        columns = [columns[order.index(number) if order else number - 1]]
    columns = [{**column, "step": step} for column in columns] if step else columns
    return {
        "panel": "scores",
        "question": answer_question(target) if is_answer else _score_question(target.criterion, scale),
        "above": above(work, task, item, reference=not is_answer),
        "columns": columns,
        "targets": [target_json(work, target) | field],
    }


def _score_question(criterion: str, scale: Scale) -> str:
    if scale.low is None or scale.high is None:
        return _("Which score for {criterion}?", criterion=criterion) if criterion else _("Which score?")
    asked = (
        mark("Which score for {criterion}, {low} to {high}?") if criterion else mark("Which score, {low} to {high}?")
    )
    return _(asked, criterion=criterion, low=format(scale.low, "g"), high=format(scale.high, "g"))


def answer_question(target: Target) -> str:
    """Return the question of an answer, which may be about a step of a transcript or one of its steps."""
    if step := step_of(target.part):
        asked = (
            mark("Which {criterion} has step {step}?") if target.criterion else mark("Which answer has step {step}?")
        )
        return _(asked, criterion=target.criterion, step=step[1])
    if target.criterion == FIRST_WRONG_STEP:
        return _("Which step went wrong first? Its number, or 0 if none did")
    return _("What is the right answer?")


def _weights(session: Session, work: QueueContext, task: Task, item: Item) -> Json:
    """Return the panel of weights, which depend on the question only: the responses are part of the reveal."""
    names = aspects.of_target(session, work.study.id, task.target)
    definitions = aspects.definitions(session, work.study.id, task.target)
    listed = [
        {"letter": chr(ord("A") + place % 26), "name": name, "definition": definitions.get(name, "")}
        for place, name in enumerate(names)
    ]
    ratings = level_options(aspects.QUALITY, None)
    qualities = [
        target_json(work, aspects.quality_target(task.target, quality))
        | {"group": "quality", "required": False, "question": quality, "options": ratings}
        for quality in QUALITIES
    ]
    return {
        "panel": "weights",
        "question": _("How important is each aspect for this question?"),
        "above": above(work, task, item, reference=False),
        "columns": [],
        "targets": [target_json(work, task.target) | {"group": "weights", "aspects": listed}, *qualities],
    }


def _peers(session: Session, work: QueueContext, task: Task, item: Item) -> Json:
    """Return the panel of a peer review; its texts only after the annotator's own score."""
    chair, reviews = peers.review_texts(session, work.study.id, task.target)
    if not peers.has_scored(session, work, task.id):
        chair, reviews = None, []
    numbered = list(enumerate(reviews, 1))
    names = {n: _("Peer {number}", number=n) for n in range(1, len(reviews) + 1)}
    options = [
        {"key": str(n), "value": n, "label": name, "short": name, "colour": "level"} for n, name in names.items()
    ]
    none = {"key": "0", "value": 0, "label": _("None"), "short": _("none"), "colour": "level"}
    return {
        "panel": "choice",
        "question": _("Which peer misled the chair?"),
        "above": [
            *above(work, task, item),
            *response_blocks(work, task, item),
            *([block(work, *chair)] if chair else []),
        ],
        "columns": [block(work, *review) | {"number": n} for n, review in numbered],
        "targets": [target_json(work, task.target) | {"options": [*options, none]}],
    }


# Critiques that are compared or rated as a whole, and answers that were refined by them (MetaCritique's baselines).


def _critique_content(session: Session, work: QueueContext, task: Task, item: Item, order: Order) -> Json:
    """Return panel, question, texts and targets of a rating or a comparison."""
    critiques = aius.current_state(session, work.study.id, item.id).critiques
    if work.name == "critique_ratings":
        return _rating(work, task, item, critiques)
    pair = find_pair(critiques, task.target.part)
    noun, texts = "critique", [critique.text for critique in pair]
    blocks_above = _criticised(work, task, item, pair[0])
    if work.name == "refined_answers":
        refined = refined_answers(session, work.study.id, task.target, item)
        noun, texts = "answer", [refined.get(critique.id, "") for critique in pair]
        blocks_above = above(work, task, item)
    # The id of a block has the text's own number, its title the place.
    columns = [
        block(work, f"{noun}-{number}", _(PAIR_TEXTS[noun][1], number=place), texts[number - 1]) | {"number": place}
        for place, number in enumerate(order, 1)
    ]
    return {
        "panel": "critiques",
        "criterion": None,
        "question": _(PAIR_TEXTS[noun][0]),
        "above": blocks_above,
        "columns": columns,
        "targets": [target_json(work, task.target) | {"options": better_options(noun, order)}],
    }


def find_pair(critiques: Sequence[Critique], part: str) -> tuple[Critique, Critique]:
    """Return the critiques of a pair by the part of its target; raises TiebreakError if one is missing."""
    for first, second in permutations(hypothesis_critiques(critiques), 2):
        if pair_name(first, second) == part:
            return first, second
    raise TiebreakError(_("A critique of this pair is not in the study any more."))


@reading_for(TASK)
def refined_answers(session: Session, study_id: int, target: Target, item: Item) -> dict[str, str]:
    """Return critique -> the answer refined by it, from the newest run that compared them."""
    for trace in traces.of_target(session, study_id, target):
        asks = [ask for ask in asks_of(session, trace, item) if ask.step == "refine" and ask.turn is not None]
        if asks:
            return {ask.critiques[0].id: str(ask.turn.reading or "") for ask in asks if ask.turn is not None}
    return {}


def asks_of(session: Session, trace: traces.Trace, item: Item) -> list[CritiqueAsk]:
    """Return the asks of a trace; an imported one may have invalid settings, and has none."""
    turns = {event.ask: event.turn for _, event in traces.events(session, trace.id) if isinstance(event, TurnCompleted)}
    try:
        settings: Any = PROTOCOLS[trace.protocol].settings.model_validate(runs.get(session, trace.run_id).settings)
        return list_asks(item, settings, turns)
    except (KeyError, AttributeError, ValidationError, TiebreakError):
        return []


def _rating(work: QueueContext, task: Task, item: Item, critiques: Sequence[Critique]) -> Json:
    critique, criterion = _find_critique(critiques, task), critique_ratings.CRITIQUE
    options = level_options(critique_ratings.SEVEN_POINT_SCALE, criterion)
    return {
        "panel": "scores",
        "question": _("How good is the critique, 1 to 7?"),
        "criterion": {"name": _("critique"), "definition": criterion.definition, "rubric": list(criterion.rubric)},
        "above": _criticised(work, task, item, critique),
        "columns": [block(work, "critique", _("Critique"), critique.text)],
        "targets": [target_json(work, task.target) | {"options": options}],
    }


def _criticised(work: QueueContext, task: Task, item: Item, critique: Critique) -> list[Json]:
    """Return the question, the answer that is criticised, and the collapsed reference answer."""
    question, reference = above(work, task, item, reference=False), above(work, task, item)
    return [*question, _answer(work, item, critique), *reference[len(question) :]]


def _answer(work: QueueContext, item: Item, critique: Critique) -> Json:
    text = item.responses[critique.of - 1].text if critique.of <= len(item.responses) else ""
    return block(work, f"response-{critique.of}", _("Answer"), text)


# A critique as a task: its AIUs and the reference's are targets, ratings of the texts follow; and edits of the AIUs.
#
# The ids of critiques and AIUs are derived from the author's name, so browsers receive other ids.

# The blocks of the texts whose AIUs are labelled.
CRITIQUE, REFERENCE = "critique", "reference-critique"
# Kind of an AIU's target -> its group, the question, and the labels of true and false.
QUESTIONS: Mapping[str, tuple[str, str, str, str]] = {
    "aiu_precision": ("precision", mark("Is it factual?"), mark("Factual"), mark("Not factual")),
    "aiu_recall": ("recall", mark("Does the critique cover it?"), mark("Covered"), mark("Not covered")),
}
WRONG_TEXT = mark("An AIU is one sentence of at most 2,000 characters. A split makes 2 to 26 of them.")


@dataclass(frozen=True)
class CritiqueState:
    """A critique and the item's reference critique with all edits of their AIUs applied."""

    state: EditedAius
    critique: Critique
    reference: Critique | None


@dataclass(frozen=True)
class _Question:
    """A target of the task: an AIU with its critique, otherwise a rating with its criterion."""

    target: Target
    aiu: Aiu | None = None
    number: int = 0
    critique: Critique | None = None
    criterion: Criterion = critique_ratings.AIU_EXTRACTION


def _aiu_content(session: Session, work: QueueContext, task: Task, item: Item) -> Json:
    """Return panel, texts and targets of a critique. The author is hidden, to avoid bias."""
    loaded = _load(session, work, task)
    texts = [(CRITIQUE, _("Critique"), loaded.critique)]
    texts += [(REFERENCE, _("Reference critique"), loaded.reference)] if loaded.reference else []
    missing = [title for _, title, critique in texts if critique.aius is None]
    can_adopt = bool(missing) or loaded.reference is None
    answer = loaded.state.answer
    return {
        "panel": "aius",
        "question": _("Which AIUs are true?"),
        "criterion": None,
        "above": [
            *above(work, task, item, reference=False),
            _answer(work, item, loaded.critique),
            *([block(work, "reference", _("Reference answer"), answer)] if answer else []),
        ],
        "columns": [block(work, name, title, critique.text) for name, title, critique in texts],
        "targets": [_target(work, task, loaded, question) for question in _questions(item.id, loaded)],
        "missing": missing,
        "adopts": can_adopt and aius.find_adoptable(session, work.study.id, item.id) is not None,
    }


def save_edit(session: Session, work: QueueContext, task: Task, body: Mapping[str, Any]) -> tuple[int, Target | None]:
    """Save an edit of the AIUs; return its number and the target to go to, if the edit made one."""
    change = _parse(session, work, task, body)
    edit = aius.save_edit(session, work.study.id, task.target.item, work.annotator, change)
    return edit.number, created_target(session, work, task, edit.number)


def created_target(session: Session, work: QueueContext, task: Task, edit: int) -> Target | None:
    """Return the first target of a critique that an edit made."""
    loaded = _load(session, work, task)
    # The id of an AIU that an edit made ends with the edit's number, and perhaps a letter.
    made = {aiu for aiu in loaded.state.origins if aiu.rpartition(".e")[2].rstrip(ascii_lowercase) == str(edit)}
    questions = _questions(task.target.item, loaded)
    return next((question.target for question in questions if question.aiu and question.aiu.id in made), None)


def _load(session: Session, work: QueueContext, task: Task) -> CritiqueState:
    state = aius.current_state(session, work.study.id, task.target.item)
    return CritiqueState(state, _find_critique(state.critiques, task), reference_critique(state.critiques))


def _find_critique(critiques: Sequence[Critique], task: Task) -> Critique:
    for critique in hypothesis_critiques(critiques):
        if critique.id == task.target.part:
            return critique
    raise TiebreakError(_("This critique is not in the study any more."))


def _questions(item: str, loaded: CritiqueState) -> Iterator[_Question]:
    critique, reference = loaded.critique, loaded.reference
    for number, aiu in enumerate(critique.aius or (), 1):
        yield _Question(precision_target(item, aiu.id), aiu, number, critique)
    for number, aiu in enumerate(reference.aius or () if reference else (), 1):
        yield _Question(recall_target(item, aiu.id, critique.id), aiu, number, reference)
    if critique.aius is not None:
        yield _Question(critique_ratings.extraction_target(item, critique.id))
    if reference is not None:
        target = critique_ratings.critique_target(item, reference)
        yield _Question(target, criterion=critique_ratings.REFERENCE_CRITIQUE)
    if loaded.state.answer is not None:
        yield _Question(critique_ratings.answer_target(item), criterion=critique_ratings.REFERENCE_ANSWER)


def _target(work: QueueContext, task: Task, loaded: CritiqueState, question: _Question) -> Json:
    content = target_json(work, question.target)
    if question.aiu is None or question.critique is None:
        criterion = question.criterion
        asked = {"group": "rating", "required": False, "question": _("Rate the {text}", text=_(criterion.name))}
        options = level_options(critique_ratings.SEVEN_POINT_SCALE, criterion)
        return content | asked | {"definition": criterion.definition, "options": options}
    group, asked_question, yes, no = map(_, QUESTIONS[question.target.kind])
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
            "block": CRITIQUE if question.critique is loaded.critique else REFERENCE,
            "spans": [list(span)] if span else [],
            "atomic": question.aiu.id not in loaded.state.not_atomic,
        },
    }


@lru_cache(maxsize=1024)  # a critique is shown with every action on it, and the search takes milliseconds
def _spans(critique: Critique) -> dict[str, Span]:
    return locate_aius(critique)


def _aiu_name(work: QueueContext, task: Task, aiu: str) -> str:
    """Return the id of an AIU in a browser."""
    return target_name(work, Target(item=task.target.item, kind="aiu_precision", part=aiu)).replace("g-", "u-", 1)


def _parse(session: Session, work: QueueContext, task: Task, body: Mapping[str, Any]) -> Change:
    """Return the change that a browser describes; raises TiebreakError if it is not valid."""
    if body.get("type") == "adopt":
        adoptable = aius.find_adoptable(session, work.study.id, task.target.item)
        if adoptable is None:
            raise Refused("rejected", _("No run has AIUs that are missing here."))
        return adoptable
    loaded = _load(session, work, task)
    critiques = {CRITIQUE: loaded.critique} | ({REFERENCE: loaded.reference} if loaded.reference else {})
    ids = {_aiu_name(work, task, aiu.id): aiu.id for critique in critiques.values() for aiu in critique.aius or ()}
    try:
        names = [body["aiu"]] if "aiu" in body else body.get("aius") or []
        if any(name not in ids for name in names):
            raise TiebreakError(_(CHANGED_AIU))
        return _change(body, ids, {name: critique.id for name, critique in critiques.items()})
    except (ValidationError, KeyError, TypeError):
        raise TiebreakError(_(WRONG_TEXT)) from None


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
    raise Refused("rejected", _("This is not an edit of AIUs."))
