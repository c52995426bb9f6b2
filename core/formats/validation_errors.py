"""Converts pydantic's validation errors into one sentence with the line and the field."""

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.errors import FileFormatError

# pydantic's error type -> message; other types use pydantic's own message.
MESSAGES = {
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
# The branches of `labels.Value`: when all of them fail, pydantic reports an error for each.
UNION_BRANCHES = {"bool", "int", "float", "str", "dict[str,float]", "none"}
# What a mapping accepts in the place of a field -> its first key.
SOURCE_KEYS = {"Constant": "constant", "Excerpt": "field", "Comparison": "compare", "SystemName": "system"}
MAX_LISTED = 12


def validated(type: Any, value: Any, *, line: int | None = None, name: str = "") -> Any:
    """Return a value from a file as a model, or what an adapter reads; raises FileFormatError with the first error.

    `name` is that of the file, if it is one of several.
    """
    try:
        return type.validate_python(value) if isinstance(type, TypeAdapter) else type.model_validate(value)
    except ValidationError as error:
        found = to_file_format_error(error, line=line)
        raise FileFormatError(f"{name}: {found}") if name else found from None


def to_file_format_error(error: ValidationError, *, line: int | None = None, skip: int = 0) -> FileFormatError:
    """Return the first error; `skip` is how many leading steps of its location only name the branch of a union."""
    errors = error.errors(include_url=False, include_context=True)
    # A text that a validator changes is the branch of a text all the same.
    location = ["str" if str(step).startswith("function-") else str(step) for step in errors[0]["loc"][skip:]]
    if any("Constant" in each["loc"] for each in errors) and "str" in location:
        return _source_error(errors, location[: location.index("str")], line)
    if len(errors) > 1 and location and location[-1] in UNION_BRANCHES:
        return FileFormatError(
            "expected true or false, a number, text or weights", line=line, field=".".join(location[:-1])
        )
    return FileFormatError(_message(errors[0]), line=line, field=".".join(location) or None)


def _source_error(errors: Sequence[Any], place: list[str], line: int | None) -> FileFormatError:
    """Return the error of a field or one of the objects in its place; `place` is its location."""
    here = [error for error in errors if [str(step) for step in error["loc"][: len(place)]] == place]
    own = [error for error in here if error["type"] == "value_error"]
    branches = " ".join(str(step) for error in here for step in error["loc"])
    others = [f"{{{key}: ...}}" for kind, key in SOURCE_KEYS.items() if kind in branches]
    message = _message(own[0]) if own else f"expected a field, or {' or '.join(others)}"
    return FileFormatError(message, line=line, field=".".join(place) or None)


def _message(error: Any) -> str:
    kind, context = error["type"], error.get("ctx", {})
    match kind:
        case "json_invalid":
            return f"expected JSON: {context['error']}"
        case "literal_error" | "enum":
            return f"expected {context['expected']}, not {quote_value(error['input'])}"
        case "union_tag_invalid":
            return f"expected one of {context['expected_tags']}, not {context['tag']!r}"
        case "union_tag_not_found":
            return f"expected a field {context['discriminator']} with the type of the value"
        case "value_error":
            return str(context["error"])
    message = str(error["msg"])
    return MESSAGES.get(kind) or message[:1].lower() + message[1:]


def quote_value(value: object, length: int = 40) -> str:
    """Return a value from a file for a message: quoted, on one line, and cut to `length` characters."""
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}…"


def join_names(names: Sequence[object]) -> str:
    """Return names for a message: the first MAX_LISTED, and how many more there are."""
    listed = ", ".join(str(name) for name in names[:MAX_LISTED])
    return f"{listed} and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else listed
