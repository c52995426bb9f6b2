"""The items behind a figure that was clicked: each with its labels, one click from the item and from its trace."""

from dataclasses import replace
from typing import Any

import streamlit as st

from core.llm import images
from pages.parts import items, numbers, resources, shell
from pages.parts.text import plain
from pages.results.parts import agreement_rows
from storage import database
from storage import items as stored_items
from storage.reports import agreement_items
from storage.reports.agreement_items import Judged, Wanted
from storage.studies import Study

MOST = 500
"""Rows that are drawn; the most divided come first."""
PARAMETERS = {"scenario": "scenario", "criterion": "among", "raters": "raters"}
"""What was clicked -> its name in the address."""
HIDDEN = "hidden"


def open(scenario: str | None = None, criterion: str | None = None, raters: tuple[str, ...] = ()) -> None:
    """From a click on a figure: show the items of this scenario, criterion or pair, and nothing clicked before."""
    told = {"scenario": scenario, "criterion": criterion, "raters": " × ".join(raters) or None}
    st.session_state["opened"] = st.session_state.get("opened", 0) + 1
    st.session_state["clicked"] = {PARAMETERS[name]: value for name, value in told.items()} | {"item": None}


def close() -> None:
    """From a click elsewhere: forget what was clicked."""
    open()


def settle() -> None:
    """Put what was clicked in the address; Streamlit loses what a callback puts there itself."""
    for name, value in st.session_state.pop("clicked", {}).items():
        if value is not None:
            st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


def chosen(name: str) -> str | None:
    """The scenario or criterion that was clicked."""
    return st.query_params.get(PARAMETERS[name])


def chosen_raters() -> tuple[str, ...]:
    """The two raters whose cell was clicked."""
    told = st.query_params.get("raters")
    return tuple(told.split(" × ", 1)) if told else ()


def show(study: Study, wanted: Wanted) -> None:
    """The items of what was clicked, if anything was."""
    scenario, criterion, raters = chosen("scenario"), chosen("criterion"), chosen_raters()
    if scenario is None and criterion is None and not raters:
        st.caption("Click a point, a cell or a row of the table to see the items behind it.")
        return
    among = criterion or wanted.criterion
    wanted = replace(wanted, criterion=None if among == "all" else among, scenario=scenario, raters=raters)
    found = agreement_items.items(resources.engine(), study, wanted, shell.annotator())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"Items behind what you clicked: {len(found):,}", anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_items", on_click=close)
    parts = [agreement_rows.named(among or ""), scenario, " × ".join(raters)]
    st.caption(" · ".join(plain(part) for part in parts if part))
    if not found:
        return
    listed(found[:MOST])
    if len(found) > MOST:
        st.caption(f"The {MOST} most divided of {numbers.count(len(found), 'item')}.")
    if any(one.blind for one in found):
        st.caption(":material/visibility_off: What others said is hidden where you have not labelled yourself.")
    one = next((one for one in found if one.target.item == st.query_params.get("item")), None)
    if one is not None:
        detail(study, one)


def listed(found: list[Judged]) -> None:
    """One line an item; its trace opens from the last column, the item from any other."""
    raters = sorted({rater for one in found for rater in one.said})
    several = len({one.target.criterion for one in found}) > 1
    rows = [line(one, raters, several) for one in found]
    names = list(rows[0])
    key = f"behind_{st.session_state.get('opened', 0)}"
    st.dataframe(
        rows,
        key=key,
        on_select=lambda: _clicked(found, key),
        selection_mode="single-cell",
        hide_index=True,
        height=min(38 + 35 * len(rows), 460),
        column_order=names,
    )
    number = st.session_state.pop("open_trace", None)
    if number is not None:
        st.switch_page(shell.page("watch/traces.py"), query_params={"trace": str(number)})


def line(one: Judged, raters: list[str], several: bool) -> dict[str, str]:
    """An item as the table shows it."""
    row = {"Item": one.target.item, "Scenario": one.scenario}
    if several:
        row["Criterion"] = one.target.criterion
    if one.target.part:
        row["Part"] = one.target.part
    row |= {rater: HIDDEN if one.blind else said(one, rater) for rater in raters}
    return row | ({"Trace": "open ›"} if one.trace is not None else {})


def said(one: Judged, rater: str) -> str:
    """`1`, or `1 → 2` where a judge changed its mind; a mean keeps four digits."""
    values = one.said.get(rater, ())
    return " → ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values)


def _clicked(found: list[Judged], key: str) -> None:
    cells: Any = st.session_state[key].selection.cells
    if not cells:
        return
    one = found[cells[0][0]]
    if cells[0][1] == "Trace" and one.trace is not None:
        st.session_state["open_trace"] = one.trace
    else:
        st.session_state["clicked"] = {"item": one.target.item}


def detail(study: Study, one: Judged) -> None:
    """The item itself, and what was said of it unless that would tell too early."""
    with database.reading(resources.engine()) as session:
        item = stored_items.get(session, study.id, one.target.item)
    with st.container(border=True, key="detail"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**Item {plain(one.target.item)}**", width="stretch")
            if one.trace is not None:
                st.page_link(
                    shell.page("watch/traces.py"),
                    label="Trace",
                    icon=":material/forum:",
                    query_params={"trace": str(one.trace)},
                )
        if one.blind:
            st.caption(":material/visibility_off: Label it first: what others said of it is shown after that.")
        else:
            st.markdown(" · ".join(f"{plain(rater)} **{plain(said(one, rater))}**" for rater in sorted(one.said)))
        items.show(item, "behind", images.folder(study.name))
