"""Suggests a mapping for a file that declares its metrics, as JUDGE-BENCH's do (https://github.com/dmg-illc/JUDGE-BENCH).

The record has `annotations` (for each metric its name, and `labels_list`, or `worst` and `best`) and `instances`: each
has `instance`, a text or an object, and `annotations` with `individual_human_scores` for each metric.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.confirmation import BARE_NUMBER
from core.formats.mapping.fields import quote_key
from core.formats.mapping.guess import MAX_CATEGORIES, Draft, meanings, suggest_mapping
from core.formats.mapping.preview import Preview, parse_cell
from core.formats.mapping.rows import format_value, parse_number
from core.formats.mapping.suggest_blocks import guess_scores

INSTANCES, INSTANCE, ANNOTATIONS = "instances", "instance", "annotations"
SCORES = "individual_human_scores"
SUMMARIES = ("majority_human", "mean_human")
"""What a file has of people if it lacks their own values."""


@dataclass(frozen=True)
class Metric:
    """What a file declares of one metric."""

    name: str
    labels: tuple[str, ...] = ()
    worst: float | None = None
    best: float | None = None


def declared_metrics(preview: Preview) -> list[Metric]:
    """Return the metrics that the record of a file declares; none if it is no such file."""
    if len(preview.rows) != 1 or INSTANCES not in preview.lists:
        return []
    declared = parse_cell(preview.rows[0].get(ANNOTATIONS, ""))
    if not isinstance(declared, list):
        return []
    return [_metric(own) for own in declared if isinstance(own, dict) and isinstance(own.get("metric"), str)]


def suggest_declared(preview: Preview, metrics: Sequence[Metric]) -> Draft:
    """Return the mapping of the exploded instances, with the labels of people on the scales that the file declares."""
    columns = [column for column in preview.columns if column.split(".")[0] == INSTANCE]
    ids = [row.get("id", "") for row in preview.rows]
    id_field = "id" if all(ids) and len(set(ids)) == len(ids) else "{row}-{element}"
    draft = {"explode": INSTANCES, "id": id_field, **_content(columns)}
    is_pair = len(draft.get("responses", [])) == 2
    blocks: dict[str, list[Draft]] = {"labels": [], "gold": []}
    for metric in metrics:
        _add_block(blocks, metric, preview, is_pair=is_pair)
    return draft | {name: own for name, own in blocks.items() if own}


def _content(columns: Sequence[str]) -> Draft:
    """Return prompt and responses: a text is what is judged, and the fields of an object have usual names, or none."""
    if columns == [INSTANCE]:
        return {"responses": [{"text": INSTANCE}]}
    draft = suggest_mapping(columns)
    if "responses" not in draft:
        return {"prompt": columns[0] if len(columns) == 1 else list(columns)}
    return {field: draft[field] for field in ("prompt", "responses", "context", "reference") if field in draft}


def _add_block(blocks: Mapping[str, list[Draft]], metric: Metric, preview: Preview, *, is_pair: bool) -> None:
    path = f"{ANNOTATIONS}.{quote_key(metric.name)}"
    lists = [parse_cell(row.get(f"{path}.{SCORES}", "")) for row in preview.rows]
    cells = [_text(cell) for own in lists if isinstance(own, list) for cell in own]
    if any(cells):
        target = _target(metric, cells, is_pair=is_pair)
        blocks["labels"] += [{"layout": "list", "value": f"{path}.{SCORES}", "criterion": metric.name, **target}]
        return
    for name in SUMMARIES:
        cells = [row.get(f"{path}.{name}", "") for row in preview.rows]
        if any(cells):
            target = _target(metric, cells, is_pair=is_pair)
            source = f"{name} of the file"
            blocks["gold"] += [{"value": f"{path}.{name}", "criterion": metric.name, **target, "source": source}]
            return


def _target(metric: Metric, cells: Sequence[str], *, is_pair: bool) -> Draft:
    """Return kind, scale and values; a scale that the file does not declare is left open."""
    if metric.labels:
        words = meanings(metric.labels)
        if is_pair and len(words) == len(metric.labels) and not any(map(BARE_NUMBER.fullmatch, metric.labels)):
            return {"kind": "preference", "values": words}
        return {"kind": "answer", "scale": {"level": "nominal", "categories": list(metric.labels)}}
    if metric.worst is None or metric.best is None or metric.worst == metric.best:
        guess = guess_scores(cells) or {"kind": "score", "scale": {"level": "interval", "low": 0, "high": 1}}
        return guess | {"confirmed": False}
    return {"kind": "score", "scale": _scale(metric.worst, metric.best, cells)}


def _scale(worst: float, best: float, cells: Sequence[str]) -> Draft:
    """Return the categories from the worst on, or the ends if a value is no whole number."""
    low, high = sorted((worst, best))
    numbers = [float(cell) for cell in cells if BARE_NUMBER.fullmatch(cell) and cell.strip("+-.")]
    is_whole = all(number.is_integer() for number in (*numbers, low, high)) and high - low < MAX_CATEGORIES
    if not is_whole:
        return {"level": "interval", "low": low, "high": high}
    categories = list(range(int(low), int(high) + 1))
    return {"level": "ordinal", "categories": categories if worst < best else categories[::-1]}


def _metric(own: Mapping[str, Any]) -> Metric:
    labels = own.get("labels_list")
    texts = [format_value(label) for label in labels] if isinstance(labels, list) else []
    return Metric(own["metric"], tuple(dict.fromkeys(texts)), _number(own.get("worst")), _number(own.get("best")))


def _number(cell: Any) -> float | None:
    try:
        number = parse_number(cell, 0, "")
    except FileFormatError:
        return None
    return None if number is None else float(number)


def _text(cell: Any) -> str:
    return "" if cell is None else format_value(cell) if isinstance(cell, bool | int | float) else str(cell)
