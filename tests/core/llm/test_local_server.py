"""The model that needs no key, for real: it proves the plumbing, not the judging."""

import importlib.util
from dataclasses import replace

import pytest

from core.llm import local_server
from core.llm.client import Reply
from core.problems import Permanent
from core.protocols.readings import choice
from core.trace import Spec
from tests.core.llm.asking import an_ask, answered
from tests.core.protocols.debates import play, settings


@pytest.mark.skipif(not local_server.installed(), reason="the local model's packages are not installed")
def test_the_local_model_answers_for_nothing() -> None:
    told = answered(an_ask(None, model="local", prompt="Say hello.", max_tokens=8, timeout=60))
    assert isinstance(told, Reply) and told.text
    assert told.usage.dollars == 0 and told.usage.completion_tokens
    assert local_server.address() == local_server.address()


@pytest.mark.skipif(not local_server.installed(), reason="the local model's packages are not installed")
def test_the_local_model_is_held_to_the_form_of_an_answer() -> None:
    debate = play(lambda ask: "1", settings("ab"))
    spec = Spec(model="local", max_tokens=200, timeout=60)
    told = answered(replace(debate.asked[0], spec=spec))
    assert isinstance(told, Reply) and told.finish == "stop"
    assert choice(told.text) in (0, 1, 2)


def test_a_missing_package_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(local_server, "_running", [])
    assert not local_server.installed()
    with pytest.raises(Permanent, match="The local model is not installed"):
        local_server.address()
