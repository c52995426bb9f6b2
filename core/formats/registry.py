"""The formats that can be read, by name.

A format is one module with two functions, registered below in one line:

    recognises(path) -> bool        whether the file or folder looks like this format
    read(path) -> Records           raises FileFormatError with the line, the field and the expected value

Modules are imported on first use: reading one format does not load the libraries of the others.
"""

from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from core.errors import FileFormatError, TiebreakError

if TYPE_CHECKING:
    from core.formats.mapping.mapping import Mapping
    from core.formats.records import Record, Records

# Format name -> module. The first that recognises a path reads it; the table recognises most files, so it is last.
READERS: dict[str, str] = {
    "tiebreak": "core.formats.tiebreak",
    "scaleeval": "core.formats.published.scaleeval",
    "chateval": "core.formats.published.chateval",
    "metacritique": "core.formats.published.metacritique",
    "dna-weights": "core.formats.published.dna_weights",
    "label-studio": "core.formats.tools.label_studio",
    "argilla": "core.formats.tools.argilla",
    "inspect": "core.formats.tools.inspect_log",
    "potato": "core.formats.tools.potato",
    "meta-evaluator": "core.formats.tools.meta_evaluator",
    "table": "core.formats.mapping.table",
}

# Format of another tool -> module with `write(records, stream)`, which returns the number of labels left out.
WRITERS: dict[str, str] = {
    "label-studio": "core.formats.tools.label_studio",
    "argilla": "core.formats.tools.argilla",
    "inspect": "core.formats.tools.inspect_log",
    "phoenix": "core.formats.tools.phoenix",
}

FORMAT_NAMES = ", ".join(READERS)


def detect_format(path: Path) -> str:
    """Return the name of the first format that recognises `path`; raises FileFormatError if none does."""
    if not path.exists():
        raise FileFormatError(f"there is no file or folder {path}")
    for name in READERS:
        if _module(name).recognises(path):
            return name
    raise FileFormatError(f"no reader recognises {path.name}; name its format: {FORMAT_NAMES}")


def read_records(path: Path, format: str | None = None, mapping: "Mapping | None" = None) -> "Records":
    """Return an iterator over the records of a file or folder.

    Without `format`, a mapping means a table, and otherwise the format is detected. Raises TiebreakError before the
    first record for an unknown format, and FileFormatError then or later for an invalid file.
    """
    path = Path(path)
    if not path.exists():
        raise FileFormatError(f"there is no file or folder {path}")
    name = format or ("table" if mapping else detect_format(path))
    if name != "table" and mapping is not None:
        raise TiebreakError(f"a mapping is for tables; the fields of a {name} file are known")
    if name != "table":
        return _module(name).read(path)  # type: ignore[no-any-return]
    if mapping is None:
        raise TiebreakError(
            f"{path.name} is a table: it needs a mapping that assigns its fields (docs/mappings); "
            f"`python cli.py data mapping {path.name}` prints a suggested one, and `data import --confirm` uses it"
        )
    return _module(name).read(path, mapping)  # type: ignore[no-any-return]


def read_levels(path: Path, format: str | None, found: "Sequence[Mapping]") -> "Records":
    """Return the records of a file, by each of its mappings if it has some."""
    from core.formats.records import without_contradictions

    if len(found) < 2:
        return read_records(path, format, *found)
    return without_contradictions(read_records(path, format, mapping) for mapping in found)


def write_records(records: "Iterable[Record]", format: str, stream: TextIO) -> int:
    """Write the records of a study in another tool's format.

    Returns the number of labels and verdicts of kinds that the tool has no control for: they are left out.
    """
    left_out: int = import_module(WRITERS[format]).write(records, stream)
    return left_out


def unread_files(folder: Path, opened: Collection[Path]) -> list[str]:
    """Return the files of a folder, by their paths in it, that are not among those of `text.recording_reads`."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return [str(path.relative_to(folder)) for path in files if path.resolve() not in opened]


def _module(name: str) -> Any:
    if name not in READERS:
        raise TiebreakError(f"there is no format {name!r}; known formats: {FORMAT_NAMES}")
    return import_module(READERS[name])
