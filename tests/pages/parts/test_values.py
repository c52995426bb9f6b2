"""Formats of values."""

import pytest

from core.labels import Value
from pages.parts.numbers import aspect_letter, format_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (2, "2"),
        (2.0, "2"),
        (2.375, "2.38"),
        ("B", "B"),
        (True, "True"),
        ({"1": 8.0, "2": 6.5}, "8 : 6.50"),
        ({"clarity": 4.0}, "clarity 4"),
    ],
)
def test_every_type_of_value_has_a_format(value: Value | None, text: str) -> None:
    assert format_value(value) == text


def test_aspects_are_lettered_from_a() -> None:
    assert [aspect_letter(index) for index in range(3)] == ["A", "B", "C"]
