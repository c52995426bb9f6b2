"""The items of a selected figure with their values, and links to each item and its trace."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from core.items import target_item, target_name
from core.wording import report_criterion
from pages.parts import items, numbers, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.results.parts import agreement_rows
from storage.reports import agreement
from storage.reports.agreement import ItemQuery, RatedValues, TargetValues
from storage.reports.disagreements import Drilldown
from storage.reports.opinions import RaterGroup
from storage.studies import items as stored_items
from storage.studies import studies

# Rows that are drawn; the items with the most disagreement come first.
MAX_ITEMS = 500
HIDDEN_TEXT = "hidden"
# Raters who have columns of their own if there are more of them, and the column of the others.
MAX_COLUMNS, OTHERS = 6, "Others"
# Pixels of the table; a longer one is scrolled.
MAX_HEIGHT = 360


def pick(**parameters: str | None) -> None:
    """Write parameters to the URL, without those that are None, and close the open item; for a click on a figure."""
    st.session_state["opened"] = st.session_state.get("opened", 0) + 1
    st.session_state["clicked"] = {"item": None, "part": None} | parameters


def select(scenario: str | None = None, among: str | None = None, raters: Sequence[str] = ()) -> None:
    """Select the items of a scenario, criterion (`among`) or pair in place of the last selection, or nothing."""
    pick(scenario=scenario, among=among, raters=" × ".join(raters) or None)


def apply_selection() -> None:
    """Write the selection to the URL.

    Streamlit discards changes that a callback makes to `st.query_params` itself, so `select` leaves it in the session
    state.
    """
    for name, value in st.session_state.pop("clicked", {}).items():
        if value is not None:
            st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


@st.cache_resource(max_entries=4, show_spinner=False)
def load_values(url: str, study_id: int, group: RaterGroup, version: tuple[int, ...]) -> RatedValues:
    """Return the values of people or judges at a version; shared by all visitors, so do not modify."""
    study = resources.read(studies.by_id, study_id)
    return agreement.load_values(resources.engine(), study, group)


def draw_selected_items(study: studies.Study, query: ItemQuery, version: tuple[int, ...]) -> None:
    """Draw the items of the selection, or how to select."""
    scenario, criterion, pair = (st.query_params.get(name) for name in ("scenario", "among", "raters"))
    raters = tuple(pair.split(" × ", 1)) if pair else ()
    if scenario is None and criterion is None and not raters:
        st.caption("Click a point, a cell or a row of the table to list its targets.")
        return
    selected_criterion = criterion or query.criterion
    query = replace(
        query, criterion=None if selected_criterion == "all" else selected_criterion, scenario=scenario, raters=raters
    )
    values = load_values(str(resources.engine().url), study.id, query.group, version)
    judged_items, total = agreement.find_items(
        resources.engine(), study, query, shell.current_annotator(), values=values, limit=MAX_ITEMS
    )
    parts = [agreement_rows.criterion_name(selected_criterion or ""), scenario, " × ".join(raters)]
    found = Drilldown(tuple(judged_items), hidden=0, more=total - len(judged_items))
    draw_targets(study, found, " · ".join(filter(None, parts)), select)


def draw_targets(study: studies.Study, drilldown: Drilldown, selection: str, close: Callable[[], None]) -> None:
    """Draw the targets of a selection, which `close` ends, and the opened one; `selection` is its description."""
    draw_heading(f"Selected targets: {drilldown.selected:,}", close)
    st.caption(escape_markdown(selection))
    item = draw_drilldown(drilldown)
    if item is not None:
        if len({other.target.criterion for other in drilldown.items if other.target.item == item.target.item}) > 1:
            criterion = escape_markdown(report_criterion(item.target.criterion))
            st.caption(f"Values on {criterion}; the table has every criterion.")
        draw_detail(study, item)


def draw_heading(text: str, close: Callable[[], None]) -> None:
    """Draw the heading of a selection, with the button that ends it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(text, anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_items", on_click=close)


def draw_drilldown(drilldown: Drilldown) -> TargetValues | None:
    """Draw the table of the targets and how many are not in it; returns the opened one."""
    if drilldown.hidden:
        hidden = numbers.format_count(drilldown.hidden, "target")
        st.caption(f":material/visibility_off: {hidden} hidden until you have labelled them.")
    if not drilldown.items:
        return None
    draw_table(drilldown.items[:MAX_ITEMS])
    if drilldown.total > MAX_ITEMS:
        st.caption(f"The first {MAX_ITEMS} of {numbers.format_count(drilldown.total, 'target')}.")
    if any(item.blind for item in drilldown.items):
        st.caption(":material/visibility_off: Opinions on items that you have not labelled are hidden.")
    return opened(drilldown.items)


def draw_table(judged_items: Sequence[TargetValues]) -> None:
    """Draw one row per item; the last column opens its trace, any other column the item.

    The raters with the most values come first, so that judges are not behind many annotators.
    """
    counts = Counter(rater for judged_item in judged_items for rater in judged_item.values)
    raters = sorted(counts, key=lambda rater: (-counts[rater], rater))
    shown = len(raters) if len(raters) <= MAX_COLUMNS + 1 else MAX_COLUMNS
    several_criteria = len({judged_item.target.criterion for judged_item in judged_items}) > 1
    with_trace = any(judged_item.trace is not None for judged_item in judged_items)
    rows = [
        table_line(one, raters[:shown], raters[shown:], several_criteria=several_criteria, with_trace=with_trace)
        for one in judged_items
    ]
    tables.draw_clickable(
        rows,
        f"selected_items_{st.session_state.get('opened', 0)}",
        lambda row, column: _open_item(judged_items[row], column),
        max_height=MAX_HEIGHT,
        column_config={OTHERS: st.column_config.TextColumn(help="The values of the others; an open item names them.")},
    )
    trace_id = st.session_state.pop("open_trace", None)
    if trace_id is not None:
        st.switch_page(shell.page_path("watch/traces.py"), query_params={"trace": str(trace_id)})


def table_line(
    judged_item: TargetValues, raters: Sequence[str], others: Sequence[str], *, several_criteria: bool, with_trace: bool
) -> dict[str, str]:
    """Return the table row of an item: a column for each of `raters`, and one for all `others`."""
    row = {"Item": judged_item.target.item, "Scenario": judged_item.scenario}
    if several_criteria:
        row["Criterion"] = report_criterion(judged_item.target.criterion)
    if judged_item.target.part:
        row["Part"] = judged_item.target.part
    row |= {rater: HIDDEN_TEXT if judged_item.blind else format_values(judged_item, rater) for rater in raters}
    if others:
        values = [format_values(judged_item, rater) for rater in others]
        row[OTHERS] = HIDDEN_TEXT if judged_item.blind else " · ".join(filter(None, values))
    return row | ({"Trace": "open ›" if judged_item.trace is not None else ""} if with_trace else {})


def format_values(judged_item: TargetValues, rater: str) -> str:
    """Return `1`, or `1 → 2` for a judge that changed its opinion; means have four significant digits."""
    values = judged_item.values.get(rater, ())
    return " → ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values)


def _open_item(judged_item: TargetValues, column: str) -> None:
    if column == "Trace" and judged_item.trace is not None:
        st.session_state["open_trace"] = judged_item.trace
    else:
        st.session_state["clicked"] = {"item": judged_item.target.item, "part": judged_item.target.part or None}


def opened(judged_items: Sequence[TargetValues]) -> TargetValues | None:
    """Return the target that the URL names by its item and part; the first of the item if no part is named."""
    item = st.query_params.get("item")
    if item is None:
        return None
    of_item = [judged_item for judged_item in judged_items if judged_item.target.item == item]
    named = [entry for entry in of_item if entry.target.part == st.query_params.get("part", "")]
    return next(iter(named or of_item), None)


def draw_detail(study: studies.Study, judged_item: TargetValues) -> None:
    """Draw the item, with its values unless they must stay hidden from this annotator."""
    whole = resources.read(stored_items.get, study.id, judged_item.target.item)
    item = target_item(whole, judged_item.target)
    with st.container(border=True, key="detail"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**Item {escape_markdown(target_name(judged_item.target))}**", width="stretch")
            if judged_item.trace is not None:
                shell.draw_link("watch/traces.py", "Trace", "forum", trace=str(judged_item.trace))
        if judged_item.blind:
            st.caption(":material/visibility_off: Opinions on this item are shown after you have labelled it.")
        else:
            values = {rater: format_values(judged_item, rater) for rater in sorted(judged_item.values)}
            st.markdown(
                " · ".join(f"{escape_markdown(rater)} **{escape_markdown(text)}**" for rater, text in values.items())
            )
        items.draw_item(item, "selected", study)
