"""Draws a trace with the view that its protocol's registry entry names.

A view is a module with a function `render(trace, item, events, settings, live)`. It is called again when events arrive,
so it draws from its arguments alone.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import streamlit as st

from core.items import Item
from core.protocols.registry import PROTOCOLS
from core.trace import Event
from pages.parts.text import escape_markdown
from storage.traces import Trace

DEFAULT = "pages.watch.parts.debate"
"""The view of a trace whose protocol is not installed here."""


def render(
    trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], *, live: bool
) -> None:
    """Draw a trace; the view's module is imported now, since charts take a second to import."""
    if trace.protocol in PROTOCOLS:
        view = PROTOCOLS[trace.protocol].view
    else:
        view = DEFAULT
        st.info(
            f"The protocol “{escape_markdown(trace.protocol)}” is not installed here. Its turns are shown without "
            "the charts of its own view."
        )
    import_module(view).render(trace, item, events, settings, live)
