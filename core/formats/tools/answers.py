"""Common parts of the readers of other tools' files: items from named fields, and records from answers to questions.

The files say who answered what, and not which kind of label it is. The kind follows from the values of a question:
words for one of two responses are a preference, numbers a score, other words an answer.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.guess import RESPONSES, suggest_mapping
from core.formats.mapping.judges import JudgeReader
from core.formats.records import (
    AdjudicationRecord,
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    Record,
    Records,
    ScaleRecord,
    TraceRecord,
)
from core.formats.text import read_text, refuse_large_json
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, Adjudication, Kind, Label, Opinion, Scale, Target, Value
from core.trace import Turn, VerdictReached, current_events

FIRST = ("1", "a", "left", "first", "response 1", "response a", "model a", "answer 1", "answer a", "text1", "text 1")
SECOND = ("2", "b", "right", "second", "response 2", "response b", "model b", "answer 2", "answer b", "text2", "text 2")
TIE = ("tie", "tied", "equal", "same", "draw", "both", "neither", "no preference")
PREFERENCES: dict[str, int] = dict.fromkeys(FIRST, 1) | dict.fromkeys(SECOND, 2) | dict.fromkeys(TIE, 0)
MOST_CATEGORIES = 100
"""More different words are free text, which has no scale."""
LONGEST_SCALE = 20
"""Whole numbers from 1 or 0 to this one are categories; others are a continuous scale."""


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


def load_json(path: Path) -> Any:
    """Return the JSON value of a file; raises FileFormatError for any other content."""
    return parse_json(read_text(path))


def parse_json(text: str) -> Any:
    """Return a JSON value; raises FileFormatError for invalid JSON, and for values that a database cannot store."""
    refuse_large_json(text)
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected JSON: {error.msg}", line=error.lineno) from None
    except ValueError:
        raise FileFormatError("expected JSON with numbers of at most 15 digits") from None
    except RecursionError:
        raise FileFormatError("expected JSON that is not nested so deep") from None
    if "\\u0000" in text:
        raise FileFormatError("expected text without NUL characters")
    return value


def _refuse_constant(name: str) -> Any:
    raise FileFormatError(f"expected JSON: {name} is not a number in JSON")


def item_from_fields(id: str, fields: Mapping[str, Any]) -> Item:
    """Return the item that fields with usual names describe, such as `prompt`, `response_a` and `reference`.

    Without any usual name, all fields are the prompt.
    """
    texts = {name: _text(value) for name, value in fields.items() if _is_present(name, value)}
    draft = suggest_mapping([*texts])
    responses = tuple(
        Response(text=texts[response["text"]], system=texts.get(response.get("system", "")))
        for response in draft.get("responses", ())
    )
    prompts = draft.get("prompt") or ([] if responses else [*texts])
    names = [prompts] if isinstance(prompts, str) else prompts
    labelled = [texts[name] if isinstance(prompts, str) else f"{name}: {texts[name]}" for name in names]
    others = {name: texts[draft[name]] for name in ("context", "reference", "scenario", "group") if name in draft}
    return Item(id=id, prompt="\n\n".join(labelled), responses=responses, **others)


def _is_present(name: str, value: Any) -> bool:
    """Return whether a field has a text; an empty response is an empty answer."""
    return value not in (None, "", [], {}) or (value == "" and RESPONSES.fullmatch(name.lower()) is not None)


def _text(value: Any) -> str:
    """Return a field as text; a list of messages as "role: text" lines."""
    if isinstance(value, list) and all(isinstance(element, dict) for element in value):
        return "\n".join(
            f"{element.get('role', '')}: {_text(element.get('content', ''))}".strip(": ") for element in value
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def records(items: Sequence[Item], answers: Sequence[Answer], scales: Mapping[str, Scale] | None = None) -> Records:
    """Yield criteria, scales, items, labels, adjudications and recorded runs.

    `scales` are those that a file declares, by question. Raises FileFormatError for an answer without an item.
    """
    by_id = {item.id: item for item in items}
    unknown = next((answer.item for answer in answers if answer.item not in by_id), None)
    if unknown is not None:
        raise FileFormatError(f"there is no item {unknown!r}, to which an answer belongs")
    by_question: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_question[answer.question.strip()].append(answer)
    questions = {name: _question(name, given, by_id, scales or {}) for name, given in by_question.items()}
    for name, question in questions.items():
        if name:
            yield CriterionRecord(criterion=Criterion(name=name))
        if question.scale is not None and question.kind != "preference":
            yield ScaleRecord(kind=question.kind, criterion=name, scale=question.scale)
    yield from (ItemRecord(item=item) for item in by_id.values())
    with closing(JudgeReader((), {})) as judges:
        for answer in answers:
            question = questions[answer.question.strip()]
            yield from _answer_records(answer, question, by_id[answer.item], judges)
        yield from judges.runs()


@dataclass(frozen=True)
class _Question:
    name: str
    kind: Kind
    scale: Scale | None

    def value(self, answer: Answer, item: Item) -> Value | None:
        """Return an answer as a value of this question."""
        if self.kind == "preference":
            return _preference(answer.value, item)
        return _plain(answer.value)


def _question(
    name: str, answers: Sequence[Answer], by_id: Mapping[str, Item], scales: Mapping[str, Scale]
) -> _Question:
    """Return the kind and the scale of a question, which follow from its answers unless its scale is declared."""
    values = [_plain(answer.value) for answer in answers if answer.value not in (None, "")]
    texts = all(isinstance(value, str) for value in values)
    if (
        texts
        and values
        and all(_preference(answer.value, by_id[answer.item]) is not None for answer in answers if answer.value)
    ):
        return _Question(name, "preference", PREFERENCE)
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if values and len(numbers) == len(values):
        return _Question(name, "score", scales.get(name) or _number_scale(numbers))
    categories = sorted({str(value): value for value in values}.values(), key=str)
    few = Scale(level="nominal", categories=tuple(categories)) if 0 < len(categories) <= MOST_CATEGORIES else None
    return _Question(name, "answer", scales.get(name) or few)


def _number_scale(numbers: Sequence[int | float]) -> Scale:
    low, high = min(numbers), max(numbers)
    if all(float(number).is_integer() for number in numbers) and low >= 0 and high <= LONGEST_SCALE:
        return Scale(level="ordinal", categories=tuple(range(min(1, int(low)), max(2, int(high)) + 1)))
    return Scale(level="interval", low=low, high=high if high > low else low + 1)


def _preference(value: Any, item: Item) -> int | None:
    """Return 1, 2 or 0 for a word that names one of two responses; None for any other value."""
    if len(item.responses) != 2 or not isinstance(value, str):
        return None
    word = " ".join(value.replace("_", " ").replace("-", " ").split()).casefold()
    systems = [(response.system or "").casefold() for response in item.responses]
    if systems[0] != systems[1] and value.casefold() in systems:
        return systems.index(value.casefold()) + 1
    return PREFERENCES.get(word)


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


def _answer_records(answer: Answer, question: _Question, item: Item, judges: JudgeReader) -> Iterator[Any]:
    value = question.value(answer, item) if answer.value not in (None, "") else None
    target = Target(item=item.id, kind=question.kind, criterion=question.name)
    if answer.is_judge:
        problem = "" if value is not None else "the file has no verdict"
        opinion = Opinion(
            kind=question.kind,
            judge=answer.rater,
            stage="verdict",
            value=value,
            criterion=question.name,
            problem=problem,
            reason=answer.reason,
        )
        turn = Turn(
            speaker=answer.rater,
            step="choice" if question.kind == "preference" else "rating",
            round=0,
            model=answer.model,
            reply=answer.reason or str(answer.value),
            reading=value,
            problem=problem,
            criterion=question.name,
        )
        protocol = "single-judge" if question.kind == "preference" else "single-score"
        judges.add(answer.rater, item.id, opinion, [turn], protocol, 1)
    elif answer.is_gold and value is not None:
        gold = Adjudication(
            target=target,
            value=value,
            rule="ground truth",
            reason=answer.reason,
            adjudicator=answer.rater,
            at=answer.at,
        )
        yield AdjudicationRecord(ruling=gold)
    elif value is not None:
        seconds = answer.seconds
        label = Label(
            target=target, annotator=answer.rater, value=value, reason=answer.reason, at=answer.at, seconds=seconds
        )
        yield LabelRecord(label=label)


# What the writers of other tools' files share: each item with its labels, gold and judges' verdicts.

KINDS: tuple[Kind, ...] = ("preference", "score", "answer", "likert", "aspect_quality")
"""Kinds that every annotation tool has a control for. AIUs and aspect weights have none."""
TIE_NAME = "tie"


@dataclass
class LabelledItem:
    """An item with what people and judges said about it."""

    item: Item
    labels: dict[tuple[str, Target], Label] = field(default_factory=dict)
    """The newest label of each annotator and target."""
    gold: dict[Target, Adjudication] = field(default_factory=dict)
    verdicts: list[tuple[str, Opinion]] = field(default_factory=list)
    """(run, verdict)."""


@dataclass
class ExportedStudy:
    """The items of a study in their order, and the scales of its questions."""

    items: dict[str, LabelledItem] = field(default_factory=dict)
    scales: dict[tuple[Kind, str], Scale] = field(default_factory=dict)
    left_out: int = 0
    """Labels, adjudications and verdicts of kinds that have no form in other tools."""

    def questions(self) -> dict[tuple[Kind, str], str]:
        """Return (kind, criterion) -> the question's name: the criterion, with the kind if several kinds have it."""
        keys = {(target.kind, target.criterion): None for entry in self.items.values() for target in _targets(entry)}
        names: dict[tuple[Kind, str], str] = {}
        for kind, criterion in keys:
            name = criterion or kind
            names[kind, criterion] = name if name not in names.values() else f"{name} ({kind})"
        return names


def _targets(entry: LabelledItem) -> Iterator[Target]:
    yield from (target for _, target in entry.labels)
    yield from entry.gold
    for _, opinion in entry.verdicts:
        yield Target(item=entry.item.id, kind=opinion.kind, criterion=opinion.criterion)


def collect(records: Iterable[Record]) -> ExportedStudy:
    """Return the items of records with their labels, gold and verdicts."""
    study = ExportedStudy()
    for record in records:
        match record:
            case ItemRecord(item=item):
                study.items[item.id] = LabelledItem(item)
            case ScaleRecord(kind=kind, criterion=criterion, scale=scale):
                study.scales[kind, criterion] = scale
            case LabelRecord(label=label) if _has_form(study, label.target.kind, label.target.part):
                study.items[label.target.item].labels[label.annotator, label.target] = label
            case AdjudicationRecord(ruling=ruling) if _has_form(study, ruling.target.kind, ruling.target.part):
                study.items[ruling.target.item].gold[ruling.target] = ruling
            case TraceRecord(run=run, item=key):
                study.items[key].verdicts += [(run, opinion) for opinion in _verdicts(study, record)]
    for entry in study.items.values():
        entry.labels = {key: label for key, label in entry.labels.items() if label.value is not None}
    return study


def _has_form(study: ExportedStudy, kind: Kind, part: str) -> bool:
    has_form = kind in KINDS and not part
    study.left_out += not has_form
    return has_form


def _verdicts(study: ExportedStudy, record: TraceRecord) -> Iterator[Opinion]:
    for event in current_events(record.events):
        if isinstance(event, VerdictReached):
            for opinion in event.verdict.opinions:
                if opinion.stage == "verdict" and _has_form(study, opinion.kind, opinion.part):
                    yield opinion


def response_name(number: int) -> str:
    """Return the name of a response's field: "response_1"."""
    return f"response_{number}"


def item_fields(item: Item) -> dict[str, str]:
    """Return an item's texts under usual names, which the readers recognise."""
    fields = {"prompt": item.prompt, "context": item.context, "reference": item.reference}
    texts = {name: text for name, text in fields.items() if text}
    return texts | {response_name(number): response.text for number, response in enumerate(item.responses, 1)}


def item_names(item: Item) -> dict[str, str]:
    """Return an item's scenario, group and systems under usual names."""
    names = {"scenario": item.scenario, "group": item.group}
    for number, response in enumerate(item.responses, 1):
        names[f"system_{number}"] = response.system
    return {name: text for name, text in names.items() if text}


def choice_text(kind: Kind, value: Value) -> str | int | float:
    """Return a label's value as a tool's control holds it."""
    if kind == "preference" and isinstance(value, int):
        return response_name(value) if value else TIE_NAME
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return str(value).lower()
    return value
