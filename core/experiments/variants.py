"""Experiments that differ from another file in a few fields, and models by other names.

`extends` names the other file, whose fields this one replaces. `models` has the name of a model -> another name, or
fields of its settings: `{gpt-4-0613: {model: my-gpt-4, address: http://127.0.0.1:8000/v1}}`; or the name of a file with
these. A level of an axis, or a judge, that has the name of its model gets the other name.
"""

from collections.abc import Callable, Mapping
from typing import Any

from core.errors import FileFormatError
from core.trace import Spec

ReadFields = Callable[[str], Mapping[str, Any]]
"""The name of a file -> its fields."""
MAX_FILES = 5
"""Files that extend each other; more are a circle."""
MODEL = "model"


def resolve(fields: Mapping[str, Any], read: ReadFields) -> dict[str, Any]:
    """Return the fields of an experiment with those of the files that it extends, and with its models replaced."""
    resolved = _extend(dict(fields), read, MAX_FILES)
    models = _models(resolved.pop("models", None) or {}, read)
    return _replace_models(resolved, models) if models else resolved


def _extend(fields: dict[str, Any], read: ReadFields, files: int) -> dict[str, Any]:
    """Return the fields with those of the extended files; `models` of several files are combined, the nearest first."""
    name = fields.pop("extends", None)
    fields = _read_bases(fields, read)
    if name is None:
        return fields
    if not isinstance(name, str) or files == 0:
        raise FileFormatError("this should be the name of another experiment's file.", field="extends")
    read_there = _within(name.rpartition("/")[0], read)
    extended = _extend(dict(read(name)), read_there, files - 1)
    earlier = _models(extended.pop("models", None) or {}, read_there)
    extended = _replace_models(extended, earlier) if earlier else extended
    return {key: value for key, value in (extended | fields).items() if value is not None}


def _within(folder: str, read: ReadFields) -> ReadFields:
    """Return a function that reads files by their names in a folder."""
    return (lambda name: read(f"{folder}/{name}")) if folder else read


def _read_bases(value: Any, read: ReadFields) -> Any:
    """Return nested fields with every `base` that is the name of a settings file replaced by its fields."""
    if isinstance(value, list):
        return [_read_bases(element, read) for element in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: dict(read(inner)) if name == "base" and isinstance(inner, str) else _read_bases(inner, read)
        for name, inner in value.items()
    }


def _models(models: Any, read: ReadFields) -> dict[str, dict[str, Any]]:
    """Return model -> the fields that replace it; raises FileFormatError for unknown fields."""
    models = read(models) if isinstance(models, str) else models
    if not isinstance(models, Mapping):
        raise FileFormatError("this should be the names of models with other names or settings.", field="models")
    replacements = {
        str(model): dict(value) if isinstance(value, Mapping) else {MODEL: value} for model, value in models.items()
    }
    for model, replacement in replacements.items():
        if unknown := sorted(set(map(str, replacement)) - Spec.model_fields.keys()):
            raise FileFormatError(f"a model has no setting {unknown[0]!r}.", field=f"models.{model}")
    return replacements


def _replace_models(value: Any, models: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return nested fields with every model replaced: in settings, in what levels set, and as values of an axis."""
    if isinstance(value, list):
        return [_replace_models(element, models) for element in value]
    if not isinstance(value, Mapping):
        return value
    replaced: dict[str, Any] = {}
    for name, inner in value.items():
        prefix, _, last = str(name).rpartition(".")
        if last == MODEL and isinstance(inner, list | Mapping):
            replaced[name] = _replace_values(str(name), inner, models)
        elif last == MODEL and str(inner) in models:
            replaced |= _assignments(prefix, {MODEL: inner, **models[str(inner)]})
        elif last == "name" and isinstance(inner, str):
            replaced.setdefault(name, _label(inner, models))
        else:
            replaced.setdefault(_label(name, models), _replace_models(inner, models))
    return replaced


def _label(name: Any, models: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the name of a level, or of a field; a model's name is replaced."""
    return models[str(name)].get(MODEL, name) if str(name) in models else name


def _replace_values(path: str, levels: Any, models: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the levels of an axis of models; one that gets other settings too is labelled with its model's name."""
    named = levels.items() if isinstance(levels, Mapping) else [(None, value) for value in levels]
    result: dict[str, Any] = {}
    for label, value in named:
        if isinstance(value, Mapping):
            result[_label(str(label), models)] = _replace_models(value, models)
            continue
        fields = {MODEL: value, **models.get(str(value), {})}
        simple = fields.keys() == {MODEL}
        name = str(fields[MODEL] if label is None else label)
        if name in result:
            raise FileFormatError(f"the model {name!r} would replace two models of the axis {path!r}.", field="models")
        result[name] = fields[MODEL] if simple else {"set": _assignments(path.rpartition(".")[0], fields)}
    if not isinstance(levels, Mapping) and all(label == value for label, value in result.items()):
        return list(result)
    return result


def _assignments(prefix: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}" if prefix else name: value for name, value in fields.items()}
