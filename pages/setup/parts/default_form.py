"""The form of a protocol, made from its settings class: important settings and models first, the rest collapsed.

The registry entry of a protocol names a function `render(form) -> draft`. The draft holds the settings as YAML would;
the protocol's settings class validates them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from core.items import Criterion
from core.protocols.chateval.settings import ROLES
from pages.setup.parts import settings_form
from pages.setup.parts.settings_form import Draft, SettingsForm

UNFOLDED = 2  # the number of scalar settings that are drawn outside the expander


@dataclass(frozen=True)
class Layout:
    """How a form differs from one in the order and by the names of the settings class."""

    first: Sequence[str] = ()  # the settings beside the models, in their order; all others are in the expander
    shown: Mapping[str, Callable[[Draft], bool]] = field(default_factory=dict)
    """Setting -> whether it is drawn, by the settings before it. One that is not drawn keeps its value."""
    models: Mapping[str, int] = field(default_factory=dict)  # setting -> the number of models that the form starts with
    start: Callable[[SettingsForm], Draft] = lambda form: {}  # values that the form starts with
    finish: Callable[[SettingsForm, Draft], Draft] = lambda form, draft: draft
    """Draws below the models what the classes of settings cannot say, and returns the complete draft."""

    def render(self, form: SettingsForm) -> Draft:
        """Draw the form; returns the settings so far, keeping loaded values that no widget can show."""
        fields = form.settings.model_fields
        form = replace(form, start={**_defaults(form), **self.start(form), **form.start})
        known = [name for name, info in fields.items() if _is_scalar(info) or _holds_criteria(info)]
        first = self.first or [
            *(name for name in known if _holds_criteria(fields[name])),
            *[name for name in known if _is_scalar(fields[name])][:UNFOLDED],
        ]
        draft = {name: value for name, value in form.start.items() if name in fields}
        left, right = st.columns([2, 3], gap="large")
        with left:
            self._draw_settings(form, draft, first)
        with right:
            models = self._draw_models(form, draft)
        with st.expander("More settings", key=form.key("more")):
            others, calls = st.columns(2, gap="large")
            with others:
                self._draw_settings(form, draft, [name for name in known if name not in first])
            with calls:
                shared = settings_form.draw_shared_settings(form)
        for name, chosen in models.items():
            complete = settings_form.add_shared_settings(chosen, shared)
            draft[name] = complete if _is_list(fields[name]) else next(iter(complete), None)
        with right:
            return self.finish(form, draft)

    def _draw_settings(self, form: SettingsForm, draft: Draft, names: Sequence[str]) -> None:
        for name in names:
            if self._is_shown(name, draft):
                info, label = form.settings.model_fields[name], form.label(name)
                if not _holds_criteria(info):
                    draft[name] = form.setting(name, label)
                elif _is_list(info):
                    draft[name] = _draw_criteria(form, name, label)
                else:
                    draft[name] = form.criterion(name, label, required=info.annotation is Criterion)

    def _draw_models(self, form: SettingsForm, draft: Draft) -> dict[str, list[Draft]]:
        models = {}
        for name, info in form.settings.model_fields.items():
            kinds = (info.annotation, *get_args(info.annotation))
            if not any(_is_model(kind) for kind in kinds) or not self._is_shown(name, draft):
                continue
            minimum = 0 if NoneType in kinds else _limit(info, "min_length", 1)
            maximum = _limit(info, "max_length", 20) if _is_list(info) else 1
            count = self.models.get(name, minimum)
            models[name] = settings_form.draw_models(form, name, form.label(name), minimum, maximum, count)
        return models

    def _is_shown(self, name: str, draft: Draft) -> bool:
        return name not in self.shown or self.shown[name](draft)


render = Layout().render


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
            value = known if _is_list(info) else known[0]
        defaults[name] = to_jsonable_python(value)
    return defaults


def _draw_criteria(form: SettingsForm, name: str, label: str) -> list[Draft]:
    chosen = form.criteria_list(name, label)
    minimum = _limit(form.settings.model_fields[name], "min_length", 0)
    if len(chosen) < minimum:
        number = "one criterion" if minimum == 1 else f"{minimum} criteria"
        form.problems.append(f"Choose at least {number} under {label}.")
    return chosen


def _holds_criteria(info: FieldInfo) -> bool:
    return Criterion in (info.annotation, *get_args(info.annotation))


def _is_model(kind: Any) -> bool:
    """Return whether a type describes a model: it has a name and a spec."""
    return isinstance(kind, type) and issubclass(kind, BaseModel) and {"name", "spec"} <= kind.model_fields.keys()


def _is_list(info: FieldInfo) -> bool:
    return get_origin(info.annotation) is tuple


def _is_scalar(info: FieldInfo) -> bool:
    return info.annotation in (bool, int, float, str) or get_origin(info.annotation) is Literal


def _limit(info: FieldInfo, name: str, default: int) -> int:
    """Return the least or the greatest length that the settings class allows."""
    lengths = annotated_types.MinLen, annotated_types.MaxLen
    return next(
        (getattr(one, name) for one in info.metadata if isinstance(one, lengths) and hasattr(one, name)), default
    )


# The forms of ScaleEval, the single judges and ChatEval, where they differ from the default form.

SCALEEVAL = Layout(
    first=("outcome", "criterion", "criteria", "rounds", "stopping"),
    shown={
        "stable_rounds": lambda draft: draft["stopping"] == "stability",
        "both_orders": lambda draft: draft["outcome"] != "step",
    },
    models={"judges": 3},
)

PAIR = Layout(
    first=("criterion", "criteria", "reasons", "both_orders", "differing", "shuffle_responses"),
    shown={
        "differing": lambda draft: draft["both_orders"],
        "simulated_annotators": lambda draft: not draft["both_orders"] and not draft["criteria"],
        "examples_each": lambda draft: draft["simulated_annotators"] > 0,
        "shuffle_responses": lambda draft: not draft["both_orders"],
    },
)


def _finish_score(form: SettingsForm, draft: Draft) -> Draft:
    """Return a draft with one sample, or with samples that differ."""
    if draft["weighting"] == "probabilities":
        return draft | {"samples": 1}
    judge = settings_form.with_sampling_temperature(draft["judge"]) if int(draft["samples"]) > 1 else draft["judge"]
    return draft | {"judge": judge}


SCORE = Layout(
    first=("criterion", "criteria", "way", "weighting", "samples"),
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
    models = settings_form.default_judges(len(DEFAULT_PERSONAS), "persona")
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
    shown={
        "criteria": lambda draft: draft["criterion"] is not None,
        "turns": lambda draft: draft["strategy"] != "independent",
        "scored_turns": lambda draft: draft["strategy"] != "independent",
        "both_orders": lambda draft: draft["outcome"] not in ("rating", "step"),
        "lowest": lambda draft: draft["outcome"] == "scores",
        "highest": lambda draft: draft["outcome"] == "scores",
        "visible_contributions": lambda draft: draft["strategy"] == "one by one",
        "summariser": lambda draft: draft["strategy"] == "simultaneous with summary",
    },
    start=_start_chateval,
    finish=_draw_roles,
)

# The form of ReFeR.


def _finish_refer(form: SettingsForm, draft: Draft) -> Draft:
    if draft["verdict"] != "score":  # a reasoning task has no criterion, also none without a name
        draft = {name: value for name, value in draft.items() if name != "criterion"}
    # Lite too: its one sample is a draw from the same distribution as Turbo's.
    return draft | {"chair": settings_form.with_sampling_temperature(draft["chair"])}


REFER = Layout(
    first=("verdict", "criterion", "criteria", "letters", "samples", "shared_with_chair"),
    shown={
        **dict.fromkeys(("rubric_in", "way", "criterion", "criteria"), lambda draft: draft["verdict"] == "score"),
        "letters": lambda draft: draft["verdict"] == "option",
    },
    models={"peers": 3},
    finish=_finish_refer,
)
