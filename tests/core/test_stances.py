"""The grid of stances of a debate."""

from core.trace import CallFailed, Event, Turn, TurnCompleted
from core.verdicts import find_disagreements, list_stances


def turn(ask: int, judge: str, round: int, reading: int | None) -> TurnCompleted:
    problem = "" if reading is not None else "the reply is empty"
    return TurnCompleted(
        ask=ask,
        turn=Turn(speaker=judge, step="opinion", round=round, model="m", reply="", reading=reading, problem=problem),
    )


def numbered(*events: Event) -> list[tuple[int, Event]]:
    return list(enumerate(events, start=10))


def test_turns_are_ordered_by_their_asks_not_by_arrival() -> None:
    events = numbered(turn(1, "b", 0, 2), CallFailed(ask=0, speaker="a", problem="busy"), turn(0, "a", 0, 1))
    assert [(stance.seq, stance.judge) for stance in list_stances(events)] == [(12, "a"), (10, "b")]


def test_a_stance_is_compared_with_the_judges_last_readable_one() -> None:
    events = numbered(turn(0, "a", 0, 1), turn(1, "a", 1, None), turn(2, "a", 2, 2), turn(3, "a", 3, 2))
    stances = list_stances(events)
    assert [stance.previous_value for stance in stances] == [None, 1, 1, 2]
    assert [stance.changed for stance in stances] == [False, False, True, False]


def test_a_disagreement_is_a_change_or_a_contradiction_of_the_previous_speaker() -> None:
    events = numbered(
        turn(0, "a", 0, 1), turn(1, "b", 0, 1), turn(2, "c", 0, None), turn(3, "d", 0, 2), turn(4, "d", 1, 1)
    )
    assert find_disagreements(list_stances(events)) == [13, 14]
    assert find_disagreements([]) == []
