"""Inspect AI's logs (https://inspect.aisi.org.uk/eval-logs.html), `.json` or `.eval`: samples with scores.

The model's output is the response, and each scorer a judge: its name is the criterion, the grading model the judge's
model if the log names it. Scores whose metadata have an "annotator" are labels of people: Tiebreak writes them so.
"""

import json
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel

from core.errors import FileFormatError
from core.formats.mapping.fields import render_messages
from core.formats.records import Record, Records, TranscriptRecord
from core.formats.text import begins_like, count_unpacked, load_json, parse_json, record_read, refuse_read_errors
from core.formats.tools.answers import Answer, ExportedStudy, Subject, collect, records
from core.formats.transcripts.messages import read_time, read_transcript, write_messages
from core.formats.validation_errors import validated
from core.items import Item, Response
from core.transcripts import Transcript

# Bytes of one sample after decompression.
LARGEST_SAMPLE = 2**27
# Characters of the texts of all samples, which are in memory together.
MAX_KEPT = 2**28
# Methods of compression of which only a part is unpacked at a time.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The method of compression in the specification of ZIP.
ZSTANDARD = 93
# Ends with the lengths of the name and of the extra field.
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
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
    answer: str | None = None
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
    score: Score | None = None
    attachments: dict[str, str] = {}
    metadata: dict[str, Any] | None = None
    messages: list[Any] = []
    events: list[Any] = []


class Evaluation(BaseModel):
    """What was evaluated."""

    model: str = ""
    task: str = ""
    scorers: list[dict[str, Any]] | None = None


def recognises(path: Path) -> bool:
    """Return whether it is a log: an archive with a header, or a JSON object with an evaluation."""
    if not path.is_file():
        return False
    if path.suffix == ".eval":
        return zipfile.is_zipfile(path)
    return begins_like(path, "{", "eval", "status", "version")


def read(path: Path) -> Records:
    """Yield the items, labels and recorded runs; raises FileFormatError with the field.

    Samples are read one at a time: of their messages and events nothing is kept. The transcript of a sample with more
    than a reply to its input is yielded before the items.
    """
    header, samples = _read_parts(path)
    evaluation = validated(Evaluation, header.get("eval") or {})
    models = {}
    for scorer in evaluation.scorers or ():
        options = scorer.get("options")
        grader = options.get("model") if isinstance(options, dict) else None
        models[str(scorer.get("name"))] = str(grader or "")
    found: list[tuple[int, Item, list[Answer]]] = []
    kept = 0
    for own in samples:
        sample = validated(Sample, own)
        item, given = _item(str(sample.id), sample, evaluation), list(_answers("", sample, models))
        stored = (sample.metadata or {}).get(TRANSCRIPTS)
        if isinstance(stored, list):  # Tiebreak writes them: the numbers of the steps remain
            yield from (TranscriptRecord(transcript=validated(Transcript, one)) for one in stored)
        elif (transcript := _transcript(sample)) is not None and len(item.responses) == 1:
            yield TranscriptRecord(transcript=transcript)
            (response,) = item.responses
            response = response.model_copy(update={"transcript": transcript.digest})
            item = item.model_copy(update={"responses": (response,)})
        kept += len(item.model_dump_json()) + sum(len(answer.reason) for answer in given)
        if kept > MAX_KEPT:
            raise FileFormatError(f"the texts of the samples have more than {MAX_KEPT // 2**20} MB; divide the log")
        found.append((sample.epoch, item, given))
    has_epochs, items, answers = any(epoch > 1 for epoch, *_ in found), [], []
    for epoch, item, given in found:
        id = f"{item.id} epoch {epoch}" if has_epochs else item.id
        items.append(item.model_copy(update={"id": id}))
        answers += [replace(answer, item=id) for answer in given]
    yield from records(items, answers)


def _read_parts(path: Path) -> tuple[dict[str, Any], Iterable[Any]]:
    """Return the header, and the samples: those of an archive as they are unpacked."""
    if path.suffix == ".eval":
        record_read(path)
        members = _members(path)
        header = next(members)
        return header if isinstance(header, dict) else {}, members
    log = load_json(path)
    if not isinstance(log, dict):
        raise FileFormatError("expected a log, which is one JSON object")
    return log, log.get("samples") or []


def _members(path: Path) -> Iterator[Any]:
    """Yield the header and then each sample; raises FileFormatError if they unpack to too much in sum."""
    unpacked = 0
    try:
        with refuse_read_errors(path), zipfile.ZipFile(path) as archive:
            names = sorted(
                name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")
            )
            header = next((name for name in ("header.json", "_journal/start.json") if name in archive.namelist()), None)
            if header is None:
                raise FileFormatError("expected a log with header.json")
            for name in (header, *names):
                unpacked += archive.getinfo(name).file_size
                count_unpacked(path, unpacked)
                yield parse_json(_member(archive, name))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        reason = f"{path.name} cannot be unpacked: {error}"
        raise FileFormatError(f"{reason}. Convert it first: inspect log convert --to json") from None


def _member(archive: zipfile.ZipFile, name: str) -> str:
    info = archive.getinfo(name)
    if info.file_size > LARGEST_SAMPLE:
        raise FileFormatError(f"{name} has more than {LARGEST_SAMPLE:,} bytes")
    if info.compress_type in METHODS:
        return archive.read(name).decode()
    if info.compress_type != ZSTANDARD:
        raise zipfile.BadZipFile(f"{name} is compressed by a method that logs do not have")
    # Imported here: only logs of Inspect are compressed in this way, which the standard library cannot read.
    import pyarrow

    file = archive.fp
    if file is None:
        raise zipfile.BadZipFile("the archive is closed")
    file.seek(info.header_offset)
    header = file.read(LOCAL_HEADER.size)
    if len(header) < LOCAL_HEADER.size:
        raise zipfile.BadZipFile("a header is cut off")
    *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
    file.seek(name_length + extra_length, 1)
    content = file.read(info.compress_size)
    try:
        return bytes(pyarrow.decompress(content, decompressed_size=info.file_size, codec="zstd")).decode()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise zipfile.BadZipFile(str(error)) from None


def _item(id: str, sample: Sample, evaluation: Evaluation) -> Item:
    target = sample.target if isinstance(sample.target, str) else "\n".join(sample.target)
    output = sample.output
    text = output.completion or next((_message(choice.message, sample) for choice in output.choices), None)
    answer = () if text is None else (Response(text=_resolve(text, sample), system=evaluation.model or None),)
    metadata = sample.metadata or {}
    stored = metadata.get("responses")  # Tiebreak writes them here: a sample of Inspect has no more than one
    written = tuple(validated(Response, own) for own in stored) if isinstance(stored, list) else ()
    usual = {name: str(metadata[name]) for name in ("context", "scenario", "group") if metadata.get(name)}
    return Item(id=id, prompt=_prompt(sample), responses=written or answer, reference=target or None, **usual)


def _transcript(sample: Sample) -> Transcript | None:
    """Return the messages of a sample, with the durations of its tools; None if there is nothing but a reply."""
    if not sample.messages or (render_messages(sample.messages) is not None and len(sample.messages) < MANY):
        return None
    resolved = _resolve_all(sample.messages, sample)
    found = read_transcript(resolved, field=f"samples.{sample.id}.messages")
    tools = [event for event in sample.events if isinstance(event, dict) and event.get("event") == "tool"]
    times = {str(event.get("id")): event for event in tools}
    parts = [part.model_copy(update=_times(times.get(part.call))) for part in found.parts]
    return Transcript(parts=tuple(parts))


def _times(event: Mapping[str, Any] | None) -> dict[str, Any]:
    seconds = (event or {}).get("working_time")
    at = read_time((event or {}).get("timestamp"))
    return {"at": at, "seconds": float(seconds)} if at and isinstance(seconds, int | float) else {}


def _resolve_all(value: Any, sample: Sample) -> Any:
    match value:
        case str():
            return _resolve(value, sample)
        case list():
            return [_resolve_all(one, sample) for one in value]
        case dict():
            return {key: _resolve_all(one, sample) for key, one in value.items()}
    return value


def _prompt(sample: Sample) -> str:
    if isinstance(sample.input, list):
        messages = [message for message in sample.input if isinstance(message, dict)]
        if len(messages) == 1:
            return _message(messages[0], sample)
        return "\n\n".join(f"{message.get('role', '')}: {_message(message, sample)}" for message in messages)
    return _resolve(str(sample.input), sample)


def _message(message: Any, sample: Sample) -> str:
    content = message.get("content", "") if isinstance(message, dict) else ""
    if isinstance(content, list):
        content = "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return _resolve(str(content), sample)


def _resolve(text: str, sample: Sample) -> str:
    """Return a text; long ones are stored next to the sample's messages."""
    return sample.attachments.get(text.removeprefix(ATTACHMENT), text) if text.startswith(ATTACHMENT) else text


def _answers(item: str, sample: Sample, models: dict[str, str]) -> Iterator[Answer]:
    scores = dict(sample.scores or {})
    if sample.score is not None:
        scores.setdefault("score", sample.score)
    for name, score in scores.items():
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
                reason=_resolve(score.explanation or "", sample),
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
    found = [study.transcript(digest) for digest in item.transcripts]
    transcripts = [transcript for transcript in found if transcript is not None]
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
