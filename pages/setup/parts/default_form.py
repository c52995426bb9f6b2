"""The default form, made from the settings class of any protocol: models, criteria, and the other settings by type."""

from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from core.items import Criterion
from pages.setup.parts import panel_form
from pages.setup.parts.settings_form import Draft, SettingsForm

UNFOLDED = 2
"""The number of scalar settings that are drawn outside the expander."""


def render(form: SettingsForm) -> Draft:
    """Draw the form; returns the settings so far, with loaded values that no widget can show left unchanged."""
    fields = form.settings.model_fields
    scalars = [name for name, info in fields.items() if _is_scalar(info.annotation)]
    draft = {name: value for name, value in form.start.items() if name in fields}
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft |= _draw_criteria(form)
        draft |= {name: form.setting(name, _label(name)) for name in scalars[:UNFOLDED]}
    with right:
        models = _draw_models(form)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft |= {name: form.setting(name, _label(name)) for name in scalars[UNFOLDED:]}
        with right:
            shared = panel_form.draw_shared_settings(form)
    for name, chosen_models in models.items():
        complete_models = panel_form.add_shared_settings(chosen_models, shared)
        single = complete_models[0] if complete_models else None
        draft[name] = complete_models if _is_list(fields[name].annotation) else single
    return draft


def _draw_criteria(form: SettingsForm) -> Draft:
    """Draw the settings that hold a criterion or a list of criteria."""
    draft: Draft = {}
    for name, info in form.settings.model_fields.items():
        if Criterion not in (info.annotation, *get_args(info.annotation)):
            continue
        if _is_list(info.annotation):
            draft[name] = form.criteria_list(name, _label(name))
        else:
            draft[name] = form.criterion(name, _label(name), required=info.annotation is Criterion)
    return draft


def _draw_models(form: SettingsForm) -> dict[str, list[Draft]]:
    models = {}
    for name, info in form.settings.model_fields.items():
        kind = next((kind for kind in (info.annotation, *get_args(info.annotation)) if _is_model(kind)), None)
        if kind is None:
            continue
        optional = NoneType in get_args(info.annotation)
        maximum = _maximum(info) if _is_list(info.annotation) else 1
        minimum = 0 if optional else _minimum(info)
        models[name] = panel_form.draw_models(form, name, _label(name), minimum=minimum, maximum=maximum)
    return models


def _is_model(kind: Any) -> bool:
    """Whether a type describes a model: it has a name and a spec."""
    return isinstance(kind, type) and issubclass(kind, BaseModel) and {"name", "spec"} <= kind.model_fields.keys()


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple


def _is_scalar(annotation: Any) -> bool:
    return annotation in (bool, int, str) or get_origin(annotation) is Literal


def _minimum(info: FieldInfo) -> int:
    return next((limit.min_length for limit in info.metadata if isinstance(limit, annotated_types.MinLen)), 1)


def _maximum(info: FieldInfo) -> int:
    return next((limit.max_length for limit in info.metadata if isinstance(limit, annotated_types.MaxLen)), 20)


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()
