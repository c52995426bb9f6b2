"""Full names in charts and tables: no name is clipped, and rows are as high as their names."""

from pages.parts import name_columns
from pages.parts.name_rows import GAP, LINE_HEIGHT, ROW_HEIGHT, place_rows, wrap_name

LONG = "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo, both orders, chain of thought, majority of five samples"


def test_a_wrapped_name_is_complete() -> None:
    assert wrap_name(LONG).replace("<br>", "").replace(" ", "") == LONG.replace(" ", "")
    assert wrap_name("<b>") == "&lt;b&gt;" and wrap_name("") == "–"


def test_rows_of_long_names_are_higher_and_do_not_overlap() -> None:
    rows = place_rows(["short", LONG, "other"])
    assert rows.positions["short"] > rows.positions[LONG] > rows.positions["other"] == 0.5
    lines = wrap_name(LONG).count("<br>") + 1
    assert rows.height == 2 * ROW_HEIGHT + LINE_HEIGHT * lines + GAP


def test_a_column_has_the_width_of_its_longest_name_and_rows_of_several_lines() -> None:
    height, columns = name_columns.fit([{"Judge": "a"}, {"Judge": LONG}], {"Judge": 260})
    assert columns["Judge"]["width"] == 260 and height is not None and height > 2 * name_columns.LINE
    long_word, _ = name_columns.fit([{"Judge": "1 " + "x" * 40}], {"Judge": 260})
    assert long_word == name_columns.ONE_LINE + 2 * name_columns.LINE
    two_lines, _ = name_columns.fit([{"Judge": "x" * 20 + " " + "y" * 20}], {"Judge": 200})
    assert two_lines is not None and two_lines > 4 * 16  # Streamlit wraps texts in rows above 4 rem only
    height, columns = name_columns.fit([{"Judge": "gpt-4o-mini"}], {"Judge": 260})
    assert height is None and columns["Judge"]["width"] < 120
