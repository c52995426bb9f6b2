"""DnA-Eval's published weightings (Li et al. 2024; https://github.com/WING-NUS/Decompose-and-Aggregate).

    weightings/faireval/faireval_gpt35_human.csv    text, aspect1..4, accuracy_w_gpt35 ..., ann1, ann2
    weightings/llmbar/llmbar_gpt4_human.csv         text, aspect1..3, ann1, ann2, gpt4_w1, gpt4_w2, gpt4_w3

A file has the weights of one model and two annotators, in percent (`35%`, `40`, `['35%', '65']`), for the same aspects.
In FairEval the aspects are the same in all files; in LLMBar each model proposed its own, and the annotators weighted
each set. The annotators' weights become labels and the model's a recorded trace, both normalised to a sum of 100. The
original text is in the label's reason, if it differs, and in the trace's reply.
"""

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.aspects import aspect_set_id, normalize_weights
from core.errors import FileFormatError
from core.formats.mapping.fields import Row
from core.formats.mapping.rows import read_rows
from core.formats.records import ItemRecord, LabelRecord, Record, Records, RunRecord, TraceRecord
from core.formats.text import read_head
from core.formats.validation_errors import quote_value
from core.items import Item
from core.labels import Label, Opinion, Target
from core.protocols import Judge
from core.protocols.dna_eval.protocol import NAME
from core.protocols.dna_eval.settings import Settings
from core.trace import Event, Outcome, Spec, Turn, TurnCompleted, Verdict, VerdictReached

ANNOTATORS = ("ann1", "ann2")
ASPECT = re.compile(r"aspect\d+")
NUMBERING = re.compile(r"^\(?\d+[.)]\s*")
# accuracy_w_gpt4, gpt4_w1, llama2_w_r or creativity_w.
WEIGHT = re.compile(r"(?P<before>.+?)_w(?:_(?P<after>.+)|\d*)")
# The paper's models (Section 4.1) by their names in the files.
MODELS = {
    "gpt35": "gpt-3.5-turbo-0613",
    "gpt4": "gpt-4-0613",
    "llama2": "Llama-2-13b-chat-hf",
    "mistral": "Mistral-7B-Instruct-v0.2",
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# Characters allowed between the weights of a row; "$" is next to "%" on a keyboard, and annotators type it by mistake.
_BETWEEN = re.compile(r"[\s,;|/%$\[\]()'\"“”‘’*_`]*")


@cache
def _categories() -> dict[str, str]:
    """Return digest -> category of the questions of FairEval and MT-Bench."""
    text = Path(__file__).with_name("question_categories.toml").read_text(encoding="utf-8")
    return {digest: category for category, digests in tomllib.loads(text).items() for digest in digests.split()}


def category_of(question: str) -> str:
    """Return the category of a question of FairEval or MT-Bench; empty for any other."""
    digest = hashlib.sha256(" ".join(question.split()).lower().encode()).hexdigest()[:8]
    return _categories().get(digest, "")


@dataclass(frozen=True)
class Columns:
    """The columns of a file, by their meaning."""

    aspects: tuple[str, ...]
    weights: tuple[str, ...]
    model: str


@dataclass(frozen=True)
class WeightingRow:
    """One row: a question, its aspects, and the weights of each rater, as written and in percent."""

    number: int
    text: str
    aspects: tuple[str, ...]
    written: dict[str, str]
    weights: dict[str, dict[str, float]]
    """Without raters whose weights are missing. Weights that are all 0 stay so: they have no order."""


def recognises(path: Path) -> bool:
    """Return whether it is a file of weightings, a folder of them, or a folder with such folders."""
    return bool(weighting_files(path))


def read(path: Path) -> Records:
    """Yield each item once, and for each file a run with a label for each annotator and a trace for each row.

    Raises FileFormatError with file, line and field.
    """
    files = weighting_files(path)
    if not files:
        raise FileFormatError(
            f"expected CSV files with the columns text, aspect1, ... and {', '.join(ANNOTATORS)}, in {path.name}"
        )
    # All files of a data set share their questions, and FairEval's also their labels.
    items, labels = set[str](), list[Label]()
    for file in files:
        try:
            yield from _file_records(file, items, labels)
        except FileFormatError as refusal:
            raise FileFormatError(f"{file.name}: {refusal}") from None


def weighting_files(path: Path) -> list[Path]:
    """Return the files of weightings in `path`, by name."""
    candidates = [path] if path.is_file() else sorted(path.glob("*.csv")) or sorted(path.glob("*/*.csv"))
    return [
        file
        for file in candidates
        if file.suffix.lower() == ".csv" and parse_columns(_header(file), file.stem) is not None
    ]


def parse_columns(names: list[str], stem: str) -> Columns | None:
    """Return the columns by their meaning; None for any other table.

    The model is the common part of all columns of weights, before or after "_w"; otherwise the file's name `stem` has
    it.
    """
    aspects = tuple(name for name in names if ASPECT.fullmatch(name))
    matches = {name: match for name in names if (match := WEIGHT.fullmatch(name))}
    is_complete = "text" in names and set(ANNOTATORS) <= set(names)
    if not is_complete or not aspects or len(matches) != len(aspects):
        return None
    sides = [{match[side] for match in matches.values()} for side in ("before", "after")]
    model = next((side.pop() for side in sides if len(side) == 1 and side != {None}), None)
    return Columns(aspects, tuple(matches), model or stem.removesuffix("_human").rpartition("_")[2])


def _header(file: Path) -> list[str]:
    return [name.strip().strip('"') for name in read_head(file).partition("\n")[0].split(",")]


def _file_records(file: Path, items: set[str], labels: list[Label]) -> Iterator[Record]:
    """Yield a file's records; `items` and `labels` are those already yielded."""
    columns = parse_columns(_header(file), file.stem)
    if columns is None:
        raise FileFormatError("the columns are not those of weightings")
    rows = [_parse_row(number, line, row, columns) for number, (line, row) in enumerate(read_rows(file), start=1)]
    data_set = file.stem.partition(f"_{columns.model}")[0]
    # Aspects that are equal in all rows were fixed; otherwise the model proposed them for each question.
    fixed_aspects = rows[0].aspects if len({row.aspects for row in rows}) == 1 else ()
    judge = Judge(name=columns.model, spec=Spec(model=MODELS.get(columns.model, columns.model)))
    fields = {"judges": (judge,), "aspects": fixed_aspects, "proposed": len(columns.aspects)}
    settings = Settings.model_validate(fields)
    run = f"{data_set} · {columns.model}"
    yield RunRecord(name=run, protocol=NAME, settings=settings.model_dump(mode="json"))
    for row in rows:
        item = Item(id=f"{data_set} {row.number}", prompt=row.text, scenario=category_of(row.text) or None)
        if item.id not in items:
            items.add(item.id)
            yield ItemRecord(item=item)
        for label in _labels(item, row):
            if label not in labels:
                labels.append(label)
                yield LabelRecord(label=label)
        yield TraceRecord(run=run, item=item.id, events=tuple(_events(row, columns.model, fixed_aspects)))


def _parse_row(number: int, line: int, row: Row, columns: Columns) -> WeightingRow:
    text, *named = (_text(row, name, line) for name in ("text", *columns.aspects))
    aspects = tuple(NUMBERING.sub("", name) for name in named)
    if len(set(aspects)) < len(aspects):
        raise FileFormatError("expected different aspects", line=line, field=columns.aspects[0])
    written = {columns.model: " ".join(str(row[name]).strip() for name in columns.weights)}
    written |= {annotator: str(row[annotator]).strip() for annotator in ANNOTATORS}
    fields = {columns.model: columns.weights[0]} | {annotator: annotator for annotator in ANNOTATORS}
    parsed = {rater: _parse_weights(text, aspects, line, fields[rater]) for rater, text in written.items()}
    weights = {rater: values for rater, values in parsed.items() if values is not None}
    return WeightingRow(number, text, aspects, written, weights)


def _parse_weights(text: str, aspects: tuple[str, ...], line: int, field: str) -> dict[str, float] | None:
    """Return the weights in percent, or all of them 0; None if they are missing."""
    raw = read_number_row(text)
    if not text.strip():
        return None
    if raw is None or len(raw) != len(aspects):
        raise FileFormatError(
            f"expected {len(aspects)} weights in percent, not {quote_value(text)}", line=line, field=field
        )
    if not any(raw):
        return dict.fromkeys(aspects, 0.0)
    try:
        return dict(zip(aspects, normalize_weights(raw), strict=True))
    except ValueError as error:
        raise FileFormatError(f"expected weights in percent: {error}", line=line, field=field) from None


def read_number_row(line: str) -> tuple[float, ...] | None:
    """Return the numbers of a line with nothing else: `40% 30% 20% 10%`, `['40%', '60%']`; None for any other line."""
    text = unicodedata.normalize("NFKC", line)
    if any(not _BETWEEN.fullmatch(rest) for rest in _NUMBER.split(text)):
        return None
    return tuple(float(number) for number in _NUMBER.findall(text)) or None


def _text(row: Row, name: str, line: int) -> str:
    text = str(row[name]).strip()
    if not text:
        raise FileFormatError("expected text, and it is empty", line=line, field=name)
    return text


def _labels(item: Item, row: WeightingRow) -> Iterator[Label]:
    target = Target(item=item.id, kind="aspect_weights", part=aspect_set_id(row.aspects))
    for annotator in (name for name in ANNOTATORS if any(row.weights.get(name, {}).values())):
        raw = read_number_row(row.written[annotator]) or ()
        reason = "" if sum(raw) == 100 else f"written as {row.written[annotator]}, which sums to {sum(raw):g}"
        yield Label(target=target, annotator=annotator, value=row.weights[annotator], reason=reason)


def _events(row: WeightingRow, model: str, fixed_aspects: tuple[str, ...]) -> Iterator[Event]:
    """Yield the model's turns as a run would record them. Prompts, tokens, times and scores were not published."""
    shared = {"speaker": model, "round": 0, "model": MODELS.get(model, model)}
    proposed = "\n".join(row.aspects)
    if not fixed_aspects:
        yield TurnCompleted(ask=0, turn=Turn(step="aspects", reply=proposed, reading=proposed, **shared))
    weights = row.weights.get(model)
    has_order = bool(weights and any(weights.values()))
    problem = "" if has_order else "all weights are 0" if weights else "the file has no weights"
    reading = weights if has_order else None
    turn = Turn(step="weights", reply=row.written[model], reading=reading, problem=problem, **shared)
    yield TurnCompleted(ask=0 if fixed_aspects else 1, turn=turn)
    part = aspect_set_id(row.aspects)
    opinion = Opinion(kind="aspect_weights", judge=model, stage="last", value=weights, part=part, problem=problem)
    reason = problem or "only the weights were published: no response was scored"
    outcome: Outcome = "agreed" if has_order else "no_verdict"
    yield VerdictReached(verdict=Verdict(outcome=outcome, value=reading, reason=reason, opinions=(opinion,)))
