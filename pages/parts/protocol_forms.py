"""A form for each protocol: what matters first, the rest folded. A new protocol gets one function, and one line below.

A form returns the settings as they would stand in YAML; the protocol's own class says what is wrong with them.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.trace import Spec
from pages.parts import judges_form
from pages.parts.settings_form import Draft, SettingsForm

FORMATS = {
    "general": "as it stands",
    "shortened": "shortened: without the levels' names",
    "gibberish": "gibberish: symbols for letters",
    "shuffled": "shuffled: words in another order",
    "flipped": "flipped: words backwards",
    "masked": 'masked: "_" for letters',
}


def scaleeval(form: SettingsForm) -> Draft:
    """A debate."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"criterion": form.criterion()}
        draft["rounds"] = form.setting("rounds", "Rounds")
        words = {"unanimity": "all judges are of one mind", "majority": "more than half are of one mind"}
        draft["stopping"] = form.setting("stopping", "The debate ends when", words)
    with right:
        found = judges(form, least=2)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft["format"] = form.setting("format", "How the criterion is written", FORMATS)
            heard = {"at once": "the round before", "in turn": "also who spoke before it in the round"}
            draft["speaking"] = form.setting("speaking", "A judge hears", heard)
            draft["words"] = form.setting("words", "Words in an explanation, at most")
            draft["shuffle_responses"] = form.setting("shuffle_responses", "Shuffle which response is read first")
            draft["shuffle_speakers"] = form.setting("shuffle_speakers", "Shuffle who speaks first")
        with right:
            shared = asked(form)
    return draft | {"judges": [{**judge, "spec": {**shared, **judge["spec"]}} for judge in found]}


FORMS: dict[str, Callable[[SettingsForm], Draft]] = {"scaleeval": scaleeval}


def judges(form: SettingsForm, least: int = 1) -> list[Draft]:
    """Who judges, without what all of them share."""
    st.markdown("Judges", help=form.help("judges"))
    shared = _shared(form.start)
    start = [
        {**judge, "spec": {name: value for name, value in judge["spec"].items() if shared.get(name) != value}}
        for judge in form.start.get("judges", ())
    ]
    return judges_form.ask(form.prefix, start or judges_form.usual(), form.troubles, least)


def asked(form: SettingsForm) -> Draft:
    """How every model is asked that has nothing else of its own."""
    start = Spec(model="") if not form.start.get("judges") else Spec(**{"model": "", **_shared(form.start)})
    return {
        "temperature": st.number_input(
            "Temperature",
            0.0,
            value=start.temperature,
            step=0.1,
            key=form.key("temperature"),
            help="0 asks for the likeliest reply. A judge may have its own.",
        ),
        "max_tokens": st.number_input(
            "Longest reply, tokens",
            1,
            value=start.max_tokens,
            key=form.key("max_tokens"),
            help="A reply that is cut off is no verdict. Models that think before they answer need more.",
        ),
        "timeout": st.number_input(
            "Time-out, seconds",
            0.1,
            value=start.timeout,
            step=10.0,
            key=form.key("timeout"),
            help="A call that takes longer is tried again.",
        ),
    }


def _shared(start: Draft) -> dict[str, Any]:
    """What all judges have in common."""
    specs = [judge["spec"] for judge in start.get("judges", ())]
    usual = Spec(model="")
    told = [{name: spec.get(name, getattr(usual, name)) for name in judges_form.OWN} for spec in specs]
    return {name: value for name, value in told[0].items() if all(one[name] == value for one in told)} if told else {}
