"""Widgets for the settings of a protocol; limits, defaults and help texts come from the settings class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic.fields import FieldInfo

from core.formats.study_records import StudyRules
from core.frozen import Frozen, help_text
from core.items import Criterion
from pages.parts.text import text_html
from pages.setup.parts import scale_form

Draft = dict[str, Any]  # settings as in YAML, possibly incomplete or invalid
NEW_CRITERION, NO_CRITERION = "new criterion …", "none"


@dataclass(frozen=True)
class SettingsForm:
    """The context of a protocol's form: settings class, initial values and the study's criteria."""

    settings: type[Frozen]
    start: Draft  # the initial values of the widgets
    prefix: str  # the prefix of the widgets' keys
    criteria: Sequence[Criterion]  # the criteria of the study
    problems: list[str] = field(default_factory=list)
    """Problems that the settings class does not detect, one sentence each."""
    needs_scale: bool = False
    """Whether a new criterion needs a scale, because the protocol gives scores and does not define a scale."""
    notes: list[str] = field(default_factory=list)  # notes that the form already shows, so none is repeated

    def key(self, name: str) -> str:
        """Return the key of a widget."""
        return f"{self.prefix}{name}"

    def help(self, name: str) -> str:
        """Return the description of a setting and its default."""
        info = self.settings.model_fields[name]
        description = help_text(self.settings, name)
        default = "" if info.is_required() else _format_default(info.get_default())
        return f"{description} Default: {default}." if default else description

    def setting(self, name: str, label: str) -> Any:
        """Draw the widget for the type of a setting."""
        info = self.settings.model_fields[name]
        value = self.start.get(name, info.get_default())
        return draw_field(info, value, label=label, key=self.key(name), help=self.help(name))

    def criterion(self, name: str = "criterion", label: str = "Criterion", required: bool = True) -> Draft | None:
        """Draw the choice of a criterion: one of the study's, a new one, or none if it is optional."""
        start = self.start.get(name) or {}
        names = [criterion.name for criterion in self.criteria]
        options = [*([] if required else [NO_CRITERION]), *names, NEW_CRITERION]
        initial = start["name"] if start.get("name") in names else NEW_CRITERION if start.get("name") else options[0]
        selected = st.selectbox(label, options, index=options.index(initial), key=self.key(name), help=self.help(name))
        if selected == NEW_CRITERION:
            return draw_criterion(self.key(name), start, has_scale=self.needs_scale)
        if selected == NO_CRITERION:
            return None
        criterion = self.criteria[names.index(str(selected))]
        if criterion.definition:
            st.html(text_html(criterion.definition))
        if criterion.rubric:
            st.caption(f"Rubric of {len(criterion.rubric)} levels.")
        if not criterion.definition and not criterion.rubric:
            st.caption(":material/warning: This criterion has no definition or rubric. Add one under Studies.")
        return criterion.model_dump(mode="json")

    def criteria_list(self, name: str, label: str) -> list[Draft]:
        """Draw the choice of several criteria: any of the study's, those of loaded settings, and new ones."""
        criteria = {criterion.name: criterion.model_dump(mode="json") for criterion in self.criteria}
        criteria |= {criterion["name"]: criterion for criterion in self.start.get(name, ())}
        initial = [criterion["name"] for criterion in self.start.get(name, ())]
        selected = st.multiselect(
            label, list(criteria), initial, key=self.key(name), help=self.help(name), placeholder="none"
        )
        drafts = [criteria[criterion] for criterion in selected]
        count_key = self.key(f"{name}_new_count")
        for index in range(st.session_state.get(count_key, 0)):
            draft = draw_criterion(self.key(f"{name}_new{index}"), {}, has_scale=self.needs_scale)
            drafts += [draft] if draft["name"] else []
        if st.button("New criterion", key=self.key(f"{name}_new"), icon=":material/add:", type="tertiary"):
            st.session_state[count_key] = st.session_state.get(count_key, 0) + 1
            st.rerun()
        return drafts


def draw_field(info: FieldInfo, value: Any, **options: Any) -> Any:
    """Draw the widget for the type of a field; `options` are those of the widget, such as its label."""
    if get_origin(info.annotation) is Literal:
        values = get_args(info.annotation)
        return st.selectbox(options=values, index=values.index(value) if value in values else 0, **options)
    if info.annotation is bool:
        return st.toggle(value=bool(value), **options)
    if info.annotation is int:
        return st.number_input(value=int(value), step=1, **{**_number_limits(info), **options})
    if info.annotation is float:
        limits: Draft = {name: float(limit) for name, limit in _number_limits(info).items()}
        return st.number_input(value=float(value), **{"step": 0.05, **limits, **options})
    return (st.text_input if info.get_default() else st.text_area)(value=str(value), **options)


# The rules of a study: a widget for each field, with its description as help.

ORDERS = {
    "shuffled": "A different random order for each annotator",
    "fixed": "The order of the items",
    "informative": "Most informative first",
    "counterbalanced": "Counterbalanced over annotators and items",
    "as_given": "The item's order for everybody",
}
# The names of fields that say more than those of the class.
NAMES = {
    "overlap": "Labels per target",
    "lease_minutes": "Lease, minutes",
    "reveal": "Reveal judges after a blind label",
    "order": "Order of a queue",
    "response_order": "Order of responses",
    "response_order_reason": "Reason for the item's order",
    "groups": "Annotators by scenario",
    "adjudication_reasons": "Reasons of an adjudication",
    "own_statistics": "Annotators see their own statistics",
    "adjudicate_own": "Adjudicate own labels",
    "agreed_share": "Share of agreed pairs that people label",
    "markdown": "Texts are Markdown",
    "families": "Families of models",
    "training_required": "Training has to be passed",
    "training_number": "Items of one training",
    "training_pass_mark": "Pass mark, share of the items",
    "check_share": "Hidden checks, share of a queue",
    "repeat_share": "Repeats, share of a queue",
    "tolerance": "Tolerance of scores",
    "weight_tolerance": "Tolerance of weights, percentage points",
}
# How a field is written that has lines with two parts.
LINES = {
    "groups": "One scenario a line, such as: math: annotator 1, annotator 2.",
    "families": "One judge, model or system a line, such as my-judge: OpenAI.",
}


# What a widget shows of values, or does not allow beyond the limits of the class.
OPTIONS: Mapping[str, Draft] = {
    "overlap": {"max_value": 100},
    "lease_minutes": {"max_value": 10_000},
    "order": {"format_func": ORDERS.__getitem__},
    "response_order": {"format_func": ORDERS.__getitem__},
    "agreed_share": {"step": 0.05},
    "tolerance": {"step": 0.5},
    "weight_tolerance": {"step": 1.0},
}


def draw_rule(rules: StudyRules, name: str) -> Any:
    """Draw the widget of a rule, and return what is entered: of a list its lines that are not blank."""
    value, help = getattr(rules, name), help_text(StudyRules, name)
    label = NAMES.get(name) or name.replace("_", " ").capitalize()
    if not isinstance(value, tuple | dict):
        return draw_field(StudyRules.model_fields[name], value, label=label, help=help, **OPTIONS.get(name, {}))
    if isinstance(value, dict):
        value = [f"{key}: {own if isinstance(own, str) else ', '.join(own)}" for key, own in value.items()]
    help = f"{LINES.get(name, 'One a line.')} {help}"
    text = st.text_area(label, "\n".join(value), height=110, help=help)
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def draw_criterion(key: str, start: Draft, *, has_scale: bool = True, is_new: bool = True) -> Draft:
    """Draw the fields of a criterion; its name cannot change, because labels and runs refer to it."""
    name = st.text_input(
        "Name of the criterion",
        start.get("name", ""),
        disabled=not is_new,
        key=f"{key}_name",
        placeholder="helpfulness",
    )
    definition = st.text_area("Definition", start.get("definition", ""), height=90, key=f"{key}_definition")
    rubric = st.text_area(
        "Rubric, one level per line, lowest first",
        "\n".join(start.get("rubric", ())),
        height=140,
        key=f"{key}_rubric",
        placeholder="Not helpful - The response misses the question.",
    )
    scale = start.get("scale")
    if has_scale:
        scale = scale_form.draw_score_scale(f"{key}_", scale or {})
    lines = [line.strip() for line in rubric.splitlines() if line.strip()]
    draft = {"name": " ".join(name.split()), "definition": definition.strip(), "rubric": lines}
    return draft | ({"scale": scale} if scale else {})


def _number_limits(info: FieldInfo) -> Draft:
    """Return the smallest and the largest value that the settings class allows."""
    limits: Draft = {}
    for limit in info.metadata:
        match limit:
            case annotated_types.Ge(ge=minimum):
                limits["min_value"] = minimum
            case annotated_types.Le(le=maximum):
                limits["max_value"] = maximum
    return limits


def _format_default(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float | str) else ""
