"""Choices of a result page that are in the URL."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.results.parts import agreement_rows
from pages.results.parts.alignment_rows import KINDS
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData
from storage.reports.judge_ranking import RankingQuery

ALL_SCENARIOS = "all scenarios"


def choose(
    label: str,
    options: Sequence[str],
    key: str,
    format_func: Callable[[str], str] = str,
    on_change: Callable[[], None] | None = None,
) -> str:
    """Draw a choice; a single option is returned without a widget."""
    if len(options) < 2:
        return options[0]
    longest = max(len(format_func(option)) for option in options)
    choice = st.selectbox(
        label, options, format_func=format_func, key=key, bind="query-params", on_change=on_change,
        width=min(760, max(260, 8 * longest + 60)),
    )  # fmt: skip
    return choice or options[0]


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
    names = [ALL_SCENARIOS, *judge_ranking.scenarios(data, kind, criterion)]
    scenario = choose(
        "Scenario", names if len(names) > 2 else names[:1], "among", agreement_rows.scenario_name, on_change
    )
    return RankingQuery(kind, criterion, None if scenario == ALL_SCENARIOS else scenario)
