"""Suggests a mapping for a table: what is common and certain, from the values of its fields and their names.

What it does not understand stays unused and is named; a person or a model states it.
"""

from collections.abc import Sequence
from pathlib import Path

from core.errors import FileFormatError
from core.formats.mapping import roles
from core.formats.mapping.columns import profile
from core.formats.mapping.fields import parse_path, spell_path
from core.formats.mapping.guess import IDS, Draft
from core.formats.mapping.mapping import LongLabels, Mapping, WideLabels, build_mapping
from core.formats.mapping.preview import Preview, every_key, preview_of, preview_table, unused_fields, used_paths
from core.formats.mapping.rows import stated_header
from core.formats.mapping.suggest_items import ItemSuggester, Levels
from core.formats.mapping.suggest_values import ValueSuggester
from core.formats.validation_errors import join_names

# Rows from which a mapping is suggested.
ROWS = 1_000


def suggest_table(
    path: Path, explode: Levels = None, join: Sequence[Draft] = (), stated: roles.Stated | None = None
) -> Draft:
    """Return a suggested mapping of a file; with an empty list each row is an item, although it has lists.

    Without a list, the rows are the items, or the elements of the first of their lists with responses. What a person
    states of fields stands. Raises FileFormatError for a role or a field that there is not.
    """
    chosen = dict(stated or {})
    if items := chosen.pop("items", None):
        lists = [] if items[0] == "none" else items[0].split("+")
        explode = lists[0] if len(lists) == 1 else lists
    whole = every_key(path) if explode is None else explode or None
    preview = preview_table(path, ROWS, whole, join=join)
    draft = _best_level(path, preview, whole, join, chosen, is_given=explode is not None)
    header = stated_header.get()
    return draft | ({"join": [*join]} if join else {}) | ({} if header is None else {"header": header})


def _best_level(
    path: Path, preview: Preview, whole: Levels, join: Sequence[Draft], chosen: roles.Stated, *, is_given: bool
) -> Draft:
    """Return the draft of the rows or, unless a person gives the level, of the elements of the first of their lists in
    which there are responses: those with values, if any have some."""
    drafts: list[Draft] = []
    errors: list[FileFormatError] = []
    for level in [whole, *(() if is_given or whole else preview.lists)]:
        rows = preview if level == whole else preview_table(path, ROWS, level, join=join)
        try:
            known, further = roles.known_fields(rows, chosen)
            draft = suggest(rows, level, known)
            roles.refuse_unused(draft, known)
        except FileFormatError as error:  # the field may be one of an element
            errors.append(error)
            continue
        texts = {own.get("text") for own in draft.get("responses", ())}
        if level == whole or not texts <= {*preview.columns}:
            drafts.append(roles.with_further(draft, further))
        if drafts and _completeness(drafts[-1]) == 2:
            break
    if not drafts:
        raise errors[0]
    return max(drafts, key=_completeness)


def _completeness(draft: Draft) -> int:
    """Return 2 for a draft with responses and values, 1 for one with responses alone, and 0 for another."""
    return ("responses" in draft) * (1 + any(name in draft for name in roles.BLOCKS))


def suggest(preview: Preview, explode: Levels = None, stated: roles.Stated | None = None) -> Draft:
    """Return the mapping of rows as far as it is known, not confirmed if a text or a value may have another role."""
    items = ItemSuggester(preview, explode, stated or {})
    draft = items.suggest()
    if draft["responses"] or stated:
        draft |= ValueSuggester(items).suggest()
    blocks = [*draft.get("labels", ()), *draft.get("judges", ())]
    items.name(are_labels=any(isinstance(own.get("annotator", own.get("judge")), str) for own in blocks))
    left = any(own.is_prose or own.looks_like_label for own in items.free())
    found = {field: value for field, value in draft.items() if value}
    return {"confirmed": False, **found} if left or items.is_guessed else found


def build_suggested(draft: Draft) -> tuple[Mapping, bool]:
    """Return the mapping of a suggestion, and whether it is complete; otherwise an empty prompt takes the place of
    the prompt and the responses that the user has to fill in."""
    is_complete = not draft.keys().isdisjoint(("prompt", "responses"))
    return build_mapping(draft if is_complete else draft | {"prompt": {"constant": ""}}), is_complete


def suggested_annotators(path: Path, mapping: Mapping) -> set[str]:
    """Return the annotators of a mapping's labels in the first rows of a file."""
    rows = preview_of(path, ROWS, mapping).rows
    long = [block.annotator for block in mapping.labels if isinstance(block, LongLabels)]
    wide = [name for block in mapping.labels if isinstance(block, WideLabels) for name in block.annotators.values()]
    named = {row.get(field, "") for field in long if isinstance(field, str) for row in rows}
    return named | set(wide)


def state_unused_labels(path: Path, found: Sequence[Mapping]) -> str:
    """Return a sentence on the fields that no mapping of a file uses and whose values look like labels; "" for none."""
    labels: dict[str, None] = {}
    used = {keys for mapping in found for keys in used_paths(mapping)} if len(found) > 1 else set()
    for mapping in found:
        unused = unused_fields(path, mapping)
        columns = profile(preview_of(path, ROWS, mapping))
        labels |= {own.path: None for own in columns if own.path in unused and own.looks_like_label}
    # Of another level, paths are shorter or longer by the keys of the lists that are exploded.
    names = [spell_path(own) for own in labels if not any(_is_within(parse_path(own), keys) for keys in used)]
    return f"Not used, and the values look like labels: {join_names(names)}." if names else ""


def _is_within(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether one of two paths is a part of the other."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    size = len(shorter)
    return any(tuple(longer[start : start + size]) == tuple(shorter) for start in range(len(longer) - size + 1))


def state_row_names(path: Path, mapping: Mapping) -> str:
    """Return a question on items that a suggestion names by their rows although a field names items; "" for none."""
    if not isinstance(mapping.id, str) or not mapping.id.startswith("{row}"):
        return ""
    unused, preview = unused_fields(path, mapping), preview_of(path, ROWS, mapping)
    named = [own for own in profile(preview) if own.path in unused and own.name in IDS]
    repeated = [spell_path(own.path) for own in named if len(own.distinct) < own.filled == len(preview.rows)]
    if not repeated:
        return ""
    return f"Each row is an item of its own, although rows have the same {join_names(repeated)}"
