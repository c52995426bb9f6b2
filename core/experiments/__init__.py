"""Experiments: runs that differ in named settings, declared in a YAML file (docs/experiments.md)."""

from core.experiments.cells import Cell, design, with_run
from core.experiments.definition import Axis, Definition, Level, load, parse, to_yaml

__all__ = ["Axis", "Cell", "Definition", "Level", "design", "load", "parse", "to_yaml", "with_run"]
