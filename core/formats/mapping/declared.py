"""Suggests a mapping for a file that declares its metrics, as JUDGE-BENCH's do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.confirmation import BARE_NUMBER
from core.formats.mapping.fields import quote_key
from core.formats.mapping.guess import Draft, meanings, scale_of, suggest_mapping
from core.formats.mapping.preview import Preview, parse_cell
from core.formats.mapping.rows import format_value, parse_number
from core.formats.mapping.suggest_blocks import cell_text, guess_scores

# Suggests a mapping for a file that declares its metrics, as JUDGE-BENCH's do (https://github.com/dmg-illc/JUDGE-BENCH).
#
# The record has `annotations` (for each metric its name, and `labels_list`, or `worst` and `best`) and `instances`:
# each has `instance`, a text or an object, and `annotations` with `individual_human_scores` for each metric.

INSTANCES, INSTANCE, ANNOTATIONS = "instances", "instance", "annotations"
HUMAN_SCORES = "individual_human_scores"
# What a file has of people if it lacks their own values.
SUMMARIES = ("majority_human", "mean_human")


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
    metrics = []
    for own in declared:
        if isinstance(own, dict) and isinstance(own.get("metric"), str):
            labels = own.get("labels_list")
            texts = [format_value(label) for label in labels] if isinstance(labels, list) else []
            ends = (_number(own.get("worst")), _number(own.get("best")))
            metrics.append(Metric(own["metric"], tuple(dict.fromkeys(texts)), *ends))
    return metrics


def suggest_declared(preview: Preview, metrics: Sequence[Metric]) -> Draft:
    """Return the mapping of the exploded instances, with the labels of people on the scales that the file declares."""
    columns = [column for column in preview.columns if column.split(".")[0] == INSTANCE]
    ids = [row.get("id", "") for row in preview.rows]
    id_field = "id" if all(ids) and len(set(ids)) == len(ids) else "{row}-{element}"
    draft = {"explode": INSTANCES, "id": id_field, **_content(columns)}
    is_pair = len(draft.get("responses", [])) == 2
    for metric in metrics:
        path = f"{ANNOTATIONS}.{quote_key(metric.name)}"
        lists = [parse_cell(row.get(f"{path}.{HUMAN_SCORES}", "")) for row in preview.rows]
        cells = {HUMAN_SCORES: [cell_text(cell) for own in lists if isinstance(own, list) for cell in own]}
        cells |= {name: [row.get(f"{path}.{name}", "") for row in preview.rows] for name in SUMMARIES}
        if name := next((name for name, own in cells.items() if any(own)), None):
            target = {"value": f"{path}.{name}", "criterion": metric.name}
            target |= _target(metric, cells[name], is_pair=is_pair)
            if name == HUMAN_SCORES:
                draft.setdefault("labels", []).append({"layout": "list", **target})
            else:
                draft.setdefault("gold", []).append(target | {"source": f"{name} of the file"})
    return draft


def _content(columns: Sequence[str]) -> Draft:
    """Return prompt and responses: a text is what is judged, and the fields of an object have usual names, or none."""
    if columns == [INSTANCE]:
        return {"responses": [{"text": INSTANCE}]}
    draft = suggest_mapping(columns)
    if "responses" not in draft:
        return {"prompt": columns[0] if len(columns) == 1 else list(columns)}
    return {field: draft[field] for field in ("prompt", "responses", "context", "reference") if field in draft}


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
    scale = scale_of(low, high, numbers)
    return scale | ({"categories": scale["categories"][::-1]} if worst > best and "categories" in scale else {})


def _number(cell: Any) -> float | None:
    try:
        number = parse_number(cell, 0, "")
    except FileFormatError:
        return None
    return None if number is None else float(number)
