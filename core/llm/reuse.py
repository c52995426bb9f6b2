"""Replies of earlier runs, for asks that are sent again unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.answers import Format
from core.llm.client import Model, Reply, Sampler, StoredReplies
from core.templates import with_system_lines
from core.trace import Ask, Spec, Turn, Usage

ReplyKey = tuple[str, str, str]
"""Speaker, step, and the whole prompt with the system message."""
NO_CALL = Usage(prompt_tokens=0, completion_tokens=0, seconds=0.0, dollars=0.0)


@dataclass(frozen=True)
class EarlierReply:
    """A reply to one ask, and the name of the run that asked."""

    text: str
    run: str


def reply_key(turn: Turn) -> ReplyKey:
    """Return the key of a stored turn."""
    return turn.speaker, turn.step, turn.prompt


@dataclass
class ReusedReplies:
    """A model that is only asked what earlier runs have not asked; their judges must have the same settings."""

    model: Model
    replies: Mapping[ReplyKey, EarlierReply]

    async def complete(self, ask: Ask) -> Reply:
        """Return the earlier reply without a cost, else the model's."""
        earlier = self._earlier(ask)
        if earlier is None:
            return await self.model.complete(ask)
        return _reply(earlier)

    async def find(self, ask: Ask) -> list[Reply]:
        """Return the earlier reply, else what the wrapped model has stored."""
        earlier = self._earlier(ask)
        if earlier is not None:
            return [_reply(earlier)]
        return await self.model.find(ask) if isinstance(self.model, StoredReplies) else []

    async def answer_format(self, spec: Spec) -> Format:
        """Return the wrapped model's format."""
        return await self.model.answer_format(spec)

    async def sample(self, ask: Ask) -> list[Reply]:
        """Return several replies from one call, if the model supports it."""
        return await self.model.sample(ask) if isinstance(self.model, Sampler) else []

    async def close(self) -> None:
        """Close the wrapped model."""
        await self.model.close()

    def _earlier(self, ask: Ask) -> EarlierReply | None:
        key = (ask.speaker, ask.step, with_system_lines(ask.system, ask.prompt))
        return None if ask.history else self.replies.get(key)


def _reply(earlier: EarlierReply) -> Reply:
    return Reply(text=earlier.text, usage=NO_CALL, reused=earlier.run)
