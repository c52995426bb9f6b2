"""The settings form of ScaleEval."""

import streamlit as st

from pages.setup.parts import judges_form
from pages.setup.parts.settings_form import Draft, SettingsForm

FORMAT_NAMES = {
    "general": "unchanged",
    "shortened": "shortened: without the names of the levels",
    "gibberish": "gibberish: letters replaced by symbols",
    "shuffled": "shuffled: words in random order",
    "flipped": "flipped: words reversed",
    "masked": 'masked: letters replaced by "_"',
}


def render(form: SettingsForm) -> Draft:
    """Draw the form; returns the settings so far."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"criterion": form.criterion()}
        draft["criteria"] = form.criteria_list("criteria", "Further criteria")
        draft["rounds"] = form.setting("rounds", "Rounds")
        stopping_names = {"unanimity": "all judges agree", "majority": "more than half of the judges agree"}
        draft["stopping"] = form.setting("stopping", "The debate ends when", stopping_names)
    with right:
        judges = judges_form.draw_models(form, "judges", "Judges", minimum=2, default_count=3)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft["format"] = form.setting("format", "Format of the criterion", FORMAT_NAMES)
            reply_order_names = {
                "simultaneous": "the previous round",
                "sequential": "also earlier opinions of the same round",
            }
            draft["reply_order"] = form.setting("reply_order", "A judge reads", reply_order_names)
            draft["words"] = form.setting("words", "Maximum words of an explanation")
            draft["both_orders"] = form.setting("both_orders", "Debate in both orders of the responses")
            draft["shuffle_responses"] = form.setting("shuffle_responses", "Shuffle the order of the responses")
            draft["shuffle_speakers"] = form.setting("shuffle_speakers", "Shuffle the order of the judges")
        with right:
            shared = judges_form.draw_shared_settings(form)
    return draft | {"judges": judges_form.add_shared_settings(judges, shared)}
