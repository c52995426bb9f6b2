"""ReFeR's setting `shared_with_chair`, which was called `told` before."""

import pytest

from core.errors import FileFormatError
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_settings

YAML = """
peers: [{name: a, model: m}]
chair: {name: chair, model: m, temperature: 1}
criterion: {name: engaging, scale: {level: ordinal, categories: [1, 2, 3]}}
"""


@pytest.mark.parametrize("key", ["told", "shared_with_chair"])
def test_the_old_and_the_new_key_are_accepted_in_settings_files(key: str) -> None:
    settings = parse_settings(f"{YAML}{key}: both", PROTOCOLS["refer"], [])
    assert settings == parse_settings(f"{YAML}shared_with_chair: both", PROTOCOLS["refer"], [])
    assert settings.model_dump()["shared_with_chair"] == "both" and "told" not in settings.model_dump()


def test_both_keys_at_once_are_refused() -> None:
    with pytest.raises(FileFormatError, match="told"):
        parse_settings(f"{YAML}told: both\nshared_with_chair: scores", PROTOCOLS["refer"], [])


@pytest.mark.parametrize("key", ["told", "shared_with_chair"])
def test_an_invalid_value_is_reported_under_the_key_of_the_file(key: str) -> None:
    with pytest.raises(FileFormatError, match=f"field '{key}': input should be 'scores', 'comments' or 'both'"):
        parse_settings(f"{YAML}{key}: nothing", PROTOCOLS["refer"], [])
