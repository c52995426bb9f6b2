"""The settings form of ChatEval: the personas, the contributions that each reads, and the form of the verdict."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.protocols.chateval.settings import ROLES
from pages.setup.parts import judges_form
from pages.setup.parts.settings_form import Draft, SettingsForm

OUTCOME_NAMES = {
    "scores": "scores for two responses, averaged",
    "vote": "a vote between two responses, by majority",
    "rating": "a rating of one response, averaged",
}
STRATEGY_NAMES = {
    "one by one": "one by one: each reads all earlier contributions",
    "simultaneous": "simultaneous: each reads the earlier turns",
    "simultaneous with summary": "simultaneous, with a summariser",
    "independent": "independent: no discussion (ensemble)",
}
SCORED_NAMES = {"last": "in the last turn", "every": "in every turn"}
VISIBLE_NAMES = {"all": "all earlier contributions", "earlier speakers": "only personas before it in the order"}
DEFAULT_PERSONAS = ("General Public", "Critic")


def render(form: SettingsForm) -> Draft:
    """Draw the form; returns the settings so far."""
    form = replace(form, start={"personas": _default_personas(), "criterion": _only_criterion(form), **form.start})
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"outcome": form.setting("outcome", "Personas are asked for", OUTCOME_NAMES)}
        draft["criterion"] = form.criterion(required=draft["outcome"] == "rating")
        if draft["criterion"] is not None:
            draft["criteria"] = form.criteria_list("criteria", "Further criteria")
        draft["strategy"] = form.setting("strategy", "Discussion", STRATEGY_NAMES)
        if draft["strategy"] != "independent":
            draft["turns"] = form.setting("turns", "Turns")
            draft["scored_turns"] = form.setting("scored_turns", "Asked for it", SCORED_NAMES)
        if draft["outcome"] != "rating":
            draft["both_orders"] = form.setting("both_orders", "Use both orders of the responses")
    with right:
        models = judges_form.draw_models(form, "personas", "Personas", default_count=len(DEFAULT_PERSONAS))
        personas = _draw_roles(form, models)
        summarisers = []
        if draft["strategy"] == "simultaneous with summary":
            summarisers = judges_form.draw_models(form, "summariser", "Summariser", minimum=0, maximum=1)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            if draft["outcome"] == "scores":
                draft["lowest"] = form.setting("lowest", "Worst score")
                draft["highest"] = form.setting("highest", "Best score")
            if draft["strategy"] == "one by one":
                draft["visible_contributions"] = form.setting("visible_contributions", "A persona reads", VISIBLE_NAMES)
            draft["words"] = form.setting("words", "Maximum words in a contribution")
            draft["dispute_threshold"] = form.setting("dispute_threshold", "Disputed above this contention")
        with right:
            shared = judges_form.draw_shared_settings(form)
    draft["personas"] = judges_form.add_shared_settings(personas, shared)
    if draft["strategy"] == "simultaneous with summary":
        draft["summariser"] = next(iter(judges_form.add_shared_settings(summarisers, shared)), None)
    return draft


def _default_personas() -> list[Draft]:
    """Return the paper's two personas."""
    models = judges_form.default_judges(len(DEFAULT_PERSONAS), "persona")
    return [{**model, "name": name} for model, name in zip(models, DEFAULT_PERSONAS, strict=True)]


def _only_criterion(form: SettingsForm) -> Draft | None:
    """Return the study's criterion if it has exactly one, so verdicts and labels have the same target."""
    return form.criteria[0].model_dump(mode="json") if len(form.criteria) == 1 else None


def _draw_roles(form: SettingsForm, personas: Sequence[Draft]) -> list[Draft]:
    """Draw the role of each persona; a name from the paper has the paper's role as its default."""
    with st.expander("Roles", key=form.key("roles")):
        st.caption(f"Personas with these names have default roles after the paper: {', '.join(ROLES)}.")
        return [
            {**persona, "role": _draw_role(form, index, persona["name"], persona.get("role"))}
            for index, persona in enumerate(personas)
        ]


def _draw_role(form: SettingsForm, index: int, name: str, role: str | None) -> str:
    default_role = ROLES.get(name, "") if role is None else role
    text = st.text_area(
        f"Role of {name or 'the next persona'}",
        default_role,
        height=116,
        key=form.key(f"role_{index}_{name}"),
        placeholder="This persona's knowledge and focus. Empty: no role.",
    )
    return str(text).strip()
