"""Files of charts have the colours of the light theme."""

import pytest

from pages.parts import charts, colours
from pages.results.renderer import Cell, Matrix, matrix_figure


def drawn(theme: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setattr(charts, "theme", lambda: theme)
    accent = {"light": colours.ACCENT, "dark": colours.DARK_ACCENT}[theme]
    monkeypatch.setattr(charts, "accent_colour", lambda: accent)
    cells = [Cell(row, "a", value, "", ()) for row, value in (("b", 0.1), ("c", 0.95))]
    return charts.in_light_colours(matrix_figure(Matrix("pairs", theme, "abc", "ab", cells)).to_dict())


def test_files_of_a_chart_are_the_same_in_both_themes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    light, dark = drawn("light", monkeypatch), drawn("dark", monkeypatch)
    assert str(dark["data"]) == str(light["data"])
    assert colours.PALE["light"] in str(light["data"])
