"""A suggested mapping with what a person confirms."""

from pathlib import Path

from core.formats.mapping.confirmation import answer
from core.formats.mapping.mapping import Mapping, build_mapping
from core.formats.mapping.suggest import suggest_table
from core.formats.mapping.table import questions
from core.labels import Value


def confirmed(path: Path, values: dict[str, Value | None], draft: dict[str, object] | None = None) -> Mapping:
    """Return the suggested mapping, or that of a draft, with what a person confirms."""
    mapping = build_mapping((draft or suggest_table(path)) | {"confirmed": True})
    for question in questions(path, mapping):
        mapping = answer(mapping, question, values if question.needs_values else {})
    return mapping
