"""The formats that can be read, by name.

A format is one module with two functions, registered below in one line:

    recognises(path) -> bool        whether the file or folder looks like this format
    read(path) -> Records           raises FileRefused with the line, the field and what was expected

Modules are imported on first use: reading one format does not load the libraries of the others.
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
"""Format name -> module. The first that recognises a path reads it; the table recognises most files, so it is last."""

FORMAT_NAMES = ", ".join(READERS)


def detect_format(path: Path) -> str:
    """Return the name of the first format that recognises `path`; raises FileRefused where none does."""
    if not path.exists():
        raise FileRefused(f"there is no file or folder {path}")
    for name in READERS:
        if _module(name).recognises(path):
            return name
    raise FileRefused(f"no reader recognises {path.name}; name its format: {FORMAT_NAMES}")


def read_records(path: Path, format: str | None = None, mapping: "Mapping | None" = None) -> "Records":
    """Return an iterator over the records of a file or folder.

    Without `format`, a mapping means a table, and otherwise the format is detected. Raises Problem before the first
    record for an unknown format, and FileRefused then or later for an invalid file.
    """
    path = Path(path)
    if not path.exists():
        raise FileRefused(f"there is no file or folder {path}")
    name = format or ("table" if mapping else detect_format(path))
    if name == "table":
        return _read_table(path, mapping)
    if mapping is not None:
        raise Problem(f"a mapping is for tables; the fields of a {name} file are known")
    records: Records = _module(name).read(path)
    return records


def _read_table(path: Path, mapping: "Mapping | None") -> "Records":
    if mapping is None:
        raise Problem(f"{path.name} is a table: it needs a mapping that assigns its fields (docs/mappings)")
    records: Records = _module("table").read(path, mapping)
    return records


def _module(name: str) -> Any:
    if name not in READERS:
        raise Problem(f"there is no format {name!r}; known formats: {FORMAT_NAMES}")
    return import_module(READERS[name])
