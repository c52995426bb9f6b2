"""Pages of a list that begin after a key: a page costs the same anywhere in the list, and new rows do not shift it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

START = 0
"""In place of a key: before the first row. Keys are ids of rows, from 1."""

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """The rows of a page, and the keys after which other pages begin; None if there is no such page."""

    rows: list[T]
    previous: int | None
    next: int | None
    last: int | None
    """That of the page with the last rows of the list, which is full if the list is longer than a page."""


def read_page(read: Callable[[int, int, bool], list[int]], after: int, size: int) -> Page[int]:
    """Return the keys of a page.

    `read(after, limit, backwards)` returns the first keys after a key, or backwards those before it; from START, those
    from the start or from the end.
    """
    rows = read(after, size + 1, False)
    is_last = len(rows) <= size
    previous = last = None
    if after != START:
        previous = _key(read(after, size, True), size)
    if not is_last:
        last = _key(read(START, size + 1, True), size + 1)
    return Page(rows[:size], previous, None if is_last else rows[size - 1], last)


def _key(backwards: list[int], number: int) -> int:
    """Return the key `number` rows back; START if there are fewer."""
    return backwards[-1] if len(backwards) == number else START
