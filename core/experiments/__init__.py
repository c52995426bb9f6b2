"""Experiments: runs that differ in named settings, declared in a YAML file (docs/experiments.md)."""

from core.experiments.definition import (
    Axis,
    AxisChoice,
    Cell,
    Definition,
    Level,
    axis_choices,
    design,
    from_fields,
    load,
    parse,
    to_yaml,
    with_run,
)

__all__ = [
    "Axis",
    "AxisChoice",
    "Cell",
    "Definition",
    "Level",
    "axis_choices",
    "design",
    "from_fields",
    "load",
    "parse",
    "to_yaml",
    "with_run",
]
