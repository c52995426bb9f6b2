"""Prompts are files with blanks, one ask a file, and a study may put its own text in place of any of them.

A template is a `string.Template`: `$question` is a blank, `$$` is a dollar sign. Values are inserted as data and never
looked into, so a "$" in somebody's answer stays a dollar sign.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from string import Template

from core.problems import Problem

FOLDER = Path(__file__).parent / "prompts"

Templates = Mapping[str, str]
"""Name of the ask -> text with blanks."""


def templates(protocol: str, replaced: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every template of `protocol`, with the study's own texts in place of ours; raises Problem for a name unknown."""
    ours = dict(_ours(protocol))
    unknown = sorted(set(replaced or {}) - ours.keys())
    if unknown:
        raise Problem(f"{protocol} has no prompt called {unknown[0]!r}; it has {', '.join(sorted(ours))}.")
    return ours | dict(replaced or {})


def render(templates: Templates, name: str, **values: object) -> str:
    """Fill the template `name`: every blank is filled and every value is used, or it raises Problem."""
    template, blanks = _parsed(name, templates[name])
    if blanks != values.keys():
        raise Problem(_mismatch(name, blanks, frozenset(values)))
    return template.substitute(values)


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal: what a run stores to say which prompt it used."""
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=16)
def _ours(protocol: str) -> tuple[tuple[str, str], ...]:
    files = sorted((FOLDER / protocol).glob("*.txt"))
    return tuple((file.stem, file.read_text(encoding="utf-8").removesuffix("\n")) for file in files)


@lru_cache(maxsize=256)
def _parsed(name: str, text: str) -> tuple[Template, frozenset[str]]:
    template = Template(text)
    if not template.is_valid():
        raise Problem(f'The prompt "{name}" has a lone "$": write "$$" for a dollar sign.')
    return template, frozenset(template.get_identifiers())


def _mismatch(name: str, blanks: frozenset[str], values: frozenset[str]) -> str:
    if empty := sorted(blanks - values):
        return f'The prompt "{name}" has the blank ${empty[0]}, and nothing fills it.'
    return f'The prompt "{name}" leaves out ${min(values - blanks)}: every value has to be used.'
