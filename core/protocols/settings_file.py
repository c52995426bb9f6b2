"""Settings of a protocol in YAML or JSON: parsed, validated, with one sentence about the first invalid field.

Two short forms are accepted in addition to the complete one. A criterion may be given by its name, alone or in a list,
where the study has a criterion of that name; and the fields of a judge's `spec` may be given beside its name:
`{name: ann, model: gpt-5.4-mini, temperature: 0.7}`. Which fields hold criteria or judges follows from their types.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from core.frozen import Frozen
from core.items import Criterion
from core.llm.secrets import find_problems
from core.problems import FileRefused
from core.protocols import Protocol
from core.trace import Spec


def load_settings(path: Path, protocol: Protocol, criteria: Sequence[Criterion]) -> Frozen:
    """Return the settings in a file; `criteria` are the study's. Raises FileRefused."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise FileRefused(f"{path} cannot be read as a text file.") from None
    return parse_settings(text, protocol, criteria)


def parse_settings(text: str, protocol: Protocol, criteria: Sequence[Criterion]) -> Frozen:
    """Return the settings in a YAML or JSON text; raises FileRefused.

    A text that contains an API key is refused, because settings are stored and shown.
    """
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise FileRefused("this is not YAML.", line=mark.line + 1 if mark else None) from None
    if not isinstance(fields, Mapping):
        raise FileRefused("the settings should be a list of names and values, such as `rounds: 3`.")
    settings = validate_settings(_expand_short_forms(fields, protocol.settings, criteria), protocol)
    for field, problem in find_problems(settings):
        raise FileRefused(problem, field=field)
    return settings


def validate_settings(fields: Mapping[str, Any], protocol: Protocol) -> Frozen:
    """Return the settings as a value; raises FileRefused about the first invalid field."""
    try:
        return protocol.settings.model_validate(dict(fields))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the settings"
        reason = first["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
        raise FileRefused(f"{reason[0].lower()}{reason[1:]}.".replace("..", "."), field=field) from None


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
    if isinstance(value, str) and Criterion in models:
        return _criterion_fields(value, criteria)
    if isinstance(value, Mapping) and any(_has_spec(model) for model in models):
        return _judge_fields(value)
    return value


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    """Return the models in a type such as `tuple[Judge, ...]` or `Criterion | None`."""
    arguments = get_args(annotation)
    if arguments:
        return set().union(*map(_models_in, arguments))
    return {annotation} if isinstance(annotation, type) and issubclass(annotation, BaseModel) else set()


def _has_spec(model: type[BaseModel]) -> bool:
    field = model.model_fields.get("spec")
    return field is not None and field.annotation is Spec


def _criterion_fields(name: str, criteria: Sequence[Criterion]) -> dict[str, Any]:
    """Return the fields of the study's criterion called `name`, or of one with only this name."""
    criterion = next((criterion for criterion in criteria if criterion.name == name), Criterion(name=name))
    return criterion.model_dump(mode="json")


def _judge_fields(judge: Mapping[str, Any]) -> dict[str, Any]:
    """Return a judge's fields with those of its model under `spec`."""
    if "spec" in judge:
        return dict(judge)
    names = set(Spec.model_fields)
    return {
        **{name: value for name, value in judge.items() if name not in names},
        "spec": {name: value for name, value in judge.items() if name in names},
    }
