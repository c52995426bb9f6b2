"""The view of a discussion of personas: who they are, then the turns as in any debate."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.items import Item
from pages.parts.text import escape_markdown, text_html
from pages.watch.parts import debate
from pages.watch.parts.turns import NumberedEvent
from storage.runs.traces import Trace


def render(trace: Trace, item: Item, events: Sequence[NumberedEvent], settings: dict[str, Any], live: bool) -> None:
    """Draw the personas with their models and roles, if the settings have them, and the discussion."""
    personas = [one for one in settings.get("personas") or () if isinstance(one, dict)]
    if personas:
        with st.expander("Personas", icon=":material/groups:"):
            for persona in personas:
                model = (persona.get("spec") or {}).get("model", "")
                names = filter(None, (f"**{escape_markdown(str(persona.get('name')))}**", escape_markdown(str(model))))
                st.markdown(" · ".join(names))
                st.html(text_html(str(persona.get("role") or "*no role recorded*")))
    debate.render(trace, item, events, settings, live)
