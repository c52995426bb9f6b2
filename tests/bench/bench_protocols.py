"""Calls per second and efficiency of each protocol: python -m tests.bench.bench_protocols

Every protocol that has a run in a sample study is run over that study's items, repeated, with the settings of the run,
against a local server in another process that takes 0.2 s a call, with 64 calls in parallel. Replies are read as those
with which a trace takes the most calls, so the work is that of real replies. The ideal time is calls x latency /
64; asks that depend on each other and the end of a short run reduce the efficiency.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

from core.answers import Passage, Reading
from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord
from core.frozen import Frozen
from core.items import Item
from core.llm.limits import Limits
from core.llm.router import Router
from core.protocols import Protocol, trace_rng
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, Flow
from storage.transfer import samples
from tests.bench.bench_runner import server

PARALLEL_CALLS = 64
LATENCY = 0.2


def load_examples() -> Iterator[tuple[Protocol, Frozen, list[Item]]]:
    """Yield the settings of one run, and the items of its study, for each protocol."""
    seen = set()
    for protocol_name in samples.studies().values():
        records = list(tiebreak.read(samples.path(protocol_name)))
        items = [record.item for record in records if isinstance(record, ItemRecord)]
        for run in (record for record in records if isinstance(record, RunRecord)):
            if run.protocol not in seen:
                seen.add(run.protocol)
                protocol = PROTOCOLS[run.protocol]
                yield protocol, protocol.settings.model_validate(run.settings), items


def use_server(fields: Any, address: str) -> Any:
    """Return dumped settings in which every model is the server's."""
    if isinstance(fields, dict):
        model = {"model": "bench", "address": address, "key_variable": None} if "model" in fields else {}
        return {key: use_server(value, address) for key, value in fields.items()} | model
    return [use_server(value, address) for value in fields] if isinstance(fields, list | tuple) else fields


@dataclass(frozen=True, kw_only=True)
class Fixed(Passage):
    """Reads the same value in every reply."""

    stated: Any

    def parse(self, reply: str) -> Reading[Any]:
        return Reading(self.stated, "fixed", (0, len(reply)))


def with_most_calls(flow: Flow) -> Flow:
    """Wrap a flow so that every reply is read, and the judges of a round differ: a debate does not end early."""
    turns = None
    while True:
        try:
            asks = next(flow) if turns is None else flow.send(turns)
        except StopIteration as end:
            return end.value
        turns = yield [_read_as_fixed(ask, number) for number, ask in enumerate(asks)]


def _read_as_fixed(ask: Ask, number: int) -> Ask:
    if ask.answer is None:
        return ask
    return replace(ask, answer=Fixed(stated=ask.answer.longest() if number % 2 else ask.answer.shortest()))


async def measure_run(protocol: Protocol, settings: Frozen, items: list[Item]) -> tuple[int, float]:
    """Return the number of calls and the seconds."""
    model, limits, templates = Router(), Limits(parallel=PARALLEL_CALLS), protocol.prompts
    calls = 0

    async def record(event: Event) -> None:
        nonlocal calls
        calls += event.type in ("turn", "unreadable")

    start = time.perf_counter()
    flows = [with_most_calls(protocol.flow(item, settings, trace_rng(1, item), templates)) for item in items]
    await asyncio.gather(*(run_flow(flow, model, record, limits=limits) for flow in flows))
    seconds = time.perf_counter() - start
    await model.close()
    return calls, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Calls per second of each protocol.")
    parser.add_argument("--items", type=int, default=100)
    count = parser.parse_args().items
    print(f"{'protocol':<24} {'items':>6} {'calls':>6} {'calls/s':>8} {'ideal / real':>13}")
    with server(LATENCY) as address:
        for protocol, example, sample_items in load_examples():
            settings = protocol.settings.model_validate(use_server(example.model_dump(mode="json"), address))
            repeated = islice(cycle(sample_items), count)
            items = [item.model_copy(update={"id": f"{item.id} {n}"}) for n, item in enumerate(repeated)]
            asyncio.run(measure_run(protocol, settings, items[:1]))
            calls, seconds = asyncio.run(measure_run(protocol, settings, items))
            ideal = calls * LATENCY / PARALLEL_CALLS
            print(f"{protocol.name:<24} {count:>6} {calls:>6} {calls / seconds:>8.0f} {ideal / seconds:>13.2f}")


if __name__ == "__main__":
    main()
