"""Keys come from the environment, go where they are meant to, and are never told."""

import pytest

from core.llm.client import available
from core.llm.errors import scrubbed
from core.problems import Permanent
from tests.core.llm.asking import an_ask, answered
from tests.openai_server import serving

AMBIENT = "ambient-secret-000111"
OWN = "own-secret-222333"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", AMBIENT)
    monkeypatch.setenv("LAB_API_KEY", OWN)


def test_an_address_never_gets_the_ambient_key() -> None:
    with serving() as server:
        answered(an_ask(server.address))
    assert [line["key"] for line in server.log] == ["none"]


def test_an_address_gets_the_key_that_is_named_for_it() -> None:
    with serving() as server:
        answered(an_ask(server.address, key_variable="LAB_API_KEY"))
    assert [line["key"] for line in server.log] == [OWN]


def test_a_key_that_is_missing_is_said_before_anything_is_asked() -> None:
    with serving() as server:
        told = answered(an_ask(server.address, key_variable="MY_API_KEY"))
    assert isinstance(told, Permanent) and not server.log
    assert str(told) == "The key of judge-1 should be in the environment variable MY_API_KEY, which is not set."


def test_a_key_variable_has_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET", "not for this")
    with serving() as server:
        told = answered(an_ask(server.address, key_variable="AWS_SECRET"))
    assert isinstance(told, Permanent) and not server.log
    assert 'the name has to end in "_API_KEY"' in str(told)


def test_a_model_at_an_address_keeps_its_whole_name() -> None:
    with serving() as server:
        answered(an_ask(server.address, model="openai/gpt-oss-20b"))
    assert [line["model"] for line in server.log] == ["openai/gpt-oss-20b"]


def test_no_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUB_TOKEN", "token-value-444")
    text = scrubbed(f"{AMBIENT} {OWN} token-value-444 sk-proj-abcdefghijklmnop Bearer abc.def AIzaSyA1234567890abcdef")
    assert text == "[key] [key] [key] [key] Bearer [key] [key]"


def test_plain_words_are_not_taken_for_keys() -> None:
    text = "skill task-oriented asked for sk-ills; risk-averse"
    assert scrubbed(text) == text


def test_models_are_offered_where_their_key_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    offered = {offer.model: offer.note for offer in available()}
    assert all(name == "local" or name.startswith("claude-") for name in offered)
    assert offered["claude-haiku-5-5"] == "key from ANTHROPIC_API_KEY"


def test_the_local_model_is_offered_with_the_words_that_it_is_weak() -> None:
    pytest.importorskip("xllamacpp")
    assert "a weak judge" in available()[0].note and available()[0].model == "local"


def test_every_model_that_is_offered_has_a_known_price(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.llm.client import _OFFERED
    from core.llm.costs import price
    from core.trace import Spec

    for variable in _OFFERED:
        monkeypatch.setenv(variable, "x")
    assert [offer.model for offer in available() if price(Spec(model=offer.model)) is None] == []
