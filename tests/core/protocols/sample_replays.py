"""Replays of the traces in a sample study, from their stored replies."""

from collections.abc import Sequence

from core.formats.records import RunRecord, TraceRecord
from core.items import Item
from core.llm.client import Reply
from core.llm.wire import Finish
from core.protocols import trace_rng
from core.protocols.registry import PROTOCOLS
from core.trace import Ask, Ending, Event, ReplyUnreadable, Turn, TurnCompleted
from tests.core.protocols.scripted_runs import run_script


def replay_sample(run: RunRecord, item: Item, trace: TraceRecord) -> list[Event]:
    """Return the events that the protocol gives when the models repeat the stored replies, without prompts."""
    protocol = PROTOCOLS[run.protocol]
    settings = protocol.settings.model_validate(run.settings)
    attempts = _attempts(trace)
    numbers = iter(sorted(attempts))
    pending: dict[str, int] = {}

    def answer(ask: Ask) -> Reply:
        # A second attempt begins with the first prompt; all other asks arrive in the order of their numbers.
        key = f"{ask.speaker} {ask.shown} {ask.history[0] if ask.history else ask.prompt}"
        first = next((prompt for prompt in pending if key.startswith(prompt)), None)
        number = next(numbers) if first is None else pending.pop(first)
        turn = attempts[number].pop(0)
        if attempts[number]:
            pending[key] = number
        return Reply(text=turn.reply, finish=_finish(turn), usage=turn.usage)

    flow = protocol.flow(item, settings, trace_rng(run.seed, item), run.prompts)
    events = run_script(flow, answer).events
    assert not any(attempts.values())
    return without_prompts(events)


def replies(trace: TraceRecord) -> list[Turn]:
    """Return the turns of all replies, the unreadable first attempts included."""
    return [event.turn for event in trace.events if isinstance(event, TurnCompleted | ReplyUnreadable)]


def without_prompts(events: Sequence[Event]) -> list[Event]:
    """Return the events as exports store them: prompts are not in the file."""
    return [
        event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": ""})})
        if isinstance(event, TurnCompleted | ReplyUnreadable)
        else event
        for event in events
    ]


def _attempts(trace: TraceRecord) -> dict[int, list[Turn]]:
    """Return the one or two replies to each ask, by its number."""
    attempts: dict[int, list[Turn]] = {}
    for event in trace.events:
        if isinstance(event, TurnCompleted | ReplyUnreadable):
            attempts.setdefault(event.ask, []).append(event.turn)
    return attempts


def _finish(turn: Turn) -> Finish:
    finishes: dict[Ending, Finish] = {"complete": "stop", "length": "cut off", "refused": "refused"}
    return finishes[turn.finish]
