"""Resuming: a run interrupted anywhere repeats no call and reaches the same verdict."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from core.llm.client import Answer, Reply, ScriptedModel
from core.protocols.scaleeval.settings import Settings
from core.trace import EVENT_ADAPTER, Ask, CallFailed, Event, ReplyUnreadable, TraceFailed, TurnCompleted, Verdict
from storage.db.columns import to_storable_json
from tests.core.protocols.debates import choices_script, make_flow, make_settings
from tests.core.protocols.scripted_runs import run_recorded


def scripted_answer(seed: int, ask: Ask) -> Answer:
    """Return a reply that depends on speaker and prompt: mostly a choice, sometimes unreadable or a refusal."""
    number = int(hashlib.sha256(f"{seed}{ask.speaker}{ask.prompt}".encode()).hexdigest(), 16) % 12
    if number == 0:
        return Reply(text="", finish="refused")
    if number == 3:  # the characters that no database stores
        return r'{"reasoning": "Half \ud800, NUL \u0000, 😀.", "answer": "Submission 1"}'
    return "I cannot say." if number < 3 else f"So be it ({number}).\n\n{number % 3}"


def run(chosen: Settings, seed: int, stored: list[Event]) -> tuple[Verdict | None, list[Event], list[str]]:
    """Return the verdict, all events including the stored ones, and the asks that were sent."""
    model = ScriptedModel(lambda ask: scripted_answer(seed, ask))
    verdict, events = run_recorded(make_flow(chosen, seed=seed), model, stored)
    return verdict, events, [f"{ask.speaker} {ask.round}: {ask.prompt}" for ask in model.asked]


def sort_by_ask(events: list[Event]) -> list[Event]:
    """Return the events in the order of the flow; asks of one round are recorded as they are answered."""
    return sorted(events, key=lambda e: (getattr(e, "ask", 99), e.type == "turn"))


@given(
    seed=st.integers(0, 10_000),
    cut=st.integers(0, 30),
    chosen=st.builds(
        lambda judges, reply_order, stopping: make_settings(judges, reply_order=reply_order, stopping=stopping),
        st.sampled_from(["ab", "abc", "abcd"]),
        st.sampled_from(["simultaneous", "sequential"]),
        st.sampled_from(["unanimity", "majority"]),
    ),
)
def test_an_interrupted_run_ends_like_an_uninterrupted_one(seed: int, cut: int, chosen: Settings) -> None:
    verdict, events, asked = run(chosen, seed, [])
    stored = [EVENT_ADAPTER.validate_json(to_storable_json(event.model_dump(mode="json"))) for event in events[:cut]]
    resumed_verdict, all_events, asked_later = run(chosen, seed, stored)
    assert resumed_verdict == verdict
    assert sort_by_ask(all_events) == sort_by_ask(events)
    answered = sum(isinstance(e, TurnCompleted | ReplyUnreadable) for e in stored)
    assert len(asked_later) == len(asked) - answered
    assert not set(asked_later) & {
        f"{e.turn.speaker} {e.turn.round}: {e.turn.prompt}" for e in stored if hasattr(e, "turn")
    }


def resume(stored: list[Event], chosen: Settings) -> tuple[Verdict | None, list[Event], ScriptedModel]:
    model = ScriptedModel(choices_script(a="1", b="1", c="1"))
    return *run_recorded(make_flow(chosen), model, stored), model


def stored_turns(chosen: Settings) -> list[Event]:
    return resume([], chosen)[1][:2]


def test_a_stored_first_attempt_is_not_repeated() -> None:
    turn = stored_turns(make_settings())[0]
    assert isinstance(turn, TurnCompleted)
    unreadable = ReplyUnreadable(ask=0, turn=turn.turn.model_copy(update={"reading": None, "problem": "?"}))
    verdict, _, model = resume([unreadable], make_settings())
    assert verdict and len(model.asked) == 3
    assert "could not be read: ?" in next(ask.prompt for ask in model.asked if ask.speaker == "a")


def test_stored_failures_do_not_affect_a_resumed_run() -> None:
    failures: list[Event] = [CallFailed(ask=0, speaker="a", problem="busy"), TraceFailed(problem="busy")]
    verdict, _, _ = resume(failures, make_settings())
    assert verdict and verdict.outcome == "agreed"


def test_a_stored_turn_for_another_prompt_fails_the_trace() -> None:
    verdict, events, model = resume(stored_turns(make_settings()), make_settings(words=99))
    assert verdict is None
    assert isinstance(events[-1], TraceFailed)
    assert "a's prompt in round 0 differs" in events[-1].problem
    assert not model.asked


def test_a_stored_turn_of_another_speaker_fails_the_trace() -> None:
    _, events, _ = resume(stored_turns(make_settings("ab")), make_settings("ba"))
    assert isinstance(events[-1], TraceFailed)
    assert "the stored turn is a's opinion in round 0, the run expects b's opinion" in events[-1].problem


def test_a_stored_turn_about_another_criterion_fails_the_trace() -> None:
    turn = stored_turns(make_settings())[0]
    assert isinstance(turn, TurnCompleted)
    other = turn.model_copy(update={"turn": turn.turn.model_copy(update={"criterion": "clarity"})})
    _, events, model = resume([other], make_settings())
    assert isinstance(events[-1], TraceFailed) and "was about clarity" in events[-1].problem
    assert not model.asked


def test_a_stored_turn_without_a_prompt_is_accepted() -> None:
    turn = stored_turns(make_settings())[0]
    assert isinstance(turn, TurnCompleted)
    bare = turn.model_copy(update={"turn": turn.turn.model_copy(update={"prompt": ""})})
    verdict, _, model = resume([bare], make_settings())
    assert verdict and [ask.speaker for ask in model.asked] == ["b", "c"]
