"""The settings of a model's calls: shared by all models of a run, or a judge's own."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
import yaml

from core.llm.setting_checks import REASONING_EFFORTS
from core.trace import Spec
from pages.setup.parts.chooser import drop_empty

Draft = dict[str, Any]
FORMATS = ("auto", "json", "text")
LABELS = {
    "answer_format": "Answer format",
    "temperature": "Temperature",
    "top_p": "Top p",
    "max_tokens": "Maximum reply length, tokens",
    "max_tokens_ceiling": "Maximum after a cut-off, tokens",
    "reasoning_effort": "Reasoning effort",
    "seed": "Sampling seed",
    "timeout": "Timeout, seconds",
    "prompt_price": "Price of prompts, $ per million tokens",
    "completion_price": "Price of replies, $ per million tokens",
    "system": "System message",
    "extra": "Additional fields of the request, in YAML",
}
"""Every setting of a call and its label, in the order of the form."""
HELP = {
    "answer_format": "JSON: the answer is requested with a schema. Text: as a final line, as in the papers. auto: JSON "
    "if the provider accepts a schema. A provider that refuses the schema is asked for text.",
    "temperature": "0: the most likely reply. Omitted for models that do not accept it. A judge can override it.",
    "top_p": "Nucleus sampling. Empty: the provider's default.",
    "max_tokens": "A reply that is cut off counts as no verdict. Reasoning models need more tokens.",
    "max_tokens_ceiling": "A reply that was cut off is requested once more with twice the tokens, up to this many.",
    "reasoning_effort": "A model accepts some of these levels. Empty: the provider's default.",
    "seed": "The seed of the provider's sampling, if it has one. Empty: none is sent.",
    "timeout": "A call that takes longer is retried.",
    "prompt_price": "For models that are not in the price list, and for your own prices. Enter both.",
    "completion_price": "With the tokens of reasoning, if the provider counts them as replies.",
    "system": "A message before the prompt, in the role of the system. Empty: none.",
    "extra": "Fields by the server's names, such as `top_k: 20`. They are stored with the run: do not enter a key.",
}
LIMITS: Mapping[str, tuple[float, float | None, float]] = {
    "temperature": (0.0, 2.0, 0.1),
    "top_p": (0.0, 1.0, 0.05),
    "max_tokens": (1, None, 256),
    "max_tokens_ceiling": (1, None, 1024),
    "seed": (0, None, 1),
    "timeout": (0.1, None, 10.0),
    "prompt_price": (0.0, None, 0.1),
    "completion_price": (0.0, None, 0.1),
}
"""The lowest and the highest number of a setting, and its step; integers if the step is one."""
SHARED = "shared setting"


def draw_shared(start: Spec, prefix: str, problems: list[str]) -> Draft:
    """Draw the settings of all models that do not override them; returns every one that is set."""
    values = start.model_dump(mode="json")
    first, second = st.columns(2, gap="medium")
    draft: Draft = {}
    for index, name in enumerate(LABELS):
        with (first, second)[index % 2] if name not in ("system", "extra") else st.container():
            draft[name] = _draw(name, values[name], f"{prefix}{name}", "the provider's default", problems)
    return {name: value for name, value in draft.items() if value is not None}


def draw_judge_settings(spec: Mapping[str, Any], prefix: str, problems: list[str]) -> Draft:
    """Draw the settings of one judge; returns those that it overrides."""
    return drop_empty({name: _draw(name, spec.get(name), f"{prefix}{name}", SHARED, problems) for name in LABELS})


def _draw(name: str, value: Any, key: str, placeholder: str, problems: list[str]) -> Any:
    """Draw one setting; returns its value, or None if it is not set."""
    label, help = LABELS[name], HELP[name]
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
