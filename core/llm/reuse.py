"""Replies of earlier runs, for asks that are sent again unchanged."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.llm.client import Reply, WrappedModel
from core.llm.wire import messages, optional_parameters
from core.templates import with_system_lines
from core.trace import Ask, Turn, Usage

# Speaker, step, and the whole prompt with the system message.
ReplyKey = tuple[str, str, str]
NO_CALL = Usage(prompt_tokens=0, completion_tokens=0, seconds=0.0, dollars=0.0)


@dataclass(frozen=True)
class EarlierReply:
    """A reply to one ask, and the name of the run that asked."""

    text: str
    run: str


def reply_key(turn: Turn) -> ReplyKey:
    """Return the key of a stored turn."""
    return turn.speaker, turn.step, turn.prompt


@dataclass(frozen=True)
class ReusedReplies(WrappedModel):
    """A model that is only asked what earlier runs have not asked; their judges must have the same settings."""

    replies: Mapping[ReplyKey, Sequence[EarlierReply]]
    """Several if an ask was repeated: each is used once."""
    used: Counter[ReplyKey] = field(default_factory=Counter)
    """How many replies of each key this trace has."""

    async def complete(self, ask: Ask) -> Reply:
        """Return the next earlier reply without a cost, else the model's."""
        earlier = self._take(ask, 1)
        return _reply(earlier[0]) if earlier else await self.model.complete(ask)

    async def find(self, ask: Ask) -> list[Reply]:
        """Return the earlier replies, else what the wrapped model has stored."""
        if earlier := self._take(ask, ask.samples):
            return [_reply(reply) for reply in earlier]
        return await super().find(ask)

    def _take(self, ask: Ask, count: int) -> Sequence[EarlierReply]:
        """Return the next unused replies to an ask, at most `count`."""
        key = (ask.speaker, ask.step, with_system_lines(ask.system, ask.prompt))
        taken = [] if ask.history else self.replies.get(key, ())[self.used[key] : self.used[key] + count]
        self.used[key] += len(taken)
        return taken


def _reply(earlier: EarlierReply) -> Reply:
    return Reply(text=earlier.text, usage=NO_CALL, reused=earlier.run)


# The identity of a call: what is sent, and which independent draw of it is wanted.
#
# Two calls with the same content and the same draw have the same key, in any trace and in any run, so the reply of one
# can be reused for the other. Left out is what does not reach the model: names of judges, prices, time-outs and keys.

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
