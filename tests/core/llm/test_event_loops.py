"""Each run has its own event loop, and may end while another continues."""

import asyncio
import threading
import time

from core.llm.client import LiteLLM, Reply
from tests.core.llm.asking import complete_ask, make_ask
from tests.openai_server import run_server


def test_closing_the_connections_of_one_run_does_not_affect_another() -> None:
    with run_server(latency=0.5) as server:
        replies: list[object] = []
        thread = threading.Thread(target=lambda: replies.append(complete_ask(make_ask(server.address, "slow"))))
        thread.start()
        while not server.open:
            time.sleep(0.01)
        asyncio.run(LiteLLM().close())
        thread.join()
    assert isinstance(replies[0], Reply)


def test_a_later_event_loop_can_make_calls() -> None:
    with run_server() as server:
        assert all(isinstance(complete_ask(make_ask(server.address)), Reply) for _ in range(3))


def test_calls_run_concurrently() -> None:
    async def run(address: str) -> list[Reply]:
        model = LiteLLM()
        try:
            return await asyncio.gather(*(model.complete(make_ask(address, f"item {n}")) for n in range(64)))
        finally:
            await model.close()

    with run_server(latency=0.2) as server:
        asyncio.run(run(server.address))
        assert server.most_open == 64
