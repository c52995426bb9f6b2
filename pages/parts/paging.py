"""Splits long lists into pages; the number of the open page is in the session state, or in the address."""

from collections.abc import Sequence
from typing import Literal, TypeVar

import streamlit as st

T = TypeVar("T")


def page_count(length: int, size: int) -> int:
    """Return the number of pages of `size` elements; an empty list has one page."""
    return max(1, -(-length // size))


def page_of(index: int, size: int) -> int:
    """Return the number of the page, from 1, that holds the element at `index`."""
    return index // size + 1


def current_page(key: str, length: int, size: int) -> int:
    """Return the number of the open page, from 1; the last page if the list has become shorter.

    The page selector is drawn below the rows, so on the first run of a link the number is only in its address.
    """
    if key in st.session_state:
        return min(int(st.session_state[key]), page_count(length, size))
    stated = st.query_params.get(key, "")
    number = int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < 10 else 1
    return number if 1 <= number <= page_count(length, size) else 1  # as the selector takes it


def page_slice(elements: Sequence[T], page: int, size: int) -> Sequence[T]:
    """Return the elements on a page."""
    return elements[(page - 1) * size : page * size]


def draw_pagination(key: str, length: int, size: int, bind: Literal["query-params"] | None = None) -> None:
    """Draw the page selector, if there is more than one page."""
    if length > size:
        st.pagination(page_count(length, size), key=key, bind=bind)
