"""Field paths reach into nested data, and keys may hold dots, spaces and quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats.mapping.fields import MISSING, blanks, find, quoted, steps


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
def test_a_path_finds_its_value(path: str, value: object) -> None:
    row = {"a": {"b c": [{"d.e": 1}], "": 2}, "x.y": "the whole path is a key", "x": {"y": 3}, "none": None}
    assert find(row, path) == value


@pytest.mark.parametrize("path", ["b", "a.1", "a.x", "a.0.c.d", "text.0"])
def test_what_is_not_there_is_missing_and_not_none(path: str) -> None:
    assert find({"a": [{"c": 1}], "text": "abc"}, path) is MISSING


@pytest.mark.parametrize("path", ["", "a.", ".a", "a..b", '"a', 'a"b', '"a"b'])
def test_what_is_not_a_path_is_said(path: str) -> None:
    with pytest.raises(ValueError, match="is not a field path"):
        steps(path)


@given(keys=st.lists(st.text(), min_size=1, max_size=4))
def test_any_key_can_be_quoted(keys: list[str]) -> None:
    assert steps(".".join(map(quoted, keys))) == tuple(keys)


def test_the_blanks_of_a_template_are_its_fields() -> None:
    assert blanks('{row}-{element}/{meta.id}{"a.b"}') == ["meta.id", '"a.b"']
