"""DnA-Eval's published weightings (Li et al. 2024; https://github.com/WING-NUS/Decompose-and-Aggregate).

    weightings/faireval/faireval_gpt35_human.csv    text, aspect1..4, accuracy_w_gpt35 ..., ann1, ann2
    weightings/llmbar/llmbar_gpt4_human.csv         text, aspect1..3, ann1, ann2, gpt4_w1, gpt4_w2, gpt4_w3

A file holds one model's weights and two people's, in percent (`35%`, `40`, `['35%', '65']`) of the same aspects. For
FairEval the aspects are the same in all files; for LLMBar each model proposed its own, and people weighed each set.
People's weights become labels and the model's a recorded trace, both brought to a sum of 100; what was written stands
in the label's reason, where it is another, and in the trace's reply.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.aspects import normalised, part
from core.formats.mapping.fields import Row
from core.formats.mapping.rows import rows
from core.formats.records import ItemRecord, LabelRecord, Record, Records, RunRecord, TraceRecord
from core.formats.text import first
from core.formats.validation_errors import shown
from core.items import Item
from core.labels import Label, Opinion, Target
from core.problems import FileRefused
from core.protocols.dna_eval.protocol import NAME
from core.protocols.dna_eval.readings import row as numbers
from core.protocols.dna_eval.settings import Settings
from core.protocols.scaleeval.protocol import Judge
from core.trace import Event, Spec, Turn, TurnTaken, Verdict, VerdictReached

PEOPLE = ("ann1", "ann2")
ASPECT = re.compile(r"aspect\d+")
NUMBERING = re.compile(r"^\(?\d+[.)]\s*")
OF_MODEL = re.compile(r"(?:.+_w_(?P<named>[^_]+)|(?P<counted>[^_]+)_w\d+)")
MODELS = {
    "gpt35": "gpt-3.5-turbo-0613",
    "gpt4": "gpt-4-0613",
    "llama2": "Llama-2-13b-chat-hf",
    "mistral": "Mistral-7B-Instruct-v0.2",
}
"""As the paper names them (Section 4.1)."""


@dataclass(frozen=True)
class Columns:
    """What a file's header says."""

    aspects: tuple[str, ...]
    weights: tuple[str, ...]
    model: str


@dataclass(frozen=True)
class Weighed:
    """One row: a question, its aspects, and what everybody gave them, as written and in percent."""

    number: int
    text: str
    aspects: tuple[str, ...]
    written: dict[str, str]
    weights: dict[str, dict[str, float]]


@dataclass
class Met:
    """What was told before: all files of a set share their questions, and FairEval's also what people said."""

    items: set[str] = field(default_factory=set)
    labels: list[Label] = field(default_factory=list)


def recognises(path: Path) -> bool:
    """A file of weightings, a folder of them, or one that holds such folders."""
    return bool(files(path))


def read(path: Path) -> Records:
    """Items as they are first met, a run for each file, a label for each person and a trace for each row of it.

    Raises FileRefused with file, line and field.
    """
    found = files(path)
    if not found:
        raise FileRefused(
            f"expected CSV files with the columns text, aspect1, ... and {', '.join(PEOPLE)}, in {path.name}"
        )
    met = Met()
    for file in found:
        yield from _file(file, met)


def files(path: Path) -> list[Path]:
    """The files of weightings in `path`, by name."""
    there = [path] if path.is_file() else sorted(path.glob("*.csv")) or sorted(path.glob("*/*.csv"))
    return [file for file in there if file.suffix.lower() == ".csv" and columns(_header(file)) is not None]


def columns(names: list[str]) -> Columns | None:
    """What each column is; None where this is another table."""
    aspects = tuple(name for name in names if ASPECT.fullmatch(name))
    found = {name: one["named"] or one["counted"] for name in names if (one := OF_MODEL.fullmatch(name))}
    models = set(found.values())
    if "text" not in names or not set(PEOPLE) <= set(names) or len(models) != 1 or len(found) != len(aspects):
        return None
    return Columns(aspects, tuple(found), models.pop())


def _header(file: Path) -> list[str]:
    return [name.strip().strip('"') for name in first(file).partition("\n")[0].split(",")]


def _file(file: Path, met: Met) -> Iterator[Record]:
    try:
        yield from _told(file, met)
    except FileRefused as refusal:
        raise FileRefused(f"{file.name}: {refusal}") from None


def _told(file: Path, met: Met) -> Iterator[Record]:
    """Everything in one file. Aspects that are the same in all rows were given; others the model proposed."""
    there = columns(_header(file))
    if there is None:
        raise FileRefused("the columns are not those of weightings")
    weighed = [_weighed(number, line, row, there) for number, (line, row) in enumerate(rows(file), start=1)]
    dataset = file.stem.partition(f"_{there.model}")[0]
    given = weighed[0].aspects if len({one.aspects for one in weighed}) == 1 else ()
    settings = _settings(there.model, given, len(there.aspects))
    run = f"{dataset} · {there.model}"
    yield RunRecord(name=run, protocol=NAME, settings=settings.model_dump(mode="json"))
    for one in weighed:
        item = Item(id=f"{dataset} {one.number}", prompt=one.text)
        if item.id not in met.items:
            met.items.add(item.id)
            yield ItemRecord(item=item)
        for label in _labels(item, one):
            if label not in met.labels:
                met.labels.append(label)
                yield LabelRecord(label=label)
        yield TraceRecord(run=run, item=item.id, events=tuple(_events(one, there.model, given)))


def _settings(model: str, given: tuple[str, ...], count: int) -> Settings:
    judge = Judge(name=model, spec=Spec(model=MODELS.get(model, model)))
    return Settings.model_validate({"judges": (judge,), "aspects": given, "proposed": count})


def _weighed(number: int, line: int, row: Row, there: Columns) -> Weighed:
    aspects = tuple(NUMBERING.sub("", _text(row, name, line)) for name in there.aspects)
    if len(set(aspects)) < len(aspects):
        raise FileRefused("expected different aspects", line=line, field=there.aspects[0])
    written = {there.model: " ".join(_text(row, name, line) for name in there.weights)}
    written |= {person: _text(row, person, line) for person in PEOPLE}
    fields = {there.model: there.weights[0]} | {person: person for person in PEOPLE}
    weights = {who: _weights(text, aspects, line, fields[who]) for who, text in written.items()}
    return Weighed(number, _text(row, "text", line), aspects, written, weights)


def _weights(text: str, aspects: tuple[str, ...], line: int, field: str) -> dict[str, float]:
    raw = numbers(text)
    if raw is None or len(raw) != len(aspects):
        raise FileRefused(f"expected {len(aspects)} weights in percent, not {shown(text)}", line=line, field=field)
    try:
        return dict(zip(aspects, normalised(raw), strict=True))
    except ValueError as trouble:
        raise FileRefused(f"expected weights in percent: {trouble}", line=line, field=field) from None


def _text(row: Row, name: str, line: int) -> str:
    text = str(row[name]).strip()
    if not text:
        raise FileRefused("expected text, and it is empty", line=line, field=name)
    return text


def _labels(item: Item, one: Weighed) -> Iterator[Label]:
    target = Target(item=item.id, kind="aspect_weights", part=part(one.aspects))
    for person in PEOPLE:
        raw = numbers(one.written[person]) or ()
        reason = "" if sum(raw) == 100 else f"written as {one.written[person]}, which sums to {sum(raw):g}"
        yield Label(target=target, annotator=person, value=one.weights[person], reason=reason)


def _events(one: Weighed, model: str, given: tuple[str, ...]) -> Iterator[Event]:
    """The model's turns as a flow would have taken them. Prompts, tokens, times and scores were not published."""
    if not given:
        yield TurnTaken(ask=0, turn=_turn(model, "aspects", "\n".join(one.aspects), "\n".join(one.aspects)))
    weights = one.weights[model]
    yield TurnTaken(ask=0 if given else 1, turn=_turn(model, "weights", one.written[model], weights))
    opinion = Opinion(kind="aspect_weights", judge=model, stage="last", value=weights, part=part(one.aspects))
    reason = "only the weights were published: no response was scored"
    yield VerdictReached(verdict=Verdict(outcome="agreed", value=weights, reason=reason, opinions=(opinion,)))


def _turn(model: str, step: str, reply: str, reading: str | dict[str, float]) -> Turn:
    return Turn(speaker=model, step=step, round=0, model=MODELS.get(model, model), reply=reply, reading=reading)
