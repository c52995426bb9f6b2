"""Field paths refer to nested data, and keys may contain dots, spaces and quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats.mapping.fields import MISSING, get_value, parse_path, quote_key, template_fields


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a", {"b c": [{"d.e": 1}], "": 2}),
        ('a.b c.0."d.e"', 1),
        ('a.""', 2),
        ("x.y", "the whole path is a key"),
        ("none", None),
    ],
)
def test_a_path_refers_to_its_value(path: str, value: object) -> None:
    row = {"a": {"b c": [{"d.e": 1}], "": 2}, "x.y": "the whole path is a key", "x": {"y": 3}, "none": None}
    assert get_value(row, path) == value


@pytest.mark.parametrize("path", ["b", "a.1", "a.x", "a.0.c.d", "text.0"])
def test_an_absent_field_is_missing_and_not_none(path: str) -> None:
    assert get_value({"a": [{"c": 1}], "text": "abc"}, path) is MISSING


@pytest.mark.parametrize("path", ["", "a.", ".a", "a..b", '"a', 'a"b', '"a"b'])
def test_an_invalid_path_raises_value_error(path: str) -> None:
    with pytest.raises(ValueError, match="is not a field path"):
        parse_path(path)


@given(keys=st.lists(st.text(), min_size=1, max_size=4))
def test_any_key_can_be_quoted(keys: list[str]) -> None:
    assert parse_path(".".join(map(quote_key, keys))) == tuple(keys)


def test_the_fields_of_a_template_exclude_the_counters() -> None:
    assert template_fields('{row}-{element}/{meta.id}{"a.b"}') == ["meta.id", '"a.b"']
