"""The choice of a criterion for the views that draw one: of a trace on several, the part on the selected criterion."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from core.trace import Event, TurnCompleted, VerdictReached
from core.verdicts import verdict_of_criterion
from storage.traces import Trace

NumberedEvent = tuple[int, Event]
"""The number of an event in its trace, and the event."""


def choose_part(
    trace: Trace, events: Sequence[NumberedEvent], settings: dict[str, Any]
) -> tuple[Trace, Sequence[NumberedEvent], dict[str, Any]]:
    """Draw the choice; return the trace, events and settings as those of a run on the selected criterion alone.

    Failed attempts belong to the criterion of their turn, and to every criterion until the turn is complete. A trace on
    one criterion is returned unchanged.
    """
    further = settings.get("criteria") or ()
    if not further:
        return trace, events, settings
    criteria = {str(one.get("name")): one for one in (settings.get("criterion") or {}, *further)}
    name = st.segmented_control(
        "Criterion", list(criteria), default=next(iter(criteria)), required=True, key=f"criterion_{trace.id}"
    )
    own_settings = {**settings, "criterion": criteria[str(name)], "criteria": []}
    return replace(trace, criterion=str(name)), _events_of(events, str(name)), own_settings


def _events_of(events: Sequence[NumberedEvent], criterion: str) -> list[NumberedEvent]:
    asks: dict[int | None, str] = {
        event.ask: event.turn.criterion for _, event in events if isinstance(event, TurnCompleted)
    }
    return [
        (seq, VerdictReached(verdict=verdict_of_criterion(event.verdict, criterion)))
        if isinstance(event, VerdictReached)
        else (seq, event)
        for seq, event in events
        if asks.get(getattr(event, "ask", None), "") in ("", criterion)
    ]
