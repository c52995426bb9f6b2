"""Choices of a result page that are in the URL."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.wording import ALL_SCENARIOS, scenario_name
from pages.parts.text import escape_markdown
from pages.results.parts import agreement_rows
from pages.results.parts.alignment_rows import KINDS
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData
from storage.reports.judge_ranking import RankingQuery

MAX_WIDTH = 340
"""Pixels of a choice in a row; a longer text is complete in the list of its options."""


def draw_row() -> DeltaGenerator:
    """Draw the row for all choices of a page: in one line on a wide screen, where the style sheet lets them shrink."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="choices")


def width(label: str, texts: Iterable[str]) -> int:
    """Return the pixels of a selectbox that shows its label and the longest of its texts."""
    return min(760, max(150, 8 * max(map(len, texts)) + 60, 8 * len(label) + 16))


def choose(
    label: str,
    options: Sequence[str],
    key: str,
    format_func: Callable[[str], str] = str,
    on_change: Callable[[], None] | None = None,
) -> str:
    """Draw a choice; a single option is returned without a widget."""
    draw_unknown(label, options, key, format_func)
    if len(options) < 2:
        return options[0]
    choice = st.selectbox(
        label, options, format_func=format_func, key=key, bind="query-params", on_change=on_change,
        width=min(MAX_WIDTH, width(label, map(format_func, options))),
    )  # fmt: skip
    return options[0] if choice is None else choice


def follow_default(key: str, default: object, *, is_chosen: bool) -> None:
    """Set the widget of a key, before it is drawn, to the default of newer data unless the visitor chose a value.

    A value in the address `is_chosen`, and so is another one than the default at the last run, until the visitor
    leaves the page. Without this, an open page would stay at a value that nobody chose, and differ from another page
    at the same address.
    """
    state, former = st.session_state, f"default_of_{key}"
    if not is_chosen and state.get(key) in (None, state.get(former)):
        state[key] = state[former] = default
    else:  # Streamlit removes the value from the address where it is the default
        state.pop(former, None)


def draw_unknown(label: str, options: Sequence[str], key: str, format_func: Callable[[str], str] = str) -> None:
    """Draw a line if the address names none of the options, so that the first is shown, until another one is chosen.

    Called before the choice is drawn, which removes an unknown name from the address.
    """
    note = f"unknown_{key}"
    page, requested = st.session_state.get(note, (None, None))
    if key not in st.session_state or page != st.context.url:  # a key can have the state of another page
        named = st.query_params.get(key)
        requested = None if named in [*map(format_func, options)] else named
    elif st.session_state[key] != options[0]:
        requested = None
    st.session_state[note] = st.context.url, requested
    if requested:
        draw_warning(label, requested, format_func(options[0]))


def draw_warning(label: str, requested: str, shown: str) -> None:
    """Draw a line about a name in the address that the study does not have, and what is shown in its place."""
    sentence = f"The address names the {label.lower()} {requested!r}, which this study does not have. Shown: {shown}."
    with st.container(key=f"unknown-{label}"):
        st.caption(f":material/warning: {escape_markdown(sentence)}")


def choose_scenario(scenarios: Sequence[str], on_change: Callable[[], None] | None = None) -> str | None:
    """Draw the choice of one of several scenarios, "" for the items without one; None is for all of them."""
    names = [ALL_SCENARIOS, *map(scenario_name, scenarios)]
    if len(scenarios) < 2:
        draw_unknown("Scenario", names, "among")
        return None
    place = names.index(choose("Scenario", names, "among", on_change=on_change))
    return scenarios[place - 1] if place else None


def draw_tabs(names: Sequence[str], opened: str) -> Sequence[Any]:
    """Draw tabs, of which the open one is in the URL; an address without one opens the tab `opened`.

    This is not the default of the tabs: with another default they are new ones, with new charts.
    """
    if opened != names[0] and "section" not in st.query_params and st.session_state.get("section") not in names:
        st.session_state["section"] = opened
    return st.tabs(names, key="section", bind="query-params", on_change="rerun")


def choose_query(
    data: AlignmentData, keys: Sequence[tuple[str, str]], on_change: Callable[[], None] | None = None
) -> RankingQuery:
    """Draw the choices of one of the kinds and criteria, and of a scenario."""
    kinds = list(dict.fromkeys(kind for kind, _ in keys))
    kind = choose("Kind", kinds, "kind", lambda name: KINDS.get(name, name), on_change)
    criteria = [criterion for key, criterion in keys if key == kind]
    criterion = choose("Criterion", criteria, "criterion", agreement_rows.criterion_name, on_change)
    scenario = choose_scenario(judge_ranking.scenarios(data, kind, criterion), on_change)
    return RankingQuery(kind, criterion, scenario)
