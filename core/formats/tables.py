"""Tables of rows as CSV for spreadsheets and as LaTeX for a paper."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from itertools import zip_longest
from typing import Any

from core.formats.latex_text import DEFINITION, escape_latex
from core.formats.spreadsheet import escape_formula
from core.wording import format_estimate, format_number, format_p, is_p_value

NOT_PRINTED = ("items_total", "pairs", "dropped", "reason", "raters")
"""Columns that a printed table does not have."""
INTERVAL_ENDS = ("low", "high")
MISSING = "–"
"""An empty cell of a printed table."""


def flatten(row: Any) -> dict[str, Any]:
    """Return a dataclass instance or a mapping as columns; a nested one adds columns such as `accuracy_low`.

    The `value` of a nested row has the name of its field.
    """
    values = asdict(row) if is_dataclass(row) and not isinstance(row, type) else dict(row)
    cells: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            cells |= {name if inner == "value" else f"{name}_{inner}": cell for inner, cell in flatten(value).items()}
        else:
            cells[name] = value
    return cells


def cell(row: Any, column: str) -> Any:
    """Return one column of `flatten(row)`, without the others if the row itself has it; None without it."""
    own = row.get(column) if isinstance(row, Mapping) else getattr(row, column, None)
    return flatten(row).get(column) if own is None else own


def csv_text(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV; text that a spreadsheet would run as a formula gets a leading apostrophe."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in header])
    writer.writerows([_csv_cell(value) for value in line] for line in lines)
    return stream.getvalue()


def rows_csv(rows: Iterable[Any]) -> str:
    """Return dataclass instances or mappings as CSV, with the columns of all rows."""
    flat = [flatten(row) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    return csv_text(columns, ([row.get(name) for name in columns] for row in flat))


def fold_intervals(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flat row for print: an interval is written after its value, and technical columns are left out.

    The value of the columns `low` and `high` is `value`, or the column before them.
    """
    folded: dict[str, Any] = {}
    for (name, value), following in zip_longest(row.items(), list(row)[1:]):
        prefix = "" if name == "value" or following == INTERVAL_ENDS[0] else f"{name}_"
        if f"{prefix}low" in row:
            folded[name] = _latex_estimate(value, row[f"{prefix}low"], row.get(f"{prefix}high"))
        elif not name.endswith((*NOT_PRINTED, *INTERVAL_ENDS)):
            folded[name] = value
    return folded


def _latex_estimate(value: float | None, low: float | None, high: float | None) -> str | None:
    return None if value is None else format_estimate(value, low, high, 3)


def latex_table(rows: Iterable[Any], caption: str, label: str) -> str:
    r"""Return a `table` environment for the package booktabs.

    Numbers have three decimals and are aligned to the right. Columns that are empty are left out, and those with the
    same text in several rows, which the caption then has. `label` is reduced to letters, digits and hyphens.
    """
    flat = [fold_intervals(flatten(row)) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    columns = [name for name in names if _is_informative([row.get(name) for row in flat])]
    numeric = {name for name in columns if all(_is_number(row.get(name)) for row in flat)}
    header = [name.replace("_", " ") for name in columns]
    alignment = ["r" if name in numeric else "l" for name in columns]
    lines = [[_latex_text(row.get(name), name) or MISSING for name in columns] for row in flat]
    return latex_tabular(header, lines, alignment, _with_constants(caption, flat, names), label)


def _with_constants(caption: str, rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> str:
    """Return a caption with the columns that have the same text in several rows, as far as it does not have them."""
    constant = [name for name in names if _is_constant([row.get(name) for row in rows])]
    texts = [f"{name.replace('_', ' ')} {_latex_text(rows[0][name], name)}" for name in constant if rows[0][name]]
    stated = [text for text in texts if text not in caption]
    return f"{caption} All rows: {', '.join(stated)}." if stated else caption


def latex_tabular(
    header: Sequence[str], lines: Iterable[Sequence[str]], alignment: Sequence[str], caption: str, label: str
) -> str:
    r"""Return a `table` environment for the package booktabs; `alignment` has "l" or "r" for each column."""
    rows = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{tab:{re.sub('[^A-Za-z0-9]+', '-', label).strip('-')}}}",
        rf"\begin{{tabular}}{{{''.join(alignment)}}}",
        r"\toprule",
        _latex_line(header),
        r"\midrule",
        *(_latex_line(line) for line in lines),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    used = [DEFINITION] if any(r"\unicodetext" in row for row in rows) else []
    return "\n".join([r"% \usepackage{booktabs}", *used, *rows]) + "\n"


def _latex_line(cells: Iterable[str]) -> str:
    # Braces, because LaTeX would read a bracket after \\ as an optional argument.
    return " & ".join(f"{{{escaped}}}" if (escaped := escape_latex(cell)).startswith(("[", "*")) else escaped
                      for cell in cells) + r" \\"  # fmt: skip


def _latex_text(value: object, column: str = "") -> str:
    match value:
        case None:
            return ""
        case float() if is_p_value(column):
            return format_p(value)
        case float():
            return format_number(value, 3)
        case str() if column == "statistic":
            from core.statistics import catalogue  # with numpy, which a table without statistics does not need

            return catalogue.name(value)
        case tuple() | list():
            return ", ".join(map(_latex_text, value))
    return str(value)


def _is_informative(values: Sequence[object]) -> bool:
    return not _is_constant(values) and any(value not in (None, "") for value in values)


def _is_constant(values: Sequence[object]) -> bool:
    return len(values) > 1 and len(set(map(str, values))) == 1 and isinstance(values[0], str)


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _csv_cell(value: object) -> object:
    match value:
        case str():
            return escape_formula(value)
        case tuple() | list():
            return escape_formula(";".join(map(str, value)))
    return value
