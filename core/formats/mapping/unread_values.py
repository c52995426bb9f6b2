"""Values of a table that a mapping gives no meaning: the import stops at the first of them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from core.errors import FileFormatError
from core.formats.mapping.blocks import Block, GoldBlock, JudgeBlock, LongLabels, WideLabels
from core.formats.mapping.cells import parse_label
from core.formats.mapping.fields import spell_path
from core.formats.mapping.mapping import Mapping
from core.formats.mapping.rows import read_rows
from core.formats.mapping.scope import Scope, iter_scopes
from core.formats.mapping.sources import Comparison, ValueSource, source_name
from core.formats.mapping.suggest import ROWS
from core.formats.validation_errors import join_names, quote_value


def unread_values(path: Path, mapping: Mapping) -> list[str]:
    """Return a note for each block of which the first rows have values that are neither in `values` nor on its scale.

    Lists, rankings and comparisons are left out: they have no words.
    """
    notes, scopes = [], list(_scopes(path, mapping))
    for block in (*mapping.labels, *mapping.judges, *mapping.gold):
        fields, texts = dict[str, None](), dict[str, None]()
        for source in _sources(block):
            for text in _unread(block, source, scopes):
                texts[text] = fields[spell_path(source_name(source))] = None
        if texts:
            notes.append(_note(block, list(fields), list(texts)))
    return notes


def _note(block: Block, fields: list[str], texts: list[str]) -> str:
    values = "1 (the first response), 2 (the second), 0 (a tie)" if block.kind == "preference" else "its number"
    return (
        f"`values` has no meaning for {join_names(texts)} of {join_names(fields)}: add each of them with {values} or "
        "null (no value). Until then the import stops at the first one."
    )


def _sources(block: Block) -> list[ValueSource]:
    match block:
        case WideLabels():
            return list(block.annotators)
        case JudgeBlock(columns=columns) if columns:
            return list(columns)
        case LongLabels(value=source) | JudgeBlock(value=source) | GoldBlock(value=source):
            return [] if source is None or isinstance(source, Comparison) else [source]
    return []


def _unread(block: Block, source: ValueSource, scopes: list[Scope]) -> Iterator[str]:
    """Yield the texts of a source that are no value of its block, quoted."""
    for scope in scopes:
        for element in scope.elements(block.each):
            cell = element.cell(source)
            try:
                parse_label(cell, block.scale, block.values, scope.line, "")
            except FileFormatError:
                yield quote_value(cell)


def _scopes(path: Path, mapping: Mapping) -> Iterator[Scope]:
    """Yield the first rows, or the elements of their exploded lists, with the systems of their responses."""
    systems = [response.system for response in mapping.responses]
    for number, (line, row) in enumerate(islice(read_rows(path, mapping.separator, mapping.quotes), ROWS), 1):
        with suppress(FileFormatError):  # an error of the row, which the import reports
            for scope in iter_scopes(row, line, number, mapping.explode):
                names = (None if system is None else scope.resolve(system) for system in systems)
                yield replace(scope, systems=tuple(names))
