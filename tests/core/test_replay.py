"""The verdict under other readings: computed from stored replies where the prompts stay the same, refused elsewhere."""

from collections.abc import Callable

import pytest

from core import attempts
from core.answers import Choice
from core.attempts import NeedsCalls, can_extract, replay, reread_turn, stored_turns
from core.llm.client import Reply
from core.trace import (
    Ask,
    Event,
    Flow,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    Spec,
    Turn,
    TurnCompleted,
    Verdict,
    VerdictReached,
    current_events,
    with_reading,
)

CHOICE = Choice(noun="Submission")


def make_ask(speaker: str, prompt: str = "Which?") -> Ask:
    return Ask(speaker=speaker, step="choice", round=0, spec=Spec(model="m"), prompt=prompt, answer=CHOICE)


def make_turn(speaker: str, reply: str, reading: int | None = None) -> Turn:
    problem = "" if reading is not None else "it does not say which"
    fields = {"speaker": speaker, "step": "choice", "round": 0, "model": "m", "reply": reply}
    return Turn(**fields, reading=reading, problem=problem)


def independent_judges() -> Flow:
    turns = yield [make_ask("a"), make_ask("b")]
    return Verdict(outcome="agreed", value=sum(bool(turn.reading) for turn in turns))


def second_judge_hears_the_value() -> Flow:
    (first,) = yield [make_ask("a")]
    yield [make_ask("b", f"a says {first.reading}")]
    return Verdict(outcome="agreed")


def asks_again_where_one_is_chosen() -> Flow:
    (first,) = yield [make_ask("a")]
    if first.reading == 1:
        yield [make_ask("b")]
    return Verdict(outcome="agreed", value=first.reading)


def with_reading_of(number: int, value: int) -> Callable[[int, Ask, Turn], Turn]:
    def reread(asked: int, _: Ask, turn: Turn) -> Turn:
        return turn.model_copy(update={"reading": value, "problem": ""}) if asked == number else turn

    return reread


STORED = {0: make_turn("a", "hm"), 1: make_turn("b", "Final answer: 1", 1)}


def test_a_verdict_follows_from_the_other_reading() -> None:
    assert replay(independent_judges, STORED).verdict.value == 1
    assert replay(independent_judges, STORED, with_reading_of(0, 2)).verdict.value == 2


def test_a_reading_that_changes_a_later_prompt_needs_calls() -> None:
    assert replay(second_judge_hears_the_value, STORED).verdict.outcome == "agreed"
    with pytest.raises(NeedsCalls, match="prompt of b's choice in round 0 would be different"):
        replay(second_judge_hears_the_value, STORED, with_reading_of(0, 2))


def test_a_reading_that_leads_to_a_further_ask_needs_calls() -> None:
    stored = {0: STORED[0]}
    assert replay(asks_again_where_one_is_chosen, stored).verdict.value is None
    assert replay(asks_again_where_one_is_chosen, stored, with_reading_of(0, 2)).verdict.value == 2
    with pytest.raises(NeedsCalls, match="b would be asked"):
        replay(asks_again_where_one_is_chosen, stored, with_reading_of(0, 1))


def test_turns_of_another_flow_need_calls() -> None:
    with pytest.raises(NeedsCalls, match="do not match"):
        replay(independent_judges, {0: STORED[1], 1: STORED[0]})


def test_a_complete_reply_is_read_again_and_a_cut_off_or_refused_one_is_not() -> None:
    ask = make_ask("a")
    again = reread_turn(ask, make_turn("a", "Final answer: 2"))
    assert (again.reading, again.reading_rule, again.problem) == (2, "labelled", "")
    for finish in ("length", "refused"):
        turn = make_turn("a", "Final answer: 2").model_copy(update={"finish": finish, "problem": "it has no value"})
        assert reread_turn(ask, turn) == turn
    misread = make_turn("a", "Perhaps.", 1)
    assert reread_turn(ask, misread).reading is None


def test_a_cut_off_reply_stays_one_after_another_reading_of_it() -> None:
    """An extractor's or a person's reading replaces the sentence, and says nothing about how the reply ended."""
    cut = attempts.make_turn(make_ask("a"), Reply(text="Final answer: 2", finish="cut off"))
    for later in (ReadingReplaced(ask=0, reading=1, read_by="extractor: m"), ReadingReplaced(ask=0, problem="none")):
        turn = with_reading(cut, later)
        assert reread_turn(make_ask("a"), turn) == turn
        assert not can_extract(make_ask("a"), turn)


@pytest.mark.parametrize(
    ("problem", "finish"),
    [
        ("the reply was cut off at the limit of 100 tokens", "length"),
        ("the model refused to answer", "refused"),
        ("it states no answer", "complete"),
    ],
)
def test_how_a_reply_ended_is_stored_and_derived_only_for_turns_stored_without_it(problem: str, finish: str) -> None:
    stored = make_turn("a", "Final answer: 2").model_dump(mode="json") | {"problem": problem}
    assert Turn.model_validate(stored).finish == finish
    assert Turn.model_validate(stored | {"finish": "length", "problem": ""}).finish == "length"
    again = Turn.model_validate(stored)
    assert Turn.model_validate_json(again.model_dump_json()) == again


def test_a_reading_stays_where_this_version_requests_no_value() -> None:
    ask = Ask(speaker="a", step="choice", round=0, spec=Spec(model="m"), prompt="Discuss.")
    turn = make_turn("a", "Final answer: 2", 2)
    assert reread_turn(ask, turn) == turn


def a_verdict(value: int | None) -> VerdictReached:
    return VerdictReached(verdict=Verdict(outcome="agreed", value=value))


def test_the_current_events_have_the_last_reading_and_the_last_verdict() -> None:
    turn = TurnCompleted(ask=0, turn=make_turn("a", "hm"))
    first = ReadingReplaced(ask=0, reading=1, reading_rule="stated", read_by="person: ann")
    second = ReadingReplaced(ask=0, reading=2, reading_rule="stated", read_by="person: ben")
    events: list[Event] = [turn, a_verdict(None), first, a_verdict(1), second, a_verdict(2)]

    def reading(events: list[Event]) -> tuple[object, str, object]:
        verdicts = [event.verdict.value for event in current_events(events) if isinstance(event, VerdictReached)]
        return stored_turns(events)[0].reading, stored_turns(events)[0].read_by, verdicts

    assert reading(events) == (2, "person: ben", [2])
    undone: list[Event] = [*events, ReadingWithdrawn(ask=0, by="ben"), a_verdict(1)]
    assert reading(undone) == (1, "person: ann", [1])
    original: list[Event] = [*undone, ReadingWithdrawn(ask=0, by="ann"), a_verdict(None)]
    assert reading(original) == (None, "", [None])
    assert stored_turns(original)[0] == turn.turn


def test_an_extracted_value_is_the_reading_and_none_leaves_the_reply_unreadable() -> None:
    turn = TurnCompleted(ask=0, turn=make_turn("a", "hm"))
    extracted = ReplyExtracted(ask=0, turn=make_turn("a", "Final answer: 2", 2))
    assert stored_turns([turn, extracted])[0].read_by == "extractor: m"
    assert stored_turns([turn, extracted])[0].reading == 2
    assert stored_turns([turn, ReplyExtracted(ask=0, turn=make_turn("a", "NOT STATED"))])[0] == turn.turn
