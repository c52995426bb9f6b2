"""Drives one flow to its verdict: asks models, reads replies, and tells everything that happens as events.

Resuming is replay: the turns already stored are handed back to the flow, and only the rest is asked. An event is
recorded before the flow goes on, so what was paid for is never lost and never paid twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from core.llm.client import Model, Reply, Sampler
from core.llm.limits import Limits
from core.problems import Permanent, Problem, Stopped, Temporary, Unreadable
from core.trace import (
    Ask,
    CallFailed,
    Event,
    Flow,
    ReplyUnreadable,
    TraceFailed,
    Turn,
    TurnTaken,
    Verdict,
    VerdictReached,
)

T = TypeVar("T")
Record = Callable[[Event], Awaitable[None]]
"""Stores an event; returns when it is safe. Called from several asks of one round at the same time."""

_PROBLEMS = {
    "cut off": "the reply was cut off at the limit of {limit} tokens",
    "refused": "the model refused to answer",
}


class _Failed(Problem):
    """The trace cannot go on now."""


async def run_flow(
    flow: Flow, model: Model, record: Record, *, stored: Sequence[Event] = (), limits: Limits | None = None
) -> Verdict | None:
    """Carry a trace to its end, from whatever is stored of it.

    Returns its verdict, or None when it failed (the last event says why). Raises Stopped when the run was cancelled or
    reached its ceiling; calls that were under way are finished and recorded first.
    """
    known = _Stored.of(stored)
    if known.verdict is not None:
        return known.verdict
    try:
        return await _Carrier(model, record, known, limits or Limits()).drive(flow)
    except Stopped:
        raise
    except Problem as problem:
        await record(TraceFailed(problem=str(problem)))
        return None
    finally:
        flow.close()


@dataclass
class _Stored:
    """What a trace already knows."""

    turns: dict[int, Turn] = field(default_factory=dict)
    unreadable: dict[int, Turn] = field(default_factory=dict)
    verdict: Verdict | None = None

    @classmethod
    def of(cls, events: Sequence[Event]) -> "_Stored":
        known = cls()
        for event in events:
            match event:
                case TurnTaken(ask=number, turn=turn):
                    known.turns[number] = turn
                case ReplyUnreadable(ask=number, turn=turn):
                    known.unreadable[number] = turn
                case VerdictReached(verdict=verdict):
                    known.verdict = verdict
        return known

    def check(self, number: int, ask: Ask) -> None:
        """Fail, before anything is paid for, when what is stored does not answer this ask.

        A turn without a stored prompt or model is taken at its word.
        """
        for turn in (self.turns.get(number), self.unreadable.get(number)):
            if turn is not None and (problem := _misfit(turn, ask)):
                raise _Failed(f"What is stored does not fit this run: {problem}.")


@dataclass
class _Carrier:
    model: Model
    record: Record
    known: _Stored
    limits: Limits

    async def drive(self, flow: Flow) -> Verdict:
        asks, verdict = _step(flow, None)
        first = 0
        while verdict is None:
            turns = await self.round(asks, first)
            first += len(asks)
            asks, verdict = _step(flow, turns)
        await self.record(VerdictReached(verdict=verdict))
        return verdict

    async def round(self, asks: Sequence[Ask], first: int) -> list[Turn]:
        """The turns of one round in the order of its asks. When one fails, the others are still heard out."""
        for number, ask in enumerate(asks, start=first):
            self.known.check(number, ask)
        draws = self.draws(asks, first)
        answers = [self.answer(number, ask, draws.get(number)) for number, ask in enumerate(asks, start=first)]
        results = await asyncio.gather(*answers, return_exceptions=True)
        troubles = [result for result in results if isinstance(result, BaseException)]
        if troubles:
            raise min(troubles, key=_priority)
        return [result for result in results if isinstance(result, Turn)]

    def draws(self, asks: Sequence[Ask], first: int) -> "dict[int, _Draw]":
        """The asks of a round that are samples of one prompt, drawn together; what is stored is not drawn again."""
        alike: dict[int, list[int]] = {}
        for number, ask in enumerate(asks, start=first):
            if number not in self.known.turns and number not in self.known.unreadable:
                alike.setdefault(id(ask), []).append(number)
        drawn = [_Draw(self, asks[numbers[0] - first], numbers) for numbers in alike.values() if len(numbers) > 1]
        return {number: draw for draw in drawn for number in draw.numbers}

    async def answer(self, number: int, ask: Ask, draw: "_Draw | None" = None) -> Turn:
        """The turn for one ask: as stored, else asked; a reply that cannot be read is asked for once more."""
        if number in self.known.turns:
            return self.known.turns[number]
        if number not in self.known.unreadable:
            reply = await draw.reply(number) if draw else None
            reply = reply or await self.reply(number, ask, ask.prompt)
            turn = _taken(ask, reply, ask.prompt)
            if not turn.problem or reply.finish != "stop":
                return await self.settle(number, turn)
            await self.record(ReplyUnreadable(ask=number, turn=turn))
        prompt = ask.again or ask.prompt
        return await self.settle(number, _taken(ask, await self.reply(number, ask, prompt), prompt))

    async def settle(self, number: int, turn: Turn) -> Turn:
        await self.record(TurnTaken(ask=number, turn=turn))
        return turn

    async def reply(self, number: int, ask: Ask, prompt: str) -> Reply:
        """The model's reply."""
        posed = ask if prompt == ask.prompt else ask.asking(prompt)
        return await self.tried(number, ask, lambda: self.call(posed))

    async def tried(self, number: int, ask: Ask, call: Callable[[], Awaitable[T]]) -> T:
        """What a call brings, tried again while the provider's trouble may pass."""
        for failures in range(1, self.limits.tries + 1):
            try:
                return await call()
            except Temporary as trouble:
                await self.failed(number, ask, trouble, self.limits.wait(failures, trouble))
            except Permanent as trouble:
                await self.failed(number, ask, trouble, None)
        raise AssertionError("a call that is not answered has failed")

    async def call(self, ask: Ask) -> Reply:
        async with self.limits.turn(ask):
            reply = await self.model.ask(ask)
            self.pay([reply])
            return reply

    async def sample(self, model: Sampler, ask: Ask) -> list[Reply]:
        """As many samples as one call brings. A provider that refuses `n` is asked for one at a time from now on."""
        async with self.limits.turn(ask):
            try:
                replies = await model.sample(ask)
            except Permanent:
                replies = []
            if not any(reply.finish == "refused" for reply in replies):
                self.limits.concurrency_limit(ask.spec).one_by_one = len(replies) < ask.samples
            self.pay(replies)
            return replies

    def pay(self, replies: Sequence[Reply]) -> None:
        if self.limits.budget is not None:
            for reply in replies:
                self.limits.budget.pay(reply.usage.dollars)

    async def failed(self, number: int, ask: Ask, trouble: Temporary | Permanent, wait: float | None) -> None:
        """Tell of a call that failed, then wait for the next try or give up."""
        await self.record(CallFailed(ask=number, speaker=ask.speaker, problem=str(trouble), wait=wait))
        if wait is None:
            raise _Failed(f"{ask.speaker} could not be asked: {trouble}")
        if isinstance(trouble, Temporary) and trouble.after:
            self.limits.concurrency_limit(ask.spec).close(trouble.after)
        await self.limits.pause(wait)


class _Draw:
    """Samples of one prompt: one call for all of them, and whatever it does not bring is left to be asked for."""

    def __init__(self, carrier: _Carrier, ask: Ask, numbers: Sequence[int]) -> None:
        self.numbers = list(numbers)
        self._carrier, self._ask = carrier, ask
        self._replies: asyncio.Task[list[Reply]] | None = None

    async def reply(self, number: int) -> Reply | None:
        """The reply to this ask of the draw; None where the call did not bring so many."""
        if self._replies is None:
            self._replies = asyncio.ensure_future(self._drawn())
        replies = await self._replies
        place = self.numbers.index(number)
        return replies[place] if place < len(replies) else None

    async def _drawn(self) -> list[Reply]:
        carrier, model = self._carrier, self._carrier.model
        if not isinstance(model, Sampler) or carrier.limits.concurrency_limit(self._ask.spec).one_by_one:
            return []
        posed = replace(self._ask, samples=len(self.numbers))
        return await carrier.tried(self.numbers[0], self._ask, lambda: carrier.sample(model, posed))


def _step(flow: Flow, turns: list[Turn] | None) -> tuple[Sequence[Ask], Verdict | None]:
    try:
        return (next(flow) if turns is None else flow.send(turns)), None
    except StopIteration as end:
        return (), end.value


def _taken(ask: Ask, reply: Reply, prompt: str) -> Turn:
    """The reply as a turn, with its reading or with the reason why there is none."""
    reading, problem = None, ""
    if reply.finish == "stop":
        try:
            reading = ask.read(reply.text)
        except Unreadable as trouble:
            problem = str(trouble)
    else:
        problem = _PROBLEMS[reply.finish].format(limit=ask.spec.max_tokens)
    return Turn(
        speaker=ask.speaker,
        step=ask.step,
        round=ask.round,
        model=ask.spec.model,
        reply=reply.text,
        reading=reading,
        problem=problem,
        shown=ask.shown,
        usage=reply.usage,
        prompt=prompt,
    )


def _misfit(turn: Turn, ask: Ask) -> str:
    """Why a stored turn is no answer to this ask; empty when it is one."""
    if (turn.speaker, turn.step, turn.round) != (ask.speaker, ask.step, ask.round):
        return f"{turn.speaker}'s {turn.step} in round {turn.round} stands where {ask.speaker}'s {ask.step} should"
    if turn.model not in ("", ask.spec.model):
        return f"{turn.speaker} was {turn.model}, and is {ask.spec.model} now"
    if turn.prompt not in ("", ask.prompt, ask.again):
        return (
            f"{turn.speaker}'s prompt in round {turn.round} is another now, so settings, prompts or item have changed"
        )
    return ""


def _priority(trouble: BaseException) -> int:
    """What to raise when several asks of a round went wrong: bugs before a failed call before a clean stop."""
    return 2 if isinstance(trouble, Stopped) else 1 if isinstance(trouble, Problem) else 0
