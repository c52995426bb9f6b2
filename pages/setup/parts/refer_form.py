"""The settings of a peer review: who reviews, who decides and how often, and the parts of the prompting schema."""

import streamlit as st

from core.protocols.refer import protocol as refer
from core.protocols.registry import PROTOCOLS
from pages.setup.parts import auto_prompt, panel_form
from pages.setup.parts.settings_form import Draft, SettingsForm

VERDICTS = {"score": "a score for the response", "option": "an answer: one of several options", "number": "a number"}
TOLD = {"scores": "their scores alone", "comments": "their comments alone", "both": "scores and comments"}
LITE, TURBO, OTHER = "Once (Lite)", "20 times (Turbo)", "Other"


def render(form: SettingsForm) -> Draft:
    """The settings as far as they are chosen."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"verdict": form.setting("verdict", "The review concludes", VERDICTS)}
        if draft["verdict"] == "score":
            draft["criterion"] = form.criterion()
        if draft["verdict"] == "option":
            draft["letters"] = form.setting("letters", "Options, a letter each")
        draft["samples"] = _samples(form)
        draft["told"] = form.setting("told", "The chair is told of the peers", TOLD)
    with right:
        peers = panel_form.ask(form, "peers", "Peers", usual=3)
        chair = panel_form.ask(form, "chair", "Area chair", most=1)
    with st.expander("The prompt: task, steps, guidelines", key=form.key("schema")):
        draft |= _schema(form, draft)
    with st.expander("More settings", key=form.key("more")):
        shared = panel_form.asked(form)
    (decides,) = panel_form.filled(chair, shared)
    return draft | {"peers": panel_form.filled(peers, shared), "chair": _warm(decides, int(draft["samples"]))}


def _samples(form: SettingsForm) -> int:
    """Lite, Turbo, or any number."""
    start = int(form.start.get("samples", 1))
    ways = {1: LITE, 20: TURBO}
    way = st.segmented_control(
        "The chair is asked",
        [LITE, TURBO, OTHER],
        default=ways.get(start, OTHER),
        required=True,
        key=form.key("variant"),
        help=form.help("samples"),
    )
    if way == OTHER:
        return int(st.number_input("Times", 1, 200, start if start not in ways else 5, key=form.key("samples")))
    return 1 if way == LITE else 20


def _warm(chair: Draft, samples: int) -> Draft:
    """A chair that is asked more than once is asked at temperature 1, as in the paper, unless it has its own."""
    if samples == 1 or chair["spec"].get("temperature"):
        return chair
    return {**chair, "spec": {**chair["spec"], "temperature": 1.0}}


def _schema(form: SettingsForm, draft: Draft) -> Draft:
    """The schema's parts; empty ones are ours."""
    left, right = st.columns(2, gap="large")
    with left:
        found = {name: _text(form, name, label, 110) for name, label in (("task", "Task"), ("steps", "Steps"))}
    criterion = draft.get("criterion") or {}
    if criterion.get("name"):
        with right:
            auto_prompt.show(form.key("guidelines"), criterion, found["task"], found["steps"])
    with right:
        found["guidelines"] = _text(form, "guidelines", "Evaluation guidelines: when to give which score", 260)
    return found


def _text(form: SettingsForm, name: str, label: str, height: int) -> str:
    key = form.key(name)
    if key not in st.session_state:
        st.session_state[key] = str(form.start.get(name, ""))
    return st.text_area(label, key=key, height=height, help=form.help(name), placeholder=_ours(name))


def _ours(name: str) -> str:
    """The general words that stand where nothing is written."""
    return "none" if name == "guidelines" else PROTOCOLS[refer.NAME].prompts[f"{name}_score"].replace("$criterion", "…")
