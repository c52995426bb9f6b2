"""Replies of earlier runs, for asks that are sent again unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.answers import Format
from core.llm.client import Model, Reply, Sampler
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
        key = (ask.speaker, ask.step, with_system_lines(ask.system, ask.prompt))
        earlier = None if ask.history else self.replies.get(key)
        if earlier is None:
            return await self.model.complete(ask)
        return Reply(text=earlier.text, usage=NO_CALL, notes=(f"The reply is from the run {earlier.run}.",))

    async def answer_format(self, spec: Spec) -> Format:
        """Return the wrapped model's format."""
        return await self.model.answer_format(spec)

    async def sample(self, ask: Ask) -> list[Reply]:
        """Return several replies from one call, if the model supports it."""
        return await self.model.sample(ask) if isinstance(self.model, Sampler) else []

    async def close(self) -> None:
        """Close the wrapped model."""
        await self.model.close()
