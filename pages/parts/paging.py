"""Splits long lists into pages; the number of the open page is in the session state, or in the address."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st

from storage.db.columns import START, Page

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


# Pages of long lists whose address has the key after which they begin (`storage.db.columns`).
#
# The key is written by the page's script, not by a widget: Streamlit adds an entry to the history of the browser for
# it, so the browser's button Back returns to the page before.

PARAMETER = "after"


def key_place(scope: Hashable) -> int:
    """Return the key in the address, or START. A list of another scope (study, filter, order) begins at its start."""
    stated = st.query_params.get(PARAMETER, "")
    key = int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < 16 else START
    former_scope, former_key = st.session_state.get("listed", (scope, START))
    if key != START and scope != former_scope and key == former_key:  # not by a link, which has another key
        key = START
        open_place(START)
    st.session_state["listed"] = (scope, key)
    return key


def draw_key_paging(page: Page[Any]) -> None:
    """Draw the buttons of the other pages, if there are any."""
    if page.previous is None and page.next is None:
        return
    first = None if page.previous is None else START
    with st.container(horizontal=True, key="pages"):
        _draw_button("First page", "first_page", first)
        _draw_button("Previous page", "chevron_left", page.previous)
        _draw_button("Next page", "chevron_right", page.next)
        _draw_button("Last page", "last_page", page.last)


def _draw_button(label: str, icon: str, key: int | None) -> None:
    st.button(
        label,
        icon=f":material/{icon}:",
        key=icon,
        disabled=key is None,
        on_click=open_place,
        args=(START if key is None else key,),
    )


def open_place(key: int) -> None:
    """Write the key after which a page begins to the address."""
    if key == START:
        st.query_params.pop(PARAMETER, None)
    else:
        st.query_params[PARAMETER] = str(key)
