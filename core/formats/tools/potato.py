"""Potato's project folder (https://github.com/davidjurgens/potato): instances, and the state of each annotator.

    data/instances.json (or .jsonl, .csv, .tsv)     one instance per line, with an id
    annotation_output/USER/user_state.json          the user's answers, (scheme, label) -> value by instance

The older `annotated_instances.jsonl` is read as well; it has the text of each instance. A scheme's name is the
criterion; a text box is the reason of the annotator's other answers. Spans cannot be read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from core.errors import FileFormatError
from core.formats.mapping.guess import IDS
from core.formats.mapping.rows import read_rows
from core.formats.records import Records
from core.formats.text import load_json, parse_json, read_head, read_lines
from core.formats.tools.answers import Answer, item_from_fields, records
from core.formats.validation_errors import validated
from core.items import Item

STATE = "user_state.json"
DATA_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv")
# Labels that are not choices: free text, and the mark for an instance that cannot be annotated.
TEXT_BOX, UNREADABLE_TEXT = "text_box", "bad_text"
# Scheme -> label -> value.
Given = Mapping[str, Mapping[str, Any]]


class UserState(BaseModel):
    """The answers of one annotator: as pairs of a label and a value, or by scheme."""

    user_id: str
    instance_id_to_label_to_value: dict[str, list[tuple[dict[str, Any], Any]] | dict[str, Any]] = {}
    instance_id_to_span_to_value: dict[str, Any] = {}


class AnnotatedInstance(BaseModel):
    """A line of `annotated_instances.jsonl`: one annotator's answers about one instance."""

    user: str = ""
    user_id: str = ""
    instance_id: str
    displayed_text: str = ""
    label_annotations: dict[str, dict[str, Any]] = {}
    span_annotations: Any = None


def recognises(path: Path) -> bool:
    """Return whether it is a folder with states of annotators, or a file of annotated instances."""
    if path.is_dir():
        return bool(_states(path))
    return path.suffix == ".jsonl" and '"label_annotations"' in read_head(path) and '"instance_id"' in read_head(path)


def read(path: Path) -> Records:
    """Yield the items and labels; raises FileFormatError with the file, the line or the field."""
    return _read_folder(path) if path.is_dir() else _read_lines(path)


def _states(folder: Path) -> list[Path]:
    return sorted([*folder.glob(f"*/{STATE}"), *folder.glob(f"*/*/{STATE}")])


def _read_folder(folder: Path) -> Records:
    states = [validated(UserState, load_json(file)) for file in _states(folder)]
    wanted = {id for state in states for id in state.instance_id_to_label_to_value}
    items = _instances(folder, wanted)
    missing = sorted(wanted - items.keys())
    if missing:
        raise FileFormatError(
            f"no data file in {folder.name} has the instance {missing[0]!r}: name the project's folder, with its data"
        )
    yield from records([*items.values()], [answer for state in states for answer in _state_answers(state)])


def _instances(folder: Path, wanted: set[str]) -> dict[str, Item]:
    """Return the annotated instances by id, from every data file that has some."""
    items: dict[str, Item] = {}
    of_annotators = {file.parent.name for file in _states(folder)}  # their other files are not instances
    for file in sorted(file for file in folder.rglob("*") if file.suffix in DATA_SUFFIXES and file.name != STATE):
        if wanted - items.keys() and not any(part.name in of_annotators for part in file.parents):
            for id, row in _rows_with_id(file):
                if id in wanted:
                    items.setdefault(id, item_from_fields(id, row))
    return items


def _rows_with_id(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        for _, row in read_rows(file):
            key = next((name for name in IDS if row.get(name) not in (None, "")), None)
            if key is None:
                return
            yield str(row[key]), {name: value for name, value in row.items() if name != key}
    except FileFormatError:  # a file of another kind
        return


def _read_lines(path: Path) -> Records:
    items: dict[str, Item] = {}
    answers: list[Answer] = []
    for number, text in read_lines(path):
        line = validated(AnnotatedInstance, parse_json(text), line=number)
        items.setdefault(line.instance_id, Item(id=line.instance_id, prompt=line.displayed_text))
        rater = line.user or line.user_id or "annotator"
        answers += _answers(line.instance_id, rater, line.label_annotations, bool(line.span_annotations))
    yield from records([*items.values()], answers)


def _state_answers(state: UserState) -> Iterator[Answer]:
    for id, entries in state.instance_id_to_label_to_value.items():
        given: dict[str, dict[str, Any]] = {}
        if isinstance(entries, dict):
            given = {scheme: _labels_of(value) for scheme, value in entries.items()}
        else:
            for label, value in entries:
                given.setdefault(str(label.get("schema")), {})[str(label.get("name"))] = value
        yield from _answers(id, state.user_id, given, bool(state.instance_id_to_span_to_value.get(id)))


def _labels_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and isinstance(value.get("labels"), dict):
        return dict(value["labels"])
    return {TEXT_BOX: value["text"]} if isinstance(value, dict) and "text" in value else dict(value or {})


def _answers(item: str, rater: str, given: Given, has_spans: bool) -> Iterator[Answer]:
    if has_spans:
        raise FileFormatError(f"{rater!r} marked spans in {item!r}, which cannot be read; remove them first")
    texts = [str(labels[TEXT_BOX]) for labels in given.values() if labels.get(TEXT_BOX)]
    chosen = {scheme: _chosen(labels) for scheme, labels in given.items()}
    chosen = {scheme: values for scheme, values in chosen.items() if values}
    if not chosen:
        boxes = {scheme: str(labels[TEXT_BOX]) for scheme, labels in given.items() if labels.get(TEXT_BOX)}
        yield from (Answer(item, scheme, rater, text) for scheme, text in boxes.items())
    for scheme, values in chosen.items():
        yield Answer(item, scheme, rater, values[0] if len(values) == 1 else values, reason="\n".join(texts))


def _chosen(labels: Mapping[str, Any]) -> list[Any]:
    """Return the selected labels of a scheme, or the values of its inputs; numbers as numbers."""
    values = []
    for name, value in labels.items():
        is_selected = value not in (None, "", False) and (value != "false" or name == "false")
        if name in (TEXT_BOX, UNREADABLE_TEXT) or not is_selected:
            continue
        values.append(_number(name if value is True or str(value) in ("true", name) else value))
    return values


def _number(value: Any) -> Any:
    if not isinstance(value, str) or len(value) > 15:
        return value
    try:
        return float(value)
    except ValueError:
        return value
