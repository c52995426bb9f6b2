"""Full names in charts and tables: no name is clipped, and rows are as high as their names."""

from pages.parts import tables
from pages.parts.axes import GAP, LINE_HEIGHT, MAX_FULL, ROW_HEIGHT, place_rows, wrap_name

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


def test_a_pair_is_named_by_the_places_of_its_names() -> None:
    assert tables.pair_numbers(("c", "a"), ["a", "b", "c"]) == "3 × 1"
