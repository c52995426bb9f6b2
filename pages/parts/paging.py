"""The filters of long lists, which are in the address, and their pages."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st

from core.texts import _
from pages.parts.text import escape_markdown
from storage.db.columns import START, Page

T = TypeVar("T")


# The keys of the widgets whose choices are in the address.
BOUND = (
    "abstentions", "among", "area", "between", "blind", "change", "compared", "confidence",
    "criterion", "critique", "epsilon", "first", "group", "judge", "judges", "kind", "level", "looks",
    "margin", "min_coverage", "min_omega", "name", "opinion", "opinions", "order", "outcome", "panel", "reason",
    "reference", "risk", "run", "sample", "scenario", "search", "second", "section", "show", "signal", "source",
    "statistic", "step", "table", "text", "within",
)  # fmt: skip


def choose_filters(options: Mapping[str, Collection[str]]) -> dict[str, str | None]:
    """Draw a choice for each filter in a row, and return what is chosen; every choice is in the address.

    Warns about values in the address that the list does not have: the widgets drop them silently.
    """
    for name, values in options.items():
        stated = st.query_params.get(name)
        if stated is not None and stated not in values:
            st.warning(f"There is no {name} named {escape_markdown(stated[:80])} here. The filter was removed.")
    return {
        name: column.selectbox(
            name.capitalize(), list(values), index=None, placeholder="all", key=name, bind="query-params"
        )
        for (name, values), column in zip(options.items(), st.columns(len(options)), strict=True)
    }


def follow_link() -> None:
    """Forget earlier choices that the link from another page does not state, if it states any.

    Streamlit keeps the value of a bound widget while other pages are open, and would add it to the link's.
    """
    if any(key in st.query_params for key in BOUND):
        for key in BOUND:
            if key not in st.query_params:
                st.session_state.pop(key, None)


def choose_coded(
    label: str, codes: Sequence[str], parameter: str, draw: Callable[..., Any], default: str = "", **options: Any
) -> str:
    """Draw a choice with translated names, and return the code that is chosen; the address has it, except `default`.

    The default is the first code if none is named. A widget that is bound to the address would write the translated
    name into it.
    """
    default = default or codes[0]
    stated, known = st.query_params.get(parameter, default), f"{parameter} of the address"
    if parameter not in st.session_state or st.session_state.get(known) != stated:
        st.session_state[parameter] = stated if stated in codes else default
    chosen: str = draw(label, codes, format_func=_, key=parameter, **options)
    st.session_state[known] = chosen
    if chosen != default:
        st.query_params[parameter] = chosen
    else:
        st.query_params.pop(parameter, None)
    return chosen


# Pages of lists; the number of the open page is in the session state, or in the address.


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


def stated_place(scope: Hashable) -> str:
    """Return the place in the address, or "". A list of another scope (study, filter, order) begins at its start."""
    stated = st.query_params.get(PARAMETER, "")
    former_scope, former = st.session_state.get("listed", (scope, ""))
    if stated and scope != former_scope and stated == former:  # not by a link, which has another place
        stated = ""
        open_place(stated)
    st.session_state["listed"] = (scope, stated)
    return stated


def key_place(scope: Hashable) -> int:
    """Return the key in the address, or START; see `stated_place`."""
    stated = stated_place(scope)
    return int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < 16 else START


def draw_key_paging(page: Page[Any]) -> None:
    """Draw the buttons of the other pages, if there are any."""
    if page.previous is None and page.next is None:
        return
    places = {
        "First page": ("first_page", None if page.previous is None else START),
        "Previous page": ("chevron_left", page.previous),
        "Next page": ("chevron_right", page.next),
        "Last page": ("last_page", page.last),
    }
    with st.container(horizontal=True, key="pages"):
        for label, (icon, place) in places.items():
            stated = str(place) if place else ""
            options: Any = {"disabled": place is None, "on_click": open_place, "args": (stated,)}
            st.button(label, icon=f":material/{icon}:", key=icon, **options)


def open_place(place: str) -> None:
    """Write the place after which a page begins to the address; "" is the start of the list."""
    if place:
        st.query_params[PARAMETER] = place
    else:
        st.query_params.pop(PARAMETER, None)
