"""Calls a second and efficiency of each protocol: python -m tests.bench.bench_protocols

Every protocol that a sample study has a run of is driven over that study's items, repeated, with the settings of the
run, against a local server in a process of its own that takes 0.2 s a call, 64 calls at once. Replies are read as the
reading that keeps the protocol going longest, so that the work is that of real replies. Ideal time is calls x latency /
64; what a protocol must ask one after another can keep it from that, and short runs have a long tail.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord
from core.frozen import Frozen
from core.items import Item
from core.llm.client import LiteLLM
from core.llm.limits import Limits
from core.protocols.protocol import Protocol, trace_random
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, Flow
from storage.transfer import samples as sample
from tests.bench.bench_engine import server

AT_ONCE = 64
LATENCY = 0.2


def samples() -> Iterator[tuple[Protocol, Frozen, list[Item]]]:
    """One run's settings and items for each protocol."""
    seen = set()
    for file in sample.STUDIES.values():
        records = list(tiebreak.read(sample.path(file)))
        items = [record.item for record in records if isinstance(record, ItemRecord)]
        for run in (record for record in records if isinstance(record, RunRecord)):
            if run.protocol not in seen:
                seen.add(run.protocol)
                protocol = PROTOCOLS[run.protocol]
                yield protocol, protocol.settings.model_validate(run.settings), items


def served(told: Any, address: str) -> Any:
    """Settings in which every model is the server's."""
    if isinstance(told, dict):
        here = {"model": "bench", "address": address, "key_variable": None} if "model" in told else {}
        return {key: served(value, address) for key, value in told.items()} | here
    return [served(value, address) for value in told] if isinstance(told, list | tuple) else told


def readable(flow: Flow, protocol: Protocol, settings: Frozen) -> Flow:
    """The same flow, whose replies are all read as the longest course wants them."""
    turns = None
    while True:
        try:
            asks = next(flow) if turns is None else flow.send(turns)
        except StopIteration as end:
            return end.value
        turns = yield [replace(ask, read=lambda _, ask=ask: longest(protocol, settings, ask)) for ask in asks]


def longest(protocol: Protocol, settings: Frozen, ask: Ask) -> Any:
    return protocol.longest(settings, ask)


async def measured(protocol: Protocol, settings: Frozen, items: list[Item]) -> tuple[int, float]:
    """Calls and seconds."""
    model, limits, texts = LiteLLM(), Limits(parallel=AT_ONCE), protocol.prompts
    calls = 0

    async def record(event: Event) -> None:
        nonlocal calls
        calls += event.type in ("turn", "unreadable")

    start = time.perf_counter()
    flows = [
        readable(protocol.flow(item, settings, trace_random(1, item), texts), protocol, settings) for item in items
    ]
    await asyncio.gather(*(run_flow(flow, model, record, limits=limits) for flow in flows))
    took = time.perf_counter() - start
    await model.close()
    return calls, took


def main() -> None:
    parser = argparse.ArgumentParser(description="Calls a second of each protocol.")
    parser.add_argument("--items", type=int, default=100)
    count = parser.parse_args().items
    print(f"{'protocol':<24} {'items':>6} {'calls':>6} {'calls/s':>8} {'ideal / real':>13}")
    with server(LATENCY) as address:
        for protocol, chosen, found in samples():
            settings = protocol.settings.model_validate(served(chosen.model_dump(mode="json"), address))
            items = [
                found[n % len(found)].model_copy(update={"id": f"{found[n % len(found)].id} {n}"}) for n in range(count)
            ]
            asyncio.run(measured(protocol, settings, items[:1]))
            calls, took = asyncio.run(measured(protocol, settings, items))
            ideal = calls * LATENCY / AT_ONCE
            print(f"{protocol.name:<24} {count:>6} {calls:>6} {calls / took:>8.0f} {ideal / took:>13.2f}")


if __name__ == "__main__":
    main()
