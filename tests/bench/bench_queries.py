"""The queries of the pages: python -m tests.bench.bench_queries URL [--pages PAGE ...] [--over 100]

Draws every page in this process until its figures are complete, on a database that exists (`bench_pages` plants a
large one), and prints the statements that take at least `--over` milliseconds, scan a large table, or are executed more
than `--repeated` times: the time of one more execution until every row is fetched, the rows, how often the page
executed it, and the large tables that its plan reads as a whole. The pages share their caches, so a statement is listed
with the first page that executes it. A second table has the totals of each page.

Plans are those of EXPLAIN QUERY PLAN on SQLite, and of EXPLAIN (ANALYZE, BUFFERS) on PostgreSQL, with the blocks that
were read. Pages record views: use a copy of a database.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, event
from streamlit.testing.v1 import AppTest

from pages.parts import live
from pages.parts.sections import SECTIONS
from storage.db import connections
from storage.labelling import context, queue_view, tasks
from tests.bench import large_study
from tests.paths import ROOT

APP = ROOT / "app.py"
SCRIPTS = [section.script.removesuffix(".py") for section in SECTIONS]
RENAMED = {section.script.removesuffix(".py") for section in SECTIONS if section.name}
"""Pages whose address has another name than their script."""
TASKS = "tasks of the workbench"

LARGE_TABLES = ("item", "target", "label", "trace", "opinion", "event", "unread_reply", "call", "audit", "action")
TIMEOUT = 600
"""Seconds that a page may take."""
WIDTH = 150
"""Characters of a statement that are printed."""


@dataclass
class Statement:
    """A query of a page with the parameters of its slowest execution."""

    text: str
    parameters: Any = None
    seconds: list[float] = field(default_factory=list)
    """Until the database has answered, for each execution."""

    def add(self, seconds: float, parameters: Any) -> None:
        if seconds >= max(self.seconds, default=0.0):
            self.parameters = parameters
        self.seconds.append(seconds)


@contextmanager
def recorded(engine: Engine) -> Iterator[dict[str, Statement]]:
    """Yield text -> statement of the queries that are executed within the block."""
    executed: dict[str, Statement] = {}

    def before(connection: Any, cursor: Any, text: str, parameters: Any, context: Any, many: bool) -> None:
        context.started = time.perf_counter()

    def after(connection: Any, cursor: Any, text: str, parameters: Any, context: Any, many: bool) -> None:
        started = getattr(context, "started", None)  # none if another thread has sent it before the block
        if started is not None and text.lstrip().startswith(("SELECT", "WITH")):
            executed.setdefault(text, Statement(text)).add(time.perf_counter() - started, parameters)

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
    try:
        yield executed
    finally:
        event.remove(engine, "before_cursor_execute", before)
        event.remove(engine, "after_cursor_execute", after)


def fetched(engine: Engine, statement: Statement) -> tuple[float, int]:
    """Execute a statement again; returns the seconds until every row is fetched, and the number of rows."""
    with engine.connect() as connection:
        start, rows = time.perf_counter(), 0
        cursor = connection.exec_driver_sql(statement.text, statement.parameters).cursor
        assert cursor is not None
        while batch := cursor.fetchmany(10_000):
            rows += len(batch)
        return time.perf_counter() - start, rows


def plan(engine: Engine, statement: Statement) -> list[str]:
    """Return the lines of a statement's plan."""
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN (ANALYZE, BUFFERS)"
    with engine.connect() as connection:
        return [str(row[-1]) for row in connection.exec_driver_sql(f"{explain} {statement.text}", statement.parameters)]


def scans(lines: Sequence[str]) -> list[str]:
    """Return the large tables that a plan reads without an index."""
    names = "|".join(LARGE_TABLES)
    pattern = re.compile(rf"\b(?:SCAN|Seq Scan on) \"?({names})\"?(?:_\d+)?\b(?!.* USING )")
    return sorted({found[1] for line in lines if (found := pattern.search(line))})


def blocks(lines: Sequence[str]) -> str:
    """Return the blocks of 8 kB that a plan of PostgreSQL has read, from its first line with buffers."""
    found = next((line for line in lines if "Buffers: " in line), "")
    numbers = [
        int(number) for number in re.findall(r"shared hit=(\d+)|read=(\d+)", found) for number in number if number
    ]
    return f"{sum(numbers):,}" if found else "–"


def shortened(text: str) -> str:
    """Return a statement without its columns, on one line."""
    line = " ".join(text.split())
    line = re.sub(r"^SELECT (.{40}).*? FROM ", r"SELECT \1… FROM ", line)
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def draw(script: str, study: str, annotator: str) -> list[str]:
    """Draw the first picture of a page; returns the messages of its errors."""
    app = AppTest.from_file(str(APP), default_timeout=TIMEOUT)
    app.session_state["annotator"] = annotator
    app.query_params["study"] = study
    if script in RENAMED:
        app.switch_page(str(APP.parent / "pages/setup/account.py")).run()  # AppTest finds them after another page only
        app.query_params["study"] = study
    app.switch_page(str(APP.parent / "pages" / f"{script}.py")).run()
    return [str(error.message) for error in app.exception]


def draw_complete(script: str, study: str, annotator: str) -> list[str]:
    """Draw a page until it has the figures that it requests in the background; returns the messages of its errors."""
    known = _jobs()
    errors = draw(script, study, annotator)
    while new := _jobs() - known:
        for job in new:
            job.result()
        known |= new
        errors += draw(script, study, annotator)
    return errors


def _jobs() -> "set[Future[None]]":
    """Return the computations of figures in the background that have been requested."""
    return {entry.job for entry in live._entries.values() if entry.job is not None}


def request_tasks(engine: Engine, study: str, annotator: str) -> None:
    """Request what the workbench of the page Disagreements requests when it is opened."""
    with connections.reading(engine) as session:
        opened = context.open_context(session, "disagreements", study, annotator)
        tasks.next_tasks(session, opened, have=(), count=30, tab="todo", first=None)
        queue_view.progress(queue_view.open_view(session, opened, again=False))


def print_statements(
    engine: Engine, page: str, statements: Sequence[Statement], over: float, repeated: int
) -> list[str]:
    """Print the remarkable statements of a page as rows of a table; returns the large tables that any of them scans."""
    scanned: set[str] = set()
    for statement in statements:
        seconds, rows = fetched(engine, statement)
        lines = plan(engine, statement)
        read, executions = scans(lines), len(statement.seconds)
        scanned.update(read)
        if 1e3 * seconds >= over or read or executions > repeated:
            text = shortened(statement.text).replace("|", "\\|")
            figures = (f"{1e3 * seconds:.0f}", blocks(lines), f"{rows:,}", executions, ", ".join(read) or "–")
            print("|", " | ".join(map(str, (page, *figures, f"`{text}`"))), "|", flush=True)
    return sorted(scanned)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", help="the URL of a database with the study")
    parser.add_argument("--study", default=large_study.STUDY)
    parser.add_argument("--annotator", default="annotator 1")
    parser.add_argument("--over", type=float, default=100.0, help="milliseconds of the statements that are printed")
    parser.add_argument("--repeated", type=int, default=5, help="executions of the statements that are printed")
    parser.add_argument("--pages", nargs="+", choices=[*SCRIPTS, TASKS], default=[*SCRIPTS, TASKS], metavar="PAGE")
    options = parser.parse_args()
    os.environ[connections.URL_VARIABLE] = options.database
    engine = connections.connect(options.database)
    seen: set[str] = set()
    totals = []
    print("| page | ms | blocks | rows | executions | scans | statement |\n|---|---|---|---|---|---|---|")
    for page in options.pages:
        start = time.perf_counter()
        with recorded(engine) as executed:
            if page == TASKS:
                request_tasks(engine, options.study, options.annotator)
            else:
                for message in draw_complete(page, options.study, options.annotator):
                    print(f"{page}: {message}", file=sys.stderr)
        seconds = time.perf_counter() - start
        times = [statement.seconds for statement in executed.copy().values()]
        new = [statement for text, statement in executed.copy().items() if text not in seen]
        seen |= executed.keys()
        print(f"{page}: {seconds:.1f} s, {len(times)} statements, {len(new)} new", file=sys.stderr)
        scanned = print_statements(engine, page, new, options.over, options.repeated)
        milliseconds = 1e3 * sum(map(sum, times))
        most = max(map(len, times), default=0)
        totals.append((page, len(times), sum(map(len, times)), most, f"{milliseconds:.0f}", ", ".join(scanned) or "–"))
    print("\n| page | statements | executions | most of one | ms until answered | scans |\n|---|---|---|---|---|---|")
    for total in totals:
        print("|", " | ".join(map(str, total)), "|")


if __name__ == "__main__":
    main()
