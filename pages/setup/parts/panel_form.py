"""The models of a run: judges, peers, a chair. What all of them share stands once, and each may have its own."""

from collections.abc import Iterator, Sequence
from typing import Any

import streamlit as st

from core.llm import local_server
from core.trace import Spec
from pages.setup.parts import judges_form
from pages.setup.parts.settings_form import Draft, SettingsForm


def ask(
    form: SettingsForm, name: str, label: str, *, least: int = 1, most: int = 20, usual: int | None = None
) -> list[Draft]:
    """Who fills the setting `name`, without what all models share; `filled` adds it."""
    st.markdown(label, help=form.help(name))
    shared = _shared(form.start)
    start = [
        {**model, "spec": {field: value for field, value in model["spec"].items() if shared.get(field) != value}}
        for model in _listed(form.start.get(name))
    ]
    prefix = form.prefix if name == "judges" else form.key(f"{name}_")
    begin = start or judges_form.usual(least if usual is None else usual, label.removesuffix("s").lower())
    found = judges_form.ask(prefix, begin, form.troubles, least, most)
    if local_server.WEAK not in form.notes and any(one["spec"].get("model") == local_server.NAME for one in found):
        form.notes.append(local_server.WEAK)
        st.caption(f":material/info: **local**: {local_server.WEAK}")
    return found


def asked(form: SettingsForm) -> Draft:
    """How every model is asked that has nothing else of its own."""
    start = Spec(**{"model": "", **_shared(form.start)})
    temperature = st.number_input(
        "Temperature",
        0.0,
        value=start.temperature,
        step=0.1,
        key=form.key("temperature"),
        help="0 asks for the likeliest reply. A judge may have its own.",
    )
    tokens = st.number_input(
        "Longest reply, tokens",
        1,
        value=start.max_tokens,
        key=form.key("max_tokens"),
        help="A reply that is cut off is no verdict. Models that think before they answer need more.",
    )
    timeout = st.number_input(
        "Time-out, seconds",
        0.1,
        value=start.timeout,
        step=10.0,
        key=form.key("timeout"),
        help="A call that takes longer is tried again.",
    )
    return {"temperature": temperature, "max_tokens": tokens, "timeout": timeout}


def filled(models: Sequence[Draft], shared: Draft) -> list[Draft]:
    """Each model with what it shares with the others."""
    return [{**model, "spec": {**shared, **model["spec"]}} for model in models]


def every(draft: Draft) -> Iterator[Draft]:
    """Each judge, peer or chair in some settings."""
    for value in draft.values():
        yield from _listed(value)


def _listed(value: Any) -> list[Draft]:
    several = value if isinstance(value, list | tuple) else [value]
    return [one for one in several if isinstance(one, dict) and "spec" in one]


def _shared(start: Draft) -> Draft:
    """What all models have in common."""
    usual = Spec(model="")
    told = [{name: one["spec"].get(name, getattr(usual, name)) for name in judges_form.OWN} for one in every(start)]
    return {name: value for name, value in told[0].items() if all(one[name] == value for one in told)} if told else {}
