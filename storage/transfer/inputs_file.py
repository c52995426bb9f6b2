"""Reads a table of references and aspects for items that a study has."""

from pathlib import Path

from core.errors import FileFormatError
from core.formats.mapping.cells import parse_list, parse_name, parse_text
from core.formats.mapping.rows import read_rows
from storage.inputs import Input


def read_inputs(path: Path) -> dict[str, Input]:
    """Return item -> the inputs in a file; a column or field that is missing leaves them as they are."""
    found: dict[str, Input] = {}
    for line, row in read_rows(path):
        if not {"reference", "aspects"} & row.keys():
            raise FileFormatError("expected a column `reference` or `aspects`", line=line)
        reference = parse_text(row["reference"], line, "reference") or "" if "reference" in row else None
        cell = row.get("aspects")
        lines = cell.splitlines() if isinstance(cell, str) and not cell.startswith("[") else None
        cells = parse_list(cell, line, "aspects") if lines is None else lines
        aspects = tuple(" ".join(str(part).split()) for part in cells if str(part).strip())
        found[parse_name(row.get("item"), line, "item")] = Input(reference, aspects if "aspects" in row else None)
    return found
