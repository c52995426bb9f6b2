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
from typing import Any, TextIO, TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import FileFormatError
from core.formats.records import Record, Records
from core.formats.text import count_unpacked, read_head, record_read, refuse_read_errors
from core.formats.tools.answers import Answer, LabelledItem, choice_text, collect, load_json, parse_json, records
from core.formats.validation_errors import to_file_format_error
from core.items import Item, Response
from core.labels import Kind, Value

Model = TypeVar("Model", bound=BaseModel)
LARGEST_SAMPLE = 2**27
"""Bytes of one sample after decompression."""
MAX_KEPT = 2**28
"""Characters of the texts of all samples, which are in memory together."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods of compression of which only a part is unpacked at a time."""
ZSTANDARD = 93
"""The method of compression in the specification of ZIP."""
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
"""Ends with the lengths of the name and of the extra field."""
ATTACHMENT = "attachment://"
ANNOTATOR = "annotator"
GOLD = "adjudicator"
JUDGE = "judge"
QUESTION = "criterion"
"""Keys of a score's metadata."""


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
    head = read_head(path) if path.suffix == ".json" else ""
    return head.startswith("{") and '"eval"' in head and '"status"' in head and '"version"' in head


def read(path: Path) -> Records:
    """Yield the items, labels and recorded runs; raises FileFormatError with the field.

    Samples are read one at a time: of their messages and events nothing is kept.
    """
    header, samples = _read_archive(path) if path.suffix == ".eval" else _read_json(path)
    evaluation = _validated(Evaluation, header.get("eval") or {})
    models = {str(scorer.get("name")): _grader(scorer) for scorer in evaluation.scorers or ()}
    found: list[tuple[str, int, Item, list[Answer]]] = []
    kept = 0
    for own in samples:
        sample = _validated(Sample, own)
        item, answers = _item(str(sample.id), sample, evaluation), list(_answers("", sample, models))
        kept += len(item.model_dump_json()) + sum(len(answer.reason) for answer in answers)
        if kept > MAX_KEPT:
            raise FileFormatError(f"the texts of the samples have more than {MAX_KEPT // 2**20} MB; divide the log")
        found.append((str(sample.id), sample.epoch, item, answers))
    has_epochs = any(epoch > 1 for _, epoch, _, _ in found)
    ids = [f"{id} epoch {epoch}" if has_epochs else id for id, epoch, _, _ in found]
    items = [item.model_copy(update={"id": id}) for id, (_, _, item, _) in zip(ids, found, strict=True)]
    answers = [replace(one, item=id) for id, (*_, own) in zip(ids, found, strict=True) for one in own]
    yield from records(items, answers)


def _validated(model: type[Model], fields: Any) -> Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise to_file_format_error(error) from None


def _read_json(path: Path) -> tuple[dict[str, Any], Iterable[Any]]:
    log = load_json(path)
    if not isinstance(log, dict):
        raise FileFormatError("expected a log, which is one JSON object")
    return log, log.get("samples") or []


def _read_archive(path: Path) -> tuple[dict[str, Any], Iterator[Any]]:
    """Return the header, and the samples as they are unpacked."""
    record_read(path)
    members = _members(path)
    header = next(members)
    return header if isinstance(header, dict) else {}, members


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

    content = _compressed_content(archive, info)
    try:
        return bytes(pyarrow.decompress(content, decompressed_size=info.file_size, codec="zstd")).decode()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise zipfile.BadZipFile(str(error)) from None


def _compressed_content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member as they are in the archive: they follow its local header and name."""
    file = archive.fp
    if file is None:
        raise zipfile.BadZipFile("the archive is closed")
    file.seek(info.header_offset)
    header = file.read(LOCAL_HEADER.size)
    if len(header) < LOCAL_HEADER.size:
        raise zipfile.BadZipFile("a header is cut off")
    *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
    file.seek(name_length + extra_length, 1)
    return file.read(info.compress_size)


def _item(id: str, sample: Sample, evaluation: Evaluation) -> Item:
    target = sample.target if isinstance(sample.target, str) else "\n".join(sample.target)
    output = sample.output
    text = output.completion or next((_message(choice.message, sample) for choice in output.choices), None)
    answer = () if text is None else (Response(text=_resolve(text, sample), system=evaluation.model or None),)
    responses = _stored_responses(sample) or answer
    metadata = sample.metadata or {}
    usual = {name: str(metadata[name]) for name in ("context", "scenario", "group") if metadata.get(name)}
    return Item(id=id, prompt=_prompt(sample), responses=responses, reference=target or None, **usual)


def _stored_responses(sample: Sample) -> tuple[Response, ...]:
    """Return the responses that Tiebreak wrote, of which a sample of Inspect has no more than one."""
    stored = (sample.metadata or {}).get("responses")
    if not isinstance(stored, list):
        return ()
    try:
        return tuple(Response.model_validate(response) for response in stored)
    except ValidationError as error:
        raise to_file_format_error(error) from None


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


def _grader(scorer: dict[str, Any]) -> str:
    options = scorer.get("options")
    return str(options.get("model") or "") if isinstance(options, dict) else ""


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
    samples = [_sample(entry, names) for entry in study.items.values()]
    created = datetime.now(UTC).isoformat(timespec="seconds")
    evaluation = {
        "created": created,
        "task": "labels",
        "dataset": {"name": "study", "samples": len(samples)},
        "model": "none/none",
        "config": {},
    }
    log = {"version": 2, "status": "success", "eval": evaluation, "samples": samples}
    json.dump(log, stream, ensure_ascii=False, allow_nan=False)
    stream.write("\n")
    return study.left_out


def _sample(entry: LabelledItem, names: Mapping[tuple[Kind, str], str]) -> dict[str, Any]:
    item = entry.item
    scores = {
        f"{names[target.kind, target.criterion]} · {annotator}": _score(
            names[target.kind, target.criterion],
            target.kind,
            label.value,
            label.reason,
            {ANNOTATOR: annotator},
        )
        for (annotator, target), label in entry.labels.items()
        if label.value is not None
    }
    for target, ruling in entry.gold.items():
        name = names[target.kind, target.criterion]
        who = {GOLD: ruling.adjudicator}
        scores[f"{name} · gold"] = _score(name, target.kind, ruling.value, ruling.reason, who)
    for run, opinion in entry.verdicts:
        if opinion.value is not None:
            name = names[opinion.kind, opinion.criterion]
            scores[f"{name} · {run}"] = _score(name, opinion.kind, opinion.value, opinion.reason, {JUDGE: run})
    output: dict[str, Any] = (
        {"model": item.responses[0].system or "none/none", "choices": []} if len(item.responses) == 1 else {}
    )
    if output:
        message = {"role": "assistant", "content": item.responses[0].text, "source": "generate"}
        output["choices"] = [{"message": message, "stop_reason": "stop"}]
    metadata = {
        "responses": [response.model_dump(mode="json") for response in item.responses],
        **{name: text for name, text in (("context", item.context), ("scenario", item.scenario)) if text},
        **({"group": item.group} if item.group else {}),
    }
    return {
        "id": item.id,
        "epoch": 1,
        "input": item.prompt,
        "target": item.reference or "",
        "messages": [],
        "output": output,
        "scores": scores,
        "metadata": metadata,
    }


def _score(name: str, kind: Kind, value: Value, reason: str, source: Mapping[str, str]) -> dict[str, Any]:
    chosen = choice_text(kind, value)
    return {"value": chosen, "explanation": reason or None, "metadata": {QUESTION: name, **source}}
