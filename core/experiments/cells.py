"""The cells of an experiment's design: every combination of levels that is not excluded, with its settings.

A path is the name of a setting, with dots between the names of nested ones: `rounds`, `judges.0.temperature`,
`judges.*.model` for all of a list. A parameter of models alone, such as `temperature`, is set for every model. Some
paths concern the run instead of the protocol: RUN_PATHS.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, get_args, get_origin

from core.errors import FileFormatError
from core.experiments.definition import Definition, Level, Selection, Settings, item_names, validate
from core.items import Criterion
from core.protocols import Protocol
from core.trace import Spec

RUN_PATHS = ("protocol", "base", "seed", "scenario", "items", "sample", "limit")
"""Paths that are not settings of the protocol; `prompts.NAME`, `extractor` and `pairs` are as in a settings file."""
ALL = "*"


@dataclass(frozen=True)
class Cell:
    """One combination of levels."""

    levels: Mapping[str, str]
    """Axis -> label."""
    protocol: str
    settings: Settings
    """As in a settings file."""
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
    included = [cell for cell in cells if not _is_excluded(cell.levels, definition)]
    if not included:
        raise FileFormatError("every combination of values is excluded.", field="exclude")
    return included


def with_run(definition: Definition, changes: Mapping[str, Any]) -> Definition:
    """Return the definition with other fields, such as a sample that the command line names; None changes nothing."""
    return definition.model_copy(update={name: value for name, value in changes.items() if value is not None})


def _is_excluded(levels: Mapping[str, str], definition: Definition) -> bool:
    return any(all(levels[name] in labels for name, labels in entry.items()) for entry in definition.exclude)


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
    selection = validate(Selection, run, "axes.")
    return Cell({name: level.label for name, level in levels.items()}, protocol, settings, selection.model_dump())


def set_path(settings: Settings, path: str, value: Any) -> None:
    """Set a value in nested settings; raises FileFormatError for a path that leads nowhere."""
    if "." not in path and path in Spec.model_fields and path not in settings:
        models = list(_models(settings))
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


def _models(settings: Any) -> Iterator[dict[str, Any]]:
    """Yield the fields of every model in nested settings."""
    if isinstance(settings, dict):
        if "model" in settings:
            yield settings
        for name, value in settings.items():
            if name != "extra":
                yield from _models(value)
    elif isinstance(settings, list):
        for element in settings:
            yield from _models(element)


# What can vary in an experiment that starts from the settings of a run: paths, with their values if these are few.

MODEL_PATHS = ("temperature", "max_tokens", "reasoning_effort")
"""Parameters that are offered for all models together."""


@dataclass(frozen=True)
class AxisChoice:
    """A path that can be an axis."""

    path: str
    values: tuple[Any, ...] = ()
    """All possible values; empty if any can be entered."""
    current: Any = None
    """The value of the base; None if it has none."""


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
    """Yield the path and the model of every judge in settings."""
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
