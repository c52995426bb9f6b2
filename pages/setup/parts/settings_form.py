"""Widgets for the settings of a protocol and its models; limits, defaults and help texts are those of the classes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
import yaml
from pydantic.fields import FieldInfo

from core.formats.study_records import StudyRules
from core.frozen import Frozen, help_text
from core.items import Criterion
from core.llm import local_server
from core.llm.client import available_models
from core.llm.secrets import REASONING_EFFORTS, VARIABLE_NAME, describe_problem
from core.trace import Spec
from pages.parts.text import escape_markdown, text_html
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

    def label(self, name: str) -> str:
        """Return the name of a setting in the form."""
        return label_of(self.settings.model_fields, name)

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
    """Draw the widget for the type of a field; `options` are those of the widget, such as its label.

    A number that may be None is None while nothing is entered.
    """
    kinds = [kind for kind in get_args(info.annotation) if kind is not NoneType] or [info.annotation]
    if get_origin(info.annotation) is Literal:
        values = get_args(info.annotation)
        index = values.index(value) if value in values else 0
        return st.selectbox(options=values, index=index, format_func=_option_name, **options)
    if bool in kinds:
        return st.toggle(value=bool(value), **options)
    if int in kinds or float in kinds:
        number, step = (int, 1) if int in kinds else (float, 0.05)
        limits = {name: number(limit) for name, limit in _number_limits(info).items()}
        return st.number_input(value=None if value is None else number(value), step=step, **{**limits, **options})
    return (st.text_input if info.get_default() else st.text_area)(value=str(value), **options)


def label_of(fields: Mapping[str, FieldInfo], name: str) -> str:
    """Return the name of a field in a form: its title, or its own name."""
    return fields[name].title or name.replace("_", " ").capitalize()


def _option_name(value: Any) -> str:
    return str(value).replace("_", " ")


# How a field is written that has lines with two parts.
LINES = {
    "groups": "One scenario a line, such as: math: annotator 1, annotator 2.",
    "families": "One judge, model or system a line, such as my-judge: OpenAI.",
}


def draw_rule(rules: StudyRules, name: str) -> Any:
    """Draw the widget of a rule, and return what is entered: of a list its lines that are not blank."""
    value, help = getattr(rules, name), help_text(StudyRules, name)
    fields = StudyRules.model_fields
    if not isinstance(value, tuple | dict):
        return draw_field(fields[name], value, label=label_of(fields, name), help=help)
    if isinstance(value, dict):
        value = [f"{key}: {own if isinstance(own, str) else ', '.join(own)}" for key, own in value.items()]
    help = f"{LINES.get(name, 'One a line.')} {help}"
    text = st.text_area(label_of(fields, name), "\n".join(value), height=110, help=help)
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


# Rows of judges, each with a name and a model. API keys are neither requested nor accepted.
#
# The settings of a model's calls: shared by all models of a run, or a judge's own.

# Every setting of a call, in the order of the form.
SETTINGS = [name for name in Spec.model_fields if name not in ("model", "address", "key_variable")]


def _draw(name: str, value: Any, key: str, placeholder: str, problems: list[str]) -> Any:
    """Draw one setting; returns its value, or None if it is not set."""
    info, label = Spec.model_fields[name], label_of(Spec.model_fields, name)
    help = help_text(Spec, name)
    if name == "extra":
        return _draw_extra(value, label, key, help, problems)
    if name == "system":
        return str(st.text_area(label, value or "", key=key, help=help, height=70)).strip() or None
    if name not in ("answer_format", "reasoning_effort"):
        return draw_field(info, value, label=label, key=key, help=help, placeholder=placeholder)
    options = list(REASONING_EFFORTS if name == "reasoning_effort" else get_args(info.annotation))
    options += [value] if value and value not in options else []
    index = options.index(value) if value else None
    return st.selectbox(label, options, index=index, key=key, help=help, placeholder=placeholder)


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
    return {**start, "name": name.strip(), "spec": scale_form.drop_empty({"model": model, **settings})}


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
        own = {name: _draw(name, spec.get(name), f"{key}{name}", "shared setting", problems) for name in SETTINGS}
    return scale_form.drop_empty({"address": address, "key_variable": variable, **own})


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
        name: _draw(name, values.get(name), form.key(name), "the provider's default", form.problems)
        for name in SETTINGS
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
    defaults = Spec(model="")
    specs = [
        {name: model["spec"].get(name, getattr(defaults, name)) for name in SETTINGS} for model in iter_models(start)
    ]
    if not specs:
        return {}
    return {name: value for name, value in specs[0].items() if all(spec[name] == value for spec in specs)}
