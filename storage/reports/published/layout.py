"""Published tables in the layout of their papers: rows and columns instead of one line for each cell."""

from collections.abc import Sequence

from core.errors import TiebreakError
from core.formats.cell_table import CellTable, Entry
from storage.reports.published.rows import PublishedRow

FIELDS = ("scorer", "group", "statistic")
"""What rows and columns can be."""


def layout(
    rows: Sequence[PublishedRow],
    row_fields: Sequence[str] | None,
    column_fields: Sequence[str] | None,
    statistic: str | None = None,
) -> CellTable:
    """Return the rows of a published table with FIELDS as rows and columns, by default scorers in the rows.

    `statistic` selects one or, separated by commas, several. Raises TiebreakError for an unknown field or statistic,
    and for a layout in which two values would have the same place.
    """
    rows = _select(rows, statistic)
    chosen = tuple(row_fields or (name for name in FIELDS if name not in (column_fields or FIELDS[1:])))
    columns = tuple(column_fields or (name for name in FIELDS if name not in chosen))
    for name in (*chosen, *columns):
        if name not in FIELDS:
            raise TiebreakError(f"A published table has no {name!r}; rows and columns are of {', '.join(FIELDS)}.")
    places: dict[tuple[tuple[str, ...], tuple[str, ...]], Entry] = {}
    for row in rows:
        place = tuple(_key(row, chosen)), tuple(_key(row, columns))
        if place in places:
            raise TiebreakError(f"Two values of {row.scorer!r} have the same place; name more rows or columns.")
        places[place] = Entry(row.value, None, row.low, row.high, 1)
    labels = list(dict.fromkeys(place[0] for place in places))
    headings = list(dict.fromkeys(place[1] for place in places))
    lines = tuple((label, tuple(places.get((label, heading)) for heading in headings)) for label in labels)
    names = tuple(" · ".join(filter(None, heading)) or "value" for heading in headings)
    return CellTable(chosen, names, lines, ())


def _select(rows: Sequence[PublishedRow], statistic: str | None) -> Sequence[PublishedRow]:
    if statistic is None or not rows:
        return rows
    wanted = [name.strip() for name in statistic.split(",")]
    known = dict.fromkeys(row.statistic for row in rows)
    if unknown := [name for name in wanted if name not in known]:
        raise TiebreakError(f"The table has no statistic {unknown[0]!r}; it has {', '.join(known)}.")
    return [row for row in rows if row.statistic in wanted]


def _key(row: PublishedRow, fields: Sequence[str]) -> list[str]:
    return [str(getattr(row, name)) for name in fields]
