"""What can vary in an experiment that starts from the settings of a run: paths, with their values if these are few."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from core.items import Criterion
from core.protocols import Protocol

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
    choices += [AxisChoice(f"{path}.model", current=model) for path, model in _models(settings)]
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


def _models(settings: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the model of every judge in settings."""
    if isinstance(settings, Mapping):
        spec = settings.get("spec", settings)
        if isinstance(spec, Mapping) and "model" in spec and path:
            yield path, str(spec["model"])
            return
        for name, value in settings.items():
            yield from _models(value, f"{path}.{name}" if path else str(name))
    elif isinstance(settings, list):
        for number, element in enumerate(settings):
            name = element.get("name") if isinstance(element, Mapping) else None
            label = name if isinstance(name, str) and name and "." not in name else number
            yield from _models(element, f"{path}.{label}")
