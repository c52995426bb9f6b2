"""What happens to one item in a run, told once and in order: asks, turns, trouble, the verdict.

A protocol is a generator with no I/O (the shape of httpx's `auth_flow`): it yields a round of asks, is sent their
turns, and returns a verdict. What may go in parallel is one yield; what must wait is the next.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from core.frozen import Frozen
from core.labels import Opinion, Value

Outcome = Literal["agreed", "disputed", "no_verdict"]


class Spec(Frozen):
    """Which model answers, and how it is asked. Keys are never here: they come from the environment."""

    model: str
    """Any litellm model name, or "local" for the model that needs no key."""
    address: str | None = None
    """The base address of an OpenAI-compatible server (vLLM, Ollama, llama.cpp)."""
    key_variable: str | None = None
    """The environment variable that holds the key for `address`; its name ends in _API_KEY."""
    temperature: float = 0.0
    max_tokens: int = 1024
    timeout: float = 120.0


@dataclass(frozen=True)
class Ask:
    """One question put to one model."""

    speaker: str
    step: str
    """The template that made the prompt: "opinion", "reply"..."""
    round: int
    spec: Spec
    prompt: str
    read: Callable[[str], Value]
    """The value in a reply, in the item's own order; raises Unreadable."""
    shown: tuple[int, ...] = ()
    """Which response stood in each place: (2, 1) when the order was swapped."""
    again: str = ""
    """The prompt for the second try when the reply cannot be read; empty for the same prompt."""
    grammar: str = ""
    """The form of an answer in llama.cpp's GBNF. The local model alone is held to it: it is too weak to keep to a form
    that it is only told of."""
    images: tuple[str, ...] = field(default=())
    samples: int = 1
    """Replies that one call should bring. A flow that wants several yields the same ask several times; the runner
    sets this where the provider can draw them together."""

    def asking(self, prompt: str) -> "Ask":
        """The same ask in other words."""
        return replace(self, prompt=prompt)


class Usage(Frozen):
    """What one call took; money that is not known is None, never 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None


class Turn(Frozen):
    """An answered ask. A reply that could not be read has no reading, and a problem that says why."""

    speaker: str
    step: str
    round: int
    model: str
    reply: str
    reading: Value | None = None
    problem: str = ""
    shown: tuple[int, ...] = ()
    usage: Usage = Usage()
    prompt: str = ""


class Verdict(Frozen):
    """What a trace concludes: the opinions that others can agree or disagree with."""

    outcome: Outcome
    value: Value | None = None
    reason: str = ""
    opinions: tuple[Opinion, ...] = ()


Flow = Generator[Sequence[Ask], list[Turn], Verdict]


class TurnTaken(Frozen):
    """An ask was answered for good. `ask` is its number in the flow, from 0."""

    type: Literal["turn"] = "turn"
    ask: int
    turn: Turn


class ReplyUnreadable(Frozen):
    """A reply could not be read and the model is asked once more; the reply is kept."""

    type: Literal["unreadable"] = "unreadable"
    ask: int
    turn: Turn


class CallFailed(Frozen):
    """The provider did not answer."""

    type: Literal["call_failed"] = "call_failed"
    ask: int
    speaker: str
    problem: str
    wait: float | None = None
    """Seconds until the next try; None when there is none."""


class VerdictReached(Frozen):
    """The end of a trace."""

    type: Literal["verdict"] = "verdict"
    verdict: Verdict


class TraceFailed(Frozen):
    """The trace cannot go on now; it can be resumed."""

    type: Literal["failed"] = "failed"
    problem: str


Event = Annotated[TurnTaken | ReplyUnreadable | CallFailed | VerdictReached | TraceFailed, Field(discriminator="type")]
EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def turns(events: Sequence[Event]) -> list[Turn]:
    """The answered asks, in the order of the flow."""
    taken = sorted((e for e in events if isinstance(e, TurnTaken)), key=lambda event: event.ask)
    return [event.turn for event in taken]
