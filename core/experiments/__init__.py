"""Experiments: runs that differ in named settings, declared in a YAML file (docs/experiments.md)."""

from core.experiments.cells import AxisChoice, Cell, axis_choices, design, with_run
from core.experiments.definition import Axis, Definition, Level, from_fields, load, parse, to_yaml

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
