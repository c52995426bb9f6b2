"""What calls cost, and what a run may cost before it starts. Money that is not known is None, never 0."""

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.items import Item
from core.labels import Value
from core.protocols.protocol import Protocol, trace_random
from core.templates import Templates
from core.trace import Ask, Spec, Turn

SAMPLE = 50
"""Items whose flow is driven for an estimate; the rest is scaled."""
LETTERS_A_TOKEN = 4
"""Roughly, for English; other languages and code take more tokens."""
TOKENS_A_WORD = 4 / 3


@dataclass(frozen=True)
class Price:
    """Dollars a token."""

    prompt: float
    completion: float


@dataclass(frozen=True)
class Estimate:
    """What a run will take. Tokens and dollars are about the longest course, where no judge ever agrees.

    A reply that has to be asked for again, and a call that a provider fails, come on top.
    """

    items: int
    calls_at_least: int
    calls_at_most: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    """None when the price of any of its models is not known."""

    def sentence(self) -> str:
        """In words."""
        calls = f"{self.calls_at_least:,} to {self.calls_at_most:,} calls"
        if self.calls_at_least == self.calls_at_most:
            calls = f"{self.calls_at_most:,} calls"
        money = "price unknown" if self.dollars is None else f"about ${self.dollars:,.2f}"
        tokens = self.prompt_tokens + self.completion_tokens
        return f"{self.items:,} items: {calls}, up to about {tokens:,} tokens, {money}"


def price(spec: Spec) -> Price | None:
    """From litellm's own table, which is as old as the installed version; nothing is fetched."""
    if spec.address is not None:
        return None
    if spec.model == "local":
        return Price(0.0, 0.0)
    known = facts(spec)
    if not known or "input_cost_per_token" not in known or "output_cost_per_token" not in known:
        return None
    return Price(float(known["input_cost_per_token"]), float(known["output_cost_per_token"]))


def facts(spec: Spec) -> Mapping[str, Any] | None:
    """What litellm's table says of a model; None where it does not know it, or an address of its own serves it."""
    if spec.address is not None:
        return None
    return _table().get(spec.model) or _table().get(spec.model.partition("/")[2])


def most(ask: Ask) -> float | None:
    """The most dollars that one ask may cost: its prompt, and a reply of as many tokens as are allowed."""
    known = price(ask.spec)
    if known is None:
        return None
    return known.prompt * tokens(ask.prompt) + known.completion * ask.spec.max_tokens * ask.samples


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return -(-len(text) // LETTERS_A_TOKEN)


def estimate(
    protocol: Protocol,
    items: Sequence[Item],
    settings: Any,
    *,
    texts: Templates | None = None,
    seed: int = 0,
    count: int | None = None,
) -> Estimate:
    """Drive the real flow on up to `SAMPLE` of the items with made-up replies, and scale to `count` (default: all).

    Raises the Problem that the run itself would meet: an item it cannot judge, a template with a wrong blank.
    """
    count = len(items) if count is None else count
    sampled = _spread(items)
    texts = protocol.prompts if texts is None else texts
    reply = "words " * protocol.reply_words(settings)

    def asks(reading: Callable[[Any, Ask], Value]) -> list[Ask]:
        return [
            ask
            for item in sampled
            for ask in _asks(protocol, item, settings, texts, seed, lambda ask: reading(settings, ask), reply)
        ]

    def scaled(number: float) -> int:
        return round(number * count / len(sampled)) if sampled else 0

    longest = asks(protocol.longest)
    written = min(protocol.reply_words(settings) * TOKENS_A_WORD, 1e9)
    spent = [_dollars(ask, written) for ask in longest]
    known = [dollars for dollars in spent if dollars is not None]
    return Estimate(
        items=count,
        calls_at_least=scaled(len(asks(protocol.shortest))),
        calls_at_most=scaled(len(longest)),
        prompt_tokens=scaled(sum(tokens(ask.prompt) for ask in longest)),
        completion_tokens=scaled(sum(min(written, ask.spec.max_tokens) for ask in longest)),
        dollars=sum(known) * count / max(len(sampled), 1) if len(known) == len(spent) else None,
    )


def _spread(items: Sequence[Item]) -> list[Item]:
    """At most SAMPLE items, evenly from first to last."""
    step = max(1, -(-len(items) // SAMPLE))
    return list(items[::step])


def _asks(
    protocol: Protocol,
    item: Item,
    settings: Any,
    texts: Templates,
    seed: int,
    reading: Callable[[Ask], Value],
    reply: str,
) -> list[Ask]:
    """Every ask of one trace whose replies are made up."""
    flow = protocol.flow(item, settings, trace_random(seed, item), texts)
    asked: list[Ask] = []
    try:
        asks = next(flow)
        while True:
            asked += asks
            asks = flow.send([_made_up(ask, reading(ask), reply) for ask in asks])
    except StopIteration:
        return asked


def _made_up(ask: Ask, reading: Value, reply: str) -> Turn:
    return Turn(
        speaker=ask.speaker,
        step=ask.step,
        round=ask.round,
        model=ask.spec.model,
        reply=reply,
        reading=reading,
        shown=ask.shown,
    )


def _dollars(ask: Ask, written: float) -> float | None:
    known = price(ask.spec)
    if known is None:
        return None
    return known.prompt * tokens(ask.prompt) + known.completion * min(written, ask.spec.max_tokens)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[str, Any]]:
    """litellm's price list, read from its package without importing it (that takes seconds)."""
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    file = Path(package.origin).parent / "model_prices_and_context_window_backup.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
