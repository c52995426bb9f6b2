"""Columns are as wide as their longest text, and names leave room for figures."""

from pages.parts import tables

FEW = [{"Judge": "a long name of a judge " * 4, "n": 3, "Kappa": "1.00"}] * 30
ONE = {"Judge": "b", "n": 1204, "Kappa": "-0.63 [-0.81, -0.50]"}


def test_a_single_long_figure_determines_the_width_of_its_column() -> None:
    figures = tables.fit_figures([*FEW, ONE], {"Judge"}, {"n": {"help": "count"}})
    pixels_of_longest = 134  # in the widest font, DejaVu Sans of 14 pixels
    assert figures["Kappa"]["width"] >= pixels_of_longest + 16 > tables.text_width(["Kappa", "1.00"])
    assert figures["n"]["help"] == "count" and set(figures) == {"n", "Kappa"}


def test_names_have_the_room_that_figures_leave() -> None:
    lines = [
        {"Judge": "x" * 90, "Scenario": "y" * 90} | {f"figure {number}": "0.50 [0.40, 0.60]" for number in range(5)}
    ]
    figures = tables.fit_figures(lines, {"Judge", "Scenario"})
    widths = tables.fit_names(lines, {"Judge": 270, "Scenario": 160}, figures)
    used = sum(column["width"] for column in figures.values())
    assert used + sum(widths.values()) <= tables.TABLE_WIDTH and widths["Judge"] > widths["Scenario"]
    assert tables.fit_names(lines, {"Judge": 100}, {}) == {"Judge": 100}
    assert tables.fit_names([{"Judge": "j1"}], {"Judge": 270}, figures)["Judge"] < 96
