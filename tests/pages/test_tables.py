"""Rows of tables open in the same way on all pages."""

import re
from types import SimpleNamespace

import pytest

from pages.parts import tables
from tests.paths import ROOT

FOR_SEVERAL = {"pages/setup/parts/study_form.py"}
"""Their buttons act on several rows, which are selected with check boxes."""


def test_every_table_with_rows_to_open_is_a_clickable_table() -> None:
    own = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pages").rglob("*.py")
        if re.search(r'selection_mode="(single|multi)-(row|cell)"', path.read_text())
    }
    assert own == FOR_SEVERAL | {"pages/parts/tables.py"}


def test_a_click_calls_the_function_with_the_row_and_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, state, clicks = {}, {}, []

    def dataframe(lines, key, **options) -> SimpleNamespace:
        drawn.update(options)
        return state[key]

    monkeypatch.setattr(tables.st, "dataframe", dataframe)
    monkeypatch.setattr(tables.st, "session_state", state)
    lines = [{"Item": "a"}, {"Item": "b"}]
    state["table"] = SimpleNamespace(selection=SimpleNamespace(cells=[(1, "Item")]))
    assert tables.draw_clickable(lines, "table", lambda *click: clicks.append(click)) == 1
    drawn["on_select"]()
    assert clicks == [(1, "Item")]
    assert tables.draw_clickable(lines[:1], "table") is None and drawn["on_select"] == "rerun"
    state["table"].selection.cells = []
    assert tables.draw_clickable(lines, "table") is None


def test_a_pair_is_named_by_the_places_of_its_names() -> None:
    assert tables.pair_numbers(("c", "a"), ["a", "b", "c"]) == "3 × 1"
