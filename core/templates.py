"""Prompt templates: text files with `$blanks`, which a study may replace.

A template is a `string.Template`: `$question` is a blank, `$$` is a dollar sign. Values are inserted as data and not
parsed again, so a "$" in a response stays a dollar sign.

One file holds one ask. Its first template has the file's name; variants and parts follow in sections, each below a line
`=== name ===` and separated from the next section by one blank line.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from string import Template

from core.problems import Problem

Templates = Mapping[str, str]
"""Template name -> text with blanks."""

_SECTION = re.compile(r"^=== (\w+) ===\n", re.M)


@lru_cache(maxsize=64)
def load_templates(folder: Path) -> Templates:
    """Return every template in the `.txt` files directly in `folder`."""
    loaded: dict[str, str] = {}
    for file in sorted(folder.glob("*.txt")):
        loaded |= _sections(file.stem, file.read_text(encoding="utf-8"))
    return loaded


def replace_templates(protocol: str, templates: Templates, replacements: Mapping[str, str]) -> dict[str, str]:
    """Return `templates` with a study's own texts in place; raises Problem for an unknown name."""
    unknown = sorted(replacements.keys() - templates.keys())
    if unknown:
        raise Problem(f"{protocol} has no prompt called {unknown[0]!r}; it has {', '.join(sorted(templates))}.")
    return dict(templates) | dict(replacements)


def render(templates: Templates, name: str, **values: object) -> str:
    """Fill the template `name`: every blank is filled and every value is used, or it raises Problem."""
    if name not in templates:
        raise Problem(f"There is no prompt template called {name!r}: is {name}.txt in the protocol's prompt folder?")
    template, blanks = _parsed(name, templates[name])
    if blanks != values.keys():
        raise Problem(_mismatch(name, blanks, frozenset(values)))
    return template.substitute(values)


def _sections(first: str, text: str) -> dict[str, str]:
    """Split the text of one file into named sections; a section ends before the blank line above the next."""
    names = [first, *_SECTION.findall(text)]
    *others, last = _SECTION.split(text)[::2]
    texts = [section.removesuffix("\n\n") for section in others] + [last.removesuffix("\n")]
    return dict(zip(names, texts, strict=True))


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
