"""Resuming is replay: cut a run anywhere, and nothing is asked twice and nothing ends otherwise."""

import asyncio
import hashlib

from hypothesis import given
from hypothesis import strategies as st

from core.llm.client import Answer, Reply, ScriptedModel
from core.protocols.scaleeval.protocol import Settings
from core.runner import run_flow
from core.trace import EVENT, Ask, CallFailed, Event, ReplyUnreadable, TraceFailed, TurnTaken, Verdict
from tests.core.protocols.debates import a_flow, following, settings


def by_prompt(seed: int, ask: Ask) -> Answer:
    """A reply that depends on who is asked what: mostly a choice, sometimes none."""
    number = int(hashlib.sha256(f"{seed}{ask.speaker}{ask.prompt}".encode()).hexdigest(), 16) % 12
    if number == 0:
        return Reply(text="", finish="refused")
    return "I cannot say." if number < 3 else f"So be it ({number}).\n\n{number % 3}"


def whole(chosen: Settings, seed: int) -> tuple[Verdict | None, list[Event], list[str]]:
    return _run(chosen, seed, [])


def _run(chosen: Settings, seed: int, stored: list[Event]) -> tuple[Verdict | None, list[Event], list[str]]:
    model = ScriptedModel(lambda ask: by_prompt(seed, ask))
    events = list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    verdict = asyncio.run(run_flow(a_flow(chosen, seed=seed), model, record, stored=stored))
    return verdict, events, [f"{ask.speaker}: {ask.prompt}" for ask in model.asked]


def in_order(events: list[Event]) -> list[Event]:
    """Events as the flow orders them; asks of one round are recorded as they are answered."""
    return sorted(events, key=lambda e: (getattr(e, "ask", 99), e.type == "turn"))


@given(
    seed=st.integers(0, 10_000),
    cut=st.integers(0, 30),
    chosen=st.builds(
        lambda judges, speaking, stopping: settings(judges, speaking=speaking, stopping=stopping),
        st.sampled_from(["ab", "abc", "abcd"]),
        st.sampled_from(["at once", "in turn"]),
        st.sampled_from(["unanimity", "majority"]),
    ),
)
def test_a_run_cut_anywhere_ends_as_if_it_were_not(seed: int, cut: int, chosen: Settings) -> None:
    verdict, events, asked = whole(chosen, seed)
    kept = [EVENT.validate_json(EVENT.dump_json(event)) for event in events[:cut]]
    again, all_events, asked_later = _run(chosen, seed, kept)
    assert again == verdict
    assert in_order(all_events) == in_order(events)
    answered = sum(isinstance(e, TurnTaken | ReplyUnreadable) for e in kept)
    assert len(asked_later) == len(asked) - answered
    assert not set(asked_later) & {f"{e.turn.speaker}: {e.turn.prompt}" for e in kept if hasattr(e, "turn")}


def resumed(stored: list[Event], chosen: Settings) -> tuple[Verdict | None, list[Event], ScriptedModel]:
    model, events = ScriptedModel(following(a="1", b="1", c="1")), []

    async def record(event: Event) -> None:
        events.append(event)

    return asyncio.run(run_flow(a_flow(chosen), model, record, stored=stored)), events, model


def stored_turns(chosen: Settings) -> list[Event]:
    return resumed([], chosen)[1][:2]


def test_a_first_try_that_is_stored_is_not_asked_again() -> None:
    turn = stored_turns(settings())[0]
    assert isinstance(turn, TurnTaken)
    unread = ReplyUnreadable(ask=0, turn=turn.turn.model_copy(update={"reading": None, "problem": "?"}))
    verdict, _, model = resumed([unread], settings())
    assert verdict and len(model.asked) == 3
    assert "Answer once more" in next(ask.prompt for ask in model.asked if ask.speaker == "a")


def test_trouble_that_is_stored_does_not_matter_later() -> None:
    trouble: list[Event] = [CallFailed(ask=0, speaker="a", problem="busy"), TraceFailed(problem="busy")]
    verdict, _, _ = resumed(trouble, settings())
    assert verdict and verdict.outcome == "agreed"


def test_a_turn_to_another_prompt_is_not_taken_for_an_answer() -> None:
    verdict, events, model = resumed(stored_turns(settings()), settings(words=99))
    assert verdict is None
    assert isinstance(events[-1], TraceFailed)
    assert "a's prompt in round 0 is another now" in events[-1].problem
    assert not model.asked


def test_a_turn_of_another_speaker_is_not_taken_for_an_answer() -> None:
    _, events, _ = resumed(stored_turns(settings("ab")), settings("ba"))
    assert isinstance(events[-1], TraceFailed)
    assert "a's opinion in round 0 stands where b's opinion should" in events[-1].problem


def test_a_turn_without_a_stored_prompt_is_taken_at_its_word() -> None:
    turn = stored_turns(settings())[0]
    assert isinstance(turn, TurnTaken)
    bare = turn.model_copy(update={"turn": turn.turn.model_copy(update={"prompt": ""})})
    verdict, _, model = resumed([bare], settings())
    assert verdict and [ask.speaker for ask in model.asked] == ["b", "c"]
