"""The settings of a talk of personas: who they are, who hears whom, and what each turn asks for."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.protocols.chateval.settings import ROLES
from pages.setup.parts import judges_form, panel_form
from pages.setup.parts.settings_form import Draft, SettingsForm

OUTCOMES = {
    "scores": "scores for two responses, averaged",
    "vote": "a vote between two responses, by majority",
    "rating": "a rating of one response, averaged",
}
STRATEGIES = {
    "one by one": "one by one: each hears all before it",
    "simultaneous": "all at once: each hears the turns before",
    "simultaneous with summary": "all at once, with a summariser",
    "alone": "alone: nobody hears anybody (ensemble)",
}
HEARING = {"everybody": "everybody who spoke before", "speakers before": "only those before it in the order"}
FIRST = ("General Public", "Critic")


def render(form: SettingsForm) -> Draft:
    """The settings as far as they are chosen."""
    form = replace(form, start={"personas": _usual(), "criterion": _only(form), **form.start})
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"outcome": form.setting("outcome", "Each turn asks for", OUTCOMES)}
        draft["criterion"] = form.criterion(needed=draft["outcome"] == "rating")
        draft["strategy"] = form.setting("strategy", "They talk", STRATEGIES)
        if draft["strategy"] != "alone":
            draft["turns"] = form.setting("turns", "Turns")
        if draft["outcome"] != "rating":
            draft["both_orders"] = form.setting("both_orders", "In both orders of the responses")
    with right:
        personas = _roles(form, panel_form.ask(form, "personas", "Personas", usual=len(FIRST)))
        summing = []
        if draft["strategy"] == "simultaneous with summary":
            summing = panel_form.ask(form, "summariser", "Summariser", least=0, most=1)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            if draft["outcome"] == "scores":
                draft["lowest"] = form.setting("lowest", "Worst score")
                draft["highest"] = form.setting("highest", "Best score")
            if draft["strategy"] == "one by one":
                draft["hearing"] = form.setting("hearing", "A persona hears", HEARING)
            draft["words"] = form.setting("words", "Words in a contribution, at most")
        with right:
            shared = panel_form.asked(form)
    draft["personas"] = panel_form.filled(personas, shared)
    if summing:
        (draft["summariser"],) = panel_form.filled(summing, shared)
    return draft


def _usual() -> list[Draft]:
    """The paper's two personas."""
    models = judges_form.usual(len(FIRST), "persona")
    return [{**model, "name": name} for model, name in zip(models, FIRST, strict=True)]


def _only(form: SettingsForm) -> Draft | None:
    """The study's criterion, where there is one alone: so that the talk meets the labels of people."""
    return form.criteria[0].model_dump(mode="json") if len(form.criteria) == 1 else None


def _roles(form: SettingsForm, personas: Sequence[Draft]) -> list[Draft]:
    """Who each persona is; one of the paper's names brings its role along."""
    with st.expander("Their roles", key=form.key("roles")):
        st.caption(f"{', '.join(ROLES)}: a persona of that name begins with the paper's role in our words.")
        return [
            {**persona, "role": _role(form, place, persona["name"], persona.get("role"))}
            for place, persona in enumerate(personas)
        ]


def _role(form: SettingsForm, place: int, name: str, role: str | None) -> str:
    known = ROLES.get(name, "") if role is None else role
    words = st.text_area(
        f"Who {name or 'the next one'} is",
        known,
        height=116,
        key=form.key(f"role_{place}_{name}"),
        placeholder="What this persona knows, cares for, and looks at. Empty: no role.",
    )
    return str(words).strip()
