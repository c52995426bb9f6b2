"""Names in text fields of the import are separated by commas."""

import pytest

from pages.setup.parts.scale_form import join_commas, split_commas


@pytest.mark.parametrize("names", [["Zoë", 'O\'Brien, "Ben"', "annotator 3"], ['"Q"'], ["a", "b c"], []])
def test_names_with_commas_and_quotation_marks_are_read_back(names: list[str]) -> None:
    assert split_commas(join_commas(names)) == names


def test_blanks_and_empty_parts_are_left_out() -> None:
    assert split_commas(" Ada ,, Ben,") == ["Ada", "Ben"]
