"""Runs live in event loops of their own, and may end while another goes on."""

import asyncio
import threading
import time

from core.llm.client import LiteLLM, Reply
from tests.core.llm.asking import an_ask, answered
from tests.openai_server import serving


def test_closing_one_runs_connections_leaves_another_runs_alone() -> None:
    with serving(latency=0.5) as server:
        replies: list[object] = []
        asking = threading.Thread(target=lambda: replies.append(answered(an_ask(server.address, "slow"))))
        asking.start()
        while not server.open:
            time.sleep(0.01)
        asyncio.run(LiteLLM().close())
        asking.join()
    assert isinstance(replies[0], Reply)


def test_a_later_loop_asks_as_the_first_did() -> None:
    with serving() as server:
        assert all(isinstance(answered(an_ask(server.address)), Reply) for _ in range(3))


def test_many_are_asked_at_once() -> None:
    async def run(address: str) -> list[Reply]:
        model = LiteLLM()
        try:
            return await asyncio.gather(*(model.ask(an_ask(address, f"item {n}")) for n in range(64)))
        finally:
            await model.close()

    with serving(latency=0.2) as server:
        asyncio.run(run(server.address))
        assert server.most_open == 64
