"""The point of a chart that is selected.

Streamlit takes a figure for the identity of its chart, so a figure with another selected point would be a new chart,
which takes a browser some tenths of a second. So the figure stays as it was when the chart was first drawn, and the
browser marks the point that was clicked. Only a selection that is not the last click, such as the one of an opened
address or none after "Close", makes a new chart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_COPIES = 64
"""Charts with a selection that are shared; the oldest are forgotten first."""
DIGEST = "_digest"
"""The attribute of a figure that has its digest."""
UNDIMMED = {"textfont": {"color": "#000000"}}
"""`selected` of texts that cannot be clicked: by its default Plotly makes them pale when a point is selected."""


@dataclass
class DrawnChart:
    """What a visitor's browser shows of a chart."""

    figure: bytes
    """A digest of the figure without a selection."""
    selected: Any
    """The custom data of the point that was selected when the chart was drawn."""
    number: int
    """Of the chart, because an equal figure would be the same chart with the last click's point."""
    marked: list[Any]
    """The custom data of the points that the browser marks."""


def mark(figure: "go.Figure", key: str, selected: Any) -> "go.Figure":
    """Return a figure with the point selected that has the custom data `selected`, unless the browser marks it."""
    name = _state_name(key)
    digest = digest_of(figure)
    wanted = [] if selected is None else [as_json(selected)]
    drawn: DrawnChart | None = st.session_state.get(name)
    # A chart that was not drawn in the last run has lost what the browser marked.
    is_current = drawn is not None and key in st.session_state and drawn.marked == wanted
    if drawn is None or not is_current or drawn.figure != digest:
        # A new figure, such as that of newer labels, needs no new number if no point is marked.
        number = 1 if drawn is None else drawn.number + (bool(wanted) or not is_current)
        drawn = DrawnChart(digest, selected, number, wanted)
        st.session_state[name] = drawn
    return with_selection(figure, drawn.selected, number=drawn.number)


def recorded(key: str, on_select: Callable[[], None]) -> Callable[[], None]:
    """Return the callback of a chart that also records which points the browser marks."""

    def record() -> None:
        drawn: DrawnChart | None = st.session_state.get(_state_name(key))
        if drawn is not None:
            drawn.marked = [as_json(point.get("customdata")) for point in st.session_state[key].selection.points]
        on_select()

    return record


def digest_of(figure: "go.Figure") -> bytes:
    """Return a digest of a figure, which is not modified any more: a shared one is written as JSON only once."""
    digest: bytes | None = getattr(figure, DIGEST, None)
    if digest is None:
        digest = blake2b(str(figure.to_json(validate=False)).encode()).digest()
        setattr(figure, DIGEST, digest)
    return digest


def with_selection(figure: "go.Figure", selected: Any, *, number: int = 1) -> "go.Figure":
    """Return a chart with a selection and its number; the figure itself, if it is the first chart without one.

    The chart is shared by all visitors, so do not modify it.
    """
    if selected is None and number == 1:
        return figure
    return _copy_with_selection(digest_of(figure), as_json(selected), number, figure)


@st.cache_resource(max_entries=MAX_COPIES, show_spinner=False)
def _copy_with_selection(digest: bytes, selected: Any, number: int, _figure: "go.Figure") -> "go.Figure":
    import plotly.graph_objects as go

    copy = go.Figure(_figure).update_layout(meta=number)
    select_points(copy, selected)
    return copy


def select_points(figure: "go.Figure", selected: Any) -> None:
    """Select the points of a figure that have the custom data `selected`, if any has: one of each series."""
    wanted = as_json(selected)
    places = {
        number: [place for place, data in enumerate(trace.customdata) if as_json(data) == wanted]
        for number, trace in enumerate(figure.data)
        if selected is not None and trace.customdata is not None and trace.unselected.marker.opacity is not None
    }
    if any(places.values()):
        for number, selected_places in places.items():
            figure.data[number].selectedpoints = selected_places


def clear(figure: "go.Figure") -> None:
    """Select no point of a figure."""
    for trace in figure.data:
        if "selectedpoints" in trace:
            trace.selectedpoints = None


def as_json(data: Any) -> Any:
    """Return custom data as the browser returns it: a list for a tuple or an array."""
    return data if isinstance(data, str | None) else list(data)


def _state_name(key: str) -> str:
    return f"_{key}_drawn"
