"""Common parts of the readers of other tools' files: items from named fields, and records from answers to questions.

The files say who answered what, and not which kind of label it is. The kind follows from the values of a question:
words for one of two responses are a preference, numbers a score, other words an answer.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from core.errors import FileFormatError
from core.formats.mapping.fields import render_messages
from core.formats.mapping.guess import RESPONSES, meanings, suggest_mapping
from core.formats.mapping.judges import JudgeReader
from core.formats.mapping.preview import parse_cell
from core.formats.mapping.scope import current_omissions
from core.formats.records import (
    AdjudicationRecord,
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    Record,
    Records,
    ScaleRecord,
    TraceRecord,
    TranscriptRecord,
)
from core.formats.transcripts.messages import text_of
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, STEPS, Adjudication, Kind, Label, Opinion, Scale, Target, Value
from core.trace import Turn, VerdictReached, current_events
from core.transcripts import FIRST_WRONG_STEP, Transcript, render, step_of

# Stands between the criterion and the step or response in the name of a question about one.
SEPARATOR = " · "
# The end of the name of a question about one of several responses; Argilla's names have neither spaces nor dots.
OF_RESPONSE = re.compile(r"(?P<criterion>.+?)(?: · |_)response[ _](?P<number>[1-9]\d?)")
# More different words are free text, which has no scale.
MOST_CATEGORIES = 100
# Whole numbers from 1 or 0 to this one are categories; others are a continuous scale.
LONGEST_SCALE = 20


@dataclass(frozen=True)
class Answer:
    """The answer of one annotator or judge to one question about one item."""

    item: str
    question: str
    rater: str
    value: Any
    """Text, a number, true or false, or a list of texts."""
    reason: str = ""
    at: datetime | None = None
    seconds: float | None = None
    is_judge: bool = False
    model: str = ""
    is_gold: bool = False


def item_from_fields(id: str, fields: Mapping[str, Any]) -> Item:
    """Return the item that fields with usual names describe, such as `prompt`, `response_a` and `reference`.

    Without a usual name of a prompt, all other fields are the prompt.
    """
    # An empty response is an empty answer.
    texts = {
        name: _text(value)
        for name, value in fields.items()
        if value not in (None, "", [], {}) or (value == "" and RESPONSES.fullmatch(name.lower()))
    }
    draft = suggest_mapping([*texts])
    responses = tuple(
        Response(text=texts[response["text"]], system=texts.get(response.get("system", "")))
        for response in draft.get("responses", ())
    )
    used = {name for response in draft.get("responses", ()) for name in response.values()}
    used |= {draft[name] for name in ("context", "reference", "scenario", "group") if name in draft}
    prompts = draft.get("prompt") or [name for name in texts if name not in used]
    names = [prompts] if isinstance(prompts, str) else prompts
    labelled = [texts[name] if isinstance(prompts, str) else f"{name}: {texts[name]}" for name in names]
    others = {name: texts[draft[name]] for name in ("context", "reference", "scenario", "group") if name in draft}
    current_omissions().note_fields(name for name in texts if name not in {*used, *names})
    return Item(id=id, prompt="\n\n".join(labelled), responses=responses, **others)


def _text(value: Any) -> str:
    """Return a field as text: of a list of messages with their roles, of one of texts with blank lines between them."""
    value = parse_cell(value) if isinstance(value, str) else value
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return "\n\n".join(value)
    conversation = render_messages(value) if isinstance(value, list) else None
    return text_of(value) if conversation is None else conversation


def records(items: Sequence[Item], answers: Sequence[Answer]) -> Records:
    """Yield criteria, scales, items, labels, adjudications and recorded runs.

    Raises FileFormatError for an answer without an item.
    """
    by_id = {item.id: item for item in items}
    unknown = next((answer.item for answer in answers if answer.item not in by_id), None)
    if unknown is not None:
        raise FileFormatError(f"there is no item {unknown!r}, to which an answer belongs")
    by_question: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_question[_split_question(answer.question, by_id[answer.item])[0]].append(answer)
    questions = {name: _question(name, given, by_id) for name, given in by_question.items()}
    for name, question in questions.items():
        if name:
            yield CriterionRecord(criterion=Criterion(name=name))
        if question.scale is not None and question.kind != "preference":
            yield ScaleRecord(kind=question.kind, criterion=name, scale=question.scale)
    yield from (ItemRecord(item=item) for item in by_id.values())
    judges = JudgeReader((), {})
    for answer in answers:
        item = by_id[answer.item]
        criterion, part = _split_question(answer.question, item)
        yield from _answer_records(answer, questions[criterion], item, part, judges)
    yield from judges.runs()


def _split_question(name: str, item: Item) -> tuple[str, str]:
    """Return the criterion and the part of a question, called `error category · step 3` or `clarity · response 2`.

    Without such a step or response in the item, the name remains whole.
    """
    if name.replace("_", " ") == FIRST_WRONG_STEP:  # Argilla's names have no spaces
        return FIRST_WRONG_STEP, ""
    response = OF_RESPONSE.fullmatch(name.strip())
    if response and 1 < len(item.responses) >= int(response["number"]):
        return response["criterion"], response["number"]
    criterion, _, part = name.strip().rpartition(SEPARATOR)
    return (criterion, part) if criterion and item.transcripts and step_of(part) else (name.strip(), "")


class _Question(NamedTuple):
    name: str
    kind: Kind
    scale: Scale | None


def _question(name: str, answers: Sequence[Answer], by_id: Mapping[str, Item]) -> _Question:
    """Return the kind and the scale of a question, which follow from its answers."""
    values = [_plain(answer.value) for answer in answers if answer.value not in (None, "")]
    if name == FIRST_WRONG_STEP:
        return _Question(name, "answer", STEPS)
    choices = [_preference(answer.value, by_id[answer.item]) for answer in answers if answer.value]
    if values and None not in choices and all(isinstance(value, str) for value in values):
        return _Question(name, "preference", PREFERENCE)
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if values and len(numbers) == len(values):
        low, high = min(numbers), max(numbers)
        guess = Scale(level="interval", low=low, high=high if high > low else low + 1)
        if all(float(number).is_integer() for number in numbers) and low >= 0 and high <= LONGEST_SCALE:
            categories = tuple(range(min(1, int(low)), max(2, int(high)) + 1))
            guess = Scale(level="ordinal", categories=categories)
        return _Question(name, "score", guess)
    words = tuple(sorted({str(value): value for value in values}.values(), key=str))
    few = Scale(level="nominal", categories=words) if 0 < len(words) <= MOST_CATEGORIES else None
    return _Question(name, "answer", few)


def _preference(value: Any, item: Item) -> int | None:
    """Return 1, 2 or 0 for a word that names one of two responses; None for any other value."""
    if len(item.responses) != 2 or not isinstance(value, str):
        return None
    systems = [(response.system or "").casefold() for response in item.responses]
    if systems[0] != systems[1] and value.casefold() in systems:
        return systems.index(value.casefold()) + 1
    return meanings([value]).get(value)


def _plain(value: Any) -> Value:
    """Return a value as a label has it: several choices are one text."""
    match value:
        case bool() | str():
            return value
        case int() | float():
            return int(value) if float(value).is_integer() else float(value)
        case list():
            return "; ".join(sorted(str(_plain(element)) for element in value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _answer_records(answer: Answer, question: _Question, item: Item, part: str, judges: JudgeReader) -> Iterator[Any]:
    is_preference, reason = question.kind == "preference", answer.reason
    value = None
    if answer.value not in (None, ""):
        value = _preference(answer.value, item) if is_preference else _plain(answer.value)
    if answer.is_judge:
        shared = {"criterion": question.name, "problem": "" if value is not None else "the file has no verdict"}
        own = {"kind": question.kind, "part": part, "judge": answer.rater, "stage": "verdict", "value": value}
        opinion = Opinion.model_validate({**own, "reason": reason, **shared})
        turn = Turn(
            speaker=answer.rater,
            step="choice" if is_preference else "rating",
            round=0,
            model=answer.model,
            reply=reason or str(answer.value),
            reading=value,
            **shared,
        )
        judges.add(answer.rater, item.id, opinion, [turn], 1)
    elif value is not None:
        target = Target(item=item.id, kind=question.kind, criterion=question.name, part=part)
        given: dict[str, Any] = {"target": target, "value": value, "reason": reason, "at": answer.at}
        if answer.is_gold:
            ruling = Adjudication(rule="ground truth", adjudicator=answer.rater, **given)
            yield AdjudicationRecord(ruling=ruling)
        else:
            yield LabelRecord(label=Label(annotator=answer.rater, seconds=answer.seconds, **given))


# What the writers of other tools' files share: each item with its labels, gold and judges' verdicts.

# Kinds that every annotation tool has a control for. AIUs and aspect weights have none.
KINDS: tuple[Kind, ...] = ("preference", "score", "answer", "likert", "aspect_quality")
TIE_NAME = "tie"
# Kind, criterion, and the step of a transcript or the number of a response, "" for the whole.
Subject = tuple[Kind, str, str]


@dataclass(frozen=True)
class Statement:
    """What a person or a judge stated about an item, or about a step of its transcript."""

    source: Literal["label", "gold", "verdict"]
    who: str
    """The annotator, the adjudicator, or the run of the verdict."""
    subject: Subject
    value: Value | None
    reason: str
    at: datetime | None = None
    seconds: float | None = None

    @property
    def criterion(self) -> str:
        """What is judged."""
        return self.subject[1]

    @property
    def part(self) -> str:
        """The step or the response that it is about."""
        return self.subject[2]

    @property
    def choice(self) -> str | int | float:
        """The value as a tool's control holds it."""
        return choice_text(self.subject[0], self.value)


@dataclass
class ExportedStudy:
    """The items of a study in their order with what was stated about them."""

    items: dict[str, Item] = field(default_factory=dict)
    stated: dict[str, dict[tuple[str, ...], Statement]] = field(default_factory=lambda: defaultdict(dict))
    """Item -> the newest statement of each person or judge about each question, and the newest gold."""
    scales: dict[tuple[Kind, str], Scale] = field(default_factory=dict)
    transcripts: dict[str, Transcript] = field(default_factory=dict)
    """By digest."""
    left_out: int = 0
    """Labels, adjudications and verdicts of kinds that have no form in other tools."""

    def statements(self, item: str) -> list[Statement]:
        """Return what was stated about an item, without what was withdrawn."""
        return [own for own in self.stated[item].values() if own.value is not None]

    def add_statements(self, record: Record) -> None:
        """Add a label, an adjudication or the verdicts of a trace, in place of what the same ones stated before."""
        match record:
            case LabelRecord(label=label):
                subject = _subject(label.target)
                given = Statement("label", label.annotator, subject, label.value, label.reason, label.at, label.seconds)
                self._add(label.target.item, given, label.annotator)
            case AdjudicationRecord(ruling=ruling):
                subject = _subject(ruling.target)
                decided = Statement("gold", ruling.adjudicator, subject, ruling.value, ruling.reason, ruling.at)
                self._add(ruling.target.item, decided)
            case TraceRecord(run=run, item=item):
                for own in _opinions(record):
                    concluded = Statement("verdict", run, _subject(own), own.value, own.reason)
                    self._add(item, concluded, run, own.judge)

    def _add(self, item: str, statement: Statement, *by: str) -> None:
        kind, _, part = statement.subject
        of_response = part.isdecimal() and kind in ("score", "answer")
        if kind in KINDS and (not part or of_response or step_of(part) is not None):
            self.stated[item][statement.source, *by, *statement.subject] = statement
        else:
            self.left_out += 1

    def questions(self) -> dict[Subject, str]:
        """Return the name of each question: the criterion, the step or response, and the kind if several have it."""
        names: dict[Subject, str] = {}
        for subject in (statement.subject for item in self.items for statement in self.statements(item)):
            if subject not in names:
                name = question_name(subject)
                names[subject] = name if name not in names.values() else f"{name} ({subject[0]})"
        return names

    def item_fields(self, item: Item) -> dict[str, str]:
        """Return an item's texts under usual names, which the readers recognise, and the steps of its responses."""
        fields = {"prompt": item.prompt, "context": item.context, "reference": item.reference}
        texts = {name: text for name, text in fields.items() if text}
        texts |= {response_name(number): response.text for number, response in enumerate(item.responses, 1)}
        for number, response in enumerate(item.responses, 1):
            if response.transcript in self.transcripts:
                texts[f"transcript_{number}"] = render(self.transcripts[response.transcript])
        return texts


def collect(records: Iterable[Record]) -> ExportedStudy:
    """Return the items of records with their labels, gold and verdicts."""
    study = ExportedStudy()
    for record in records:
        match record:
            case TranscriptRecord(transcript=transcript):
                study.transcripts[transcript.digest] = transcript
            case ItemRecord(item=item):
                study.items[item.id] = item
            case ScaleRecord(kind=kind, criterion=criterion, scale=scale):
                study.scales[kind, criterion] = scale
            case _:
                study.add_statements(record)
    return study


def _subject(about: Target | Opinion) -> Subject:
    return about.kind, about.criterion, about.part


def _opinions(record: TraceRecord) -> list[Opinion]:
    verdicts = [event.verdict for event in current_events(record.events) if isinstance(event, VerdictReached)]
    return [own for verdict in verdicts for own in verdict.opinions if own.stage == "verdict"]


def question_name(subject: Subject) -> str:
    """Return `clarity`, or `clarity · response 2` for one of several responses."""
    kind, criterion, part = subject
    return SEPARATOR.join(filter(None, (criterion or kind, f"response {part}" if part.isdecimal() else part)))


def response_name(number: int) -> str:
    """Return the name of a response's field: "response_1"."""
    return f"response_{number}"


def item_names(item: Item) -> dict[str, str]:
    """Return an item's scenario, group and systems under usual names."""
    names = {"scenario": item.scenario, "group": item.group}
    for number, response in enumerate(item.responses, 1):
        names[f"system_{number}"] = response.system
    return {name: text for name, text in names.items() if text}


def choice_text(kind: Kind, value: Value | None) -> str | int | float:
    """Return a label's value as a tool's control holds it."""
    if kind == "preference" and isinstance(value, int):
        return response_name(value) if value else TIE_NAME
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return str(value).lower()
    return value
