"""What a person states of a table's fields in place of a suggestion: what they are, their scales and their values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.fields import quote_key
from core.formats.mapping.guess import Draft, scale_of
from core.formats.mapping.preview import Preview, parse_cell
from core.formats.mapping.rows import parse_number
from core.formats.transcripts.messages import is_messages
from core.formats.validation_errors import join_names

# What a person can say that a field is.
ROLES = (
    *("items", "prompt", "context", "reference", "response", "transcript", "system", "annotator", "label", "judge"),
    *("criterion", "step", "none"),
)
# Those whose field has a text, or a conversation.
TEXT_ROLES = frozenset(("prompt", "context", "reference", "response"))
# Field of a response -> the role of the field that it refers to.
FORMS = {"text": "response", "transcript": "transcript"}
# The parts of a mapping in which a field of a role has to be; all blocks for others.
PLACES = {
    **{role: (role,) for role in ("prompt", "context", "reference")},
    **dict.fromkeys(("response", "transcript", "system"), ("responses",)),
    "judge": ("judges",),
}
BLOCKS = ("labels", "judges", "gold")
# Why a field cannot have a role.
UNUSED = {
    "label": "no response, or no item that it is about, is known; state it with `--role response=FIELD` or `prompt`",
    "annotator": "the file has no labels that are known; state them with `--role label=FIELD`",
    "criterion": "no labels are known that are in rows of their own; state them with `--role label=FIELD`",
    "step": "the file has no transcript that is known; state it with `--role transcript=FIELD`",
    "system": "there are not as many responses as systems; state each with `--role response=FIELD`",
}
# Role -> the fields that a person says have it.
Stated = Mapping[str, Sequence[str]]
ENDS = re.compile(r"\s*(-?\d+)\s*(?:-|to)\s*(-?\d+)\s*")


def known_fields(preview: Preview, stated: Stated) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the fields of each role as a mapping has them, and first field of a response -> its further ones (`A+B`).

    A joined field needs no name of its file, if no other has its name. Raises FileFormatError for a role or a field
    that there is not.
    """
    found, further = dict[str, list[str]](), dict[str, list[str]]()
    for role, fields in stated.items():
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


def refuse_unused(draft: Draft, stated: Stated) -> None:
    """Raise FileFormatError for a field that is not what a person says, with the reason."""
    for role, fields in stated.items():
        place = repr([draft.get(name) for name in PLACES.get(role, BLOCKS)])
        for field in fields:
            if role != "none" and repr(field) not in place and f"{{{field}}}" not in place:
                reason = UNUSED.get(role, "the texts of the file do not fit to it")
                raise FileFormatError(f"it cannot be the {role}: {reason}", field=field)


def with_further(draft: Draft, further: Mapping[str, Sequence[str]]) -> Draft:
    """Return a suggestion with the further fields of responses."""
    for own in draft.get("responses", ()):
        own |= {"text": [own["text"], *further[own["text"]]]} if own.get("text") in further else {}
    return draft


def apply_scales(draft: Draft, scales: Mapping[str, str]) -> Draft:
    """Return a suggestion with the scales that a person states: field -> its ends such as `1-5`, or its words such as
    `bad,fair,good`, the best last."""
    for field, text in scales.items():
        own, words = _blocks_of(draft, field), [word.strip() for word in text.split(",")]
        ends = ENDS.fullmatch(text)
        if len(words) > 1 and own and all(block["kind"] == "answer" for block in own):
            changes: Draft = {"scale": {"level": "ordinal", "categories": words}}
        elif own and ends and ends[1] != ends[2]:
            are_whole = all(block["scale"]["level"] != "interval" for block in own)
            changes = _scale_between(int(ends[1]), int(ends[2]), are_whole=are_whole)
        else:
            message = "expected a field with scores, and its scale such as `1-5`, or its words such as `bad,fair,good`"
            raise FileFormatError(message, field=field)
        for block in own:
            block |= changes
            block.pop("confirmed", None)
    return draft


def _scale_between(worst: int, best: int, *, are_whole: bool) -> Draft:
    """Return the scale with two ends; of many numbers of which fewer are better, with the other sign."""
    low, high = sorted((worst, best))
    scale = scale_of(low, high, () if are_whole else (0.5,))
    if worst < best:
        return {"scale": scale}
    if "categories" in scale:
        return {"scale": scale | {"categories": scale["categories"][::-1]}}
    return {"scale": scale | {"low": -high, "high": -low}, "negative": True}


def apply_values(draft: Draft, values: Mapping[str, str]) -> Draft:
    """Return a suggestion with the meanings that a person states, by `FIELD:TEXT`.

    1 and 2 are the first and the second response, `tie` neither, and `none` is no value; others are on the scale.
    """
    for place, meaning in values.items():
        field, _, text = place.rpartition(":")
        number = parse_number(meaning, 0, field)
        value: Any = {"tie": 0, "none": None}.get(meaning, meaning if number is None else number)
        own = _blocks_of(draft, field)
        if not own:
            message = "no label, gold or judge has its value; write --value FIELD:TEXT=MEANING"
            raise FileFormatError(message, field=field)
        for block in own:
            block["values"] = dict(block.get("values", {})) | {text: value}
    return draft


def _blocks_of(draft: Draft, field: str) -> list[Draft]:
    """Return the labels, judges and gold whose values are in a field."""
    blocks = (block for name in BLOCKS for block in draft.get(name, ()))
    return [one for one in blocks if field in _fields_of(one)]


def _fields_of(block: Draft) -> list[Any]:
    """Return the fields with the values of a block."""
    value = block.get("value")
    named = value.get("system", value.get("compare")) if isinstance(value, dict) else value
    places = [*block.get("annotators", ()), *block.get("columns", ()), named, block.get("ranking", {}).get("ranks")]
    return [field for place in places for field in (place if isinstance(place, list) else [place])]
