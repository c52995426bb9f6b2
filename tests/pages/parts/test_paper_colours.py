"""Files of charts have the colours of the light theme."""

import pytest

from pages.parts import charts, colours, heat_map
from tests.pages.results.test_agreement import a_row


def drawn(theme: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setattr(charts, "theme", lambda: theme)
    accent = {"light": colours.ACCENT, "dark": colours.DARK_ACCENT}[theme]
    monkeypatch.setattr(charts, "accent_colour", lambda: accent)
    pairs = {("a", "b"): a_row(0.1), ("a", "c"): a_row(0.5), ("b", "c"): a_row(0.95)}
    return colours.apply_light(heat_map.heatmap_figure(pairs, {}, title=theme)).to_dict()


def test_files_of_a_chart_are_the_same_in_both_themes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    light, dark = drawn("light", monkeypatch), drawn("dark", monkeypatch)
    assert str(dark["data"]) == str(light["data"])
    assert colours.PALE["light"] in str(light["data"])
