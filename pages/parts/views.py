"""How the traces of each protocol are drawn: the item is above, what the judges did is below.

A view is a function of the trace, its item, the events so far, the run's settings, and whether more is to come. It is
called again whenever events arrive, so it draws from its arguments alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

from core.items import Item
from core.trace import Event
from pages.parts import debate
from storage.traces import Trace

View = Callable[[Trace, Item, Sequence[tuple[int, Event]], dict[str, Any], bool], None]

VIEWS: dict[str, View] = {
    "scaleeval": debate.show,
}


def show(
    trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], *, live: bool
) -> None:
    """Draw a trace as its protocol wants it; a protocol without a view of its own is told as a talk."""
    VIEWS.get(trace.protocol, debate.show)(trace, item, events, settings, live)
