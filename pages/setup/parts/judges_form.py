"""Rows of judges, each with a name and a model. API keys are neither requested nor accepted."""

import os
from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.llm import local_server
from core.llm.client import available_models
from core.llm.secrets import VARIABLE_NAME, describe_problem
from pages.parts.text import escape_markdown
from pages.setup.parts import model_settings
from pages.setup.parts.chooser import drop_empty

Draft = dict[str, Any]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOCAL_MAX_TOKENS = 300
"""The maximum reply length that the local model starts with."""


def draw_judges(
    prefix: str, start: Sequence[Draft], problems: list[str], minimum: int = 1, maximum: int = 20
) -> list[Draft]:
    """Draw one row per judge; returns each with a name, and a spec that has only its own settings.

    Adds one sentence to `problems` for each value that is refused.
    """
    rows = st.session_state.setdefault(f"{prefix}judges", dict(enumerate(start)))
    judges = [_draw_row(f"{prefix}judge{index}_", rows, index, problems, minimum) for index in list(rows)]
    if len(rows) < maximum and st.button(
        "Add another" if rows else "Add", key=f"{prefix}add_judge", icon=":material/add:", type="tertiary"
    ):
        number = max(rows, default=-1) + 1
        rows[number] = {"name": f"{_judge_noun(rows)} {number + 1}"}
        st.rerun()
    return judges


def default_judges(count: int, noun: str = "judge") -> list[Draft]:
    """Return `count` judges: models of different providers whose keys are set, otherwise the local model.

    The local model has different temperatures, because at one temperature it would repeat itself.
    """
    remote_offers = [offer for offer in available_models() if offer.model != local_server.MODEL_NAME]
    models_by_provider = list({offer.note: offer.model for offer in reversed(remote_offers)}.values())[::-1]
    models = list(dict.fromkeys([*models_by_provider, *(offer.model for offer in remote_offers)]))
    local = {"model": local_server.MODEL_NAME, "max_tokens": LOCAL_MAX_TOKENS}
    temperatures = (0.2, 0.7, 1.0) if count > 1 else (0.0,)
    return [
        {
            "name": f"{noun} {LETTERS[index]}" if count > 1 else noun,
            "spec": {"model": models[index % len(models)]}
            if models
            else {**local, "temperature": temperatures[index % len(temperatures)]},
        }
        for index in range(count)
    ]


def _judge_noun(rows: dict[int, Draft]) -> str:
    """Return the first word of the first judge's name, such as "peer"."""
    names = [row.get("name", "").split() for row in rows.values()]
    return names[0][0] if names and names[0] else "judge"


def _draw_row(key: str, rows: dict[int, Draft], index: int, problems: list[str], minimum: int) -> Draft:
    start = rows[index]
    spec = start.get("spec", {})
    left, right = st.columns([3, 7], gap="small", vertical_alignment="bottom")
    name = left.text_input(
        "Name", start.get("name", ""), key=f"{key}name", label_visibility="collapsed", placeholder="name"
    )
    with right, st.container(horizontal=True, wrap=False, vertical_alignment="bottom", gap="xsmall"):
        model = _draw_model(key, rows, index)
        settings = _draw_more(key, spec, problems)
        if len(rows) > minimum and st.button(
            "", icon=":material/close:", key=f"{key}remove", type="tertiary", help="Remove"
        ):
            del rows[index]
            st.rerun()
    problem = describe_problem(model or "", settings.get("address", ""), settings.get("key_variable", ""))
    if problem:
        problems.append(f"{name.strip() or 'A judge'}: {problem}")
    return {**start, "name": name.strip(), "spec": drop_empty({"model": model, **settings})}


def _draw_model(key: str, rows: dict[int, Draft], index: int) -> str | None:
    value = rows[index].get("spec", {}).get("model")
    options = list(dict.fromkeys([*(offer.model for offer in available_models()), *([value] if value else [])]))
    return st.selectbox(
        "Model",
        options,
        index=options.index(value) if value else None,
        format_func=lambda model: f"{model} (weak, needs no key)" if model == local_server.MODEL_NAME else model,
        accept_new_options=True,
        key=f"{key}model",
        on_change=_drop_local_limit,
        args=(key, rows, index),
        placeholder="choose, or enter any litellm name",
        label_visibility="collapsed",
    )


def _drop_local_limit(key: str, rows: dict[int, Draft], index: int) -> None:
    """Return a judge to the shared reply length if the local model's was not changed by hand."""
    spec = rows[index].get("spec", {})
    if spec.get("model") != local_server.MODEL_NAME or st.session_state[f"{key}model"] == local_server.MODEL_NAME:
        return
    if st.session_state.get(f"{key}max_tokens") == LOCAL_MAX_TOKENS:
        rows[index] = {**rows[index], "spec": {**spec, "max_tokens": None}}
        st.session_state[f"{key}max_tokens"] = None


def _draw_more(key: str, spec: Draft, problems: list[str]) -> Draft:
    """Draw the server of a judge, and the settings that it overrides."""
    with st.popover("", icon=":material/tune:", key=f"{key}more", help="Server, and settings of this model"):
        address = st.text_input(
            "Address of an OpenAI-compatible server",
            spec.get("address") or "",
            key=f"{key}address",
            placeholder="http://127.0.0.1:11434/v1",
            help="vLLM, Ollama, llama.cpp. Leave it empty for providers that litellm knows.",
        ).strip()
        variable = st.text_input(
            "Environment variable with the API key",
            spec.get("key_variable") or "",
            key=f"{key}variable",
            placeholder="MY_SERVER_API_KEY",
            help="The name of the variable, not the key. Leave it empty if the server needs no key.",
        ).strip()
        if VARIABLE_NAME.fullmatch(variable) and variable not in os.environ:
            st.caption(f":material/warning: {escape_markdown(variable)} is not set where Tiebreak runs.")
        settings = model_settings.draw_judge_settings(spec, key, problems)
    return drop_empty({"address": address, "key_variable": variable, **settings})
