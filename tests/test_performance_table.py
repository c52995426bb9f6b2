"""`make bench` replaces the table in docs/performance.md, and nothing else of the page."""

import shutil
import sys

from tests.bench import performance_table
from tests.bench.performance_table import BEGIN, END, PAGE, Bench, Figure, Usage


def test_remarks_are_outside_the_code_of_a_name(monkeypatch, tmp_path):
    used = Usage(1.0, 1.0, 1.0)
    monkeypatch.setattr(performance_table, "measure_process", lambda command: used)
    names = [figure.name for figure in performance_table.measure_start(Bench(tmp_path, short=True))]
    assert names[::2] == ["`cli.py --help`, wall", "`cli.py people agreement`, 32 items, wall"]


def test_the_table_of_the_page_is_replaced(monkeypatch, tmp_path):
    page = tmp_path / "performance.md"
    shutil.copy(PAGE, page)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    assert before and old and after

    def measure_nothing(bench):
        yield Figure("the figure of this test", 1.0, "s", "its anchor", 2.0)

    monkeypatch.setattr(performance_table, "PAGE", page)
    monkeypatch.setattr(performance_table, "MEASUREMENTS", (measure_nothing,))
    monkeypatch.setattr(sys, "argv", ["performance_table", "--write"])
    performance_table.main()

    written = page.read_text(encoding="utf-8")
    assert written.startswith(before + BEGIN) and written.endswith(END + after)
    table = written.removeprefix(before + BEGIN).removesuffix(END + after)
    assert "| the figure of this test | 1.00 s | its anchor: 2.00 s | 0.50 |" in table
    assert "cli.py" not in table
