"""The settings forms of ScaleEval, the single judges and ChatEval, where they differ from the default form."""

from collections.abc import Mapping

import streamlit as st

from core.protocols.chateval.settings import ROLES
from pages.setup.parts import judges_form
from pages.setup.parts.default_form import Layout
from pages.setup.parts.settings_form import Draft, SettingsForm

CRITERIA, DISPUTED = "Further criteria", "Disputed above this contention"
OF_A_PAIR: Mapping[str, str] = {
    "criteria": CRITERIA,
    "format": "Format of the criterion",
    "shuffle_responses": "Shuffle the order of the responses",
}

SCALEEVAL = Layout(
    first=("criterion", "criteria", "rounds", "stopping"),
    names={
        **OF_A_PAIR,
        "words": "Maximum words of an explanation",
        "both_orders": "Debate in both orders of the responses",
        "shuffle_speakers": "Shuffle the order of the judges",
    },
    models={"judges": 3},
)

PAIR = Layout(
    first=("criterion", "criteria", "reasons", "both_orders", "differing", "shuffle_responses"),
    names={
        **OF_A_PAIR,
        "reasons": "Chain of thought before the choice",
        "both_orders": "Ask in both orders of the responses",
        "differing": "If the orders differ",
        "words": "Maximum words of reasoning",
    },
    shown={
        "differing": lambda draft: draft["both_orders"],
        "shuffle_responses": lambda draft: not draft["both_orders"],
    },
)


def _finish_score(form: SettingsForm, draft: Draft) -> Draft:
    """Return a draft with one sample, or with samples that differ."""
    if draft["weighting"] == "probabilities":
        return draft | {"samples": 1}
    judge = judges_form.with_sampling_temperature(draft["judge"]) if int(draft["samples"]) > 1 else draft["judge"]
    return draft | {"judge": judge}


SCORE = Layout(
    first=("criterion", "criteria", "way", "weighting", "samples"),
    names={
        "criteria": CRITERIA,
        "samples": "Number of ratings averaged",
        "top_logprobs": "Alternatives requested for a token",
        "steps": "Evaluation steps, one per line",
        "words": "Maximum words of analysis",
        "dispute_threshold": DISPUTED,
    },
    shown={
        "samples": lambda draft: draft["weighting"] != "probabilities",
        "top_logprobs": lambda draft: draft["weighting"] != "samples",
    },
    finish=_finish_score,
)

DEFAULT_PERSONAS = ("General Public", "Critic")


def _start_chateval(form: SettingsForm) -> Draft:
    """Return the paper's two personas, and the study's criterion if it has exactly one.

    Verdicts and labels then have the same target.
    """
    models = judges_form.default_judges(len(DEFAULT_PERSONAS), "persona")
    personas = [{**model, "name": name} for model, name in zip(models, DEFAULT_PERSONAS, strict=True)]
    criterion = form.criteria[0].model_dump(mode="json") if len(form.criteria) == 1 else None
    return {"personas": personas, "criterion": criterion}


def _draw_roles(form: SettingsForm, draft: Draft) -> Draft:
    """Draw the role of each persona; a name from the paper has the paper's role as its default."""
    with st.expander("Roles", key=form.key("roles")):
        st.caption(f"Personas with these names have default roles after the paper: {', '.join(ROLES)}.")
        personas = [
            {**persona, "role": _draw_role(form, index, persona["name"], persona.get("role"))}
            for index, persona in enumerate(draft["personas"])
        ]
    return draft | {"personas": personas}


def _draw_role(form: SettingsForm, index: int, name: str, role: str | None) -> str:
    text = st.text_area(
        f"Role of {name or 'the next persona'}",
        ROLES.get(name, "") if role is None else role,
        height=116,
        key=form.key(f"role_{index}_{name}"),
        placeholder="This persona's knowledge and focus. Empty: no role.",
    )
    return str(text).strip()


CHATEVAL = Layout(
    first=("outcome", "criterion", "criteria", "strategy", "turns", "scored_turns", "both_orders"),
    names={
        "outcome": "Personas are asked for",
        "criteria": CRITERIA,
        "strategy": "Discussion",
        "both_orders": "Use both orders of the responses",
        "lowest": "Worst score",
        "highest": "Best score",
        "words": "Maximum words in a contribution",
        "dispute_threshold": DISPUTED,
    },
    shown={
        "criteria": lambda draft: draft["criterion"] is not None,
        "turns": lambda draft: draft["strategy"] != "independent",
        "scored_turns": lambda draft: draft["strategy"] != "independent",
        "both_orders": lambda draft: draft["outcome"] != "rating",
        "lowest": lambda draft: draft["outcome"] == "scores",
        "highest": lambda draft: draft["outcome"] == "scores",
        "visible_contributions": lambda draft: draft["strategy"] == "one by one",
        "summariser": lambda draft: draft["strategy"] == "simultaneous with summary",
    },
    start=_start_chateval,
    finish=_draw_roles,
)
