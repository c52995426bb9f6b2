"""Columns that a suggested mapping does not use, and whose values look like labels or verdicts."""

from collections.abc import Sequence
from pathlib import Path

from core.formats.mapping.guess import MAX_CATEGORIES, Draft, annotator_name, guess_block
from core.formats.mapping.mapping import Mapping
from core.formats.mapping.preview import preview_table
from core.formats.mapping.suggest import ROWS
from core.formats.mapping.suggest_blocks import guess_values, leave_open

KINDS = {1: ("score",), 2: ("preference",)}
"""Responses of an item -> kinds of their labels."""


def candidate_labels(path: Path, mapping: Mapping, unused: Sequence[str]) -> list[Draft]:
    """Return blocks of labels for those of the unused columns that have 2 to MAX_CATEGORIES different values, most of
    them preferences or scores: one block of preferences, of categories and of other numbers."""
    rows = preview_table(path, ROWS, mapping.explode or None).rows
    kinds = KINDS.get(len(mapping.responses), ("preference", "score"))
    cells = {column: [row.get(column, "").strip() for row in rows] for column in unused}
    groups: dict[str, list[str]] = {}
    for column, texts in cells.items():
        block = guess_block(texts)
        if block and block["kind"] in kinds and 1 < len({*texts} - {""}) <= MAX_CATEGORIES:
            groups.setdefault(block.get("scale", {}).get("level", "preference"), []).append(column)
    blocks = []
    for columns in groups.values():
        texts = [cell for column in columns for cell in cells[column]]
        if block := guess_values(texts):
            annotators = {column: annotator_name(column) for column in columns}
            blocks.append(leave_open({"layout": "wide", **block, "annotators": annotators}, texts))
    return blocks
