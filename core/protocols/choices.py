"""The choice between two responses: from the order shown to the item's own order, and its description."""

from collections.abc import Callable

from core.labels import Value


def in_item_order(shown: tuple[int, ...]) -> Callable[[int], int]:
    """Return a function from the place of a response to its number in the item; 0 is neither."""
    return lambda place: (0, *shown)[place]


def describe_choice(value: Value) -> str:
    """Return `response 1`, `response 2` or `neither`."""
    return "neither" if value == 0 else f"response {value}"
