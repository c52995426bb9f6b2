"""Search for a text in the items, turns, reasons and notes of a study."""

from html import escape
from typing import Any

import streamlit as st

from pages.parts import paging, resources, shell
from pages.watch.parts import turns
from storage.runs import search
from storage.runs.search import AREAS, START, Area, Match, Place
from storage.studies.studies import Study

NAMES: dict[Area, str] = {
    "items": "Questions and responses",
    "turns": "Turns of judges",
    "labels": "Reasons and notes",
}
HELP = (
    "Turns, and reasons and notes of other annotators, show opinions: your later labels of the targets of these "
    "matches are recorded as not blind."
)


def draw_page(study: Study) -> None:
    """Draw the text to search for and the area, which are in the URL, and one page of the matches."""
    with st.container(horizontal=True):
        text = st.text_input(
            "Text", key="text", bind="query-params", placeholder="any text, case is ignored", width=420
        )
        area = st.segmented_control(
            "Search in", AREAS, default=AREAS[0], required=True, format_func=NAMES.__getitem__, key="area",
            bind="query-params", help=HELP, wrap=True,
        )  # fmt: skip
    if not text.strip():
        st.caption("Enter a text. Each match links to its traces.")
        return
    stated = paging.stated_place(("search", study.id, text, area))
    after = search.parse_place(stated) if stated else START
    found, next = find(study, text, area, after)
    viewed = resources.read(search.shown_targets, found, shell.current_annotator())
    if not found:
        st.info("No match." if after == START else "No further match.")
    turns.note_views(study.id, viewed)
    for number, match in enumerate(found):
        draw_match(study, match, number)
    with st.container(horizontal=True):
        if after != START:
            st.button("First page", icon=":material/first_page:", key="first", on_click=paging.open_place, args=("",))
        if next is not None:
            options: Any = {"on_click": paging.open_place, "args": (search.format_place(next),)}
            st.button("Next page", icon=":material/chevron_right:", key="next", **options)


def find(study: Study, text: str, area: Area, after: Place) -> tuple[list[Match], Place | None]:
    """Return the matches of a page, and the place of the next one."""
    with st.spinner("Searching …"):
        found = resources.read(search.find, study.id, text, area, after=after)
    return found.matches, found.next


def draw_match(study: Study, match: Match, number: int) -> None:
    """Draw the place of a match, its text, and the link to its trace, or to the traces of its item."""
    with st.container(border=True, key=f"match_{number}"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.html(f"<strong>{escape(match.item)}</strong> · {escape(match.field)}")
            address = {"trace": str(match.trace)} if match.trace else {"study": study.name, "name": match.item}
            shell.draw_link("watch/traces.py", "Trace" if match.trace else "Traces", "forum", **address)
        st.html(f'<div dir="auto">{escape(match.before)}<mark>{escape(match.text)}</mark>{escape(match.after)}</div>')


draw_page(shell.draw_header("Search", "Where is a text in the items, turns, reasons and notes of this study?"))
