"""Rows of judges, each with a name and a model. API keys are neither requested nor accepted."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st
import yaml

from core.frozen import help_text
from core.llm import local_server
from core.llm.client import available_models
from core.llm.secrets import REASONING_EFFORTS, VARIABLE_NAME, describe_problem
from core.trace import Spec
from pages.parts.text import escape_markdown
from pages.setup.parts.scale_form import drop_empty
from pages.setup.parts.settings_form import Draft, SettingsForm

# The settings of a model's calls: shared by all models of a run, or a judge's own.

FORMATS = ("auto", "json", "text")
# Every setting of a call and its label, in the order of the form.
LABELS = {
    "answer_format": "Answer format",
    "temperature": "Temperature",
    "top_p": "Top p",
    "max_tokens": "Maximum reply length, tokens",
    "max_tokens_ceiling": "Maximum after a cut-off, tokens",
    "transcript_tokens": "Transcripts in a prompt, tokens",
    "reasoning_effort": "Reasoning effort",
    "seed": "Sampling seed",
    "timeout": "Timeout, seconds",
    "prompt_price": "Price of prompts, $ per million tokens",
    "completion_price": "Price of replies, $ per million tokens",
    "system": "System message",
    "extra": "Additional fields of the request, in YAML; they are stored, so enter no key",
}
# The lowest and the highest number of a setting, and its step; integers if the step is one.
LIMITS: Mapping[str, tuple[float, float | None, float]] = {
    "temperature": (0.0, 2.0, 0.1),
    "top_p": (0.0, 1.0, 0.05),
    "max_tokens": (1, None, 256),
    "max_tokens_ceiling": (1, None, 1024),
    "transcript_tokens": (100, None, 1000),
    "seed": (0, None, 1),
    "timeout": (0.1, None, 10.0),
    "prompt_price": (0.0, None, 0.1),
    "completion_price": (0.0, None, 0.1),
}


def _draw(name: str, value: Any, key: str, placeholder: str, problems: list[str]) -> Any:
    """Draw one setting; returns its value, or None if it is not set."""
    label, help = LABELS[name], help_text(Spec, name)
    if name in ("answer_format", "reasoning_effort"):
        options = list(FORMATS if name == "answer_format" else REASONING_EFFORTS)
        options += [value] if value and value not in options else []
        return st.selectbox(
            label,
            options,
            index=options.index(value) if value else None,
            key=key,
            help=help,
            placeholder=placeholder,
        )
    if name == "system":
        return str(st.text_area(label, value or "", key=key, help=help, height=70)).strip() or None
    if name == "extra":
        return _draw_extra(value, label, key, help, problems)
    lowest, highest, step = LIMITS[name]
    return st.number_input(label, lowest, highest, value=value, step=step, key=key, help=help, placeholder=placeholder)


def _draw_extra(value: Any, label: str, key: str, help: str, problems: list[str]) -> Draft | None:
    start = yaml.safe_dump(value, sort_keys=False, allow_unicode=True) if value else ""
    text = str(st.text_area(label, start, key=key, help=help, height=70, placeholder="top_k: 20"))
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError:
        fields = text
    if fields is None:
        return None
    if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
        problems.append("The additional fields of a request should be names and values, such as `top_k: 20`.")
        return None
    return fields


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOCAL_MAX_TOKENS = 300  # the maximum reply length that the local model starts with


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
        rows[number] = {"name": f"judge {number + 1}"}
        st.rerun()
    return judges


def default_judges(count: int, noun: str = "judge") -> list[Draft]:
    """Return `count` judges: models of different providers whose keys are set, otherwise the local model.

    The local model has different temperatures, because at one temperature it would repeat itself.
    """
    remote = {model: note for model, note in available_models().items() if model != local_server.MODEL_NAME}
    models_by_provider = list({remote[model]: model for model in reversed(remote)}.values())[::-1]
    models = list(dict.fromkeys([*models_by_provider, *remote]))
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
    options = list(dict.fromkeys([*available_models(), *([value] if value else [])]))
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
        own = {name: _draw(name, spec.get(name), f"{key}{name}", "shared setting", problems) for name in LABELS}
    return drop_empty({"address": address, "key_variable": variable, **own})


# The models of a run, such as judges or peers: their shared settings are drawn once, each can override them.


def draw_models(form: SettingsForm, name: str, label: str, minimum: int, maximum: int, count: int) -> list[Draft]:
    """Draw the models of the setting `name`, at first `count` of them.

    Their shared settings are left out, see `add_shared_settings`.
    """
    st.markdown(label, help=form.help(name))
    shared_settings = _shared_settings(form.start)
    start = [
        {**model, "spec": {key: value for key, value in model["spec"].items() if shared_settings.get(key) != value}}
        for model in _as_models(form.start.get(name))
    ]
    prefix = form.prefix if name == "judges" else form.key(f"{name}_")
    initial = start or default_judges(count, label.removesuffix("s").lower())
    models = draw_judges(prefix, initial, form.problems, minimum, maximum)
    if local_server.DESCRIPTION not in form.notes and any(
        model["spec"].get("model") == local_server.MODEL_NAME for model in models
    ):
        form.notes.append(local_server.DESCRIPTION)
        st.caption(f":material/info: **local**: {local_server.DESCRIPTION}")
    return models


def draw_shared_settings(form: SettingsForm) -> Draft:
    """Draw the settings of all models that do not override them; returns every one that is set."""
    values = Spec(**{"model": "", **_shared_settings(form.start)}).model_dump(mode="json")
    draft = {
        name: _draw(name, values.get(name), form.key(name), "the provider's default", form.problems) for name in LABELS
    }
    return {name: value for name, value in draft.items() if value is not None}


def add_shared_settings(models: Sequence[Draft], shared: Draft) -> list[Draft]:
    """Return each model with the shared settings that it does not override."""
    return [{**model, "spec": {**shared, **model["spec"]}} for model in models]


def with_sampling_temperature(model: Draft) -> Draft:
    """Return a model with temperature 1, at which the papers sample, unless it has another that is not 0."""
    temperature = model["spec"].get("temperature") or 1.0
    return {**model, "spec": {**model["spec"], "temperature": temperature}}


def iter_models(draft: Draft) -> Iterator[Draft]:
    """Yield every model in some settings."""
    for value in draft.values():
        yield from _as_models(value)


def _as_models(value: Any) -> list[Draft]:
    values = value if isinstance(value, list | tuple) else [value]
    return [value for value in values if isinstance(value, dict) and "spec" in value]


def _shared_settings(start: Draft) -> Draft:
    """Return the settings that are the same for all models."""
    defaults = Spec(model="")
    specs = [
        {name: model["spec"].get(name, getattr(defaults, name)) for name in LABELS} for model in iter_models(start)
    ]
    if not specs:
        return {}
    return {name: value for name, value in specs[0].items() if all(spec[name] == value for spec in specs)}
