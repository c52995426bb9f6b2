"""The content of an experiment's file: a base, axes with levels, exclusions, repetitions, items and limits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import Field, ValidationError

from core.errors import FileFormatError
from core.experiments import variants
from core.formats.text import read_text
from core.frozen import Frozen
from core.llm.defaults import PARALLEL_CALLS
from core.protocols import settings_file

MAX_LABEL = 60
"""Characters of the label of a level: it is part of the names of runs."""
Settings = dict[str, Any]
"""Fields of a settings file."""


class Level(Frozen):
    """One value of an axis: what it sets, under a label."""

    label: str
    set: Settings
    """Path -> value; see `core.experiments.cells`."""


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


class Definition(Selection):
    """An experiment. Files that it names are part of it: a stored definition needs no other file."""

    name: str = Field(min_length=1)
    description: str = ""
    protocol: str
    base: Settings = Field(default_factory=dict)
    """The settings that every run has, as in a settings file."""
    axes: tuple[Axis, ...] = ()
    exclude: tuple[dict[str, tuple[str, ...]], ...] = ()
    """Combinations of levels without a run: axis -> labels."""
    repeats: int = Field(default=1, ge=1, le=1000)
    """Runs of each cell with independent replies."""
    parallel: int = Field(default=PARALLEL_CALLS, ge=1, le=1000)
    ceiling: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Cost limit in dollars of all runs together."""
    fresh: bool = False
    """Whether no run reuses a reply that another run has paid."""
    reference: str | None = None
    """The reference of the results, such as "gold" or "debate:RUN"."""


def load(path: Path) -> Definition:
    """Return the experiment in a file; its default name is the file's. Raises FileFormatError."""
    text = read_text(path)
    return parse(text, name=path.stem, folder=path.parent)


def parse(text: str, *, name: str = "", folder: Path | None = None) -> Definition:
    """Return the experiment in a YAML text; files that it names are read from `folder`. Raises FileFormatError."""
    return from_fields(_mapping(text), name=name, folder=folder)


def from_fields(fields: Mapping[str, Any], *, name: str = "", folder: Path | None = None) -> Definition:
    """Return the experiment with these fields; see `parse`."""
    fields = variants.resolve(fields, lambda file: _fields_of(file, folder))
    fields = {"name": name, **fields, "axes": _axes(fields.get("axes") or {})}
    fields["exclude"] = [_exclusion(entry, fields["axes"]) for entry in fields.get("exclude") or ()]
    fields |= item_names(fields)
    return validate(Definition, fields)


Fields = TypeVar("Fields", bound=Frozen)


def validate(model: type[Fields], fields: Mapping[str, Any], prefix: str = "") -> Fields:
    """Return fields as a value; raises FileFormatError about the first invalid one, with `prefix` before its name."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        reason = first["msg"].removeprefix("Value error, ")
        field = prefix + ".".join(map(str, first["loc"])) or "the experiment"
        raise FileFormatError(f"{reason[0].lower()}{reason[1:]}.", field=field) from None


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
