"""Suggests a mapping for a table from the names and the values of its columns."""

import re
from collections import abc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping import guess, roles, suggest_blocks, suggest_steps
from core.formats.mapping.columns import INPUT, LABEL, RATING, profile
from core.formats.mapping.fields import (
    CONTENT_KEYS,
    is_template,
    key_of,
    parse_path,
    quote_key,
    render_messages,
    spell_path,
)
from core.formats.mapping.mapping import LongLabels, Mapping, WideLabels, build_mapping
from core.formats.mapping.preview import (
    Preview,
    every_key,
    parse_cell,
    preview_of,
    preview_table,
    unused_fields,
    used_paths,
)
from core.formats.mapping.rows import has_header, parse_number, stated_header
from core.formats.mapping.scope import EVERY_KEY, WHOLE_RECORD
from core.formats.mapping.suggest_blocks import distinguish
from core.formats.mapping.table import lacking_responses
from core.formats.transcripts.messages import is_messages, message_parts
from core.formats.validation_errors import join_names

# Rows that are searched for columns and values.
ROWS = 200
# Rows that are searched for what repeats; a file may begin with many rows of one system.
MANY_ROWS = 5000
# A field of one of the objects in an object whose keys are numbers.
NUMBERED = re.compile(r'[^."]+\.\d+\.')
# What precedes the turns of the assistant in dialogues that are one text.
ASSISTANT = "\n\nAssistant:"
# How the paths of fields begin that say something of a row: no prompt is among them.
META = re.compile(r"(.+_)?(meta(data)?|notes?|comments?|annotations?)\.", re.IGNORECASE)
# The gold of a file whose first response is the preferred one.
CHOSEN = {"kind": "preference", "value": {"constant": "1"}, "source": "the chosen response of the file"}
# Between several systems of which each has the response of a row.
DIVIDERS = ("|", ";", ",", "/", "+")
# What marks errors in translations.
MARKS = ("<v>", "</v>")
# Usual names of columns with the transcript of the only response.
TRANSCRIPTS = ("transcript", "trajectory", "messages", "conversation", "history", "trace", "steps", "turns", "dialogue")
# The status of an assignment of Amazon Mechanical Turk that is no label.
REJECTED = "Rejected"
# Fields of a suggestion that stand when a person says what others are.
KNOWN = ("explode", "divider", "parallel", "scenario", "header")
# What a person can say that a field is.
ROLES = (
    *("items", "prompt", "context", "reference", "response", "transcript", "system", "annotator", "label", "judge"),
    *("criterion", "step", "none"),
)
# Those whose field has a text, or a conversation.
TEXT_ROLES = frozenset(("prompt", "context", "reference", "response"))
# Field of a response -> the role of the field that it refers to.
FORMS = {"text": "response", "transcript": "transcript"}
# Why a field cannot have a role.
UNUSED = {
    "label": "no response, or no item that it is about, is known; state it with `--role response=FIELD` or `prompt`",
    "annotator": "the file has no labels that are known; state them with `--role label=FIELD`",
    "criterion": "no labels are known that are in rows of their own; state them with `--role label=FIELD`",
    "step": "its values are not known as steps of the transcript; state that with `--role transcript=FIELD`",
    "system": "there are fewer responses than systems; state each with `--role response=FIELD`",
}
BLOCKS = ("labels", "judges", "gold")
# The list whose elements are the items, or the lists in lists.
Levels = str | list[str] | None
# A row of a preview.
Cells = abc.Mapping[str, str]


def suggest_table(path: Path, explode: Levels = None, join: Sequence[guess.Draft] = ()) -> guess.Draft:
    """Return a suggested mapping of a file; with an empty list each row is an item, although it has lists."""
    if explode == []:
        return suggest(preview_table(path, ROWS, join=join)) | ({"join": [*join]} if join else {})
    draft = _suggest_levels(path, explode or every_key(path), join)
    suggest_blocks.share_remarks([block for name in BLOCKS for block in draft.get(name, ())])
    return with_optional(path, draft)


def with_optional(path: Path, draft: guess.Draft) -> guess.Draft:
    """Return the draft with those responses optional that a record lacks; a cell of a table is never `null`."""
    blocks = (block for name in ("labels", "judges", "gold") for block in draft.get(name, ()))
    if (
        has_header(path)
        or "responses" not in draft
        or any(block.get("kind") in (None, "preference") for block in blocks)
    ):
        return draft
    lacking = lacking_responses(path, build_suggested(draft)[0])
    responses = [
        own | ({"optional": True} if number in lacking else {}) for number, own in enumerate(draft["responses"])
    ]
    return draft | {"responses": responses}


def _suggest_levels(path: Path, explode: Levels, join: Sequence[guess.Draft]) -> guess.Draft:
    """Return a suggested mapping of a file; without responses in a row, those of a list of records are tried."""
    joined = {"join": [*join]} if join else {}
    preview = preview_table(path, ROWS, explode, join=join)
    if explode is None and preview.rows and (parallel := suggest_blocks.suggest_parallel(preview)):
        return parallel | joined
    if explode is None and (pairs := _chosen_lists(preview) or _exchanges(suggest(preview), preview)):
        return pairs | joined
    draft = suggest(preview, explode)
    is_numbered = preview.lists == (EVERY_KEY,) and all(own.partition(".")[0].isdecimal() for own in preview.columns)
    is_one = explode is None and ("responses" not in draft or is_numbered) and len(preview.rows) == 1
    if is_one and preview.lists[:1] and (preview.lists[0] in WHOLE_RECORD or preview.lists == preview.columns):
        explode = preview.lists[0]  # the only record of the file is an object, or has only a list, of its items
        preview = preview_table(path, ROWS, explode, join=join)
        draft = suggest(preview, explode)
    if explode is None and "responses" not in draft:
        for column in preview.lists:
            inner = suggest(preview_table(path, ROWS, column, join=join), column)
            if "responses" in inner:
                draft = inner
                break
    draft = _divided(path, distinguish(_completed(path, draft, preview, join)), join) | joined
    draft |= {} if (header := stated_header.get()) is None else {"header": header}
    return draft | ({"confirmed": False} if _leaves_texts(path, draft) else {})


def _divided(path: Path, draft: guess.Draft, join: Sequence[guess.Draft]) -> guess.Draft:
    """Return the draft with an item for each system of a cell with several, such as `gpt|claude` beside `gpt`."""
    responses = draft.get("responses", ())
    system = responses[0].get("system") if len(responses) == 1 and "transcript" not in responses[0] else None
    if not isinstance(system, str) or is_template(system):
        return draft
    rows = preview_table(path, ROWS, draft.get("explode"), join=join).rows
    cells = {text for row in rows if (text := row.get(system, "").strip())}
    for mark in DIVIDERS:
        names = {name.strip() for cell in cells for name in cell.split(mark) if mark in cell}
        # Two of three are in other cells alone: a name can have the mark, too.
        if names and 3 * len(names & cells) >= 2 * len(names):
            explode = [*roles.as_list(draft.get("explode")), system]
            id = draft["id"] if f"{{{system}}}" in draft["id"] else f"{draft['id']}-{{{system}}}"
            id = id if "{" in draft["id"] else f"{{{draft['id']}}}-{{{system}}}"
            return draft | {"explode": explode, "divider": mark, "id": id, "confirmed": False}
    return draft


def _completed(path: Path, draft: guess.Draft, preview: Preview, join: Sequence[guess.Draft]) -> guess.Draft:
    """Return the draft of names with what the values of the columns say where the names do not suffice."""
    # A list of records that are no messages is no text.
    are_records = any(own.get("text") in preview.lists for own in draft.get("responses", ()) if "each" not in own)
    if are_records:
        draft.pop("prompt", None)
    if are_records or _is_one_of_several(draft, preview):
        draft = {field: own for field, own in draft.items() if field not in ("responses", "labels", "judges", "gold")}
    if not _is_whole(draft, preview):
        return _by_values(path, draft, join)
    mapping, is_complete = build_suggested(draft)
    unused = unused_fields(path, mapping) if is_complete else []
    # Values that have the name of a label, too.
    if any(own.path in unused and own.is_label and own.is_called(LABEL) for own in profile(preview)):
        draft = _by_values(path, draft, join)
    return _with_system(draft, preview)


def _leaves_texts(path: Path, draft: guess.Draft) -> bool:
    """Return whether the file has other texts, ids, or values like labels: then names alone are no proof."""
    mapping, is_complete = build_suggested(draft)
    if not is_complete or any("transcript" in own for own in draft.get("responses", ())):
        return False
    unused = unused_fields(path, mapping)
    preview = preview_of(path, ROWS, mapping)
    left = [own for own in profile(preview) if own.path in unused]
    are_left = any(own.is_prose or (own.is_label and not _has_blocks(draft)) for own in left)
    return are_left or bool(state_row_names(path, mapping))


def apply_roles(
    path: Path, draft: guess.Draft, chosen: abc.Mapping[str, Sequence[str]], join: Sequence[guess.Draft] = ()
) -> guess.Draft:
    """Return a suggestion in which fields are what a person says; what depends on them is suggested again.

    Raises FileFormatError for a role or a field that there is not.
    """
    if items := chosen.get("items"):  # a list, or the lists in its elements: `A+B`
        lists = [] if items[0] == "none" else items[0].split("+")  # each row is an item
        others = {role: fields for role, fields in chosen.items() if role != "items"}
        draft = suggest_table(path, lists[0] if len(lists) == 1 else lists, join)
        draft = apply_roles(path, draft, others, join) if others else draft
        if roles.as_list(draft.get("explode"))[: len(lists)] != lists:
            message = (
                "its elements cannot be the items: no text of them is known; state it with `--role response=FIELD`"
            )
            raise FileFormatError(message, field=items[0])
        return draft
    preview = preview_table(path, MANY_ROWS, draft.get("explode"), join=join, divider=draft.get("divider"))
    chosen, further = _known_fields(preview, chosen)
    judges = chosen.get("judge", [])
    chosen |= {"label": [*chosen.get("label", ()), *judges]} if judges else {}
    named = {field for fields in chosen.values() for field in fields}
    left_out = {*chosen.get("none", ()), *(field for fields in further.values() for field in fields)}
    columns = tuple(column for column in preview.columns if column not in left_out)
    known: guess.Draft = {field: draft[field] for field in KNOWN if field in draft}
    for field in ("prompt", "context", "reference"):
        own = chosen.get(field) or [path for path in roles.as_list(draft.get(field)) if path not in named]
        known |= {field: own[0] if len(own) == 1 else own} if own else {}
    responses = [{kind: field} for kind, role in FORMS.items() for field in chosen.get(role, ())]
    if not responses and not any(own.get("text") in named for own in draft.get("responses", ())):
        responses = list(draft.get("responses", ()))
    systems = chosen.get("system", ())
    if systems and all(own.get("text") == own.get("system") for own in responses):  # the texts are elsewhere
        responses = [_response(system, system) for system in systems]
    known["responses"] = responses
    suggester = roles.RoleSuggester(replace(preview, columns=columns), known, chosen)
    texts = ("prompt", "context", "reference")  # of which a field that a person states is one
    rest = {field: own for field, own in draft.items() if field not in texts}
    found = suggester.suggest() or rest | {field: own for field, own in known.items() if own}
    criteria = chosen.get("criterion", ())
    found = _with_steps(_without(found, [*chosen.get("none", ()), *criteria]), preview, chosen)
    _name_criteria(found, criteria)
    suggest_blocks.attribute_to_judges(found, judges)
    _refuse_unused(found, chosen)
    for own in found.get("responses", ()):
        own |= {"text": [own["text"], *further[own["text"]]]} if own.get("text") in further else {}
    return {"confirmed": False, **distinguish(found), **({"join": [*join]} if join else {})}


def _without(draft: guess.Draft, fields: Sequence[str]) -> guess.Draft:
    """Return a suggestion without what is read from some fields."""
    texts = ("prompt", "context", "reference", "scenario", "group")
    found = {name: own for name, own in draft.items() if name not in texts or own not in fields}
    for name in {"responses", "labels", "judges", "gold"} & found.keys():
        found[name] = [one for one in found[name] if not any(one.get(of) in fields for of in ("text", "value", *FORMS))]
    return {name: own for name, own in found.items() if own}


def _name_criteria(draft: guess.Draft, fields: Sequence[str]) -> None:
    """Let the first of some fields name the criterion of each label that is in a row of its own."""
    if not fields:
        return
    rows = [block for block in draft.get("labels", ()) if block.get("layout") == "long"]
    for block in (*rows, *draft.get("gold", ())):
        for own in ("criterion", "aggregate"):
            block.pop(own, None)
        block["criterion_field"] = fields[0]


def _known_fields(
    preview: Preview, chosen: abc.Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the fields of each role as a mapping has them, and first field of a response -> its further ones (`A+B`).

    A joined field needs no name of its file, if no other has its name. Raises FileFormatError for a role or a field
    that there is not.
    """
    found, further = dict[str, list[str]](), dict[str, list[str]]()
    for role, fields in chosen.items():
        if role not in ROLES:
            raise FileFormatError(f"there is no role {role!r}; there are {join_names(ROLES)}")
        for field in fields:
            is_whole = role != "response" or field in preview.columns
            parts = [_known_field(preview, part) for part in ([field] if is_whole else field.split("+"))]
            cells = [parse_cell(row.get(parts[0], "")) for row in preview.rows]
            if role in TEXT_ROLES and parts[0] in preview.lists and not any(map(is_messages, cells)):
                message = "a list of objects is no text: state it as `items`, or one of the fields of its objects"
                raise FileFormatError(message, field=parts[0])
            found.setdefault(role, []).append(parts[0])
            further |= {parts[0]: parts[1:]} if parts[1:] else {}
    return found, further


def _known_field(preview: Preview, field: str) -> str:
    inner = [own for own in preview.columns if own.partition(".")[2] == field]
    names = [own for own in (field, quote_key(field)) if own in preview.columns] or inner
    if not names or (len(names) > 1 and names == inner):
        raise FileFormatError(f"there is no such field; there are {join_names(preview.columns)}", field=field)
    return names[0]


def _with_steps(draft: guess.Draft, preview: Preview, chosen: abc.Mapping[str, Sequence[str]]) -> guess.Draft:
    """Return a suggestion with the labels of steps of a transcript, if a person states either of them."""
    if chosen.keys().isdisjoint(("transcript", "step")):
        return draft
    first = next(iter(chosen.get("step", ())), None)
    column = next((own["transcript"] for own in draft.get("responses", ()) if "transcript" in own), "")
    found = [*suggest_steps.StepSuggester(preview, column, suggest_blocks.PEOPLE, first).blocks()]
    stated = {block.get("value") for _, block in found}
    for name in ("labels", "gold"):
        kept = [block for block in draft.get(name, ()) if block.get("value") not in stated]
        draft |= {name: [*kept, *(block for of, block in found if of == name)]}
    return {field: own for field, own in draft.items() if own}


def _refuse_unused(draft: guess.Draft, chosen: abc.Mapping[str, Sequence[str]]) -> None:
    """Raise FileFormatError for a field that is not what a person says, with the reason."""
    blocks = [draft.get(name, ()) for name in ("labels", "judges", "gold")]
    responses = draft.get("responses", ())
    places: dict[str, Any] = {role: [draft.get(role)] for role in ("prompt", "context", "reference")}
    places |= {
        "label": blocks,
        "judge": draft.get("judges", ()),
        "annotator": blocks,
        "criterion": blocks,
        "step": blocks,
    }
    places |= {"response": responses, "transcript": responses}
    places["system"] = [own.get("system") for own in responses]
    for role, fields in chosen.items():
        for field in fields:
            if role != "none" and repr(field) not in str(places[role]):
                reason = UNUSED.get(role, "the texts of the file do not fit to it")
                raise FileFormatError(f"it cannot be the {role}: {reason}", field=field)


def apply_scales(draft: guess.Draft, scales: abc.Mapping[str, str]) -> guess.Draft:
    """Return a suggestion with the scales that a person states: field -> its ends such as `1-5`, or its words such as
    `bad,fair,good`, the best last."""
    for field, text in scales.items():
        own, words = _blocks_of(draft, field), [word.strip() for word in text.split(",")]
        if len(words) > 1 and own and all(block["kind"] == "answer" for block in own):
            for block in own:
                block["scale"] = {"level": "ordinal", "categories": words}
                block.pop("confirmed", None)
            continue
        match = re.fullmatch(r"\s*(-?\d+)\s*(?:-|to)\s*(-?\d+)\s*", text)
        is_reversed = match is not None and int(match[1]) > int(match[2])
        if match is None or not own or match[1] == match[2]:
            message = "expected a field with scores, and its scale such as `1-5`, or its words such as `bad,fair,good`"
            raise FileFormatError(message, field=field)
        low, high = sorted((int(match[1]), int(match[2])))
        are_whole = all(block["scale"]["level"] != "interval" for block in own)
        scale = guess.scale_of(low, high, () if are_whole else (0.5,))
        changes: guess.Draft = {"scale": scale}
        if is_reversed and "categories" in scale:
            changes = {"scale": scale | {"categories": scale["categories"][::-1]}}
        elif is_reversed:
            changes = {"scale": scale | {"low": -high, "high": -low}, "negative": True}
        for block in own:
            block |= changes
            block.pop("confirmed", None)
    return draft


def apply_values(draft: guess.Draft, values: abc.Mapping[str, str]) -> guess.Draft:
    """Return a suggestion with the meanings that a person states, by `FIELD:TEXT`.

    1 and 2 are the first and the second response, `tie` neither, and `none` is no value; others are on the scale.
    """
    for place, meaning in values.items():
        field, _, text = place.rpartition(":")
        number = parse_number(meaning, 0, field)
        value = {"tie": 0, "none": None}.get(meaning, meaning if number is None else number)
        own = _blocks_of(draft, field)
        if not own:
            raise FileFormatError(
                "no label, gold or judge has its value; write --value FIELD:TEXT=MEANING", field=field
            )
        for block in own:
            block["values"] = dict(block.get("values", {})) | {text: value}
    return draft


def _blocks_of(draft: guess.Draft, field: str) -> list[guess.Draft]:
    """Return the labels, judges and gold whose values are in a field."""
    blocks = (block for name in ("labels", "judges", "gold") for block in draft.get(name, ()))
    return [one for one in blocks if field in (*suggest_blocks.fields_of(one), *suggest_blocks.ranks_of(one))]


def _with_system(draft: guess.Draft, preview: Preview) -> guess.Draft:
    """Return the draft with the system of its only response, if a column with another name has it."""
    (response, *others), is_plain = draft["responses"], draft.keys().isdisjoint(("explode", "judges"))
    if others or not is_plain or response.keys() != {"text"}:
        return draft
    system = roles.RoleSuggester(preview, draft).system(None)
    return draft | ({"confirmed": False, "responses": [response | system]} if system else {})


def _has_blocks(draft: guess.Draft) -> bool:
    return not draft.keys().isdisjoint(("labels", "judges", "gold"))


def _is_one_of_several(draft: guess.Draft, preview: Preview) -> bool:
    """Return whether the only response is in an object beside like ones: `gpt4.text` beside `claude.text`."""
    texts = [own.get("text") for own in draft.get("responses", ())]
    if len(texts) != 1 or not isinstance(texts[0], str) or "." not in texts[0] or texts[0] not in preview.columns:
        return False
    *parent, key = parse_path(texts[0])
    paths = [parse_path(column) for column in preview.columns]
    return sum(len(path) == len(parent) + 1 and path[-1] == key for path in paths) > 1


def _is_whole(draft: guess.Draft, preview: Preview) -> bool:
    """Return whether the names of columns suffice: the draft has responses and values, or is of transcripts."""
    responses = draft.get("responses", [])
    if any("transcript" in own or "each" in own or not isinstance(own.get("text"), str) for own in responses):
        return True
    is_text = [own.get("text") for own in responses] == ["text"] and "prompt" not in draft
    is_inside = any(NUMBERED.match(own["text"]) for own in responses)
    return bool(responses) and _has_blocks(draft) and not is_text and not is_inside


def _by_values(path: Path, draft: guess.Draft, join: Sequence[guess.Draft]) -> guess.Draft:
    """Return the mapping by the values of the columns, of the rows or of the elements of a list; otherwise the draft.

    Responses and prompt of the draft stand if it has both.
    """
    known = {field: value for field, value in draft.items() if field not in ("labels", "judges", "gold", "id")}
    preview = preview_table(path, MANY_ROWS, draft.get("explode"), join=join)
    prompt = next((own for own in profile(preview) if own.path == draft.get("prompt")), None)
    if not {"prompt", "responses"} <= known.keys() or (prompt and prompt.is_label):  # a prompt of few short words
        whole = {"explode": draft["explode"]} if set(draft.get("explode", ())) == {EVERY_KEY} else {}
        known, preview = whole, preview_table(path, MANY_ROWS, whole.get("explode"), join=join)
    explode = known.get("explode")
    numbered = dict.fromkeys(column.split(".")[0] for column in preview.columns if NUMBERED.match(column))
    levels = iter([explode]) if known else chain((*numbered, None), _lists(path, preview, join))
    named: guess.Draft | None = None  # a file without texts, or without labels
    for column in levels:
        rows = preview_table(path, MANY_ROWS, column, join=join) if column != explode else preview
        own = {"explode": column} if column else {}
        found = roles.RoleSuggester(rows, known | own).suggest()
        if found and (_has_blocks(found) or found.get("responses")):
            named = named or (found if draft.keys().isdisjoint(("prompt", "responses")) else None)
            if _has_blocks(found) and found.get("responses"):
                return {"confirmed": False, **found}
    return {"confirmed": False, **named} if named else draft


def _lists(path: Path, preview: Preview, join: Sequence[guess.Draft]) -> Iterator[Levels]:
    """Yield the lists of records, and then those in their elements with the list that these are in."""
    yield from preview.lists
    for column in () if preview.lists[:1] and preview.lists[0] in WHOLE_RECORD else preview.lists:
        inner = preview_table(path, ROWS, column, join=join).lists
        yield from ([column, own] for own in inner if own not in preview.lists)


def build_suggested(draft: guess.Draft) -> tuple[Mapping, bool]:
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


def suggest(preview: Preview, explode: Levels = None) -> guess.Draft:
    """Return a suggested mapping of the columns; labels, judges and gold whose values are not clear are left out."""
    filled = [column for column in preview.columns if any(row.get(column, "").strip() for row in preview.rows)]
    preview = replace(preview, columns=tuple(filled or preview.columns))  # a column without a value is no response
    names = guess.names_of(preview.columns)
    columns = list(preview.columns)
    if {"orig_instruction", "orig_response"} <= names.keys():  # a judge's prompt and reply, with what was judged
        columns = [column for column in columns if column.startswith("orig_")]
    draft = guess.suggest_mapping(columns, explode)
    _settle_prompt(draft, preview, columns, explode)
    draft |= _responses(preview, draft)
    draft |= _transcript(preview, {field: value for field, value in draft.items() if value})
    cells = [
        [parse_cell(row.get(response.get("text", ""), "")) for row in preview.rows]
        for response in draft.get("responses", [])
    ]
    if any(map(_are_transcripts, cells)):  # then all of them: a transcript is not compared with a text
        for response, own in zip(draft["responses"], cells, strict=True):
            if any(map(is_messages, own)):
                response["transcript"] = response.pop("text")
    _refer_to_parts(draft, preview)
    _refer_to_last_turn(draft, preview)
    draft |= suggest_blocks.BlockSuggester(preview, draft).suggest()
    if draft.get("reference") in [block.get("value") for block in draft.get("gold", ())]:
        draft.pop("reference", None)
    status = guess.names_of(preview.columns).get("assignmentstatus")
    if status and any(row.get(status) == REJECTED for row in preview.rows):
        draft["where_not"] = {status: REJECTED}
    _name_items(draft, preview)
    return {field: value for field, value in draft.items() if value}


def _settle_prompt(draft: guess.Draft, preview: Preview, columns: Sequence[str], explode: Levels) -> None:
    """Replace a prompt that is the name of a source, take a task as prompt, and leave out references true and false."""
    prompt = draft.get("prompt")
    if isinstance(prompt, str) and (META.match(prompt) or not _have_blanks(preview, prompt)):
        other = guess.suggest_mapping([column for column in columns if column != prompt], explode).get("prompt")
        if META.match(prompt) or (isinstance(other, str) and _have_blanks(preview, other)):
            draft["prompt"] = other
    task = draft.get("scenario")
    if not prompt and task and guess.normalize(task) == "task" and _are_long(preview, task):
        draft |= {"prompt": draft.pop("scenario")}
    if {row.get(draft.get("reference", ""), "") for row in preview.rows} <= {"true", "false", ""}:
        draft.pop("reference", None)


def _have_blanks(preview: Preview, column: str) -> bool:
    """Return whether a cell has several words, unlike the name of a source of prompts."""
    return any(" " in row.get(column, "").strip() for row in preview.rows)


def _are_long(preview: Preview, column: str) -> bool:
    """Return whether the cells of a column are instructions: most have several words, and they differ."""
    cells = {row.get(column, "").strip() for row in preview.rows}
    return 2 * sum(cell.count(" ") > 2 for cell in cells) > len(cells) > 1


def _responses(preview: Preview, draft: guess.Draft) -> guess.Draft:
    """Return the responses of a table that names them in another way, with the fields that follow from it."""
    names = guess.names_of(preview.columns)
    nested = {f"{name}.{key}" for name in ("chosen", "rejected") for key in CONTENT_KEYS}
    names |= {column.split(".")[0]: column for column in preview.columns if column in nested}
    if {"chosen", "rejected"} <= names.keys():
        responses = [_response(names[name], names.get(f"{name}_model")) for name in ("chosen", "rejected")]
        return {"responses": responses, "gold": [CHOSEN], "shuffle": True}
    target = guess.first_of(names, ("target", "hypothesis"))
    if "responses" not in draft and target and _have_blanks(preview, target):
        return {"responses": [_response(target, guess.first_of(names, ("system", "model")))], "reference": None}
    return {} if "responses" in draft else _by_system(preview) or _list_of_two(preview)


def _chosen_lists(preview: Preview) -> guess.Draft | None:
    """Return the mapping of lists of chosen and of rejected responses, an item for each pair; None without them."""
    names = ["chosen", "rejected"]
    cells = [parse_cell(row.get(name, "")) for row in preview.rows for name in names]
    if not _are_texts(cells) or all(len(cell) == 1 for cell in cells):
        return None
    draft = guess.suggest_mapping([column for column in preview.columns if column not in names])
    is_unique = len(_rows_by(preview, [draft["id"]])) == len(preview.rows)
    name = f"{{{draft['id']}}}" if is_unique and not is_template(draft["id"]) else "{row}"
    own = {"explode": names, "id": f"{name}-{{element_1}}-{{element}}", "group": name, "gold": [CHOSEN]}
    return draft | own | {"responses": [{"text": name} for name in names], "shuffle": True}


def _exchanges(draft: guess.Draft, preview: Preview) -> guess.Draft | None:
    """Return the mapping of a list of prompts beside one of responses: from three on they are no turns, but items."""
    sources = [draft.get("prompt"), *(own.get("text") for own in draft.get("responses", ()))]
    paths = [own.removesuffix(".0") for own in sources if isinstance(own, str) and own.endswith(".0")]
    sizes = [{len(parse_cell(row.get(path, ""))) for path in paths} for row in preview.rows]
    if draft.get("explode") or len(paths) < max(2, len(sources)) or any(len(own) > 1 or min(own) < 3 for own in sizes):
        return None
    id = guess.first_of(guess.names_of(preview.columns), guess.IDS)
    repeats = id is not None and len(_rows_by(preview, [*paths, id])) == len(_rows_by(preview, [id]))
    own = {"explode": paths[0], "parallel": paths[1:], "id": f"{{{id if repeats else 'row'}}}-{{element}}"}
    return {"confirmed": False, **own, "prompt": paths[0], "responses": [{"text": path} for path in paths[1:]]}


def _by_system(preview: Preview) -> guess.Draft:
    """Return the responses of a table with a column for each system, such as `gpt4_response`."""
    matches = {column: guess.OF_SYSTEM.fullmatch(key_of(column)) for column in preview.columns}
    names = {column: match["name"] for column, match in matches.items() if match}
    responses = [{"text": column, "name": own} for column, own in names.items() if not guess.NO_SYSTEM.fullmatch(own)]
    if len(responses) == 1 < len(names):  # an answer beside the right one
        return {"responses": [{"text": responses[0]["text"]}]}
    return {"responses": responses} if len(responses) > 1 else {}


def _list_of_two(preview: Preview) -> guess.Draft:
    """Return the responses of a table with a list of two in each row."""
    for column in preview.lists:
        elements = [parse_cell(row.get(column, "")) for row in preview.rows]
        if suggest_blocks.LISTS.fullmatch(guess.normalize(column)) and all(map(_are_answers, elements)):
            return {"responses": [{"each": column, "text": "messages.-1"}]}
        if any(map(_is_conversation, elements)):
            continue
        keys = [key for key in ("text", *CONTENT_KEYS, "response") if _all_have(elements, key)]
        if keys and {len(element) for element in elements} == {2}:
            system = next((key for key in ("policy", "model", "system") if _all_have(elements, key)), None)
            parts = [f"{column}.{n}." for n in (0, 1)]
            return {"responses": [_response(part + keys[0], system and part + system) for part in parts]}
    return {}


def _are_answers(cell: Any) -> bool:
    """Return whether a value is a list of objects, each with the messages of one response."""
    return bool(cell) and all(isinstance(own, dict) and is_messages(own.get("messages")) for own in cell)


def _is_conversation(messages: Any) -> bool:
    """Return whether a value is a list of messages, of which some are not the assistant's."""
    roles = {part.role for part in message_parts(messages)} if is_messages(messages) else set()
    return roles != {"assistant"} and bool(roles & {"user", "system"})


def _all_have(elements: Sequence[Any], key: str) -> bool:
    records = [record for element in elements for record in (element if isinstance(element, list) else [None])]
    return bool(records) and all(isinstance(record, dict) and isinstance(record.get(key), str) for record in records)


def _response(text: str, system: str | None) -> guess.Draft:
    return {"text": text, "system": system} if system else {"text": text}


def _refer_to_parts(draft: guess.Draft, preview: Preview) -> None:
    """Refer to the last message of conversations, the first of several texts, and texts without marks."""
    texts = [response.get("text", "") for response in draft.get("responses", [])]
    for response in draft.get("responses", []) if _are_different_talks(texts, preview) else ():
        response["transcript"] = response.pop("text")
    for response in draft.get("responses", []):
        field = response.get("text", "")
        cells = [row.get(field, "") for row in preview.rows]
        parsed = [parse_cell(cell) for cell in cells]
        if all(isinstance(cell, list) and cell and render_messages(cell) for cell in parsed):
            draft.setdefault("prompt", f"{field}.:-1")
            response["text"] = f"{field}.-1"
        elif _are_texts(parsed) and not INPUT.match(key_of(field)):
            response["text"] = f"{field}.0"
        elif cells and all(ASSISTANT in cell and "Human:" in cell for cell in cells):
            draft.setdefault("prompt", {"field": field, "before_last": ASSISTANT})
            response["text"] = {"field": field, "after_last": ASSISTANT}
        elif any(mark in cell for cell in cells for mark in MARKS):
            response["text"] = {"field": field, "remove": list(MARKS)}
            if isinstance(prompt := draft.get("prompt"), str):
                draft["prompt"] = {"field": prompt, "remove": list(MARKS)}
    _refer_to_first(draft, preview)
    _refer_to_only_text(draft, preview)


def _refer_to_only_text(draft: guess.Draft, preview: Preview) -> None:
    """Refer to the only text of a list that is context or reference; without one, it is no text."""
    for field in ("context", "reference"):
        cells = [parse_cell(row.get(str(draft.get(field)), "")) for row in preview.rows]
        if any(isinstance(cell, list) and not is_messages(cell) for cell in cells):
            are_single = all(cell == "" or (isinstance(cell, list) and len(cell) == 1) for cell in cells)
            draft |= {field: f"{draft[field]}.0" if are_single else None}


def _refer_to_last_turn(draft: guess.Draft, preview: Preview) -> None:
    """Keep the rows about the last turn, if others are about an earlier one of the same conversation, and end there."""
    turn = guess.names_of(preview.columns).get("turn")
    columns = [response["transcript"] for response in draft.get("responses", []) if response.get("transcript")]
    turns = [row.get(turn, "") for row in preview.rows] if turn else []
    if not columns or not turns or not all(number.isascii() and number.isdecimal() for number in turns):
        return
    sizes = [[len(parse_cell(row.get(column, ""))) for column in columns] for row in preview.rows]
    last = max(map(int, turns))
    if any(size > 2 * int(number) for number, own in zip(turns, sizes, strict=True) for size in own):
        draft["where"] = {turn: last}
    if any(size > 2 * last for own in sizes for size in own):
        for response in draft["responses"]:
            response["transcript"] += f".:{2 * last}"


def _are_different_talks(columns: Sequence[Any], preview: Preview) -> bool:
    """Return whether columns have conversations that differ before the last message, so that none is the prompt."""
    rows = ([parse_cell(row.get(str(column), "")) for column in columns] for row in preview.rows)
    talks = [row for row in rows if all(map(is_messages, row))]
    return any(talk[:-1] != row[0][:-1] for row in talks for talk in row)


def _refer_to_first(draft: guess.Draft, preview: Preview) -> None:
    """Refer to the first of several turns if there is a reply to each; with one reply, they are a conversation."""
    prompt = draft.get("prompt")
    has_several = any(str(response.get("text")).endswith(".0") for response in draft.get("responses", []))
    if (
        has_several
        and isinstance(prompt, str)
        and _are_texts([parse_cell(row.get(prompt, "")) for row in preview.rows])
    ):
        draft["prompt"] = f"{prompt}.0"


def _transcript(preview: Preview, draft: guess.Draft) -> guess.Draft:
    """Return the response of a table whose only response is in a list of messages, under any name, or of the texts of
    steps of which a column names the first wrong one."""
    names = guess.names_of(preview.columns)
    listed = {name: [parse_cell(row.get(column, "")) for row in preview.rows] for name, column in names.items()}
    steps = next((name for name in TRANSCRIPTS if _are_texts(listed.get(name, ()))), None)
    if steps and len(draft.get("responses", ())) < 2 and guess.first_of(names, suggest_steps.FIRST):
        return {"responses": [{"transcript": names[steps]}]}
    for name, cells in listed.items():
        if all(isinstance(cell, list) and len(cell) == 1 and isinstance(cell[0], list) for cell in cells):
            names[name], listed[name] = f"{names[name]}.0", [cell[0] for cell in cells]  # a list of one conversation
    found = sorted(name for name, cells in listed.items() if any(map(is_messages, cells)))
    usual = [name for name in TRANSCRIPTS if name in found] or found
    if not usual:
        return {}
    column, known = names[usual[0]], [cell for cell in listed[usual[0]] if cell not in ("", [])]
    cells = [cell for cell in known if is_messages(cell)]
    if 2 * len(cells) < len(known):  # a few wrong ones are named by the import
        return {}
    is_of_agents = guess.first_of(names, suggest_steps.FIRST) is not None
    speakers = {part.role for cell in cells for part in message_parts(cell)}
    if "assistant" not in speakers and not (is_of_agents and speakers - {"user", "system", "tool"}):
        return {} if draft.get("prompt") else {"prompt": column}
    calls = any(part.kind == "tool_call" for cell in cells for part in message_parts(cell))
    is_last = len(draft.get("responses", ())) == 1 and (calls or _is_last_answer(cells, draft, preview))
    if "responses" in draft and not is_last:
        return {}
    others = {field: None for field in ("prompt", "context", "group") if draft.get(field) == column}
    system = guess.first_of(names, ("system", "model", "model_name", "agent"))
    exchanges = all(render_messages(cell) and _is_exchange(cell) for cell in cells)
    response: guess.Draft = {"text": f"{column}.-1"} if exchanges else {"transcript": column}
    prompt = None if not exchanges or others.get("prompt", draft.get("prompt")) else {"prompt": f"{column}.:-1"}
    return others | (prompt or {}) | {"responses": [response | ({"system": system} if system else {})]}


def _is_last_answer(talks: Sequence[list[Any]], draft: guess.Draft, preview: Preview) -> bool:
    """Return whether the only response is a few words, beside talks of several agents, or that end with a reply."""
    column = draft["responses"][0].get("text")
    found = [own for own in profile(preview) if own.path == column and not own.is_prose]
    several = [talk for talk in talks if [part.role for part in message_parts(talk)].count("assistant") > 1]
    ends = [talk for talk in several if talk[-1].get("role") == "assistant" or all(own.get("name") for own in talk)]
    return bool(found) and 2 * len(ends) > len(talks)


def _is_exchange(messages: list[Any]) -> bool:
    """Return whether the last message is the only reply, and nothing else is known of any."""
    roles = [part.role for part in message_parts(messages)]
    is_only = len(roles) > 1 and roles[-1] == "assistant" and roles.count("assistant") == 1
    is_only = is_only and set(roles) <= {"system", "user", "assistant"}
    return is_only and not any("kind" in message for message in messages)


def _are_transcripts(cells: Sequence[Any]) -> bool:
    """Return whether cells are lists of messages of which some have more than a role and a text."""
    known = [cell for cell in cells if cell not in ("", [])]
    return bool(known) and all(map(is_messages, known)) and any(render_messages(cell) is None for cell in known)


def _are_texts(cells: Sequence[Any]) -> bool:
    """Return whether each cell is a list of texts."""
    return bool(cells) and all(
        isinstance(cell, list) and cell and all(isinstance(text, str) for text in cell) for cell in cells
    )


def _name_items(draft: guess.Draft, preview: Preview) -> None:
    """Name items by columns that tell different items apart, otherwise by the row; drop what varies within an item."""
    names = guess.names_of(preview.columns)
    ids = _id_columns(draft, preview, names)
    if not ids:
        return
    systems = [response["system"] for response in draft.get("responses", []) if response.get("system")]
    turn = [names["turn"]] if "turn" in names else []
    long = [block for block in draft.get("labels", []) if block.get("layout") == "long" and not block.get("each")]
    texts = [own["text"] for own in draft.get("responses", []) if isinstance(own.get("text"), str)]
    more = [[], list(dict.fromkeys(systems)), list(dict.fromkeys([*systems, *turn]))]
    more += [texts] if draft["id"] == "{row}" and ids != texts and long else []  # an id of several texts is doubtful
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


def _id_columns(draft: guess.Draft, preview: Preview, names: abc.Mapping[str, str]) -> list[str]:
    """Return the columns with usual names of ids; without any, that of a prompt or an only response that repeats."""
    if not is_template(draft["id"]):
        return [names[name] for name in guess.IDS if name in names]
    texts = [own.get("text") for own in draft.get("responses", [])]
    prompt = draft.get("prompt") or (texts[0] if len(texts) == 1 else None) if draft["id"] == "{row}" else None
    return [prompt] if isinstance(prompt, str) and _are_repeated(prompt, preview.rows) else []


def _are_repeated(prompt: str, rows: Sequence[Cells]) -> bool:
    """Return whether some prompts are in several rows, and not the same one is in all."""
    return 1 < len({row.get(prompt) for row in rows}) < len(rows)


def _are_items(items: abc.Mapping[tuple[str, ...], Sequence[Cells]], draft: guess.Draft, *, is_long: bool) -> bool:
    """Return whether rows with one name are one item: only if they are labels, and with the same responses."""
    texts = [response.get("text") or response["transcript"] for response in draft.get("responses", [])]
    return all(
        all(key)
        and (is_long or len(rows) == 1)
        and all(len({_content(row, text) for row in rows}) == 1 for text in texts)
        for key, rows in items.items()
    )


def _repeats(block: guess.Draft, items: Iterable[Sequence[Cells]]) -> bool:
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


def _content(row: Cells, source: Any) -> str:
    field = source["field"] if isinstance(source, dict) else source.removesuffix(".-1").removesuffix(".0")
    text = row.get(field) or row.get(source if isinstance(source, str) else field, "")
    for mark in MARKS:
        text = text.replace(mark, "")
    return text


def state_unused_labels(path: Path, found: Sequence[Mapping]) -> str:
    """Return a sentence on the fields that no mapping of a file uses and whose values look like labels; "" for none."""
    labels: dict[str, None] = {}
    used = {keys for mapping in found for keys in used_paths(mapping)} if len(found) > 1 else set()
    for mapping in found:
        unused, preview = unused_fields(path, mapping), preview_of(path, ROWS, mapping)
        left = [own for own in profile(preview) if own.path in unused]
        labels |= {own.path: None for own in left if own.is_label or (own.numbers and own.is_called(RATING))}
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
    unused = unused_fields(path, mapping)
    preview = preview_of(path, MANY_ROWS, mapping)
    named = [own for own in profile(preview) if own.path in unused and guess.normalize(own.path) in guess.IDS]
    repeated = [spell_path(own.path) for own in named if len(own.distinct) < own.filled == len(preview.rows)]
    if not repeated:
        return ""
    return f"Each row is an item of its own, although rows have the same {join_names(repeated)}"
