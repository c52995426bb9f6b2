"""The cells of an experiment as a table with axes in rows and columns: for a terminal, Markdown, LaTeX and CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from statistics import fmean
from typing import Any

from core.errors import TiebreakError
from core.formats.latex_tables import latex_tabular
from core.formats.tables import MISSING, rows_csv
from core.statistics.reports.experiments import CellResult
from core.wording import format_estimate

# The name of the axis of criteria, if a run judges several.
JUDGED = "judged criterion"


@dataclass(frozen=True)
class Entry:
    """What stands in one place of the table: one cell, or the mean over axes that the table does not have."""

    value: float | None
    deviation: float | None
    low: float | None
    high: float | None
    cells: int
    """Its cells that have a value."""
    items: int | None = None
    """The items of a single cell, if the cells of the table have different numbers of them."""
    asked: int = 0
    """Targets of its cells, over all repeats."""
    no_verdict: int = 0
    """Of these: without a verdict."""
    bounds: tuple[float, float] | None = None
    """The lowest and the highest value for any verdicts in place of the missing ones; None if there are none."""

    def __str__(self) -> str:
        if self.value is None:
            return f"{MISSING} ({self._missing()})" if self.no_verdict else MISSING
        deviation = "" if self.deviation is None else f" ± {self.deviation:.3f}"
        value, *interval = format_estimate(self.value, self.low, self.high, 3).split(" ", 1)
        notes = [
            *([] if self.items is None else [f"n {self.items:,}"]),
            *([self._missing()] if self.no_verdict else []),
        ]
        return " ".join([f"{value}{deviation}", *interval, *([f"({'; '.join(notes)})"] if notes else [])])

    def _missing(self) -> str:
        """Return the number of missing verdicts, and what the value could be with them."""
        possible = "" if self.bounds is None else ": {:.3f} to {:.3f}".format(*self.bounds)
        return f"{self.no_verdict:,} of {self.asked:,} missing{possible}"


@dataclass(frozen=True)
class CellTable:
    """A table of entries; the axes of the rows come first in each line."""

    row_axes: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[tuple[tuple[str, ...], tuple[Entry | None, ...]], ...]
    """(labels of the row, its entries)."""
    averaged: tuple[str, ...]
    """Axes that are neither rows nor columns: entries are means over their levels."""
    column_axes: tuple[str, ...] = ()
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of texts about whole lines, which follow the entries: name -> the text of each line."""

    @property
    def cells_per_entry(self) -> tuple[int, int]:
        """The fewest and the most cells of an entry; they differ if the design leaves combinations out."""
        counts = [entry.cells for _, row in self.lines for entry in row if entry is not None]
        return min(counts, default=0), max(counts, default=0)

    @property
    def header(self) -> list[str]:
        """The names of all columns."""
        return [*self.row_axes, *self.columns, *self.remarks]

    def texts(self) -> list[list[str]]:
        """Return the lines as text."""
        remarks = zip(*self.remarks.values(), strict=True) if self.remarks else repeat(())
        return [
            [*labels, *(MISSING if entry is None else str(entry) for entry in row), *own]
            for (labels, row), own in zip(self.lines, remarks, strict=False)
        ]

    def render(self, caption: str, label: str, format: str) -> str:
        """Return the table as "text" for a terminal, "markdown", "latex" (with booktabs) or "csv", without caption."""
        texts = self.texts()
        match format:
            case "csv":
                return rows_csv(dict(zip(self.header, line, strict=True)) for line in texts)
            case "latex":
                return latex_tabular(self.header, texts, caption, label, tuple(self.remarks))
            case "markdown":
                return f"{markdown_table(self.header, texts)}\n{caption}\n"
        from tabulate import tabulate

        return f"{caption}\n{tabulate(texts, self.header, disable_numparse=True)}\n"


def cell_table(
    cells: Sequence[CellResult],
    axes: Mapping[str, Sequence[str]],
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> CellTable:
    """Return the cells with axes as rows and columns; `axes` has the levels of each axis in their order.

    By default the last axis is the columns and the others the rows; with only `columns`, the rows are the others.
    Raises TiebreakError for an unknown axis, or one that is both.
    """
    levels = {name: list(labels) for name, labels in axes.items()}
    keyed = [(dict(zip(axes, cell.levels, strict=True)), cell) for cell in cells]
    criteria = list(dict.fromkeys(cell.criterion for cell in cells))
    if len({(cell.levels, cell.criterion) for cell in cells}) > len({cell.levels for cell in cells}):
        levels[JUDGED] = criteria
        keyed = [({**key, JUDGED: cell.criterion}, cell) for key, cell in keyed]
    chosen_rows, chosen_columns = _chosen(list(levels), rows, columns)
    averaged = tuple(name for name in levels if name not in (*chosen_rows, *chosen_columns))
    places: dict[tuple[tuple[str, ...], tuple[str, ...]], list[CellResult]] = {}
    for key, cell in keyed:
        place = (tuple(key[name] for name in chosen_rows), tuple(key[name] for name in chosen_columns))
        places.setdefault(place, []).append(cell)
    row_labels = _in_order({place[0] for place in places}, [levels[name] for name in chosen_rows])
    column_labels = _in_order({place[1] for place in places}, [levels[name] for name in chosen_columns])
    shows_items = len({cell.items for cell in cells}) > 1
    lines = tuple(
        (row, tuple(_entry(places.get((row, column), []), shows_items) for column in column_labels))
        for row in row_labels
    )
    names = tuple(" · ".join(labels) or "value" for labels in column_labels)
    return CellTable(tuple(chosen_rows), names, lines, averaged, tuple(chosen_columns))


def long_row(cell: CellResult, axes: Sequence[str], statistic: str) -> dict[str, Any]:
    """Return the columns of a cell."""
    fields = (
        "kind", "criterion", "value", "deviation", "low", "high", "items", "repeats", "reference", "reason",
        "asked", "no_verdict", "failed", "left_out", "lowest", "highest",
    )  # fmt: skip
    judged = {f"judged_{name}" if name in axes else name: getattr(cell, name) for name in fields}
    judged["items_of_repeats"] = " ".join(map(str, cell.items_of_repeats))
    return dict(zip(axes, cell.levels, strict=True)) | {"statistic": statistic} | judged


def _chosen(known: list[str], rows: Sequence[str] | None, columns: Sequence[str] | None) -> tuple[list[str], list[str]]:
    for name in (*(rows or ()), *(columns or ())):
        if name not in known:
            raise TiebreakError(f"The experiment has no axis {name!r}; its axes: {', '.join(known) or 'none'}.")
    if both := set(rows or ()) & set(columns or ()):
        raise TiebreakError(f"The axis {min(both)!r} cannot be both rows and columns.")
    if columns is None:
        free = [name for name in known if name not in (rows or ())]
        columns = free[-1:] if rows is None else free
    if rows is None:
        rows = [name for name in known if name not in columns]
    return list(rows), list(columns)


def _in_order(labels: set[tuple[str, ...]], levels: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return sorted(labels, key=lambda one: [names.index(name) for names, name in zip(levels, one, strict=True)])


def _entry(cells: Sequence[CellResult], shows_items: bool) -> Entry | None:
    if not cells:
        return None
    asked, no_verdict = sum(cell.asked for cell in cells), sum(cell.no_verdict for cell in cells)
    missing = (asked, no_verdict, _bounds(cells))
    if len(cells) == 1:
        (cell,) = cells
        return Entry(cell.value, cell.deviation, cell.low, cell.high, 1, cell.items if shows_items else None, *missing)
    values = [cell.value for cell in cells if cell.value is not None]
    return Entry(fmean(values) if values else None, None, None, None, len(values), None, *missing)


def _bounds(cells: Sequence[CellResult]) -> tuple[float, float] | None:
    """Return the means of the bounds of the cells with a value; None without bounds or missing verdicts."""
    valued = [cell for cell in cells if cell.value is not None]
    bounds = [cell.bounds for cell in valued if cell.bounds is not None]
    if len(bounds) < len(valued) or not any(cell.no_verdict for cell in valued):
        return None
    low, high = zip(*bounds, strict=True)
    return fmean(low), fmean(high)


def markdown_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    escaped = [[" ".join(text.replace("\\", "\\\\").replace("|", "\\|").split()) for text in line] for line in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped) + "\n"
