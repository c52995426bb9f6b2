"""Readers of public files, the table mapper, and writers of what a study takes away.

A format is one module with two functions, named here in one line:

    recognises(path) -> bool        whether the file or folder looks like it
    read(path) -> Records           raises FileRefused with the line, the field and what was expected

Modules are imported when they are asked for: reading one format does not load the libraries of the others.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.problems import FileRefused, Problem

if TYPE_CHECKING:
    from core.formats.mapping.mapping import Mapping
    from core.formats.records import Records

READERS: dict[str, str] = {
    "tiebreak": "core.formats.tiebreak",
    "scaleeval": "core.formats.published.scaleeval",
    "chateval": "core.formats.published.chateval",
    "metacritique": "core.formats.published.metacritique",
    "dna-weights": "core.formats.published.dna_weights",
    "table": "core.formats.mapping.table",
}
"""Format name -> module. The first that recognises a path reads it, so the table, which takes most files, is last."""

KNOWN = ", ".join(READERS)


def detect(path: Path) -> str:
    """The name of the format that recognises `path`; raises FileRefused where none does."""
    if not path.exists():
        raise FileRefused(f"there is no file or folder {path}")
    for name in READERS:
        if _module(name).recognises(path):
            return name
    raise FileRefused(f"no reader recognises {path.name}; name its format: {KNOWN}")


def read(path: Path, format: str | None = None, mapping: "Mapping | None" = None) -> "Records":
    """The records of a file or folder: one way in, for the page and for the command line.

    Without `format` a mapping means a table, and otherwise the file is looked at. Raises Problem before the first
    record for a format that is not known; FileRefused then, or later, for a file that is wrong.
    """
    path = Path(path)
    if not path.exists():
        raise FileRefused(f"there is no file or folder {path}")
    name = format or ("table" if mapping else detect(path))
    if name == "table":
        return _table(path, mapping)
    if mapping is not None:
        raise Problem(f"a mapping is for tables; a file of the format {name} says itself what its fields are")
    records: Records = _module(name).read(path)
    return records


def _table(path: Path, mapping: "Mapping | None") -> "Records":
    if mapping is None:
        raise Problem(f"{path.name} is a table: it needs a mapping that says what its fields are (docs/mappings)")
    records: Records = _module("table").read(path, mapping)
    return records


def _module(name: str) -> Any:
    if name not in READERS:
        raise Problem(f"there is no format {name!r}; known formats: {KNOWN}")
    return import_module(READERS[name])
