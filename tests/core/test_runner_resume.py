"""Resuming: stored turns are not requested again, and those of another run fail the trace."""

from core.llm.client import ScriptedModel
from core.protocols.scaleeval.settings import Settings
from core.trace import CallFailed, Event, ReplyUnreadable, TraceFailed, TurnCompleted, Verdict
from tests.core.protocols.debates import choices_script, make_flow, make_settings
from tests.core.protocols.scripted_runs import run_recorded


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
