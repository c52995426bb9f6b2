"""The settings of a ScaleEval debate."""

import streamlit as st

from pages.setup.parts import panel_form
from pages.setup.parts.settings_form import Draft, SettingsForm

FORMATS = {
    "general": "as it stands",
    "shortened": "shortened: without the levels' names",
    "gibberish": "gibberish: symbols for letters",
    "shuffled": "shuffled: words in another order",
    "flipped": "flipped: words backwards",
    "masked": 'masked: "_" for letters',
}


def render(form: SettingsForm) -> Draft:
    """Ask for the judges, the criterion and the rules of the debate."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"criterion": form.criterion()}
        draft["rounds"] = form.setting("rounds", "Rounds")
        words = {"unanimity": "all judges are of one mind", "majority": "more than half are of one mind"}
        draft["stopping"] = form.setting("stopping", "The debate ends when", words)
    with right:
        judges = panel_form.ask(form, "judges", "Judges", least=2, usual=3)
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
            shared = panel_form.asked(form)
    return draft | {"judges": panel_form.filled(judges, shared)}
