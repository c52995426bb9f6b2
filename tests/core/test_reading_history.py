"""The readings of a reply over time: which one counts, and which ones were replaced or withdrawn."""

from core.trace import (
    Event,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    ReplyUnreadable,
    TraceRestarted,
    Turn,
    TurnCompleted,
    completed_turns,
    turn_readings,
)


def make_turn(reply: str, reading: int | None = None, problem: str = "") -> Turn:
    return Turn(speaker="a", step="s", round=0, model="m", reply=reply, reading=reading, problem=problem)


FIRST = ReplyUnreadable(ask=0, turn=make_turn("Hm.", problem="no choice"))
SECOND = TurnCompleted(ask=0, turn=make_turn("Hm, hm.", problem="no choice again"))
EXTRACTED = ReplyExtracted(ask=0, turn=make_turn("1", 1))
BY_ANN = ReadingReplaced(ask=0, reading=2, reading_rule="stated", read_by="person: ann")


def values(events: list[Event]) -> list[tuple[object, str]]:
    return [(past.turn.reading, past.withdrawn_by) for past in turn_readings(events)[0].history]


def test_the_first_reply_and_every_reading_are_listed() -> None:
    events: list[Event] = [FIRST, SECOND, EXTRACTED, BY_ANN, ReadingWithdrawn(ask=0, by="ben")]
    readings = turn_readings(events)[0]
    assert readings.first == FIRST
    assert values(events) == [(None, ""), (1, ""), (2, "ben")]
    assert (readings.turn.reading, readings.turn.read_by) == (1, "extractor: m")
    assert [past.turn.reading for past in readings.earlier] == [None, 2]


def test_the_current_reading_is_the_one_that_replay_and_figures_use() -> None:
    withdrawn = ReadingWithdrawn(ask=0, by="ben")
    later = [EXTRACTED, BY_ANN, withdrawn, BY_ANN, withdrawn, withdrawn, withdrawn, BY_ANN]
    for length in range(len(later) + 1):
        events: list[Event] = [FIRST, SECOND, *later[:length]]
        assert [turn_readings(events)[0].turn] == completed_turns(events)


def test_events_before_a_restart_and_other_asks_do_not_count() -> None:
    other = TurnCompleted(ask=1, turn=make_turn("2", 2))
    events: list[Event] = [FIRST, SECOND, BY_ANN, TraceRestarted(reason="r"), other, SECOND]
    readings = turn_readings(events)
    assert list(readings) == [0, 1]
    assert (readings[0].first, len(readings[0].history), readings[1].turn.reading) == (None, 1, 2)
    assert turn_readings([FIRST]) == {}
