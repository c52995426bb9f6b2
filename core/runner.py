"""Runs one flow to its verdict: sends its asks, reads the replies, and records every event.

Resuming is replay: stored turns are passed to the flow again, and only the missing asks are sent. Each event is stored
before the flow continues, so a reply is never lost and never paid for twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from core.answers.answer import Format
from core.attempts import (
    can_extract,
    describe_difference,
    extraction_ask,
    failed_turn,
    first_request,
    make_turn,
    plan_second_attempt,
    second_request,
    too_long_reply,
)
from core.errors import (
    ContextExceeded,
    PermanentFailure,
    RunStopped,
    TemporaryFailure,
    TiebreakError,
    UnsupportedSchema,
)
from core.llm.client import Model, Reply, Sampler, StoredReplies
from core.llm.limits import Limits
from core.llm.wire import DrawCounter
from core.trace import (
    Ask,
    CallFailed,
    Event,
    Flow,
    ReplyExtracted,
    ReplyUnreadable,
    SchemaRefused,
    Spec,
    TraceFailed,
    Turn,
    TurnCompleted,
    Verdict,
    VerdictReached,
    current_events,
    extracted_reading,
    with_reading,
)

T = TypeVar("T")
# Stores an event and returns once it is stored. Called concurrently by the asks of one round.
Record = Callable[[Event], Awaitable[None]]


class _TraceCannotContinue(TiebreakError):
    """Ends the trace without a verdict."""


class _SchemaRefusedBefore(TiebreakError):
    """The provider has refused a JSON schema while this call waited: nothing was sent."""


async def run_flow(
    flow: Flow,
    model: Model,
    record: Record,
    *,
    stored: Sequence[Event] = (),
    limits: Limits | None = None,
    extractor: Spec | None = None,
) -> Verdict | None:
    """Run a trace to its end, starting from the stored events. `extractor` is asked about unreadable replies.

    Returns its verdict, or None when it failed; the last event then states the reason. Raises RunStopped when the run
    was cancelled or reached its cost limit; calls in progress are completed and recorded first.
    """
    known = _StoredTurns.of(stored)
    if known.verdict is not None:
        return known.verdict
    try:
        return await _TraceRunner(model, record, known, limits or Limits(), extractor).run(flow)
    except RunStopped:
        raise
    except TiebreakError as error:
        await record(TraceFailed(problem=str(error)))
        return None
    finally:
        flow.close()


@dataclass
class _StoredTurns:
    """The turns and the verdict of a trace's stored events, by the number of the ask."""

    completed: dict[int, Turn] = field(default_factory=dict)
    unreadable: dict[int, ReplyUnreadable] = field(default_factory=dict)
    extracted: set[int] = field(default_factory=set)
    verdict: Verdict | None = None

    @classmethod
    def of(cls, events: Sequence[Event]) -> "_StoredTurns":
        known = cls()
        for event in current_events(events):
            match event:
                case TurnCompleted(ask=number, turn=turn):
                    known.completed[number] = turn
                case ReplyUnreadable(ask=number):
                    known.unreadable[number] = event
                case ReplyExtracted(ask=number):
                    known.extracted.add(number)
                case VerdictReached(verdict=verdict):
                    known.verdict = verdict
        return known

    def __contains__(self, number: int) -> bool:
        return number in self.completed or number in self.unreadable

    def check(self, number: int, ask: Ask) -> None:
        """Raise before anything is paid for when a stored turn belongs to a different ask.

        A turn without a stored prompt, model or criterion is accepted without that comparison.
        """
        first = self.unreadable[number].turn if number in self.unreadable else self.completed.get(number)
        for turn in (first, self.completed.get(number)):
            if turn is not None and (difference := describe_difference(turn, ask, is_first=turn is first)):
                raise _TraceCannotContinue(f"The stored events do not match this run: {difference}.")


@dataclass
class _TraceRunner:
    """Sends the asks of one flow. The number of an ask identifies it in the stored events."""

    model: Model
    record: Record
    known: _StoredTurns
    limits: Limits
    extractor: Spec | None = None
    counter: DrawCounter = field(default_factory=DrawCounter)
    draws: dict[int, int] = field(default_factory=dict)
    """Number of an ask -> its draw."""

    async def run(self, flow: Flow) -> Verdict:
        """Return and record the verdict of the flow."""
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
        self.draws |= dict(enumerate(self.counter.draws(asks), start=first))
        batches = self.group_samples(asks, first)
        # If a later ask was answered, the flow has used the replies of this round as they were read.
        was_used = any(number >= first + len(asks) for number in self.known.completed)
        pending = [
            self.read_turn(number, ask, batches.get(number), extract=not was_used)
            for number, ask in enumerate(asks, start=first)
        ]
        # A TaskGroup would cancel the other calls after the first error.
        results = await asyncio.gather(*pending, return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        if errors:
            # The most important: bugs, then failed calls, then a clean stop.
            raise min(errors, key=lambda error: (isinstance(error, RunStopped), isinstance(error, TiebreakError)))
        return [result for result in results if isinstance(result, Turn)]

    def group_samples(self, asks: Sequence[Ask], first: int) -> "dict[int, _SampleBatch]":
        """Return a batch for each ask that the flow yielded several times; stored asks are left out."""
        same_ask: dict[int, list[int]] = {}
        # By identity: a flow requests samples by yielding one object several times. Two equal asks are two calls.
        for number, ask in enumerate(asks, start=first):
            if number not in self.known:
                same_ask.setdefault(id(ask), []).append(number)
        groups = [numbers for numbers in same_ask.values() if len(numbers) > 1]
        batches = [_SampleBatch(self, asks[numbers[0] - first], numbers) for numbers in groups]
        return {number: batch for batch in batches for number in batch.numbers}

    async def read_turn(self, number: int, ask: Ask, batch: "_SampleBatch | None", *, extract: bool) -> Turn:
        """Return the turn of one ask, read by the extractor if the run has one and the parser could not."""
        turn = await self.complete_turn(number, ask, batch)
        if self.extractor is None or not extract or number in self.known.extracted or turn.finish != "complete":
            return turn
        unreadable = self.known.unreadable.get(number)
        first = None if unreadable is None else unreadable.turn
        if not can_extract(ask, turn, first):
            return turn
        extraction = replace(extraction_ask(ask, turn, self.extractor, first), draws=(self.draws[number],))
        try:
            reply = await self.with_retries(number, extraction, lambda: self.call(extraction))
        except ContextExceeded:
            return turn
        extracted = make_turn(extraction, reply)
        await self.record(ReplyExtracted(ask=number, turn=extracted))
        return turn if extracted.reading is None else with_reading(turn, extracted_reading(number, extracted))

    async def complete_turn(self, number: int, ask: Ask, batch: "_SampleBatch | None" = None) -> Turn:
        """Return the turn of one ask, stored or new; an unreadable reply is requested a second time."""
        if number in self.known.completed:
            return self.known.completed[number]
        unreadable = self.known.unreadable.get(number)
        if unreadable is None:
            try:
                sent, reply = (await batch.reply(number) if batch else None) or await self.request(number, ask)
            except _TraceCannotContinue as failure:
                if not ask.may_fail:
                    raise
                turn = failed_turn(ask, str(failure))
                await self.record(TurnCompleted(ask=number, turn=turn))
                return turn
            turn = make_turn(sent, reply)
            unreadable = plan_second_attempt(number, ask, turn, reply)
            if unreadable is None:
                return await self.record_turn(number, turn)
            await self.record(unreadable)
            self.known.unreadable[number] = unreadable
        sent, reply = await self.request(number, ask, unreadable)
        return await self.record_turn(number, make_turn(sent, reply))

    async def record_turn(self, number: int, turn: Turn) -> Turn:
        """Record a turn and return it."""
        await self.record(TurnCompleted(ask=number, turn=turn))
        return turn

    async def request(self, number: int, ask: Ask, unreadable: ReplyUnreadable | None = None) -> tuple[Ask, Reply]:
        """Return the request for an ask, or for its second attempt, and the reply.

        A request that is longer than the model's context has an empty reply: the trace goes on without it.
        """

        def to_send(format: Format) -> Ask:
            sent = first_request(ask, format) if unreadable is None else second_request(ask, format, unreadable)
            return replace(sent, draws=(self.draws[number],))

        async def attempt(format: Format) -> tuple[Ask, Reply]:
            sent = to_send(format)
            return sent, await self.call(sent)

        preferred = await self.preferred_format(ask) if unreadable is None else unreadable.turn.format
        try:
            return await self.in_accepted_format(number, ask, preferred, attempt)
        except ContextExceeded as error:
            return to_send(preferred), too_long_reply(error)

    async def preferred_format(self, ask: Ask) -> Format:
        """Return the model's format for a structured answer, otherwise text."""
        return await self.model.answer_format(ask.spec) if ask.is_structured else "text"

    async def in_accepted_format(
        self, number: int, ask: Ask, preferred: Format, attempt: Callable[[Format], Awaitable[T]]
    ) -> T:
        """Return the result of a call with retries; once more as text if the provider refuses the JSON schema.

        The refusal is recorded, and remembered for the rest of the run: calls that wait for their turn are then made as
        text, and only those that were already sent may be refused as well.
        """
        limit = self.limits.concurrency_limit(ask.spec)
        try:
            return await self.with_retries(number, ask, lambda: attempt("text" if limit.text_only else preferred))
        except _SchemaRefusedBefore:
            pass
        except UnsupportedSchema as refusal:
            limit.text_only = True
            await self.record(SchemaRefused(ask=number, speaker=ask.speaker, problem=str(refusal)))
        return await self.with_retries(number, ask, lambda: attempt("text"))

    async def with_retries(self, number: int, ask: Ask, call: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a call, retried after temporary failures; raises UnsupportedSchema, ContextExceeded."""
        for failures in range(1, self.limits.max_tries + 1):
            try:
                return await call()
            except (UnsupportedSchema, ContextExceeded):  # permanent failures that do not end the trace
                raise
            except TemporaryFailure as error:
                await self.handle_failure(number, ask, error, self.limits.wait_before_retry(failures, error))
            except PermanentFailure as error:
                await self.handle_failure(number, ask, error, None)
        raise AssertionError("handle_failure raises after the last attempt")

    async def call(self, ask: Ask) -> Reply:
        """Return a stored reply, or make one call within the limits; raises RunStopped if the run may start none."""
        if stored := await self.stored_replies(ask):
            return stored[0]
        async with self.limits.acquire(ask):
            self.check_schema(ask)
            reply = await self.model.complete(ask)
            self.add_cost([reply])
            return reply

    async def stored_replies(self, ask: Ask) -> list[Reply]:
        """Return the replies of earlier calls for an ask; raises RunStopped when the run is cancelled."""
        if self.store is None:
            return []
        self.limits.raise_if_cancelled()
        return await self.store.find(ask)

    def check_schema(self, ask: Ask) -> None:
        """Raise _SchemaRefusedBefore if the ask has a JSON schema and its model has refused one in this run."""
        if ask.schema is not None and self.limits.concurrency_limit(ask.spec).text_only:
            raise _SchemaRefusedBefore

    async def sample(self, model: Sampler, ask: Ask) -> list[Reply]:
        """Return as many replies as one call yields, possibly none.

        A provider that returns fewer than requested, or rejects `n`, gets single requests for the rest of the run.
        """
        stored = await self.stored_replies(ask)
        if len(stored) == ask.samples:
            return stored
        async with self.limits.acquire(ask):
            self.check_schema(ask)
            try:
                replies = await model.sample(ask)
            except (UnsupportedSchema, ContextExceeded):
                raise
            except PermanentFailure:
                replies = []
            if not any(reply.finish == "refused" for reply in replies):  # a refusal says nothing about `n`
                self.limits.concurrency_limit(ask.spec).single_samples = len(replies) < ask.samples
            self.add_cost(replies)
            return replies

    @cached_property  # this check takes longer than the others of a call
    def store(self) -> StoredReplies | None:
        """The model, if it stores replies."""
        return self.model if isinstance(self.model, StoredReplies) else None

    def add_cost(self, replies: Sequence[Reply]) -> None:
        """Add the cost of replies to the spent budget of the run; those of earlier calls cost nothing."""
        if self.limits.budget is not None:
            for reply in (reply for reply in replies if not reply.reused):
                self.limits.budget.spent += reply.usage.dollars or 0.0

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
        self._replies: asyncio.Task[tuple[Ask, list[Reply]]] | None = None

    async def reply(self, number: int) -> tuple[Ask, Reply] | None:
        """Return the request and the reply for one ask of the batch; None if the call returned too few."""
        if self._replies is None:  # the first ask of the batch makes the call, the others wait for it
            self._replies = asyncio.ensure_future(self._request())
        sent, replies = await self._replies
        position = self.numbers.index(number)
        return (sent, replies[position]) if position < len(replies) else None

    async def _request(self) -> tuple[Ask, list[Reply]]:
        runner, model, ask = self._runner, self._runner.model, self._ask
        if not isinstance(model, Sampler) or runner.limits.concurrency_limit(ask.spec).single_samples:
            return ask, []
        sampler: Sampler = model

        async def attempt(format: Format) -> tuple[Ask, list[Reply]]:
            draws = tuple(runner.draws[number] for number in self.numbers)
            sent = replace(first_request(ask, format), samples=len(draws), draws=draws)
            return sent, await runner.sample(sampler, sent)

        preferred = await runner.preferred_format(ask)
        try:
            return await runner.in_accepted_format(self.numbers[0], ask, preferred, attempt)
        except ContextExceeded as error:
            return first_request(ask, preferred), [too_long_reply(error)] * len(self.numbers)


def _advance(flow: Flow, turns: list[Turn] | None) -> tuple[Sequence[Ask], Verdict | None]:
    """Return the flow's next round of asks and no verdict, or no asks and its verdict."""
    try:
        return (next(flow) if turns is None else flow.send(turns)), None
    except StopIteration as end:
        return (), end.value
