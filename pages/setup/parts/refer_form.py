"""The settings form of ReFeR: peers, area chair, samples, and the parts of the prompting schema."""

import streamlit as st

from core.protocols.refer import protocol as refer
from core.protocols.registry import PROTOCOLS
from pages.setup.parts import auto_prompt, panel_form
from pages.setup.parts.settings_form import Draft, SettingsForm

VERDICT_NAMES = {"score": "a score of the response", "option": "one of several options", "number": "a number"}
SHARED_NAMES = {"scores": "scores only", "comments": "comments only", "both": "scores and comments"}
LITE, TURBO, OTHER = "1 (Lite)", "20 (Turbo)", "Other"


def render(form: SettingsForm) -> Draft:
    """Draw the form; returns the settings so far."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"verdict": form.setting("verdict", "Verdict", VERDICT_NAMES)}
        if draft["verdict"] == "score":
            draft["criterion"] = form.criterion()
            draft["criteria"] = form.criteria_list("criteria", "Further criteria")
        if draft["verdict"] == "option":
            draft["letters"] = form.setting("letters", "Options, one letter each")
        draft["samples"] = _draw_samples(form)
        draft["shared_with_chair"] = form.setting("shared_with_chair", "Shared with the chair", SHARED_NAMES)
    with right:
        peers = panel_form.draw_models(form, "peers", "Peers", default_count=3)
        chair = panel_form.draw_models(form, "chair", "Area chair", maximum=1)
    with st.expander("Prompt: task, steps, guidelines", key=form.key("schema")):
        draft |= _draw_schema(form, draft)
    with st.expander("Prompt of the chair, if it differs", key=form.key("chair_schema")):
        draft |= _draw_chair_schema(form)
    with st.expander("More settings", key=form.key("more")):
        draft["dispute_threshold"] = form.setting("dispute_threshold", "Disputed above this contention")
        shared = panel_form.draw_shared_settings(form)
    (chair_model,) = panel_form.add_shared_settings(chair, shared)
    return draft | {
        "peers": panel_form.add_shared_settings(peers, shared),
        # Lite too: its one sample is a draw from the same distribution as Turbo's.
        "chair": panel_form.with_sampling_temperature(chair_model),
    }


def _draw_samples(form: SettingsForm) -> int:
    """Draw the number of samples: Lite, Turbo, or any other."""
    start = int(form.start.get("samples", 1))
    variants = {1: LITE, 20: TURBO}
    variant = st.segmented_control(
        "Samples of the chair",
        [LITE, TURBO, OTHER],
        default=variants.get(start, OTHER),
        required=True,
        key=form.key("variant"),
        help=form.help("samples"),
    )
    if variant == OTHER:
        return int(
            st.number_input("Number of samples", 1, 200, start if start not in variants else 5, key=form.key("samples"))
        )
    return 1 if variant == LITE else 20


def _draw_schema(form: SettingsForm, draft: Draft) -> Draft:
    """Draw the parts of the schema; an empty part means the default."""
    left, right = st.columns(2, gap="large")
    with left:
        texts = {name: _draw_text(form, name, label, 110) for name, label in (("task", "Task"), ("steps", "Steps"))}
    criterion = draft.get("criterion") or {}
    if criterion.get("name"):
        with right:
            auto_prompt.draw_draft_button(form.key("guidelines"), criterion, texts["task"], texts["steps"])
    with right:
        texts["guidelines"] = _draw_text(form, "guidelines", "Evaluation guidelines: meaning of each score", 260)
    return texts


def _draw_chair_schema(form: SettingsForm) -> Draft:
    """Draw the parts that the chair reads in another wording; an empty part means the peers'."""
    left, right = st.columns(2, gap="large")
    with left:
        texts = {
            "chair_task": _draw_text(form, "chair_task", "Task", 110),
            "chair_steps": _draw_text(form, "chair_steps", "Steps", 110),
        }
    with right:
        texts["chair_rubric"] = _draw_text(form, "chair_rubric", "Criterion and meaning of each score", 110)
        texts["chair_guidelines"] = _draw_text(form, "chair_guidelines", "Evaluation guidelines", 110)
    return texts


def _draw_text(form: SettingsForm, name: str, label: str, height: int) -> str:
    key = form.key(name)
    if key not in st.session_state:
        st.session_state[key] = str(form.start.get(name, ""))
    return st.text_area(label, key=key, height=height, help=form.help(name), placeholder=_placeholder(name))


def _placeholder(name: str) -> str:
    """Return the default text of a part."""
    if name.startswith("chair_"):
        return "same as for the peers"
    return "none" if name == "guidelines" else PROTOCOLS[refer.NAME].prompts[f"{name}_score"].replace("$criterion", "…")
