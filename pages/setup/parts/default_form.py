"""A form for any protocol, made from the class of its settings: who judges, by what, and the rest by its type."""

from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from core.items import Criterion
from pages.setup.parts import panel_form
from pages.setup.parts.settings_form import Draft, SettingsForm

FIRST = 2
"""Plain settings that are not folded."""


def render(form: SettingsForm) -> Draft:
    """The settings as far as they are chosen; what no widget can show stays as it was loaded."""
    fields = form.settings.model_fields
    plain = [name for name, info in fields.items() if _is_plain(info.annotation)]
    draft = {name: value for name, value in form.start.items() if name in fields}
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft |= _criteria(form)
        draft |= {name: form.setting(name, _label(name)) for name in plain[:FIRST]}
    with right:
        models = _models(form)
    with st.expander("More settings", key=form.key("more")):
        left, right = st.columns(2, gap="large")
        with left:
            draft |= {name: form.setting(name, _label(name)) for name in plain[FIRST:]}
        with right:
            shared = panel_form.asked(form)
    for name, found in models.items():
        filled = panel_form.filled(found, shared)
        draft[name] = filled if _is_several(fields[name].annotation) else filled[0] if filled else None
    return draft


def _criteria(form: SettingsForm) -> Draft:
    """One criterion, or several of the study's."""
    draft: Draft = {}
    for name, info in form.settings.model_fields.items():
        if Criterion not in (info.annotation, *get_args(info.annotation)):
            continue
        if _is_several(info.annotation):
            draft[name] = form.several(name, _label(name))
        else:
            draft[name] = form.criterion(name, _label(name), needed=info.annotation is Criterion)
    return draft


def _models(form: SettingsForm) -> dict[str, list[Draft]]:
    found = {}
    for name, info in form.settings.model_fields.items():
        kind = next((kind for kind in (info.annotation, *get_args(info.annotation)) if _is_model(kind)), None)
        if kind is None:
            continue
        optional = NoneType in get_args(info.annotation)
        most = _most(info) if _is_several(info.annotation) else 1
        found[name] = panel_form.ask(form, name, _label(name), least=0 if optional else _least(info), most=most)
    return found


def _is_model(kind: Any) -> bool:
    """Somebody who is asked: a name and a spec."""
    return isinstance(kind, type) and issubclass(kind, BaseModel) and {"name", "spec"} <= kind.model_fields.keys()


def _is_several(annotation: Any) -> bool:
    return get_origin(annotation) is tuple


def _is_plain(annotation: Any) -> bool:
    return annotation in (bool, int, str) or get_origin(annotation) is Literal


def _least(info: FieldInfo) -> int:
    return next((limit.min_length for limit in info.metadata if isinstance(limit, annotated_types.MinLen)), 1)


def _most(info: FieldInfo) -> int:
    return next((limit.max_length for limit in info.metadata if isinstance(limit, annotated_types.MaxLen)), 20)


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()
