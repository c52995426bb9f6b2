"""Events and turns as they are stored."""

import pytest

from core.labels import Opinion
from core.protocols.scaleeval.settings import Settings
from core.trace import (
    EVENT_ADAPTER,
    Event,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    ReplyUnreadable,
    Spec,
    TraceRestarted,
    Turn,
    TurnCompleted,
    Verdict,
    VerdictReached,
    completed_turns,
    current_events,
    model_specs,
    turn_readings,
)

OLD_TURN = {"speaker": "a", "step": "opinion", "round": 0, "model": "m", "reply": "1", "reading": 1}
OLD_OPINION = {"kind": "preference", "judge": "a", "stage": "last", "value": 1, "criterion": "", "part": ""}


def test_what_a_turn_and_a_verdict_did_not_have_in_version_0_1_is_written_only_where_present() -> None:
    event = EVENT_ADAPTER.validate_python({"type": "turn", "ask": 0, "turn": OLD_TURN})
    new = {"format", "reading_rule", "reading_span", "read_by", "notes", "criterion"}
    assert not new & event.model_dump(mode="json")["turn"].keys()
    assert "max_tokens" not in ReplyUnreadable(ask=0, turn=event.turn).model_dump()
    assert "contention" not in Verdict(outcome="agreed").model_dump()
    assert "contention" in Verdict(outcome="agreed", contention=0.0).model_dump()


def test_superseded_turns_are_not_completed() -> None:
    turns = [TurnCompleted(ask=0, turn=Turn(**OLD_TURN | {"reply": reply})) for reply in "12"]
    events = [turns[0], TraceRestarted(reason="The prompts have changed."), turns[1]]
    assert current_events(events) == events[1:]
    assert [turn.reply for turn in completed_turns(events)] == ["2"]


def test_the_criterion_of_a_turn_is_stored() -> None:
    event = TurnCompleted(ask=0, turn=Turn(**OLD_TURN, criterion="clarity"))
    assert EVENT_ADAPTER.validate_json(EVENT_ADAPTER.dump_json(event)) == event
    assert event.model_dump(mode="json")["turn"]["criterion"] == "clarity"


@pytest.mark.parametrize(("reason", "written"), [("", False), ("It is shorter.", True)])
def test_the_reason_of_an_opinion_is_stored_where_present(reason: str, written: bool) -> None:
    old = {"type": "verdict", "verdict": {"outcome": "agreed", "value": 1, "opinions": [OLD_OPINION]}}
    event = EVENT_ADAPTER.validate_python(old)
    assert isinstance(event, VerdictReached) and event.verdict.opinions[0].reason == ""
    opinion = Opinion(**OLD_OPINION, reason=reason)
    assert ("reason" in opinion.model_dump(mode="json")) is written
    assert Opinion.model_validate_json(opinion.model_dump_json()) == opinion


def test_every_model_of_nested_settings_is_listed_with_its_path() -> None:
    judges = [{"name": name, "spec": {"model": f"model-{name}"}} for name in "ab"]
    settings = Settings.model_validate({"judges": judges, "criterion": {"name": "helpfulness"}})
    assert dict(model_specs(settings)) == {
        "judges.0.spec": Spec(model="model-a"),
        "judges.1.spec": Spec(model="model-b"),
    }


def test_a_model_with_extra_parameters_is_hashable() -> None:
    spec, equal, other = (Spec(model="m", extra={"min_p": value}) for value in (0.1, 0.1, 0.2))
    assert {spec: "a"}[equal] == "a" and other not in {spec}


# The readings of a reply over time: which one counts, and which ones were replaced or withdrawn.


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
