"""Values of a Literal type that callers in Python pass, who may have no type checker."""

from typing import Any, get_args

from core.errors import TiebreakError


def check_literal(name: str, value: object, allowed: Any) -> None:
    """Raise TiebreakError, with the allowed values, for a value that a Literal type does not have."""
    values = get_args(allowed)
    if not isinstance(value, str) or value not in values:
        raise TiebreakError(f"`{name}` is {', '.join(map(repr, values[:-1]))} or {values[-1]!r}, not {value!r}.")
