"""Search for a text in the items, turns, reasons and notes of a study."""

from html import escape

import streamlit as st

from pages.parts import resources, shell
from pages.watch.parts import turns
from storage import database, search
from storage.search import AREAS, PAGE, Area, Match
from storage.studies import Study

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
    with st.container(horizontal=True, vertical_alignment="bottom"):
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
    key = (study.id, text, area)
    page = st.session_state.get("search_page", 0) if st.session_state.get("searched") == key else 0
    st.session_state["searched"], st.session_state["search_page"] = key, page
    with database.reading(resources.engine()) as session:
        found = search.find(session, study.id, text, area, offset=page * PAGE, limit=PAGE + 1)
        shown = found[:PAGE]
        viewed = search.shown_targets(session, shown, shell.current_annotator())
    if not found:
        st.info("No match." if not page else "No further match.")
    elif viewed and shell.record_views(study.id, viewed):
        st.caption(turns.NOT_BLIND)
    for number, match in enumerate(shown):
        draw_match(study, match, number)
    draw_paging(page, has_more=len(found) > PAGE)


def draw_match(study: Study, match: Match, number: int) -> None:
    """Draw the place of a match, its text, and the link to its trace, or to the traces of its item."""
    with st.container(border=True, key=f"match_{number}"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.html(f"<strong>{escape(match.item)}</strong> · {escape(match.field)}")
            address = {"trace": str(match.trace)} if match.trace else {"study": study.name, "name": match.item}
            st.page_link(
                shell.page_path("watch/traces.py"),
                label="Trace" if match.trace else "Traces of the item",
                icon=":material/forum:",
                query_params=address,
            )
        st.html(f'<div dir="auto">{escape(match.before)}<mark>{escape(match.text)}</mark>{escape(match.after)}</div>')


def draw_paging(page: int, *, has_more: bool) -> None:
    """Draw the buttons of the previous and the next page."""
    with st.container(horizontal=True):
        if page:
            st.button("Previous", icon=":material/arrow_back:", key="previous", on_click=lambda: _open(page - 1))
        if has_more:
            st.button("Next", icon=":material/arrow_forward:", key="next", on_click=lambda: _open(page + 1))


def _open(page: int) -> None:
    st.session_state["search_page"] = page


draw_page(shell.draw_header("Search", "Where is a text in the items, turns, reasons and notes of this study?"))
