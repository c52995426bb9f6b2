"""The levels of a scale as options of the workbench, each with its key and rubric line."""

from core.items import Criterion
from core.labels import Scale
from storage.labelling.work import Json

LONGEST_LABEL = 160
"""Characters of a rubric line next to its key."""


def level_options(scale: Scale, criterion: Criterion | None) -> list[Json]:
    """Return one key for each value: the value itself if it is a digit, otherwise its place."""
    values = scale.categories
    digits = all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9 for value in values)
    lines = criterion.rubric if criterion and len(criterion.rubric) == len(values) else ("",) * len(values)
    return [
        {
            "key": str(value) if digits else str(place % 10),
            "value": value,
            "label": _level_label(value, line, digits=digits),
            "short": str(value),
            "colour": "level",
        }
        for place, (value, line) in enumerate(zip(values, lines, strict=True), 1)
    ]


def _level_label(value: object, line: str, *, digits: bool) -> str:
    """Return the rubric line without the number that the key shows; the value if there is no line."""
    text = line.removeprefix(str(value)).lstrip(" :.-–—")
    if not text:
        return str(value)
    label = text[:1].upper() + text[1:] if digits else f"{value}: {text}"
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
