"""The settings of a single judge: on a pair, or on one response."""

import streamlit as st

from pages.setup.parts import panel_form
from pages.setup.parts.settings_form import Draft, SettingsForm

DIFFERING = {"a person decides": "there is no verdict: a person decides", "neither": "it counts as neither (a tie)"}
WAYS = {
    "analyse, then rate": "analyses first, then rates (Analyze-Rate)",
    "score only": "gives the score alone (G-Eval)",
}


def render_pair(form: SettingsForm) -> Draft:
    """A judge that says which of two responses is better."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"criterion": form.criterion()}
        draft["reasons"] = form.setting("reasons", "Reasons before it chooses (chain of thought)")
        draft["both_orders"] = form.setting("both_orders", "Ask in both orders of the responses")
        if draft["both_orders"]:
            draft["differing"] = form.setting("differing", "Where the orders differ", DIFFERING)
        else:
            draft["shuffle_responses"] = form.setting("shuffle_responses", "Shuffle which response is read first")
    with right:
        judge = panel_form.ask(form, "judge", "Judge", most=1)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft["format"] = form.setting("format", "How the criterion is written")
            draft["words"] = form.setting("words", "Words in its reasons, at most")
        with right:
            shared = panel_form.asked(form)
    (draft["judge"],) = panel_form.filled(judge, shared)
    return draft


def render_score(form: SettingsForm) -> Draft:
    """A judge that scores one response."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"criterion": form.criterion()}
        draft["way"] = form.setting("way", "The judge", WAYS)
        draft["samples"] = form.setting("samples", "Ratings averaged")
    with right:
        judge = panel_form.ask(form, "judge", "Judge", most=1)
    with st.expander("The prompt: task and steps", key=form.key("schema")):
        draft["task"] = form.setting("task", "The task in a few sentences")
        draft["steps"] = form.setting("steps", "Evaluation steps, one a line")
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft["words"] = form.setting("words", "Words in its analysis, at most")
        with right:
            shared = panel_form.asked(form)
    (alone,) = panel_form.filled(judge, shared)
    draft["judge"] = _warm(alone, int(draft["samples"]))
    return draft


def _warm(judge: Draft, samples: int) -> Draft:
    """A judge that is asked more than once is asked at temperature 1, as in the papers, unless it has its own."""
    if samples == 1 or judge["spec"].get("temperature"):
        return judge
    return {**judge, "spec": {**judge["spec"], "temperature": 1.0}}
