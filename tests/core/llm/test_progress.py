"""Replies that somebody watches come as a stream, and are the same as without one."""

import asyncio

import pytest

from core.errors import TemporaryFailure
from core.llm.client import Reply
from core.llm.openai_compatible import OpenAICompatible
from core.llm.progress import Progress, current
from core.trace import Ask, Spec
from tests import openai_server


def ask_of(address: str, model: str = "judge-1") -> Ask:
    return Ask("ann", "opinion", 0, Spec(model=model, address=address), "Which one is better?")


async def complete(ask: Ask, *, is_watched: bool, seen: list[str] | None = None) -> Reply:
    """Make a call as a worker does; `seen` gets the texts that a page could have shown."""
    progress = Progress(is_watched=is_watched)
    current.set(progress)
    client = OpenAICompatible()
    try:
        with progress.open(ask):
            call = asyncio.create_task(client.complete(ask))
            while not call.done():
                await asyncio.wait([call], timeout=0.02)
                if seen is not None:
                    seen += [one.text for one in progress.calls.values() if one.text]
            return call.result()
    finally:
        await client.close()


def test_a_watched_reply_comes_in_pieces_and_is_the_same_reply() -> None:
    with openai_server.run_server() as server:
        ask, seen = ask_of(server.address), list[str]()
        whole = asyncio.run(complete(ask, is_watched=False))
        streamed = asyncio.run(complete(ask, is_watched=True, seen=seen))
        assert [body["stream"] for body in server.bodies] == [False, True]
    assert (streamed.text, streamed.finish, streamed.usage.completion_tokens) == (
        whole.text, whole.finish, whole.usage.completion_tokens,
    )  # fmt: skip
    assert len(set(seen)) > 3 and all(streamed.text.startswith(text) for text in seen)


def test_a_stream_that_ends_before_its_reply_is_repeated_by_the_runner() -> None:
    with openai_server.run_server() as server:
        server.stream_end = False
        with pytest.raises(TemporaryFailure, match="ended before the reply"):
            asyncio.run(complete(ask_of(server.address), is_watched=True))


def test_a_server_that_refuses_a_stream_is_asked_without_one() -> None:
    with openai_server.run_server() as server:
        server.faults = [{"fault": "400"}]
        assert asyncio.run(complete(ask_of(server.address), is_watched=True)).text
        assert [body["stream"] for body in server.bodies] == [True, False]


def test_keys_are_not_shown_while_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", "weighed against every")
    with openai_server.run_server() as server:
        seen: list[str] = []
        asyncio.run(complete(ask_of(server.address), is_watched=True, seen=seen))
    assert seen and not [text for text in seen if "weighed against" in text]
