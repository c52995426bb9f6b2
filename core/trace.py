"""A trace: the events of one item in a run, and the asks, turns and verdict they consist of.

A protocol is a generator without I/O (like httpx's `auth_flow`): it yields a round of asks, receives their turns, and
returns a verdict. Asks of one yield may run in parallel; whatever depends on their replies is a later yield.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from core.frozen import Frozen
from core.labels import Opinion, Value

Outcome = Literal["agreed", "disputed", "no_verdict"]
OUTCOMES_BY_NEED: tuple[Outcome, ...] = ("disputed", "no_verdict", "agreed")
"""Most in need of an annotator first."""


class Spec(Frozen):
    """A model and the parameters of its calls. Keys are never part of it: they come from the environment."""

    model: str
    """A litellm model name such as "openai/gpt-5.4-mini"; "local" for the model on this machine that needs no key."""
    address: str | None = None
    """The base URL of an OpenAI-compatible server (vLLM, Ollama, llama.cpp); None for the model's own provider."""
    key_variable: str | None = None
    """The environment variable with the key for `address`; its name ends in _API_KEY. None sends no key."""
    temperature: float = 0.0
    """Sampling temperature; dropped for models that do not accept one."""
    max_tokens: int = 1024
    """The longest reply in tokens; a longer one is cut off and counts as unreadable."""
    timeout: float = 120.0
    """Seconds until a call is given up and retried."""
    top_p: float | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    """One of the provider's own levels, such as "low", "medium" or "high"."""
    system: str = ""
    """The system message; empty for none."""
    extra: Mapping[str, Any] = Field(default_factory=dict)
    """Additional fields of the request, under the server's own names."""

    def __hash__(self) -> int:
        """Hash every field except `extra`, a mapping; equal models still have equal hashes."""
        return hash(tuple(value for name, value in self if name != "extra"))


@dataclass(frozen=True)
class Ask:
    """One request to one model."""

    speaker: str
    step: str
    """The template of the prompt: "opinion", "reply"..."""
    round: int
    spec: Spec
    prompt: str
    read: Callable[[str], Value]
    """Returns the value in a reply, in terms of the item's own order of responses; raises Unreadable."""
    shown: tuple[int, ...] = ()
    """The number of the response shown at each place: (2, 1) when the order was swapped."""
    retry_prompt: str = ""
    """The prompt of the second attempt when the reply is unreadable; empty for the same prompt."""
    grammar: str = ""
    """The form of an answer as a llama.cpp GBNF grammar. Only the local model is constrained to it: it is too weak to
    follow a form that is only described."""
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    """The JSON schema of the answer; None for an answer in text."""
    images: tuple[str, ...] = ()
    """Paths inside the study's media folder, or URLs."""
    samples: int = 1
    """How many replies one call requests. A flow that needs several samples yields the same ask several times; the
    runner sets this where the provider can return them together."""
    criterion: str = ""
    """The name of the criterion that the reply judges, where a run has several."""

    def with_prompt(self, prompt: str) -> "Ask":
        """Return the same ask with another prompt."""
        return replace(self, prompt=prompt)


class Usage(Frozen):
    """Tokens, time and cost of one call; unknown values are None, never 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None


class Turn(Frozen):
    """An answered ask. An unreadable reply has no reading, and a problem that states the reason."""

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
    criterion: str = Field(default="", exclude_if=lambda criterion: not criterion)
    """As in the ask. Serialised only where present, so that older traces are exported unchanged."""


class Verdict(Frozen):
    """The conclusion of a trace, with the opinions it is based on.

    A trace about several targets, such as several criteria, has one verdict; what it concludes about each target is an
    opinion with the stage "verdict".
    """

    outcome: Outcome
    value: Value | None = None
    """The value where there is one target; None without a value, and where there are several targets."""
    reason: str = ""
    opinions: tuple[Opinion, ...] = ()


def combine_verdicts(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return one verdict on several criteria from {criterion name: verdict}.

    The outcome is the one that needs an annotator most: disputed, else no verdict, else agreed.
    """
    outcomes = {verdict.outcome for verdict in verdicts.values()}
    return Verdict(
        outcome=next(outcome for outcome in OUTCOMES_BY_NEED if outcome in outcomes),
        value=next(iter(verdicts.values())).value if len(verdicts) == 1 else None,
        reason="; ".join(f"{criterion}: {verdict.reason}" for criterion, verdict in verdicts.items() if verdict.reason),
        opinions=tuple(opinion for verdict in verdicts.values() for opinion in verdict.opinions),
    )


Flow = Generator[Sequence[Ask], list[Turn], Verdict]


class TurnCompleted(Frozen):
    """An ask was answered and is not repeated. `ask` is its number in the flow, from 0."""

    type: Literal["turn"] = "turn"
    ask: int
    turn: Turn


class ReplyUnreadable(Frozen):
    """A reply was unreadable and the ask is attempted a second time; `turn` has the unreadable reply."""

    type: Literal["unreadable"] = "unreadable"
    ask: int
    turn: Turn


class CallFailed(Frozen):
    """The provider returned no reply."""

    type: Literal["call_failed"] = "call_failed"
    ask: int
    speaker: str
    problem: str
    wait: float | None = None
    """Seconds until the next attempt; None when there is none."""


class VerdictReached(Frozen):
    """The trace is complete."""

    type: Literal["verdict"] = "verdict"
    verdict: Verdict


class TraceFailed(Frozen):
    """The trace stopped without a verdict; it can be resumed."""

    type: Literal["failed"] = "failed"
    problem: str


Event = Annotated[
    TurnCompleted | ReplyUnreadable | CallFailed | VerdictReached | TraceFailed, Field(discriminator="type")
]
EVENT_ADAPTER: TypeAdapter[Any] = TypeAdapter(Event)


def completed_turns(events: Sequence[Event]) -> list[Turn]:
    """Return the answered asks in the order of the flow."""
    completed = sorted((e for e in events if isinstance(e, TurnCompleted)), key=lambda event: event.ask)
    return [event.turn for event in completed]


def model_specs(settings: Any, path: str = "") -> Iterator[tuple[str, Spec]]:
    """Yield every model in nested settings with its dotted path, such as "judges.0.spec"."""
    match settings:
        case Spec():
            yield path, settings
        case BaseModel():
            for name in type(settings).model_fields:
                yield from model_specs(getattr(settings, name), f"{path}.{name}" if path else name)
        case tuple() | list():
            for index, element in enumerate(settings):
                yield from model_specs(element, f"{path}.{index}")
