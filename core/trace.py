"""A trace: the events of one item in a run, and the asks, turns and verdict they consist of.

A protocol is a generator without I/O (like httpx's `auth_flow`): it yields a round of asks, receives their turns, and
returns a verdict. Asks of one yield may run in parallel; asks that depend on their replies are a later yield.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, field_validator, model_validator

from core.answers.answer import Answer, Format, spoken_text
from core.frozen import Frozen, valid_text
from core.labels import Opinion, Value
from core.templates import ANSWER, split_raw, split_system, with_system_lines

Outcome = Literal["agreed", "disputed", "no_verdict"]
# How a reply ended: complete, at the limit of tokens, or refused by the model or its provider; or the call failed.
Ending = Literal["complete", "length", "refused", "context", "failed"]
# The beginning of a problem -> how the reply ended, for turns that earlier versions stored without `finish`.
_FORMER_ENDINGS: Mapping[str, Ending] = {"the reply was cut off": "length", "the model refused to answer": "refused"}
# More tokens, seconds and dollars than any call has, and the largest number that the database stores.
MAX_USAGE = 2**31 - 1


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
    max_tokens_ceiling: int = 8192
    """A reply that was cut off is requested once more with twice the tokens, up to this many."""
    answer_format: Literal["auto", "json", "text"] = "auto"
    """How an answer is requested: "json" with a JSON schema, "text" as a final line. "auto" is JSON if the provider
    accepts a schema. A provider that refuses the schema is asked for text."""
    top_p: float | None = None
    """Nucleus sampling; None for the provider's default."""
    seed: int | None = None
    """The seed of the provider's sampling; None sends none."""
    reasoning_effort: str | None = None
    """How much the model reasons: "low", "medium", "high"...; `core.llm.secrets` lists the levels."""
    system: str = ""
    """The system message; empty for none."""
    extra: Mapping[str, Any] = Field(default_factory=dict)
    """Additional fields of the request, under the server's own names."""
    prompt_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars per million prompt tokens; None for the price in the list, if the model is in it."""
    completion_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars per million tokens of replies. Both prices are needed."""
    transcript_tokens: int | None = Field(default=None, exclude_if=lambda tokens: tokens is None)
    """The most tokens of an item's transcripts in a prompt, approximately; None for half of the model's context, at
    most 50,000, or 12,000 if its context is unknown. The models of a run read the same: the smallest number counts."""

    @model_validator(mode="after")
    def _check_prices(self) -> Self:
        if (self.prompt_price is None) != (self.completion_price is None):
            raise ValueError("enter the prices of both prompts and replies, or of neither")
        return self

    def __hash__(self) -> int:
        """Hash every field except `extra`, a mapping; equal models still have equal hashes."""
        return hash(tuple(value for name, value in self if name != "extra"))


def unchanged(value: Any) -> Any:
    """Return the value: most answers are stated in the terms of the item."""
    return value


@dataclass(frozen=True)
class Ask:
    """One request to one model."""

    speaker: str
    step: str
    """The template of the prompt: "opinion", "reply"..."""
    round: int
    spec: Spec
    prompt: str
    """The prompt without the instruction for the answer, which `request` inserts."""
    shown: tuple[int, ...] = ()
    """The number of the response shown at each place: (2, 1) when the order was swapped."""
    images: tuple[str, ...] = ()
    """Paths inside the study's media folder, or URLs."""
    samples: int = 1
    """How many replies one call requests. A flow that needs several samples yields the same ask several times; the
    runner sets this if the provider can return them together."""
    criterion: str = ""
    """The name of the criterion that the reply judges, if a run has several."""
    answer: Answer[Any] | None = None
    """The answer type: the instruction, the JSON schema, the second request and the parser. None asks for a
    contribution without a value."""
    value: Callable[[Any], Value] = unchanged
    """Maps the value of a reply to the item's terms, such as its own order of responses; may raise
    UnreadableReply."""
    format: Format = "text"
    """The format in which the answer is requested. The runner sets it from the model and its settings."""
    history: tuple[str, ...] = ()
    """Earlier messages, the first the user's, then alternately the model's and the user's. The runner sets it."""

    system: str = ""
    """The system message of the template. The runner sets it: before, it is a part of the prompt."""
    rules: tuple[str, ...] = ()
    """The parsers' rules that a raw prompt names; empty for any other. The runner sets it: before, it is a part of the
    prompt."""
    draws: tuple[int, ...] = (0,)
    """The number of each requested reply among the replies to the same content in a trace. Replies with other numbers
    are independent samples. The runner sets it."""
    attempt: int = 0
    """1 for a second attempt. The runner sets it."""
    may_fail: bool = False
    """Whether the trace goes on without a reply if the call fails: the turn then has no reading."""
    top_logprobs: int | None = None
    """The number of alternatives of each token whose log probabilities are requested; None requests none."""

    def request(self, format: Format = "text") -> str:
        """Return the prompt with the instruction for the answer, below the template's system message if it has one."""
        return with_system_lines(*self.messages(format))

    def messages(self, format: Format) -> tuple[str, str]:
        """Return the template's system message and the prompt with the instruction for the answer."""
        return split_system(self._with_instruction(format))

    def _with_instruction(self, format: Format) -> str:
        """Return the prompt with the instruction for the answer: in place of the marker, or at the end.

        A raw prompt has none at the end.
        """
        rules, prompt = split_raw(valid_text(self.prompt))
        if self.answer is None:
            return re.sub(f"{ANSWER}\n*", "", prompt).rstrip() if ANSWER in prompt else prompt
        instruction = self.answer.instruction(format)
        if ANSWER in prompt:
            return prompt.replace(ANSWER, instruction)
        return prompt if rules else f"{prompt}\n\n{instruction}"

    @property
    def raw_rules(self) -> tuple[str, ...]:
        """The parsers' rules that the prompt names, if it is raw: of an ask that was sent, or before."""
        return self.rules or split_raw(self.prompt)[0]

    @property
    def is_structured(self) -> bool:
        """Whether the answer is requested with a JSON schema if the model accepts one; a raw prompt is sent alone."""
        return self.answer is not None and self.answer.structured and not self.raw_rules

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema of the answer; None if it is requested as text."""
        return self.answer.schema() if self.answer is not None and self.format == "json" else None


class Usage(Frozen):
    """Tokens, time and cost of one call; unknown values are None, never 0, and so are impossible ones."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None

    @field_validator("prompt_tokens", "completion_tokens", "seconds", "dollars", mode="after")
    @classmethod
    def _drop_impossible(cls, value: float | None) -> float | None:
        """Return None for a number that no call has and that a database refuses, such as 10**30 or infinity."""
        return value if value is not None and 0 <= value <= MAX_USAGE else None


class Turn(Frozen):
    """An answered ask. An unreadable reply has no reading, and a problem that states the reason."""

    speaker: str
    step: str
    round: int
    model: str
    reply: str
    reading: Value | None = None
    problem: str = ""
    finish: Ending = Field(default="complete", exclude_if=lambda finish: finish == "complete")
    """A reply that did not end complete is never parsed: it can end like an answer."""
    shown: tuple[int, ...] = ()
    usage: Usage = Usage()
    notes: tuple[str, ...] = Field(default=(), exclude_if=lambda notes: not notes)
    """How the request differed from the judge's settings, in a sentence each."""
    prompt: str = ""
    criterion: str = Field(default="", exclude_if=lambda criterion: not criterion)
    """As in the ask. Serialised only if present, so older traces are exported unchanged; so are the next."""
    format: Format = Field(default="text", exclude_if=lambda format: format == "text")
    """The format in which the answer was requested."""
    reading_rule: str = Field(default="", exclude_if=lambda rule: not rule)
    """The parser's rule that matched: "json", "labelled", "sentence"...; empty if nothing was read."""
    reading_span: tuple[int, int] | None = Field(default=None, exclude_if=lambda span: span is None)
    """The characters of the reply that the reading rests on: reply[start:end]."""
    read_by: str = Field(default="", exclude_if=lambda reader: not reader)
    """Who read the reply: empty for the parser, "extractor: MODEL" or "person: NAME"."""
    probabilities: Mapping[str, float] = Field(default_factory=dict, exclude_if=lambda found: not found)
    """Level of a rating -> its probability, if the ask requested log probabilities. They add up to at most 1. Empty if
    there are none; the last of the notes then states the reason."""
    reused: str = Field(default="", exclude_if=lambda run: not run)
    """The run that made and paid the call, if the reply was stored before; `usage` is that of the call. Empty if this
    run made the call."""

    @model_validator(mode="before")
    @classmethod
    def _derive_finish(cls, stored: Any) -> Any:
        """Add `finish` to a turn that an earlier version stored."""
        if not isinstance(stored, Mapping) or "finish" in stored:
            return stored
        problem = str(stored.get("problem", ""))
        finish = next((code for start, code in _FORMER_ENDINGS.items() if problem.startswith(start)), None)
        return stored if finish is None else {**stored, "finish": finish}

    @property
    def is_unreadable(self) -> bool:
        """Whether a value was asked for and none could be read; some asks ask for none."""
        return self.reading is None and bool(self.problem)

    @property
    def statement(self) -> str:
        """The reply as other judges receive it: without reasoning between tags; structured output as text."""
        return spoken_text(self.reply)


class Verdict(Frozen):
    """The conclusion of a trace, with the opinions it is based on.

    A trace about several targets, such as several criteria, has one verdict; its conclusion about each target is an
    opinion with the stage "verdict".
    """

    outcome: Outcome
    value: Value | None = None
    """The value if there is one target; None without a value, or if there are several targets."""
    reason: str = ""
    opinions: tuple[Opinion, ...] = ()
    contention: float | None = Field(default=None, exclude_if=lambda contention: contention is None)
    """How far the opinions are apart, from 0 to 1 (`core.verdicts`); None if it was not computed."""
    outcomes: Mapping[str, Outcome] = Field(default_factory=dict, exclude_if=lambda outcomes: not outcomes)
    """Criterion -> its outcome, if there are several; see `core.verdicts`."""
    contentions: Mapping[str, float] = Field(default_factory=dict, exclude_if=lambda contentions: not contentions)
    """Criterion -> its contention, if there are several."""
    reasons: Mapping[str, str] = Field(default_factory=dict, exclude_if=lambda reasons: not reasons)
    """Criterion -> its reason, if there are several."""


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
    max_tokens: int | None = Field(default=None, exclude_if=lambda limit: limit is None)
    """The limit of the second attempt, if the first reply was cut off: it repeats the prompt. None if the second
    attempt states in the conversation why the reply was not readable, or repeats a raw prompt."""


class CallFailed(Frozen):
    """The provider returned no reply."""

    type: Literal["call_failed"] = "call_failed"
    ask: int
    speaker: str
    problem: str
    wait: float | None = None
    """Seconds until the next attempt; None when there is none."""


class SchemaRefused(Frozen):
    """The provider refused the JSON schema of the answer, and is asked for text instead; no call has failed.

    In runs of earlier versions this is a `CallFailed`.
    """

    type: Literal["schema_refused"] = "schema_refused"
    ask: int
    speaker: str
    problem: str


class VerdictReached(Frozen):
    """The trace is complete."""

    type: Literal["verdict"] = "verdict"
    verdict: Verdict


class TraceFailed(Frozen):
    """The trace stopped without a verdict; it can be resumed."""

    type: Literal["failed"] = "failed"
    problem: str


class TraceRestarted(Frozen):
    """The trace starts again from its first ask. Events before this one are superseded: stored, but not replayed."""

    type: Literal["restarted"] = "restarted"
    reason: str


class ReplyExtracted(Frozen):
    """An extractor model was asked which value an unreadable reply states. `turn` is the extractor's own."""

    type: Literal["extracted"] = "extracted"
    ask: int
    turn: Turn


class ReadingReplaced(Frozen):
    """A later reading of a turn's reply. The reply, and every earlier reading, stay stored."""

    type: Literal["reading"] = "reading"
    ask: int
    reading: Value | None = None
    problem: str = ""
    """Why the reply has no reading; empty if it has one."""
    reading_rule: str = ""
    reading_span: tuple[int, int] | None = None
    read_by: str = ""
    """As in `Turn`: empty for the parsers of a later version, or "person: NAME"."""


class ReadingWithdrawn(Frozen):
    """The last `ReadingReplaced` of an ask was withdrawn: the reading before it counts again."""

    type: Literal["reading_withdrawn"] = "reading_withdrawn"
    ask: int
    by: str
    """The name of the person who withdrew it."""


Event = Annotated[
    TurnCompleted
    | ReplyUnreadable
    | CallFailed
    | SchemaRefused
    | VerdictReached
    | TraceFailed
    | TraceRestarted
    | ReplyExtracted
    | ReadingReplaced
    | ReadingWithdrawn,
    Field(discriminator="type"),
]
EVENT_ADAPTER: TypeAdapter[Any] = TypeAdapter(Event)
# The sequence number of an event in its trace, and the event.
NumberedEvent = tuple[int, Event]


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


Settings = TypeVar("Settings", bound=BaseModel)


def with_seeds_of_repeat(settings: Settings, repeat: int) -> Settings:
    """Return the settings with a seed of its own for each repetition, so that equal calls can have other replies.

    Repetition r adds r - 1 to the seed of each model that has one, or that has the temperature 0 (then from 0).
    Without it, a provider returns the same reply to the same call. At other temperatures calls differ anyway.
    """
    if repeat == 1:
        return settings
    fields = settings.model_dump()
    for path, spec in model_specs(settings):
        if spec.seed is not None or spec.temperature == 0:
            place: Any = fields
            for name in path.split("."):
                place = place[int(name) if name.isdigit() and not isinstance(place, dict) else name]
            place["seed"] = (spec.seed or 0) + repeat - 1
    return type(settings).model_validate(fields)


# The events of a trace that count now, with the current reading of every reply.


def current_events(events: Sequence[Event]) -> list[Event]:
    """Return the events as they count now; see `current_numbered_events`."""
    return [event for _, event in current_numbered_events(list(enumerate(events)))]


def current_numbered_events(events: Sequence[NumberedEvent]) -> list[NumberedEvent]:
    """Return the events that are not superseded, with each turn's current reading.

    Left out are the events before the last restart, and every verdict but the last: a later reading leads to a new one.
    """
    restarts = [index for index, (_, event) in enumerate(events) if isinstance(event, TraceRestarted)]
    current = events[restarts[-1] if restarts else 0 :]
    readings = turn_readings([event for _, event in current])
    last_verdict = max((seq for seq, event in current if isinstance(event, VerdictReached)), default=None)
    counting: list[NumberedEvent] = []
    for seq, event in current:
        if isinstance(event, TurnCompleted) and len(readings[event.ask].history) > 1:
            counting.append((seq, event.model_copy(update={"turn": readings[event.ask].turn})))
        elif not isinstance(event, VerdictReached) or seq == last_verdict:
            counting.append((seq, event))
    return counting


def extracted_reading(ask: int, turn: Turn) -> ReadingReplaced:
    """Return the result of an extractor's turn about the reply to an ask. It has no span in that reply."""
    return ReadingReplaced(ask=ask, reading=turn.reading, reading_rule="extracted", read_by=f"extractor: {turn.model}")


def with_reading(turn: Turn, reading: ReadingReplaced) -> Turn:
    """Return the turn with another reading of its reply."""
    fields = ("reading", "problem", "reading_rule", "reading_span", "read_by")
    return turn.model_copy(update={name: getattr(reading, name) for name in fields})


def completed_turns(events: Sequence[Event]) -> list[Turn]:
    """Return the answered asks in the order of the flow, without superseded ones."""
    completed = sorted(
        (event for event in current_events(events) if isinstance(event, TurnCompleted)), key=lambda event: event.ask
    )
    return [event.turn for event in completed]


# The readings of a trace's replies over time: the parser's own, and every later one, also if it was withdrawn.


@dataclass(frozen=True)
class PastReading:
    """One reading of a reply."""

    turn: Turn
    """The reply with this reading."""
    withdrawn_by: str = ""
    """The person who withdrew it; empty if it was not withdrawn."""


@dataclass(frozen=True)
class TurnReadings:
    """The reply to one ask with every reading of it."""

    ask: int
    history: tuple[PastReading, ...]
    """Oldest first: the parser's own, then later ones. The last one that was not withdrawn counts."""
    first: ReplyUnreadable | None = None
    """The reply to the first request, if it was unreadable and this one answers the second request."""

    @property
    def turn(self) -> Turn:
        """The reply with the reading that counts."""
        return self.history[self._standing].turn

    @property
    def earlier(self) -> tuple[PastReading, ...]:
        """The readings that do not count: replaced or withdrawn."""
        return self.history[: self._standing] + self.history[self._standing + 1 :]

    @property
    def _standing(self) -> int:
        return max(place for place, past in enumerate(self.history) if not past.withdrawn_by)

    def with_later(self, reading: ReadingReplaced) -> "TurnReadings":
        """Return the readings with another one."""
        return replace(self, history=(*self.history, PastReading(with_reading(self.turn, reading))))

    def without_last(self, by: str) -> "TurnReadings":
        """Return the readings after a person withdrew the last one; the parser's own always stays."""
        if not self._standing:
            return self
        history = list(self.history)
        history[self._standing] = replace(history[self._standing], withdrawn_by=by)
        return replace(self, history=tuple(history))


def turn_readings(events: Sequence[Event]) -> dict[int, TurnReadings]:
    """Return the number of each answered ask -> its readings, in the order of the flow.

    `events` are all events of a trace as they were stored; those before its last restart are left out.
    """
    restarts = [index for index, event in enumerate(events) if isinstance(event, TraceRestarted)]
    first: dict[int, ReplyUnreadable] = {}
    found: dict[int, TurnReadings] = {}
    for event in events[restarts[-1] if restarts else 0 :]:
        match event:
            case ReplyUnreadable(ask=ask):
                first[ask] = event
            case TurnCompleted(ask=ask, turn=turn):
                found[ask] = TurnReadings(ask, (PastReading(turn),), first.get(ask))
            case ReplyExtracted(ask=ask, turn=turn) if ask in found and turn.reading is not None:
                found[ask] = found[ask].with_later(extracted_reading(ask, turn))
            case ReadingReplaced(ask=ask) if ask in found:
                found[ask] = found[ask].with_later(event)
            case ReadingWithdrawn(ask=ask, by=by) if ask in found:
                found[ask] = found[ask].without_last(by)
    return dict(sorted(found.items()))
