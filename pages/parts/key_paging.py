"""Pages of long lists whose address has the key after which they begin (`storage.key_pages`).

The key is written by the page's script, not by a widget: Streamlit adds an entry to the history of the browser for it,
so the browser's button Back returns to the page before.
"""

from collections.abc import Hashable
from typing import Any

import streamlit as st

from storage.key_pages import START, Page

PARAMETER = "after"


def place(scope: Hashable) -> int:
    """Return the key in the address, or START. A list of another scope (study, filter, order) begins at its start."""
    stated = st.query_params.get(PARAMETER, "")
    key = int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < 16 else START
    former_scope, former_key = st.session_state.get("listed", (scope, START))
    if key != START and scope != former_scope and key == former_key:  # not by a link, which has another key
        key = START
        open_place(START)
    st.session_state["listed"] = (scope, key)
    return key


def draw(page: Page[Any]) -> None:
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
