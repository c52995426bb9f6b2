"""Suggests a mapping for a table from the names and the values of its columns."""

from collections import abc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.declared_metrics import INSTANCES, declared_metrics, suggest_declared
from core.formats.mapping.fields import (
    CONTENT_KEYS,
    Comparison,
    ValueSource,
    is_template,
    render_messages,
    source_name,
    spell_path,
)
from core.formats.mapping.guess import IDS, Draft, first_of, names_of, suggest_mapping
from core.formats.mapping.mapping import Block, GoldBlock, JudgeBlock, LongLabels, Mapping, WideLabels, build_mapping
from core.formats.mapping.mapping import Mapping as TableMapping
from core.formats.mapping.preview import Preview, parse_cell, preview_table
from core.formats.mapping.rows import parse_label, read_rows
from core.formats.mapping.scope import Scope, iter_scopes
from core.formats.mapping.suggest_blocks import BlockSuggester
from core.formats.validation_errors import join_names, quote_value

ROWS = 200
"""Rows that are searched for columns and values."""
ASSISTANT = "\n\nAssistant:"
"""What precedes the turns of the assistant in dialogues that are one text."""
MARKS = ("<v>", "</v>")
"""What marks errors in translations."""
Cells = abc.Mapping[str, str]
"""A row of a preview."""


def suggest_table(path: Path, explode: str | None = None) -> Draft:
    """Return a suggested mapping of a file; without responses in a row, those of a list of records are tried."""
    if explode in (None, INSTANCES) and (metrics := declared_metrics(preview_table(path, 2))):
        return suggest_declared(preview_table(path, ROWS, INSTANCES), metrics)
    preview = preview_table(path, ROWS, explode)
    draft = suggest(preview, explode)
    if explode is None and "responses" not in draft:
        for column in preview.lists:
            inner = suggest(preview_table(path, ROWS, column), column)
            if "responses" in inner:
                return inner
    return draft


def build_suggested(draft: Draft) -> tuple[TableMapping, bool]:
    """Return the mapping of a suggestion, and whether it is complete; otherwise an empty prompt takes the place of
    the prompt and the responses that the user has to fill in."""
    is_complete = not draft.keys().isdisjoint(("prompt", "responses"))
    return build_mapping(draft if is_complete else draft | {"prompt": {"constant": ""}}), is_complete


def suggested_annotators(path: Path, mapping: TableMapping) -> set[str]:
    """Return the annotators of a mapping's labels in the first rows of a file."""
    rows = preview_table(path, ROWS, mapping.explode or None).rows
    long = [block.annotator for block in mapping.labels if isinstance(block, LongLabels)]
    wide = [name for block in mapping.labels if isinstance(block, WideLabels) for name in block.annotators.values()]
    named = {row.get(field, "") for field in long if isinstance(field, str) for row in rows}
    return named | set(wide)


def suggest(preview: Preview, explode: str | None = None) -> Draft:
    """Return a suggested mapping of the columns; labels, judges and gold whose values are not clear are left out."""
    names = names_of(preview.columns)
    columns = list(preview.columns)
    if {"orig_instruction", "orig_response"} <= names.keys():  # a judge's prompt and reply, with what was judged
        columns = [column for column in columns if column.startswith("orig_")]
    draft = suggest_mapping(columns, explode)
    draft |= _responses(preview, draft)
    _refer_to_parts(draft, preview)
    draft.pop("labels", None)
    draft |= BlockSuggester(preview, draft).suggest()
    _name_items(draft, preview)
    return {field: value for field, value in draft.items() if value}


def _responses(preview: Preview, draft: Draft) -> Draft:
    """Return the responses of a table that names them in another way, with the fields that follow from it."""
    names = names_of(preview.columns)
    if {"chosen", "rejected"} <= names.keys():
        systems = {name: names[f"{name}_model"] for name in ("chosen", "rejected") if f"{name}_model" in names}
        responses = [{"text": names[name], **_system(systems.get(name))} for name in ("chosen", "rejected")]
        gold = {"kind": "preference", "value": {"constant": "1"}, "source": "the chosen response of the file"}
        return {"responses": responses, "gold": [gold], "shuffle": True}
    if "decoded" in names and "text" in names:  # summaries of texts
        return {"prompt": names["text"]}
    if "responses" not in draft and (target := first_of(names, ("target", "hypothesis"))):
        return {"responses": [{"text": target, **_system(first_of(names, ("system", "model")))}], "reference": None}
    return {} if "responses" in draft else _list_of_two(preview)


def _list_of_two(preview: Preview) -> Draft:
    """Return the responses of a table with a list of two in each row."""
    for column in preview.lists:
        elements = [parse_cell(row.get(column, "")) for row in preview.rows]
        keys = [key for key in ("text", *CONTENT_KEYS, "response") if _all_have(elements, key)]
        if keys and {len(element) for element in elements} == {2}:
            system = next((key for key in ("policy", "model", "system") if _all_have(elements, key)), None)
            return {
                "responses": [
                    {"text": f"{column}.{n}.{keys[0]}", **_system(f"{column}.{n}.{system}" if system else None)}
                    for n in (0, 1)
                ]
            }
    return {}


def _all_have(elements: Sequence[Any], key: str) -> bool:
    records = [record for element in elements for record in (element if isinstance(element, list) else [None])]
    return bool(records) and all(isinstance(record, dict) and isinstance(record.get(key), str) for record in records)


def _system(column: str | None) -> Draft:
    return {"system": column} if column else {}


def _refer_to_parts(draft: Draft, preview: Preview) -> None:
    """Refer to the last message of conversations, the first of several texts, and texts without marks."""
    for response in draft.get("responses", []):
        field = response["text"]
        cells = [row.get(field, "") for row in preview.rows]
        parsed = [parse_cell(cell) for cell in cells]
        if all(isinstance(cell, list) and cell and render_messages(cell) for cell in parsed):
            draft.setdefault("prompt", f"{field}.:-1")
            response["text"] = f"{field}.-1"
        elif _are_texts(parsed):
            response["text"] = f"{field}.0"
        elif _are_dialogues(cells):
            draft.setdefault("prompt", {"field": field, "before_last": ASSISTANT})
            response["text"] = {"field": field, "after_last": ASSISTANT}
        elif any(mark in cell for cell in cells for mark in MARKS):
            response["text"] = {"field": field, "remove": list(MARKS)}
            if isinstance(prompt := draft.get("prompt"), str):
                draft["prompt"] = {"field": prompt, "remove": list(MARKS)}
    prompt = draft.get("prompt")
    if isinstance(prompt, str) and _are_texts([parse_cell(row.get(prompt, "")) for row in preview.rows]):
        draft["prompt"] = f"{prompt}.0"


def _are_dialogues(cells: Iterable[str]) -> bool:
    texts = list(cells)
    return bool(texts) and all(ASSISTANT in text and "Human:" in text for text in texts)


def _are_texts(cells: Sequence[Any]) -> bool:
    """Return whether each cell is a list of texts."""
    return bool(cells) and all(
        isinstance(cell, list) and cell and all(isinstance(text, str) for text in cell) for cell in cells
    )


def _name_items(draft: Draft, preview: Preview) -> None:
    """Name items by columns that tell different items apart, otherwise by the row; drop what varies within an item."""
    if is_template(draft["id"]):
        return
    names = names_of(preview.columns)
    systems = [response["system"] for response in draft.get("responses", []) if response.get("system")]
    turn = [names["turn"]] if "turn" in names else []
    long = [block for block in draft.get("labels", []) if block.get("layout") == "long" and not block.get("each")]
    ids = [names[name] for name in IDS if name in names]
    more: tuple[list[str], ...] = ([], list(dict.fromkeys(systems)), list(dict.fromkeys([*systems, *turn])))
    options = [[column, *others] for others in more for column in ids]
    items = {tuple(option): _rows_by(preview, option) for option in options}
    possible = [option for option in items if _are_items(items[option], draft, is_long=bool(long))]
    distinct = [option for option in possible if not any(_repeats(block, items[option].values()) for block in long)]
    if not possible:
        draft["id"] = "{row}"
        return
    chosen = distinct[0] if distinct else possible[-1]
    draft["id"] = chosen[0] if len(chosen) == 1 else "-".join(f"{{{column}}}" for column in chosen)
    if len(chosen) > 1:
        draft.setdefault("group", chosen[0])
    rows = list(items[chosen].values())
    for field in ("context", "reference", "scenario", "group"):
        column = draft.get(field)
        if isinstance(column, str) and any(len({row.get(column, "") for row in own}) > 1 for own in rows):
            del draft[field]
    for block in long:
        if _repeats(block, rows):
            block.setdefault("aggregate", "last")


def why_row_numbers(preview: Preview, draft: Draft) -> str:
    """Return why items are named by the row although a column has the usual name of an id; empty if they are not."""
    names = names_of(preview.columns)
    column = first_of(names, IDS)
    if draft.get("id") != "{row}" or column is None:
        return ""
    empty = sum(not row.get(column) for row in preview.rows)
    reason = f"is empty in {empty} of the first {len(preview.rows)} rows" if empty else "does not tell the items apart"
    return f"The field {column} {reason}, so `id` is the number of the row."


def _are_items(items: abc.Mapping[tuple[str, ...], Sequence[Cells]], draft: Draft, *, is_long: bool) -> bool:
    """Return whether rows with one name are one item: only if they are labels, and with the same responses."""
    return all(all(key) and (is_long or len(rows) == 1) and _is_one(rows, draft) for key, rows in items.items())


def _repeats(block: Draft, items: Iterable[Sequence[Cells]]) -> bool:
    """Return whether an annotator has two rows of an item."""
    rater = block["annotator"]
    names = [[row.get(rater, "") for row in rows] for rows in items] if isinstance(rater, str) else []
    return any(len(set(raters)) < len(raters) for raters in names)


def _rows_by(preview: Preview, columns: Sequence[str]) -> dict[tuple[str, ...], list[Cells]]:
    """Return values of the columns -> the rows with them."""
    rows: dict[tuple[str, ...], list[Cells]] = {}
    for row in preview.rows:
        rows.setdefault(tuple(row.get(column, "") for column in columns), []).append(row)
    return rows


def _is_one(rows: Sequence[Cells], draft: Draft) -> bool:
    """Return whether rows have the same responses."""
    return all(len({_content(row, response["text"]) for row in rows}) == 1 for response in draft.get("responses", []))


def _content(row: Cells, source: Any) -> str:
    field = source["field"] if isinstance(source, dict) else source.removesuffix(".-1").removesuffix(".0")
    text = row.get(field) or row.get(source if isinstance(source, str) else field, "")
    for mark in MARKS:
        text = text.replace(mark, "")
    return text


# Values of a table that a mapping gives no meaning: the import stops at the first of them.


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
