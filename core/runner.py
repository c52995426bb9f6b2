"""Runs one flow to its verdict: sends its asks, reads the replies, and records every event.

Resuming is replay: stored turns are passed to the flow again, and only the missing asks are sent. Each event is stored
before the flow continues, so a reply is never lost and never paid for twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from core.llm.client import Model, Reply, Sampler
from core.llm.limits import Limits
from core.problems import PermanentFailure, Problem, RunStopped, TemporaryFailure, Unreadable
from core.trace import (
    Ask,
    CallFailed,
    Event,
    Flow,
    ReplyUnreadable,
    TraceFailed,
    Turn,
    TurnCompleted,
    Verdict,
    VerdictReached,
)

T = TypeVar("T")
Record = Callable[[Event], Awaitable[None]]
"""Stores an event and returns once it is stored. Called concurrently by the asks of one round."""

_INCOMPLETE = {
    "cut off": "the reply was cut off at the limit of {limit} tokens",
    "refused": "the model refused to answer",
}
"""Why a reply with this `finish` is not parsed: a cut-off reply can end in something that looks like an answer."""


class _TraceCannotContinue(Problem):
    """Ends the trace without a verdict."""


async def run_flow(
    flow: Flow, model: Model, record: Record, *, stored: Sequence[Event] = (), limits: Limits | None = None
) -> Verdict | None:
    """Run a trace to its end, starting from the stored events.

    Returns its verdict, or None when it failed; the last event then states the reason. Raises RunStopped when the run
    was cancelled or reached its cost limit; calls in progress are completed and recorded first.
    """
    known = _StoredTurns.of(stored)
    if known.verdict is not None:
        return known.verdict
    try:
        return await _TraceRunner(model, record, known, limits or Limits()).run(flow)
    except RunStopped:
        raise
    except Problem as problem:
        await record(TraceFailed(problem=str(problem)))
        return None
    finally:
        flow.close()


@dataclass
class _StoredTurns:
    """The turns and the verdict of a trace's stored events, by the number of the ask."""

    completed: dict[int, Turn] = field(default_factory=dict)
    unreadable: dict[int, Turn] = field(default_factory=dict)
    verdict: Verdict | None = None

    @classmethod
    def of(cls, events: Sequence[Event]) -> "_StoredTurns":
        known = cls()
        for event in events:
            match event:
                case TurnCompleted(ask=number, turn=turn):
                    known.completed[number] = turn
                case ReplyUnreadable(ask=number, turn=turn):
                    known.unreadable[number] = turn
                case VerdictReached(verdict=verdict):
                    known.verdict = verdict
        return known

    def __contains__(self, number: int) -> bool:
        return number in self.completed or number in self.unreadable

    def check(self, number: int, ask: Ask) -> None:
        """Raise before anything is paid for when a stored turn belongs to a different ask.

        A turn without a stored prompt, model or criterion is accepted without that comparison.
        """
        for turn in (self.completed.get(number), self.unreadable.get(number)):
            if turn is not None and (difference := _difference(turn, ask)):
                raise _TraceCannotContinue(f"The stored events do not match this run: {difference}.")


@dataclass
class _TraceRunner:
    model: Model
    record: Record
    known: _StoredTurns
    limits: Limits

    async def run(self, flow: Flow) -> Verdict:
        asks, verdict = _advance(flow, None)
        first = 0
        while verdict is None:
            turns = await self.run_round(asks, first)
            first += len(asks)
            asks, verdict = _advance(flow, turns)
        await self.record(VerdictReached(verdict=verdict))
        return verdict

    async def run_round(self, asks: Sequence[Ask], first: int) -> list[Turn]:
        """Return the turns of one round in the order of its asks.

        When one ask fails, the others are completed and recorded before the error is raised: they are paid for.
        """
        for number, ask in enumerate(asks, start=first):
            self.known.check(number, ask)
        batches = self.group_samples(asks, first)
        pending = [self.complete_turn(number, ask, batches.get(number)) for number, ask in enumerate(asks, start=first)]
        results = await asyncio.gather(*pending, return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        if errors:
            raise min(errors, key=_priority)
        return [result for result in results if isinstance(result, Turn)]

    def group_samples(self, asks: Sequence[Ask], first: int) -> "dict[int, _SampleBatch]":
        """Return a batch for each ask that the flow yielded several times; stored asks are left out."""
        same_ask: dict[int, list[int]] = {}
        for number, ask in enumerate(asks, start=first):
            if number not in self.known:
                same_ask.setdefault(id(ask), []).append(number)
        groups = [numbers for numbers in same_ask.values() if len(numbers) > 1]
        batches = [_SampleBatch(self, asks[numbers[0] - first], numbers) for numbers in groups]
        return {number: batch for batch in batches for number in batch.numbers}

    async def complete_turn(self, number: int, ask: Ask, batch: "_SampleBatch | None" = None) -> Turn:
        """Return the turn of one ask, stored or new; an unreadable reply is requested a second time."""
        if number in self.known.completed:
            return self.known.completed[number]
        if number not in self.known.unreadable:
            reply = await batch.reply(number) if batch else None
            reply = reply or await self.request(number, ask, ask.prompt)
            turn = _make_turn(ask, reply, ask.prompt)
            # Retrying a refused or truncated reply would not help: only unreadable answers are requested again.
            if not turn.problem or reply.finish != "stop":
                return await self.record_turn(number, turn)
            await self.record(ReplyUnreadable(ask=number, turn=turn))
        prompt = ask.retry_prompt or ask.prompt
        return await self.record_turn(number, _make_turn(ask, await self.request(number, ask, prompt), prompt))

    async def record_turn(self, number: int, turn: Turn) -> Turn:
        await self.record(TurnCompleted(ask=number, turn=turn))
        return turn

    async def request(self, number: int, ask: Ask, prompt: str) -> Reply:
        sent = ask if prompt == ask.prompt else ask.with_prompt(prompt)
        return await self.with_retries(number, ask, lambda: self.call(sent))

    async def with_retries(self, number: int, ask: Ask, call: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a call, retried after temporary failures."""
        for failures in range(1, self.limits.max_tries + 1):
            try:
                return await call()
            except TemporaryFailure as error:
                await self.handle_failure(number, ask, error, self.limits.wait_before_retry(failures, error))
            except PermanentFailure as error:
                await self.handle_failure(number, ask, error, None)
        raise AssertionError("handle_failure raises after the last attempt")

    async def call(self, ask: Ask) -> Reply:
        async with self.limits.acquire(ask):
            reply = await self.model.complete(ask)
            self.add_cost([reply])
            return reply

    async def sample(self, model: Sampler, ask: Ask) -> list[Reply]:
        """Return as many replies as one call yields, possibly none.

        A provider that returns fewer than requested, or rejects `n`, gets single requests for the rest of the run.
        """
        async with self.limits.acquire(ask):
            try:
                replies = await model.sample(ask)
            except PermanentFailure:
                replies = []
            if not any(reply.finish == "refused" for reply in replies):  # a refusal says nothing about `n`
                self.limits.concurrency_limit(ask.spec).single_samples = len(replies) < ask.samples
            self.add_cost(replies)
            return replies

    def add_cost(self, replies: Sequence[Reply]) -> None:
        if self.limits.budget is not None:
            for reply in replies:
                self.limits.budget.add_spent(reply.usage.dollars)

    async def handle_failure(
        self, number: int, ask: Ask, error: TemporaryFailure | PermanentFailure, wait: float | None
    ) -> None:
        """Record a failed call, then wait for the next attempt or end the trace."""
        await self.record(CallFailed(ask=number, speaker=ask.speaker, problem=str(error), wait=wait))
        if wait is None:
            raise _TraceCannotContinue(f"The call to {ask.speaker} failed: {error}")
        if isinstance(error, TemporaryFailure) and error.retry_after:
            self.limits.concurrency_limit(ask.spec).pause(error.retry_after)
        await self.limits.pause(wait)


class _SampleBatch:
    """Several samples of one ask, requested in one call; samples that the call does not return are requested singly."""

    def __init__(self, runner: _TraceRunner, ask: Ask, numbers: Sequence[int]) -> None:
        self.numbers = list(numbers)
        self._runner, self._ask = runner, ask
        self._replies: asyncio.Task[list[Reply]] | None = None

    async def reply(self, number: int) -> Reply | None:
        """Return the reply for one ask of the batch; None where the call returned too few."""
        if self._replies is None:  # the first ask of the batch makes the call, the others wait for it
            self._replies = asyncio.ensure_future(self._request())
        replies = await self._replies
        position = self.numbers.index(number)
        return replies[position] if position < len(replies) else None

    async def _request(self) -> list[Reply]:
        runner, model = self._runner, self._runner.model
        if not isinstance(model, Sampler) or runner.limits.concurrency_limit(self._ask.spec).single_samples:
            return []
        ask = replace(self._ask, samples=len(self.numbers))
        return await runner.with_retries(self.numbers[0], self._ask, lambda: runner.sample(model, ask))


def _advance(flow: Flow, turns: list[Turn] | None) -> tuple[Sequence[Ask], Verdict | None]:
    """Return the flow's next round of asks and no verdict, or no asks and its verdict."""
    try:
        return (next(flow) if turns is None else flow.send(turns)), None
    except StopIteration as end:
        return (), end.value


def _make_turn(ask: Ask, reply: Reply, prompt: str) -> Turn:
    """Return the reply as a turn, with its reading or with the reason why it has none."""
    reading, problem = None, ""
    if reply.finish == "stop":
        try:
            reading = ask.read(reply.text)
        except Unreadable as error:
            problem = str(error)
    else:
        problem = _INCOMPLETE[reply.finish].format(limit=ask.spec.max_tokens)
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
        criterion=ask.criterion,
    )


def _difference(turn: Turn, ask: Ask) -> str:
    """Return why a stored turn does not answer this ask; empty when it does."""
    if (turn.speaker, turn.step, turn.round) != (ask.speaker, ask.step, ask.round):
        return (
            f"the stored turn is {turn.speaker}'s {turn.step} in round {turn.round}, "
            f"the run expects {ask.speaker}'s {ask.step}"
        )
    if turn.criterion not in ("", ask.criterion):
        return f"{turn.speaker}'s {turn.step} was about {turn.criterion}, the run expects {ask.criterion or 'none'}"
    if turn.model not in ("", ask.spec.model):
        return f"{turn.speaker} was {turn.model}, and is {ask.spec.model} now"
    if turn.prompt not in ("", ask.prompt, ask.retry_prompt):
        return f"{turn.speaker}'s prompt in round {turn.round} differs, so settings, prompts or item have changed"
    return ""


def _priority(error: BaseException) -> int:
    """Order the errors of one round, most important first: bugs, then failed calls, then a clean stop."""
    return 2 if isinstance(error, RunStopped) else 1 if isinstance(error, Problem) else 0
