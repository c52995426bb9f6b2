import json

import pytest

from storage.json_columns import storable, to_json
from tests.conftest import an_item

MARK = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("value", [None, True, 1, 1.0, -0.0, 2**70, "日本 🙂\u2028", {"a": [1, {"b": None}]}, []])
def test_json_says_what_the_value_was(value):
    assert storable(value) is value
    assert repr(json.loads(to_json(value))) == repr(value)


def test_a_frozen_value_is_its_fields():
    assert json.loads(to_json(an_item())) == an_item().model_dump(mode="json")


def test_what_cannot_be_kept_is_marked_wherever_it_stands():
    assert storable({"a\x00": ["b\ud83d", {"c": "\x00"}], "d": 1}) == {f"a{MARK}": [f"b{MARK}", {"c": MARK}], "d": 1}


def test_two_halves_of_a_pair_are_one_character():
    assert storable("\ud83d\ude42 \x00") == f"🙂 {MARK}"


def test_a_backslash_before_u0000_is_only_text():
    assert storable("\\u0000") == "\\u0000"
