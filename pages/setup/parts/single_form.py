"""The settings forms of a single judge: for a pair, and for one response."""

import streamlit as st

from pages.setup.parts import judges_form
from pages.setup.parts.settings_form import Draft, SettingsForm

DIFFERING_NAMES = {"a person decides": "no verdict: a person decides", "neither": "a tie"}
WAY_NAMES = {
    "analyse, then rate": "analyses, then rates (Analyze-Rate)",
    "score only": "gives only the score (G-Eval)",
}
WEIGHTING_NAMES = {
    "samples": "mean of the ratings",
    "probabilities": "levels weighted by their probabilities (G-Eval)",
    "probabilities, else samples": "probabilities, otherwise the mean of the ratings",
}


def render_pair(form: SettingsForm) -> Draft:
    """Draw the form of a judge that compares two responses."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"criterion": form.criterion()}
        draft["criteria"] = form.criteria_list("criteria", "Further criteria")
        draft["reasons"] = form.setting("reasons", "Chain of thought before the choice")
        draft["both_orders"] = form.setting("both_orders", "Ask in both orders of the responses")
        if draft["both_orders"]:
            draft["differing"] = form.setting("differing", "If the orders differ", DIFFERING_NAMES)
        else:
            draft["shuffle_responses"] = form.setting("shuffle_responses", "Shuffle the order of the responses")
    with right:
        judge = judges_form.draw_models(form, "judge", "Judge", maximum=1)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft["format"] = form.setting("format", "Format of the criterion")
            draft["words"] = form.setting("words", "Maximum words of reasoning")
        with right:
            shared = judges_form.draw_shared_settings(form)
    (draft["judge"],) = judges_form.add_shared_settings(judge, shared)
    return draft


def render_score(form: SettingsForm) -> Draft:
    """Draw the form of a judge that scores one response."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"criterion": form.criterion()}
        draft["criteria"] = form.criteria_list("criteria", "Further criteria")
        draft["way"] = form.setting("way", "Method", WAY_NAMES)
        draft["weighting"] = form.setting("weighting", "Score", WEIGHTING_NAMES)
        if draft["weighting"] == "probabilities":
            draft["samples"] = 1
        else:
            draft["samples"] = form.setting("samples", "Number of ratings averaged")
    with right:
        judge = judges_form.draw_models(form, "judge", "Judge", maximum=1)
    with st.expander("Prompt: task and steps", key=form.key("schema")):
        draft["task"] = form.setting("task", "Task")
        draft["steps"] = form.setting("steps", "Evaluation steps, one per line")
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft["words"] = form.setting("words", "Maximum words of analysis")
            if draft["weighting"] != "samples":
                draft["top_logprobs"] = form.setting("top_logprobs", "Alternatives requested for a token")
            draft["dispute_threshold"] = form.setting("dispute_threshold", "Disputed above this contention")
        with right:
            shared = judges_form.draw_shared_settings(form)
    (model,) = judges_form.add_shared_settings(judge, shared)
    draft["judge"] = judges_form.with_sampling_temperature(model) if int(draft["samples"]) > 1 else model
    return draft
