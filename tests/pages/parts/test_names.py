"""Full names in charts and tables: no name is clipped, and rows are as high as their names."""

from pages.parts import tables
from pages.parts.axes import GAP, LINE_HEIGHT, MAX_FULL, ROW_HEIGHT, place_rows, wrap_name
from pages.parts.text import escape_markdown

LONG = "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo, both orders, chain of thought, majority of five samples"


def test_a_wrapped_name_is_complete() -> None:
    assert wrap_name(LONG).replace("<br>", "").replace(" ", "") == LONG.replace(" ", "")
    assert wrap_name("<b>") == "&lt;b&gt;" and wrap_name("") == "–"


def test_a_name_is_broken_at_blanks_and_hyphens() -> None:
    assert wrap_name("evaluator 02 · claude-3-instruct-2026-preview, strict", 18).split("<br>") == [
        "evaluator 02 ·", "claude-3-instruct-", "2026-preview,", "strict",
    ]  # fmt: skip
    assert wrap_name("gpt-4o - cold", 7).split("<br>") == ["gpt-4o", "- cold"]


def test_rows_of_long_names_are_higher_and_do_not_overlap() -> None:
    rows = place_rows(["short", LONG, "other"])
    assert rows.positions["short"] > rows.positions[LONG] > rows.positions["other"] == 0.5
    lines = wrap_name(LONG).count("<br>") + 1
    assert rows.height == 2 * ROW_HEIGHT + LINE_HEIGHT * lines + GAP


def test_many_long_names_are_shortened_and_stay_different() -> None:
    names = [f"{LONG}, seed {number}" for number in range(MAX_FULL + 1)]
    rows = place_rows(names)
    assert len(set(rows.labels.values())) == len(names)
    assert rows.height < 1.8 * ROW_HEIGHT * len(names) < place_rows(names[:MAX_FULL]).height
    assert place_rows(names[:MAX_FULL]).labels[names[0]] == wrap_name(names[0])


def test_names_in_a_table_have_one_line_and_stay_different() -> None:
    lines = [{"Judge": LONG + end, "Other": other, "n": 3} for end, other in ((" A", LONG), (" B", "gpt"))]
    table = tables.shorten(lines, {"Judge": 260, "Other": 260})
    first, second = (str(line["Judge"]) for line in table.lines)
    assert first != second and len(first) * tables.CHARACTER < 260 and first.endswith("A")
    assert {line["n"] for line in table.lines} == {3} and lines[0]["Judge"] == LONG + " A"
    assert table.full_names == {first: LONG + " A", second: LONG + " B", table.lines[0]["Other"]: LONG}
    assert table.columns["Judge"]["width"] <= 260
    ends = [f"gpt-4o-2024, {heat}, {'rubric ' * 9}{end}" for heat in ("cold", "warm") for end in "AB"]
    dots = tables.shorten([{"Judge": name} for name in ends], {"Judge": 190})
    # Pixels of a letter and of an ellipsis in the widest font.
    assert all(7.6 * len(line["Judge"]) + 6 * line["Judge"].count("…") <= 172 for line in dots.lines)
    short = tables.shorten([{"Judge": "gpt-4o-mini"}], {"Judge": 260})
    assert short.columns["Judge"]["width"] < 120 and not short.full_names


def test_a_heading_is_shortened_and_has_the_name_as_its_help() -> None:
    headings = tables.headings([LONG, "gpt-4o"])
    assert headings[LONG]["help"] == escape_markdown(LONG) and len(headings[LONG]["label"]) < 24
    assert headings["gpt-4o"]["help"] is None and headings["gpt-4o"]["label"] == "gpt-4o"


def test_a_pair_is_named_by_the_places_of_its_names() -> None:
    assert tables.pair_numbers(("c", "a"), ["a", "b", "c"]) == "3 × 1"
