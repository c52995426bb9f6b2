import json

import pytest

from storage.db.columns import sanitize, to_json, to_storable_json
from tests.conftest import make_item

MARK = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("value", [None, True, 1, 1.0, -0.0, 2**70, "日本 🙂\u2028", {"a": [1, {"b": None}]}, []])
def test_json_keeps_types_and_values(value):
    assert sanitize(value) is value
    assert repr(json.loads(to_json(value))) == repr(value)


def test_a_model_is_serialised_as_its_fields():
    assert json.loads(to_json(make_item())) == make_item().model_dump(mode="json")


def test_unstorable_text_is_replaced_at_every_depth():
    assert sanitize({"a\x00": ["b\ud83d", {"c": "\x00"}], "d": 1}) == {f"a{MARK}": [f"b{MARK}", {"c": MARK}], "d": 1}


def test_a_whole_surrogate_pair_becomes_one_character():
    assert sanitize("\ud83d\ude42 \x00") == f"🙂 {MARK}"


def test_an_escaped_backslash_is_not_a_nul():
    assert sanitize("\\u0000") == "\\u0000"


@pytest.mark.parametrize("text", ["日本 🙂", "a\x00", "b\ud83d", "\\u0000"])
def test_storable_json_is_that_of_the_sanitized_value(text):
    value = {"a": [text, {text: 0.5}], "b": None}
    assert to_storable_json(value) == to_json(sanitize(value))
