"""Settings of a protocol in YAML or JSON: parsed, validated, with one sentence about the first invalid field.

Two short forms are accepted in addition to the complete one. A criterion may be given by its name, alone or in a list,
if the study has a criterion of that name (one that is given whole has the study's fixed texts of the formats if it
gives none); and the fields of a judge's `spec` may be given next to its name:
`{name: ann, model: gpt-5.4-mini, temperature: 0.7}`. Which fields hold criteria or judges follows from their types.

Three fields concern the run instead of the protocol: `prompts`, texts that replace templates by name; `extractor`, a
model that is asked about unreadable replies; and `pairs`, which responses of an item are compared (`core.items`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError

from core.errors import FileFormatError, TiebreakError
from core.formats.text import read_text
from core.frozen import Frozen, valid_texts
from core.items import Criterion, Pairs
from core.llm import secrets
from core.protocols import Protocol
from core.trace import Spec

_OCCURS_TWICE, _CONTAINS_ITSELF = "occurs twice.", "a value cannot contain itself."
_OWN_PROBLEMS = (_OCCURS_TWICE, _CONTAINS_ITSELF)


class RunFields(Frozen):
    """The fields of a settings file that concern the run and not the protocol."""

    prompts: dict[str, str] = Field(default_factory=dict)
    """Template name -> the text that this run uses instead of the study's."""
    extractor: Spec | None = None
    """The model that is asked which value an unreadable reply states."""
    pairs: Pairs | None = None
    """Which pairs of an item's responses are compared."""


# The content of a settings file: the settings of the protocol, and the fields that concern the run.
RunFile = tuple[Frozen, RunFields]


def load_settings(path: Path, protocol: Protocol, criteria: Sequence[Criterion]) -> Frozen:
    """Return the settings of the protocol in a file; see `parse_run_file`."""
    return parse_run_file(read_text(path), protocol, criteria)[0]


def parse_settings(text: str, protocol: Protocol, criteria: Sequence[Criterion]) -> Frozen:
    """Return the settings of the protocol in a text; see `parse_run_file`."""
    return parse_run_file(text, protocol, criteria)[0]


def parse_run_file(text: str, protocol: Protocol, criteria: Sequence[Criterion]) -> RunFile:
    """Return the run file in a YAML or JSON text; `criteria` are the study's. Raises FileFormatError.

    A text that contains an API key is refused, because settings are stored and shown.
    """
    expected = "the settings should be a list of names and values, such as `rounds: 3`."
    return parse_run_fields(yaml_fields(text, expected), protocol, criteria)


class _UniqueKeyLoader(yaml.SafeLoader):
    """SafeLoader that refuses a repeated key, whose first value would be lost, and a value that contains itself."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse an alias of a value that is not complete: it contains itself."""
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            node = self.anchors.get(event.anchor)
            if node is not None and node.end_mark is None:
                raise yaml.MarkedYAMLError(problem=_CONTAINS_ITSELF, problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Refuse a repeated key."""
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} {_OCCURS_TWICE}", problem_mark=key.start_mark)
            seen.add(getattr(key, "value", None) if isinstance(key, yaml.ScalarNode) else id(key))
        return node


def yaml_fields(text: str, expected: str) -> Mapping[str, Any]:
    """Return the fields of a YAML or JSON text; raises FileFormatError, with `expected` if it has no fields."""
    try:
        fields = yaml.load(text, _UniqueKeyLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or ""
        reason = problem if problem.endswith(_OWN_PROBLEMS) else "this is not YAML."
        raise FileFormatError(reason, line=mark.line + 1 if mark else None) from None
    if not isinstance(fields, Mapping):
        raise FileFormatError(expected)
    return fields


def parse_run_fields(fields: Mapping[str, Any], protocol: Protocol, criteria: Sequence[Criterion]) -> RunFile:
    """Return the run file with these fields; see `parse_run_file`."""
    of_run = RunFields.model_fields.keys() - protocol.settings.model_fields.keys()
    own = _validate({name: value for name, value in fields.items() if name in of_run}, RunFields)
    others = {name: value for name, value in fields.items() if name not in of_run}
    settings = validate_settings(_expand_short_forms(others, protocol.settings, criteria), protocol)
    for checked in (settings, own):
        check_models(checked)
    check_prompts(protocol, own.prompts)
    return settings, own


def check_models(settings: Frozen) -> None:
    """Raise FileFormatError for the first setting of a model that no call can use, or that cannot be stored.

    Stored settings are not checked.
    """
    for name, problem in secrets.find_problems(settings):
        raise FileFormatError(problem, field=name)


def check_prompts(protocol: Protocol, prompts: Mapping[str, str]) -> None:
    """Raise FileFormatError for a prompt that the protocol does not have, or that cannot be filled."""
    try:
        protocol.check_prompts(prompts)
    except TiebreakError as error:
        raise FileFormatError(str(error), field="prompts") from None


def validate_settings(fields: Mapping[str, Any], protocol: Protocol) -> Frozen:
    """Return the settings as a value; raises FileFormatError about the first invalid field."""
    return _validate(fields, protocol.settings)


Fields = TypeVar("Fields", bound=Frozen)


def _validate(fields: Mapping[str, Any], model: type[Fields]) -> Fields:
    try:
        return model.model_validate(valid_texts(dict(fields)))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "the settings"
        reason = first["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
        raise FileFormatError(f"{reason[0].lower()}{reason[1:]}.".replace("..", "."), field=name) from None


def _expand_short_forms(
    fields: Mapping[str, Any], settings: type[Frozen], criteria: Sequence[Criterion]
) -> dict[str, Any]:
    return {
        name: _expand(value, _models_in(settings.model_fields[name].annotation), criteria)
        if name in settings.model_fields
        else value
        for name, value in fields.items()
    }


def _expand(value: Any, models: set[type[BaseModel]], criteria: Sequence[Criterion]) -> Any:
    """Expand the short forms in the value of a field whose type contains `models`."""
    if isinstance(value, list):
        return [_expand(element, models, criteria) for element in value]
    if isinstance(value, str) and Criterion in models:  # the study's, or one with only this name
        criterion = next((criterion for criterion in criteria if criterion.name == value), Criterion(name=value))
        return criterion.model_dump(mode="json")
    if isinstance(value, Mapping) and Criterion in models and "formats" not in value:
        formats = next((one.formats for one in criteria if one.name == value.get("name") and one.formats), None)
        return {**value, "formats": formats} if formats else value
    fields = [model.model_fields["spec"] for model in models if "spec" in model.model_fields]
    if isinstance(value, Mapping) and any(field.annotation is Spec for field in fields):
        return _judge_fields(value)
    return value


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    """Return the models in a type such as `tuple[Judge, ...]` or `Criterion | None`."""
    arguments = get_args(annotation)
    if arguments:
        return set().union(*map(_models_in, arguments))
    return {annotation} if isinstance(annotation, type) and issubclass(annotation, BaseModel) else set()


def _judge_fields(judge: Mapping[str, Any]) -> dict[str, Any]:
    """Return a judge's fields with those of its model under `spec`."""
    if "spec" in judge:
        return dict(judge)
    names = set(Spec.model_fields)
    return {
        **{name: value for name, value in judge.items() if name not in names},
        "spec": {name: value for name, value in judge.items() if name in names},
    }
