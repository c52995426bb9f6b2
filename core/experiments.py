"""Experiments: runs that differ in named settings. A file (docs/experiments.md) has a base and axes with levels."""

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import Field, TypeAdapter

from core.errors import FileFormatError
from core.formats.text import read_text
from core.formats.validation_errors import validated
from core.frozen import Frozen
from core.items import Criterion
from core.llm import PARALLEL_CALLS
from core.protocols import Protocol, settings_file
from core.trace import Spec

# Experiments that differ from another file in a few fields, and models by other names.
#
# `extends` names the other file, whose fields this one replaces. `models` has the name of a model -> another name, or
# fields of its settings: `{gpt-4-0613: {model: my-gpt-4, address: http://127.0.0.1:8000/v1}}`; or the name of a file
# with these. A level of an axis, or a judge, that has the name of its model gets the other name.

ReadFields = Callable[[str], Mapping[str, Any]]  # the name of a file -> its fields
MAX_FILES = 5  # files that extend each other; more are a circle
MODEL = "model"


def _extend(fields: dict[str, Any], read: ReadFields, files: int) -> dict[str, Any]:
    """Return the fields with those of the extended files; `models` of several files are combined, the nearest first."""
    name = fields.pop("extends", None)
    fields = _read_bases(fields, read)
    if name is None:
        return fields
    if not isinstance(name, str) or files == 0:
        raise FileFormatError("this should be the name of another experiment's file.", field="extends")
    folder = name.rpartition("/")[0]  # an extended file names others relative to its own folder

    def read_there(other: str) -> Mapping[str, Any]:
        return read(f"{folder}/{other}" if folder else other)

    extended = _extend(dict(read(name)), read_there, files - 1)
    earlier = _models(extended.pop("models", None) or {}, read_there)
    extended = _with_models(extended, earlier)
    return {key: value for key, value in (extended | fields).items() if value is not None}


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


def _with_models(fields: dict[str, Any], models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields with every model replaced, and `replaced`: the models that the fields had by other names."""
    if not models:
        return fields
    earlier = dict(fields.pop("replaced", None) or {})
    text = json.dumps(fields, default=str, ensure_ascii=False)
    names = {old: str(new.get(MODEL, old)) for old, new in models.items() if f'"{old}"' in text}
    found = {first: names.pop(last, last) for first, last in earlier.items()}
    found |= {old: new for old, new in names.items() if old != new}
    return {**_replace_models(fields, models), "replaced": found}


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
            replaced |= _variant_assignments(prefix, {MODEL: inner, **models[str(inner)]})
        elif last == "name" and isinstance(inner, str):
            replaced.setdefault(name, _variant_label(inner, models))
        else:
            replaced.setdefault(_variant_label(name, models), _replace_models(inner, models))
    return replaced


def _variant_label(name: Any, models: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the name of a level, or of a field; a model's name is replaced."""
    return models[str(name)].get(MODEL, name) if str(name) in models else name


def _replace_values(path: str, levels: Any, models: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the levels of an axis of models; one that gets other settings too is labelled with its model's name."""
    named = levels.items() if isinstance(levels, Mapping) else [(None, value) for value in levels]
    result: dict[str, Any] = {}
    for label, value in named:
        if isinstance(value, Mapping):
            result[_variant_label(str(label), models)] = _replace_models(value, models)
            continue
        fields = {MODEL: value, **models.get(str(value), {})}
        simple = fields.keys() == {MODEL}
        name = str(fields[MODEL] if label is None else label)
        if name in result:
            raise FileFormatError(f"the model {name!r} would replace two models of the axis {path!r}.", field="models")
        result[name] = fields[MODEL] if simple else {"set": _variant_assignments(path.rpartition(".")[0], fields)}
    if not isinstance(levels, Mapping) and all(label == value for label, value in result.items()):
        return list(result)
    return result


def _variant_assignments(prefix: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}" if prefix else name: value for name, value in fields.items()}


MAX_LABEL = 60  # characters of the label of a level: it is part of the names of runs
Settings = dict[str, Any]  # fields of a settings file


class Level(Frozen):
    """One value of an axis: what it sets, under a label."""

    label: str
    set: Settings  # path -> value; see `set_path`


class Axis(Frozen):
    """What varies, and its levels."""

    name: str
    levels: tuple[Level, ...] = Field(min_length=1)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the levels, in their order."""
        return tuple(level.label for level in self.levels)


class Selection(Frozen):
    """The seed of a run and the items that it is on."""

    seed: int = 0
    scenario: str | None = None
    items: tuple[str, ...] = ()
    sample: int | None = Field(default=None, ge=1)
    limit: int | None = Field(default=None, ge=1)


# Of a cell, with the place of its fields in messages.
SELECTION = TypeAdapter(dict[str, Selection])


class Definition(Selection):
    """An experiment. Files that it names are part of it: a stored definition needs no other file."""

    name: str = Field(min_length=1)
    description: str = ""
    protocol: str
    base: Settings = Field(default_factory=dict)  # the settings that every run has, as in a settings file
    axes: tuple[Axis, ...] = ()
    exclude: tuple[dict[str, tuple[str, ...]], ...] = ()  # combinations of levels without a run: axis -> labels
    repeats: int = Field(default=1, ge=1, le=1000)  # runs of each cell with independent replies
    parallel: int = Field(default=PARALLEL_CALLS, ge=1, le=1000)
    ceiling: float | None = Field(default=None, ge=0, allow_inf_nan=False)  # cost limit in dollars of all runs together
    fresh: bool = False  # whether no run reuses a reply that another run has paid
    replaced: dict[str, str] = Field(default_factory=dict)  # model -> the one that `models` has in its place
    reference: str | None = None  # the reference of the results, such as "gold" or "debate:RUN"


def load(path: Path) -> Definition:
    """Return the experiment in a file; its default name is the file's. Raises FileFormatError."""
    text = read_text(path)
    return parse(text, name=path.stem, folder=path.parent)


def parse(text: str, *, name: str = "", folder: Path | None = None) -> Definition:
    """Return the experiment in a YAML text; files that it names are read from `folder`. Raises FileFormatError."""
    return from_fields(_mapping(text), name=name, folder=folder)


def from_fields(fields: Mapping[str, Any], *, name: str = "", folder: Path | None = None) -> Definition:
    """Return the experiment with these fields; see `parse`."""

    def read(file: str) -> Settings:
        return _fields_of(file, folder)

    fields = _extend(dict(fields), read, MAX_FILES)
    models = _models(fields.pop("models", None) or {}, read)
    fields = _with_models(fields, models)
    fields = {"name": name, **fields, "axes": _axes(fields.get("axes") or {})}
    fields["exclude"] = [_exclusion(entry, fields["axes"]) for entry in fields.get("exclude") or ()]
    fields |= item_names(fields)
    definition: Definition = validated(Definition, fields)
    return definition


def item_names(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return `items` as a list, if the fields have it; raises FileFormatError for an empty one."""
    if "items" not in fields:
        return {}
    items = fields["items"]
    if items is None or items == []:
        raise FileFormatError("this has no item; leave it out for all items.", field=f"{prefix}items")
    return {"items": [items] if isinstance(items, str) else items}


def to_yaml(definition: Definition) -> str:
    """Return the file of an experiment. `parse` returns the same definition."""
    fields = definition.model_dump(mode="json", exclude_defaults=True)
    fields["axes"] = {axis.name: _short_levels(axis) for axis in definition.axes}
    fields["exclude"] = [
        {name: labels[0] if len(labels) == 1 else list(labels) for name, labels in entry.items()}
        for entry in definition.exclude
    ]
    ordered = {name: fields[name] for name in Definition.model_fields if fields.get(name)}
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)


def _short_levels(axis: Axis) -> Any:
    """Return the levels as a list of values if that gives the same labels, otherwise by label."""
    values = [level.set[axis.name] if level.set.keys() == {axis.name} else None for level in axis.levels]
    if all(value is not None for value in values):
        if [_label(value) for value in values] == list(axis.labels):
            return values
        if not any(isinstance(value, Mapping) and "set" in value for value in values):
            return dict(zip(axis.labels, values, strict=True))
    return {level.label: {"set": level.set} for level in axis.levels}


def _mapping(text: str) -> dict[str, Any]:
    expected = "an experiment should be a list of names and values, such as `protocol: scaleeval`."
    fields = settings_file.yaml_fields(text, expected)
    return {str(name): value for name, value in fields.items()}


def _fields_of(name: str, folder: Path | None) -> Settings:
    """Return the fields of a file that an experiment names: settings, or an experiment that it extends."""
    if folder is None:
        raise FileFormatError(f"the settings file {name!r} is not here; write its settings under `base`.", field="base")
    try:
        return _mapping((folder / name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise FileFormatError(f"the settings file {str(folder / name)!r} cannot be read.", field="base") from None


def _axes(axes: Any) -> list[dict[str, Any]]:
    if not isinstance(axes, Mapping):
        raise FileFormatError("this should be names with lists of values, such as `rounds: [1, 3]`.", field="axes")
    return [{"name": str(name), "levels": _levels(str(name), levels)} for name, levels in axes.items()]


def _levels(axis: str, levels: Any) -> list[dict[str, Any]]:
    """Return the levels of an axis: a list of values, or label -> value, or label -> {set: {path: value}}."""
    field = f"axes.{axis}"
    if isinstance(levels, Mapping):
        named = [(str(label), value) for label, value in levels.items()]
    elif isinstance(levels, Sequence) and not isinstance(levels, str):
        named = [(_label(value), value) for value in levels]
    else:
        raise FileFormatError("this should be a list of values, or values by name.", field=field)
    if not named:
        raise FileFormatError("an axis needs at least one value.", field=field)
    labels = [label for label, _ in named]
    for label in labels:
        if not label or len(label) > MAX_LABEL or label != " ".join(label.split()):
            raise FileFormatError(
                f"the value {label[:MAX_LABEL]!r} needs a short name: write `{{name: value, ...}}` instead of a list.",
                field=field,
            )
        if labels.count(label) > 1:
            raise FileFormatError(f"the value {label!r} occurs twice.", field=field)
    return [{"label": label, "set": _assignments(axis, value)} for label, value in named]


def _assignments(axis: str, value: Any) -> Settings:
    """Return what a level sets: path -> value."""
    if isinstance(value, Mapping) and value.keys() == {"set"} and isinstance(value["set"], Mapping):
        return {str(path): inner for path, inner in value["set"].items()}
    return {axis: value}


def _label(value: Any) -> str:
    """Return the label of a value: its text, or the names of criteria or judges."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return str(value.get("name", ""))
    if isinstance(value, list):
        return ", ".join(map(_label, value))
    return str(value)


def _exclusion(entry: Any, axes: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return an exclusion with labels; raises FileFormatError for an unknown axis or level."""
    if not isinstance(entry, Mapping):
        raise FileFormatError(
            "this should be axes with values, such as `{format: masked, rounds: 1}`.", field="exclude"
        )
    known = {axis["name"]: [level["label"] for level in axis["levels"]] for axis in axes}
    excluded = {}
    for name, values in entry.items():
        labels = [_label(value) for value in (values if isinstance(values, list) else [values])]
        if name not in known:
            raise FileFormatError(f"there is no axis {str(name)!r}.", field="exclude")
        if unknown := [label for label in labels if label not in known[name]]:
            raise FileFormatError(f"the axis {name!r} has no value {unknown[0]!r}.", field="exclude")
        excluded[str(name)] = labels
    return excluded


# The cells of an experiment's design: every combination of levels that is not excluded, with its settings.
#
# A path is the name of a setting, with dots between the names of nested ones: `rounds`, `judges.0.temperature`,
# `judges.*.model` for all of a list. A parameter of models alone, such as `temperature`, is set for every model. Some
# paths concern the run instead of the protocol: RUN_PATHS.

# Paths that are not settings of the protocol; `prompts.NAME`, `extractor` and `pairs` are as in a settings file.
RUN_PATHS = ("protocol", "base", "seed", "scenario", "items", "sample", "limit")
ALL = "*"


@dataclass(frozen=True)
class Cell:
    """One combination of levels."""

    levels: Mapping[str, str]  # axis -> label
    protocol: str
    settings: Settings  # as in a settings file
    run: Mapping[str, Any] = field(default_factory=dict)
    """The seed and the selection of items, as in the experiment's file."""

    @property
    def label(self) -> str:
        """The labels of the levels."""
        return " · ".join(self.levels.values())

    def run_name(self, experiment: str, repeat: int, repeats: int) -> str:
        """Return the name of a run of the cell."""
        number = f"repeat {repeat}" if repeats > 1 else ""
        return " · ".join(filter(None, (experiment, self.label, number)))


def design(definition: Definition) -> list[Cell]:
    """Return the cells in the order of the levels, the last axis varying fastest. Raises FileFormatError."""
    cells = [
        _cell(definition, dict(zip((axis.name for axis in definition.axes), levels, strict=True)))
        for levels in product(*(axis.levels for axis in definition.axes))
    ]
    included = [
        cell
        for cell in cells
        if not any(all(cell.levels[name] in labels for name, labels in entry.items()) for entry in definition.exclude)
    ]
    if not included:
        raise FileFormatError("every combination of values is excluded.", field="exclude")
    return included


def with_run(definition: Definition, changes: Mapping[str, Any]) -> Definition:
    """Return the definition with other fields, such as a sample that the command line names; None changes nothing."""
    return definition.model_copy(update={name: value for name, value in changes.items() if value is not None})


def _cell(definition: Definition, levels: Mapping[str, Level]) -> Cell:
    assignments = [pair for level in levels.values() for pair in level.set.items()]
    of_run = dict(pair for pair in assignments if pair[0] in RUN_PATHS)
    settings = copy.deepcopy(dict(of_run.pop("base", definition.base)))
    paths = {path for path, _ in assignments}
    if "criterion" in paths and "criteria" not in paths:  # a cell of one criterion: further ones would be paid in each
        settings.pop("criteria", None)
    for path, value in assignments:
        if path not in RUN_PATHS:
            set_path(settings, path, copy.deepcopy(value))
    protocol = str(of_run.pop("protocol", definition.protocol))
    run = {name: getattr(definition, name) for name in Selection.model_fields}
    run |= of_run | item_names(of_run, "axes.")
    selection = validated(SELECTION, {"axes": run})["axes"]
    return Cell({name: level.label for name, level in levels.items()}, protocol, settings, selection.model_dump())


def set_path(settings: Settings, path: str, value: Any) -> None:
    """Set a value in nested settings; raises FileFormatError for a path that leads nowhere."""
    if "." not in path and path in Spec.model_fields and path not in settings:
        models = list(_specs(settings))
        if not models:
            raise FileFormatError(f"the base has no model whose {path} could be set.", field=path)
        for model in models:
            model[path] = value
        return
    if path.startswith("prompts."):
        settings.setdefault("prompts", {})[path.partition(".")[2]] = value
        return
    _set(settings, path.split("."), value, path)


def _set(settings: Any, names: list[str], value: Any, path: str) -> None:
    name, *rest = names
    if isinstance(settings, list):
        keys: list[Any] = list(range(len(settings))) if name == ALL else [_position(name, settings, path)]
    elif isinstance(settings, dict):
        if name == "spec" and name not in settings and rest:  # the short form of a judge
            name, *rest = rest
        if name in Spec.model_fields and isinstance(settings.get("spec"), dict):
            settings = settings["spec"]
        keys = [name]
    else:
        raise FileFormatError("the base has no setting at this path.", field=path)
    for key in keys:
        if not rest:
            settings[key] = value
        elif isinstance(settings, dict) and key not in settings:
            raise FileFormatError("the base has no setting at this path.", field=path)
        else:
            _set(settings[key], rest, value, path)


def _position(name: str, elements: list[Any], path: str) -> int:
    """Return the place of a list's element, by number or by the name of a judge."""
    named = [n for n, element in enumerate(elements) if isinstance(element, dict) and element.get("name") == name]
    if named:
        return named[0]
    if not name.isdigit() or int(name) >= len(elements):
        raise FileFormatError(f"the list of the base has no element {name!r}.", field=path)
    return int(name)


def _specs(settings: Any) -> Iterator[dict[str, Any]]:
    if isinstance(settings, dict):
        if "model" in settings:
            yield settings
        for name, value in settings.items():
            if name != "extra":
                yield from _specs(value)
    elif isinstance(settings, list):
        for element in settings:
            yield from _specs(element)


# What can vary in an experiment that starts from the settings of a run: paths, with their values if these are few.

MODEL_PATHS = ("temperature", "max_tokens", "reasoning_effort")  # parameters that are offered for all models together


@dataclass(frozen=True)
class AxisChoice:
    """A path that can be an axis."""

    path: str
    values: tuple[Any, ...] = ()  # all possible values; empty if any can be entered
    current: Any = None  # the value of the base; None if it has none


def axis_choices(
    protocol: Protocol, settings: Mapping[str, Any], criteria: Sequence[str], scenarios: Sequence[str]
) -> list[AxisChoice]:
    """Return the choices for a base: `criteria` and `scenarios` are the study's names."""
    choices = list(_setting_choices(protocol, settings, criteria))
    choices += [AxisChoice(f"{path}.model", current=model) for path, model in _choice_models(settings)]
    choices += [AxisChoice(name) for name in MODEL_PATHS]
    choices.append(AxisChoice("seed", current=0))
    if len(scenarios) > 1:
        choices.append(AxisChoice("scenario", tuple(scenarios)))
    return choices


def _setting_choices(protocol: Protocol, settings: Mapping[str, Any], criteria: Sequence[str]) -> Iterator[AxisChoice]:
    for name, info in protocol.settings.model_fields.items():
        current = settings.get(name, None if info.is_required() else info.get_default())
        if info.annotation is Criterion or info.annotation == Criterion | None:
            yield AxisChoice(name, tuple(criteria), current.get("name") if isinstance(current, Mapping) else current)
        elif get_origin(info.annotation) is Literal:
            yield AxisChoice(name, get_args(info.annotation), current)
        elif info.annotation is bool:
            yield AxisChoice(name, (True, False), current)
        elif info.annotation in (int, float):
            yield AxisChoice(name, (), current)


def _choice_models(settings: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(settings, Mapping):
        spec = settings.get("spec", settings)
        if isinstance(spec, Mapping) and "model" in spec and path:
            yield path, str(spec["model"])
            return
        for name, value in settings.items():
            yield from _choice_models(value, f"{path}.{name}" if path else str(name))
    elif isinstance(settings, list):
        for number, element in enumerate(settings):
            name = element.get("name") if isinstance(element, Mapping) else None
            label = name if isinstance(name, str) and name and "." not in name else number
            yield from _choice_models(element, f"{path}.{label}")


# The experiments of docs/papers: tables of five papers, as published and with current models.

FOLDER = Path(__file__).parents[1] / "docs" / "papers"
# The first field of an experiment's file; other files there are settings of protocols, or names of models.
FIRST_FIELDS = ("name:", "extends:")


@cache
def files() -> tuple[Path, ...]:
    """Return the experiments' files in the order of their names; none if the folder is not installed."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*/*.yaml"))}
    first_lines = {file: re.sub(r"(#.*\n)*", "", text, count=1) for file, text in texts.items()}
    return tuple(file for file, line in first_lines.items() if line.startswith(FIRST_FIELDS))


def load_paper(name: str) -> Definition:
    """Return the experiment of a file, such as `chateval/table-1`."""
    return load(FOLDER / f"{name}.yaml")


def paper_title(name: str) -> str:
    """Return the comment in the first line of a file: the table or figure."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("#").strip()
