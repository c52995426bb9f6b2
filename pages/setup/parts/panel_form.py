"""The models of a run, such as judges or peers: their shared settings are drawn once, each can override them."""

from collections.abc import Iterator, Sequence
from typing import Any

import streamlit as st

from core.llm import local_server
from core.trace import Spec
from pages.setup.parts import judges_form, model_settings
from pages.setup.parts.settings_form import Draft, SettingsForm


def draw_models(
    form: SettingsForm, name: str, label: str, *, minimum: int = 1, maximum: int = 20, default_count: int | None = None
) -> list[Draft]:
    """Draw the models of the setting `name`; their shared settings are left out, see `add_shared_settings`."""
    st.markdown(label, help=form.help(name))
    shared_settings = _shared_settings(form.start)
    start = [
        {**model, "spec": {key: value for key, value in model["spec"].items() if shared_settings.get(key) != value}}
        for model in _as_models(form.start.get(name))
    ]
    prefix = form.prefix if name == "judges" else form.key(f"{name}_")
    count = minimum if default_count is None else default_count
    initial = start or judges_form.default_judges(count, label.removesuffix("s").lower())
    models = judges_form.draw_judges(prefix, initial, form.problems, minimum, maximum)
    if local_server.DESCRIPTION not in form.notes and any(
        model["spec"].get("model") == local_server.MODEL_NAME for model in models
    ):
        form.notes.append(local_server.DESCRIPTION)
        st.caption(f":material/info: **local**: {local_server.DESCRIPTION}")
    return models


def draw_shared_settings(form: SettingsForm) -> Draft:
    """Draw the settings of all models that do not override them."""
    start = Spec(**{"model": "", **_shared_settings(form.start)})
    return model_settings.draw_shared(start, form.prefix, form.problems)


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
    names = tuple(model_settings.LABELS)
    specs = [{name: model["spec"].get(name, getattr(defaults, name)) for name in names} for model in iter_models(start)]
    if not specs:
        return {}
    return {name: value for name, value in specs[0].items() if all(spec[name] == value for spec in specs)}
