"""Who judges: a name and a model a row. A key is never asked for, and never taken."""

import os
from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.llm import local_server
from core.llm.client import available
from core.llm.secrets import VARIABLE, refusal
from pages.parts.text import plain
from pages.setup.parts.chooser import told

Draft = dict[str, Any]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
OWN = ("temperature", "max_tokens", "timeout")
"""What all judges share, unless one has its own."""


def ask(prefix: str, start: Sequence[Draft], troubles: list[str], least: int = 1, most: int = 20) -> list[Draft]:
    """The judges as far as they are described; each has a name, and a spec without what all of them share.

    What cannot be taken is added to `troubles`, a sentence each.
    """
    rows = st.session_state.setdefault(f"{prefix}judges", dict(enumerate(start)))
    found = [_row(f"{prefix}judge{place}_", rows, place, troubles, least) for place in list(rows)]
    if len(rows) < most and st.button(
        "Another" if rows else "Add", key=f"{prefix}add_judge", icon=":material/add:", type="tertiary"
    ):
        number = max(rows, default=-1) + 1
        rows[number] = {"name": f"{_noun(rows)} {number + 1}"}
        st.rerun()
    return found


def usual(count: int, noun: str = "judge") -> list[Draft]:
    """So many models: different ones where their keys are here, else the local one, which says the same each time
    unless it is asked at different temperatures."""
    paid = [offer for offer in available() if offer.model != local_server.NAME]
    first = list({offer.note: offer.model for offer in reversed(paid)}.values())[::-1]
    models = list(dict.fromkeys([*first, *(offer.model for offer in paid)]))
    local = {"model": local_server.NAME, "max_tokens": 300}
    heats = (0.2, 0.7, 1.0) if count > 1 else (0.0,)
    return [
        {
            "name": f"{noun} {LETTERS[place]}" if count > 1 else noun,
            "spec": {"model": models[place % len(models)]}
            if models
            else {**local, "temperature": heats[place % len(heats)]},
        }
        for place in range(count)
    ]


def _noun(rows: dict[int, Draft]) -> str:
    """What the others are called."""
    names = [row.get("name", "").split() for row in rows.values()]
    return names[0][0] if names and names[0] else "judge"


def _row(key: str, rows: dict[int, Draft], place: int, troubles: list[str], least: int) -> Draft:
    start = rows[place]
    spec = start.get("spec", {})
    left, right = st.columns([3, 7], gap="small", vertical_alignment="bottom")
    name = left.text_input(
        "Name", start.get("name", ""), key=f"{key}name", label_visibility="collapsed", placeholder="name"
    )
    with right, st.container(horizontal=True, wrap=False, vertical_alignment="bottom", gap="xsmall"):
        model = _model(key, spec.get("model"))
        own = _more(key, spec)
        if len(rows) > least and st.button(
            "", icon=":material/close:", key=f"{key}remove", type="tertiary", help="Leave this judge out"
        ):
            del rows[place]
            st.rerun()
    found = refusal(model or "", own.get("address", ""), own.get("key_variable", ""))
    if found:
        troubles.append(f"{name.strip() or 'A judge'}: {found}")
    return {**start, "name": name.strip(), "spec": told({"model": model, **own})}


def _model(key: str, value: str | None) -> str | None:
    options = list(dict.fromkeys([*(offer.model for offer in available()), *([value] if value else [])]))
    return st.selectbox(
        "Model",
        options,
        index=options.index(value) if value else None,
        format_func=lambda model: f"{model} (weak, needs no key)" if model == local_server.NAME else model,
        accept_new_options=True,
        key=f"{key}model",
        placeholder="choose, or type any litellm name",
        label_visibility="collapsed",
    )


def _more(key: str, spec: Draft) -> Draft:
    """A server of one's own, and what this judge alone has."""
    with st.popover("", icon=":material/tune:", key=f"{key}more", help="Server, temperature, length"):
        address = st.text_input(
            "Address of an OpenAI-compatible server",
            spec.get("address") or "",
            key=f"{key}address",
            placeholder="http://127.0.0.1:11434/v1",
            help="vLLM, Ollama, llama.cpp. Leave it empty for a provider that litellm knows by the model's name.",
        ).strip()
        variable = st.text_input(
            "Environment variable with its key",
            spec.get("key_variable") or "",
            key=f"{key}variable",
            placeholder="MY_SERVER_API_KEY",
            help="The name of the variable, never the key. Leave it empty where the server wants none.",
        ).strip()
        if VARIABLE.fullmatch(variable) and variable not in os.environ:
            st.caption(f":material/warning: {plain(variable)} is not set where Tiebreak runs.")
        own = {name: _own(key, name, spec) for name in OWN}
    return told({"address": address, "key_variable": variable, **own})


def _own(key: str, name: str, spec: Draft) -> Any:
    words = {"temperature": "Temperature", "max_tokens": "Longest reply, tokens", "timeout": "Time-out, seconds"}
    whole = name == "max_tokens"
    return st.number_input(
        words[name], 0 if whole else 0.0, value=spec.get(name), key=f"{key}{name}", placeholder="as for all judges"
    )
