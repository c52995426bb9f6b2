"""What pydantic found, as one sentence with the line and the field."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from core.problems import FileRefused

SENTENCES = {
    "missing": "this field is missing",
    "extra_forbidden": "there is no such field",
    "string_type": "expected text",
    "string_unicode": "expected text without half of a surrogate pair",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "dict_type": "expected named fields",
    "mapping_type": "expected named fields",
    "model_type": "expected named fields",
    "model_attributes_type": "expected named fields",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "too_short": "expected at least one",
}
UNION_BRANCHES = {"bool", "int", "float", "str", "dict[str,float]", "none"}


def refused(error: ValidationError, *, line: int | None = None, drop: int = 0) -> FileRefused:
    """The first fault of `error`; `drop` is how many steps of the place only name a branch of a union."""
    faults = error.errors(include_url=False, include_context=True)
    place = [str(step) for step in faults[0]["loc"][drop:]]
    if len(faults) > 1 and place and place[-1] in UNION_BRANCHES:
        return FileRefused("expected true or false, a number, text or weights", line=line, field=".".join(place[:-1]))
    return FileRefused(_sentence(faults[0]), line=line, field=".".join(place) or None)


def _sentence(fault: Any) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    match kind:
        case "json_invalid":
            return f"expected JSON: {context['error']}"
        case "literal_error" | "enum":
            return f"expected {context['expected']}, not {shown(fault['input'])}"
        case "union_tag_invalid":
            return f"expected one of {context['expected_tags']}, not {context['tag']!r}"
        case "union_tag_not_found":
            return f"expected a field {context['discriminator']} that says what this is"
        case "value_error":
            return str(context["error"])
    return SENTENCES.get(kind) or _lowered(str(fault["msg"]))


def shown(value: object, length: int = 40) -> str:
    """A value from a file in a sentence: quoted, on one line, and cut."""
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"


def listed(names: Sequence[object]) -> str:
    """Some names in a sentence: the first twelve, and how many more."""
    some = ", ".join(str(name) for name in names[:12])
    return f"{some} and {len(names) - 12} more" if len(names) > 12 else some


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
