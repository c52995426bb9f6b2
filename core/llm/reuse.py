"""The identity of a call: what is sent, and which independent draw of it is wanted.

Two calls with the same content and the same draw have the same key, in any trace and in any run, so the reply of one
can be reused for the other. Left out is what does not reach the model: names of judges, prices, time-outs and keys.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

from core.llm.wire import messages, optional_parameters
from core.trace import Ask, Usage

NO_CALL = Usage(prompt_tokens=0, completion_tokens=0, seconds=0.0, dollars=0.0)

# The settings of a model that are sent, with `extra`.
SENT = ("model", "address", "temperature", "max_tokens", "top_p", "seed", "reasoning_effort", "system")


def content_digest(ask: Ask) -> str:
    """Return the SHA-256 of what is sent for an ask: model, address, parameters, JSON schema, messages and images."""
    spec = ask.spec
    content = [spec.model, spec.address, optional_parameters(ask), spec.extra, messages(ask)]
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def call_keys(ask: Ask, repeat: int) -> list[str]:
    """Return the key of each reply that an ask requests.

    `repeat` is the number of the run's repetition; the ask has its draws and its attempt.
    """
    content = content_digest(ask)
    return [
        hashlib.sha256(f"{content} {repeat} {draw} {ask.attempt}".encode()).hexdigest()
        for draw in (ask.draws if ask.samples > 1 else ask.draws[:1])
    ]


class DrawCounter:
    """Numbers the asks of one trace that have the same content: each is another sample of the same reply."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[object, ...]] = Counter()

    def draws(self, asks: Sequence[Ask]) -> list[int]:
        """Return the draw of each ask of the next round, from 0."""
        found = []
        for ask in asks:
            parameters = (getattr(ask.spec, name) for name in SENT)
            content = (*parameters, json.dumps(ask.spec.extra, sort_keys=True, default=str), ask.prompt, ask.images)
            found.append(self._counts[content])
            self._counts[content] += 1
        return found
