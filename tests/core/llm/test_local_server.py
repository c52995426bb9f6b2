"""The real local model: that it answers, not that it judges well."""

import importlib.util
from dataclasses import replace

import pytest

from core.answers.lists import Claims
from core.errors import PermanentFailure
from core.llm import local_server
from core.llm.client import Reply
from tests.core.llm.asking import complete_ask, make_ask


@pytest.mark.slow
@pytest.mark.skipif(not local_server.is_installed(), reason="the local model's packages are not installed")
def test_a_reply_of_the_local_model_has_the_form_of_a_limited_answer_and_costs_nothing() -> None:
    answer = Claims()
    ask = make_ask(None, model="local", max_tokens=900, timeout=120)
    ask = replace(ask, answer=answer, prompt="List the claims of: The sea is salty, deep and blue.", format="json")
    reply = complete_ask(ask)
    assert isinstance(reply, Reply) and reply.finish == "stop" and reply.notes == ()
    found = answer.parse(reply.text)
    assert found.rule == "json" and 1 <= len(found.value) <= local_server.MAX_LISTED
    assert reply.usage.dollars == 0 and reply.usage.completion_tokens
    assert local_server.start_server() == local_server.start_server()


def test_lists_and_reasoning_of_a_schema_are_limited_and_the_rest_is_unchanged() -> None:
    schema = Claims().schema()
    limited = local_server.limit_lengths(schema)
    assert limited["properties"]["claims"]["maxItems"] == local_server.MAX_LISTED
    assert limited["properties"]["claims"]["items"]["maxLength"] == 160
    assert limited["properties"]["reasoning"]["maxLength"] == 400
    assert limited["required"] == schema["required"] and "maxItems" not in schema["properties"]["claims"]


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(local_server, "_running", [])
    assert not local_server.is_installed()
    with pytest.raises(PermanentFailure, match="The local model is not installed"):
        local_server.start_server()
