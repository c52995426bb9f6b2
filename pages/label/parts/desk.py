"""The answer panel of every label page: choices, a reason, keys. It speaks in actions; the page does them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from core.labels import Target, Value
from pages.parts import assets, colours

Action = Literal["draft", "submit", "keep", "skip", "flag", "note", "undo", "previous", "next"]


def component(name: str, own: str = "") -> Any:
    """The desk as a component; `own` names a script and its looks that bring a field in place of options."""
    parts = [own, "desk"] if own else ["desk"]
    css, js = (assets.read(*(f"label/parts/{part}.{kind}" for part in parts)) for kind in ("css", "js"))
    return st.components.v2.component(name, html='<div class="root"></div>', css=css, js=js)


_desk = component("desk")


@dataclass(frozen=True)
class Option:
    """One choice: the key that picks it, its value, and what is written beside it."""

    key: str
    value: Value
    label: str
    colour: str


PREFERENCES = (
    Option("1", 1, "Response 1 is better", colours.RESPONSE[1]),
    Option("2", 2, "Response 2 is better", colours.RESPONSE[2]),
    Option("0", 0, "Neither is better", colours.RESPONSE[0]),
)


@dataclass(frozen=True)
class Numbers:
    """Any number between two ends, typed with the digits, in place of options."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Own:
    """A field of a page's own, in place of options: a component made with `component`, and what its script is told."""

    component: Any
    data: dict[str, Any]


@dataclass(frozen=True)
class Entered:
    """What stands in the panel: nothing, a draft, or a label."""

    value: Value | None = None
    reason: str = ""
    since: float = 0.0
    """When the database took it, in milliseconds: what the browser kept after that is newer."""


@dataclass(frozen=True)
class Did:
    """What a person did at the desk."""

    action: Action
    target: str
    value: Value | None
    reason: str
    seconds: float
    note: str = ""


def panel(
    target: Target,
    question: str,
    options: Sequence[Option] | Numbers | Own,
    entered: Entered,
    *,
    version: int,
    revealed: bool,
    can: dict[str, bool],
    flagged: bool,
    skipped: bool,
    note: str,
    saved: str,
    do: Callable[[Did], None],
) -> None:
    """The panel for one target; `do` is called with what was done, before the page is drawn again.

    `version` changes whenever what stands in the database is to replace what stands in the browser.
    """
    listed = () if isinstance(options, Numbers | Own) else options
    data: dict[str, Any] = {
        "target": name_of(target),
        "version": version,
        "question": question,
        "options": [
            {"key": o.key, "value": o.value, "label": o.label, "colour": o.colour, "ink": colours.text_colour(o.colour)}
            for o in listed
        ],
        "numbers": {"low": options.low, "high": options.high} if isinstance(options, Numbers) else None,
        "own": options.data if isinstance(options, Own) else None,
        "names": {str(o.value): o.key for o in listed},
        "value": entered.value,
        "reason": entered.reason,
        "since": entered.since,
        "revealed": revealed,
        "can": can,
        "flagged": flagged,
        "skipped": skipped,
        "note": note,
        "saved": saved,
    }

    def told() -> None:
        act = st.session_state["desk"].act
        if act is not None and str(act["target"]) == name_of(target):
            do(_did(act))

    with st.container(key="answer"):
        drawn = options.component if isinstance(options, Own) else _desk
        drawn(key="desk", data=data, on_act_change=told)


def name_of(target: Target) -> str:
    """A target as the browser knows it."""
    return target.model_dump_json()


def _did(told: dict[str, Any]) -> Did:
    return Did(
        action=told["action"],
        target=str(told["target"]),
        value=told.get("value"),
        reason=str(told.get("reason") or ""),
        seconds=float(told.get("seconds") or 0),
        note=str(told.get("note") or ""),
    )
