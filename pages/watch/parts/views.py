"""Draws a trace with the view that its protocol's registry entry names.

A view is a module with a function `render(trace, item, events, settings, live)`. It is called again when events arrive,
so it draws from its arguments alone.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from core.items import Item
from core.protocols.registry import PROTOCOLS
from core.trace import Event
from storage.traces import Trace

DEFAULT = "pages.watch.parts.debate"
"""The view of a trace whose protocol is not installed here."""


def render(
    trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], *, live: bool
) -> None:
    """Draw a trace; the view's module is imported now, since charts take a second to import."""
    name = PROTOCOLS[trace.protocol].view if trace.protocol in PROTOCOLS else DEFAULT
    import_module(name).render(trace, item, events, settings, live)
