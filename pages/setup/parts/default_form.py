"""The default form, made from the settings class of any protocol: models, criteria, and the other settings by type."""

from dataclasses import replace
from pkgutil import resolve_name
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from core.items import Criterion
from core.protocols import registry
from pages.setup.parts import judges_form
from pages.setup.parts.settings_form import Draft, SettingsForm

UNFOLDED = 2
"""The number of scalar settings that are drawn outside the expander."""


def render(form: SettingsForm) -> Draft:
    """Draw the form; returns the settings so far, keeping loaded values that no widget can show."""
    fields = form.settings.model_fields
    form = replace(form, start={**_defaults(form), **form.start})
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
            shared = judges_form.draw_shared_settings(form)
    for name, chosen_models in models.items():
        complete_models = judges_form.add_shared_settings(chosen_models, shared)
        single = complete_models[0] if complete_models else None
        draft[name] = complete_models if _is_list(fields[name].annotation) else single
    return draft


def _defaults(form: SettingsForm) -> Draft:
    """Return the defaults of the settings class, with the study's own definitions of its criteria."""
    study_criteria = {criterion.name: criterion for criterion in form.criteria}
    defaults: Draft = {}
    for name, info in form.settings.model_fields.items():
        if info.is_required():
            continue
        value = info.get_default(call_default_factory=True, validated_data={})
        if _holds_criteria(info):
            # A run cannot start with a criterion that the study defines differently.
            criteria = value if isinstance(value, tuple) else (value,)
            known = [study_criteria.get(criterion.name, criterion) if criterion else None for criterion in criteria]
            value = known if _is_list(info.annotation) else known[0]
        defaults[name] = to_jsonable_python(value)
    return defaults


def _holds_criteria(info: FieldInfo) -> bool:
    return Criterion in (info.annotation, *get_args(info.annotation))


def _draw_criteria(form: SettingsForm) -> Draft:
    """Draw the settings that hold a criterion or a list of criteria."""
    draft: Draft = {}
    for name, info in form.settings.model_fields.items():
        if not _holds_criteria(info):
            continue
        if _is_list(info.annotation):
            draft[name] = form.criteria_list(name, _label(name))
            minimum = _minimum(info, default=0)
            if len(draft[name]) < minimum:
                number = "one criterion" if minimum == 1 else f"{minimum} criteria"
                form.problems.append(f"Choose at least {number} under {_label(name)}.")
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
        models[name] = judges_form.draw_models(form, name, _label(name), minimum=minimum, maximum=maximum)
    return models


def _is_model(kind: Any) -> bool:
    """Return whether a type describes a model: it has a name and a spec."""
    return isinstance(kind, type) and issubclass(kind, BaseModel) and {"name", "spec"} <= kind.model_fields.keys()


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple


def _is_scalar(annotation: Any) -> bool:
    return annotation in (bool, int, float, str) or get_origin(annotation) is Literal


def _minimum(info: FieldInfo, default: int = 1) -> int:
    return next((limit.min_length for limit in info.metadata if isinstance(limit, annotated_types.MinLen)), default)


def _maximum(info: FieldInfo) -> int:
    return next((limit.max_length for limit in info.metadata if isinstance(limit, annotated_types.MaxLen)), 20)


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


# Asks for a protocol's settings with the form that its registry entry names: important ones first, the rest collapsed.
#
# A form is a function `render(form) -> draft`. The draft holds the settings as YAML would; the protocol's settings
# class validates them.


def render_protocol_form(protocol: str, form: SettingsForm) -> Draft:
    """Return the settings of a protocol as far as they are chosen; fields that the form does not show are unchanged."""
    draft: Draft = resolve_name(registry.get(protocol).form)(form)
    names = form.settings.model_fields
    return {name: value for name, value in form.start.items() if name in names} | draft
