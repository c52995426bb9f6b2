"""Output of commands: a table or one JSON value, and progress on standard error."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import typer

from core.wording import format_p, is_p_value

Record = TypeVar("Record")


class ShowProgress(Protocol):
    """Called with the number of records that are done, and of all records; `note` is shown after the rate."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


LINE_SECONDS = 5.0
"""Interval between two lines of progress if there is no terminal."""


@contextmanager
def progress_bar(label: str, unit: str, *, quiet: bool) -> Iterator[ShowProgress]:
    """Yield a function that shows progress on standard error: a bar on a terminal, otherwise periodic lines."""
    if quiet:
        yield lambda done, total, note="": None
    elif not sys.stderr.isatty():
        yield line_printer(label, unit)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        whole = Column(no_wrap=True)  # in a narrow terminal only the bar becomes shorter
        counts = (MofNCompleteColumn(table_column=whole), TextColumn("{task.fields[rate]}"))
        columns = (TextColumn(label), BarColumn(), *counts, TimeRemainingColumn(table_column=whole))
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(label, total=None, rate="")

            def show(done: int, total: int, note: str = "") -> None:
                speed = bar.tasks[0].speed
                rate = " · ".join(filter(None, (f"{speed:,.1f} {unit}/s" if speed else "", note)))
                bar.update(task, completed=done, total=total, rate=rate)

            yield show


def line_printer(label: str, unit: str) -> ShowProgress:
    """Return a function that prints progress as a line, at most one every LINE_SECONDS and one at the end."""
    next_line = time.monotonic() + LINE_SECONDS

    def show(done: int, total: int, note: str = "") -> None:
        nonlocal next_line
        if time.monotonic() >= next_line or done >= total:
            typer.echo(f"{label}: {done:,} of {total:,} {unit}{f', {note}' if note else ''}", err=True)
            next_line = time.monotonic() + LINE_SECONDS

    return show


def with_progress(records: Iterable[Record], total: int, show: ShowProgress) -> Iterator[Record]:
    """Yield the records, and show how many are done after every hundred."""
    done = 0
    for done, record in enumerate(records, 1):
        yield record
        if done % 100 == 0:
            show(done, max(total, done))
    show(done, done)


def with_reading_lines(records: Iterable[Record], path: Path, *, quiet: bool) -> Iterator[Record]:
    """Yield the records of a file, and print its name at once on a terminal, and their number every LINE_SECONDS."""
    if not quiet and sys.stderr.isatty():
        typer.echo(f"Reading {path}", err=True)
    next_line = time.monotonic() + LINE_SECONDS
    for count, record in enumerate(records, 1):
        yield record
        if not quiet and count % 100 == 0 and time.monotonic() >= next_line:
            typer.echo(f"Reading {path}: {count:,} records", err=True)
            next_line = time.monotonic() + LINE_SECONDS


def format_table(rows: Sequence[Mapping[str, Any]], empty: str) -> str:
    """Return rows as a text table: floats with three decimals, p-values under 0.001 as `< 0.001`, None as a dash.

    `empty` is the text without rows. A row can lack columns of the first one.
    """
    from tabulate import tabulate

    if not rows:
        return empty
    # tabulate would turn names such as "007" and "1e3" into numbers.
    names = [index for index, column in enumerate(rows[0]) if any(isinstance(row.get(column), str) for row in rows)]
    cells = [[_cell(name, row.get(name)) for name in rows[0]] for row in rows]
    alignment = ["right" if is_p_value(name) else "global" for name in rows[0]]
    return tabulate(cells, list(rows[0]), floatfmt=".3f", missingval="–", disable_numparse=names, colalign=alignment)


def with_population(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows for a text table: with the column `population` only if some are not of all targets."""
    if any(row["population"] != "all targets" for row in rows):
        return [dict(row) for row in rows]
    return [{name: cell for name, cell in row.items() if name != "population"} for row in rows]


def _cell(column: str, value: Any) -> Any:
    return format_p(value) if is_p_value(column) and isinstance(value, float) else value


def print_result(value: Any, sentence: str, as_json: bool) -> None:
    """Print one JSON value, or the sentence or table."""
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False) if as_json else sentence)
