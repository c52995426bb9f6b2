"""Inspect AI's logs (https://inspect.aisi.org.uk/eval-logs.html), `.json` or `.eval`: samples with scores.

The model's output is the response, and each scorer a judge: its name is the criterion, the grading model the judge's
model if the log names it. Scores whose metadata have an "annotator" are labels of people: Tiebreak writes them so.
"""

import json
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel

from core.errors import FileFormatError
from core.formats.mapping.fields import render_messages
from core.formats.records import Record, Records, TranscriptRecord
from core.formats.text import begins_like, count_unpacked, load_json, parse_json, record_read, refuse_read_errors
from core.formats.tools.answers import Answer, ExportedStudy, Subject, collect, records
from core.formats.transcripts.messages import read_transcript, text_of, write_messages
from core.formats.validation_errors import validated
from core.items import Item, Response
from core.transcripts import Transcript

# Methods of compression of which only a part is unpacked at a time.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The method of compression in the specification of ZIP.
ZSTANDARD = 93
# The lengths of the name and of the extra field, which end the header before a member's content.
LENGTHS = struct.Struct("<26x2H")
ATTACHMENT = "attachment://"
# Messages from which on a sample is a conversation: a system message, a question and its answer are fewer.
MANY = 4
# Keys of a score's metadata.
ANNOTATOR = "annotator"
GOLD = "adjudicator"
JUDGE = "judge"
QUESTION = "criterion"
# Key of a sample's metadata.
TRANSCRIPTS = "transcripts"
SOURCES = {"label": ANNOTATOR, "gold": GOLD, "verdict": JUDGE}


class Score(BaseModel):
    """What one scorer concluded."""

    value: Any
    explanation: str | None = None
    metadata: dict[str, Any] | None = None


class Choice(BaseModel):
    """One completion."""

    message: dict[str, Any] = {}


class Output(BaseModel):
    """The model's answer."""

    completion: str | None = None
    choices: list[Choice] = []


class Sample(BaseModel):
    """One sample of one epoch."""

    id: int | str
    epoch: int = 1
    input: Any
    target: str | list[str] = ""
    output: Output = Output()
    scores: dict[str, Score] | None = None
    metadata: dict[str, Any] | None = None
    messages: list[Any] = []


class Evaluation(BaseModel):
    """What was evaluated."""

    model: str = ""
    scorers: list[dict[str, Any]] | None = None


def recognises(path: Path) -> bool:
    """Return whether it is a log: an archive with a header, or a JSON object with an evaluation."""
    if path.suffix == ".eval":
        return path.is_file() and zipfile.is_zipfile(path)
    return begins_like(path, "{", "eval", "status", "version")


def read(path: Path) -> Records:
    """Yield the items, labels and recorded runs; raises FileFormatError with the field.

    Samples are read one at a time: of their messages nothing is kept. The transcript of a sample with more than a reply
    to its input is yielded before the items.
    """
    parts = _archived(path) if path.suffix == ".eval" else _parts(path)
    evaluation = validated(Evaluation, next(parts))
    models = {}
    for scorer in evaluation.scorers or ():
        options = scorer.get("options")
        models[str(scorer.get("name"))] = str(options.get("model") or "") if isinstance(options, dict) else ""
    items, answers = list[Item](), list[Answer]()
    for own in parts:
        sample = validated(Sample, _resolve(own, own.get("attachments")) if isinstance(own, dict) else own)
        item = _item(sample, evaluation)
        stored = (sample.metadata or {}).get(TRANSCRIPTS)
        if isinstance(stored, list):  # Tiebreak writes them: the numbers of the steps remain
            yield from (TranscriptRecord(transcript=validated(Transcript, one)) for one in stored)
        elif len(item.responses) == 1 and _is_conversation(sample.messages):
            transcript = read_transcript(sample.messages, field=f"samples.{sample.id}.messages")
            yield TranscriptRecord(transcript=transcript)
            response = item.responses[0].model_copy(update={"transcript": transcript.digest})
            item = item.model_copy(update={"responses": (response,)})
        items.append(item)
        answers += _answers(item.id, sample, models)
    yield from records(items, answers)


def _parts(path: Path) -> Iterator[Any]:
    """Yield what was evaluated, and then each sample."""
    log = load_json(path)
    if not isinstance(log, dict):
        raise FileFormatError("expected a log, which is one JSON object")
    yield log.get("eval") or {}
    yield from log.get("samples") or ()


def _archived(path: Path) -> Iterator[Any]:
    """Yield the same of an archive, as it is unpacked; raises FileFormatError if it unpacks to too much in sum."""
    record_read(path)
    unpacked = 0
    try:
        with refuse_read_errors(path), zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            if header is None:
                raise FileFormatError("expected a log with header.json")
            for name in (header, *sorted(name for name in names if name.startswith("samples/"))):
                unpacked += archive.getinfo(name).file_size
                count_unpacked(path, unpacked)
                value = parse_json(_member(archive, name))
                yield value if name != header else value.get("eval") or {} if isinstance(value, dict) else {}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        reason = f"{path.name} cannot be unpacked: {error}"
        raise FileFormatError(f"{reason}. Convert it first: inspect log convert --to json") from None


def _member(archive: zipfile.ZipFile, name: str) -> str:
    info = archive.getinfo(name)
    if info.compress_type in METHODS:
        return archive.read(name).decode()
    if info.compress_type != ZSTANDARD or archive.fp is None:
        raise zipfile.BadZipFile(f"{name} is compressed by a method that logs do not have")
    # Imported here: only logs of Inspect are compressed in this way, which the standard library cannot read.
    import pyarrow

    archive.fp.seek(info.header_offset)
    try:
        archive.fp.seek(sum(LENGTHS.unpack(archive.fp.read(LENGTHS.size))), 1)
        content = archive.fp.read(info.compress_size)
        return bytes(pyarrow.decompress(content, decompressed_size=info.file_size, codec="zstd")).decode()
    except (pyarrow.ArrowException, OSError, ValueError, struct.error) as error:
        raise zipfile.BadZipFile(str(error)) from None


def _resolve(value: Any, attachments: Any) -> Any:
    """Return a sample's JSON with its long texts, which are stored beside the messages, in their places."""
    match value:
        case str() if value.startswith(ATTACHMENT) and isinstance(attachments, dict):
            return attachments.get(value.removeprefix(ATTACHMENT), value)
        case list():
            return [_resolve(one, attachments) for one in value]
        case dict():
            return {key: _resolve(one, attachments) for key, one in value.items()}
    return value


def _item(sample: Sample, evaluation: Evaluation) -> Item:
    target = sample.target if isinstance(sample.target, str) else "\n".join(sample.target)
    completions = (text_of(choice.message.get("content")) for choice in sample.output.choices)
    text = sample.output.completion or next(completions, None)
    answer = () if text is None else (Response(text=text, system=evaluation.model or None),)
    metadata = sample.metadata or {}
    stored = metadata.get("responses")  # Tiebreak writes them here: a sample of Inspect has no more than one
    return Item(
        id=str(sample.id) if sample.epoch == 1 else f"{sample.id} epoch {sample.epoch}",
        prompt=render_messages(sample.input) or text_of(sample.input),
        responses=tuple(validated(Response, own) for own in stored) if isinstance(stored, list) else answer,
        reference=target or None,
        **{name: str(metadata[name]) for name in ("context", "scenario", "group") if metadata.get(name)},
    )


def _is_conversation(messages: list[Any]) -> bool:
    """Return whether messages are more than a reply to an input: there are many, or some that call tools."""
    return bool(messages) and (len(messages) >= MANY or render_messages(messages) is None)


def _answers(item: str, sample: Sample, models: Mapping[str, str]) -> Iterator[Answer]:
    for name, score in (sample.scores or {}).items():
        metadata = score.metadata or {}
        person = metadata.get(ANNOTATOR) or metadata.get(GOLD)
        question = str(metadata.get(QUESTION) or name)
        values = score.value.items() if isinstance(score.value, dict) else [("", score.value)]
        for key, value in values:
            yield Answer(
                item,
                f"{question}: {key}" if key else question,
                str(person or metadata.get(JUDGE) or name),
                value,
                reason=score.explanation or "",
                is_judge=person is None,
                model=models.get(name, ""),
                is_gold=metadata.get(GOLD) is not None,
            )


def write(records: Iterable[Record], stream: TextIO) -> int:
    """Write a log whose scores are labels, gold and verdicts; returns the number of labels that have no form here."""
    study = collect(records)
    names = study.questions()
    samples = [_sample(study, item, names) for item in study.items.values()]
    created, dataset = datetime.now(UTC).isoformat(timespec="seconds"), {"name": "study", "samples": len(samples)}
    evaluation = {"created": created, "task": "labels", "dataset": dataset, "model": "none/none", "config": {}}
    log = {"version": 2, "status": "success", "eval": evaluation, "samples": samples}
    json.dump(log, stream, ensure_ascii=False, allow_nan=False)
    stream.write("\n")
    return study.left_out


def _sample(study: ExportedStudy, item: Item, names: Mapping[Subject, str]) -> dict[str, Any]:
    scores: dict[str, dict[str, Any]] = {}
    for own in study.statements(item.id):
        name = names[own.subject]
        metadata = {QUESTION: name, SOURCES[own.source]: own.who}
        key = f"{name} · {'gold' if own.source == 'gold' else own.who}"
        scores[key] = {"value": own.choice, "explanation": own.reason or None, "metadata": metadata}
    output: dict[str, Any] = {}
    if len(item.responses) == 1:
        (response,) = item.responses
        message = {"role": "assistant", "content": response.text, "source": "generate"}
        output = {"model": response.system or "none/none", "choices": [{"message": message, "stop_reason": "stop"}]}
    usual = {"context": item.context, "scenario": item.scenario, "group": item.group}
    transcripts = [study.transcripts[digest] for digest in item.transcripts if digest in study.transcripts]
    shown = transcripts[-1] if transcripts and len(item.responses) == 1 else None
    return {
        "id": item.id,
        "epoch": 1,
        "input": item.prompt,
        "target": item.reference or "",
        "messages": [] if shown is None else write_messages(shown),
        "output": output,
        "scores": scores,
        "metadata": {
            "responses": [response.model_dump(mode="json") for response in item.responses],
            TRANSCRIPTS: [transcript.model_dump(mode="json") for transcript in transcripts],
            **{name: text for name, text in usual.items() if text},
        },
    }
