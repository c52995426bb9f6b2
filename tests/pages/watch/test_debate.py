"""The default view of a trace: preferences, scores, several criteria, and protocols that are not installed."""

from typing import Any

import pytest

from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.labels import Kind, Opinion, Value
from core.trace import Event, Turn, TurnCompleted, Verdict, VerdictReached
from pages.watch.parts.turns import named_responses
from tests.conftest import make_item
from tests.pages.visits import prepare_study, trace_text

CRITERIA = ("clarity", "brevity")


def completed_turn(ask: int, speaker: str, reading: Value | None, **fields: Any) -> TurnCompleted:
    turn = Turn(speaker=speaker, step="rate", round=0, model="m", reply="a reply", reading=reading, **fields)
    return TurnCompleted(ask=ask, turn=turn)


def opinion(judge: str, criterion: str, value: Value | None, kind: Kind = "score", **fields: Any) -> Opinion:
    return Opinion(kind=kind, judge=judge, stage="last", criterion=criterion, value=value, **fields)


def verdict(value: Value | None, *opinions: Opinion) -> VerdictReached:
    return VerdictReached(verdict=Verdict(outcome="agreed", value=value, reason="the mean", opinions=opinions))


def prepare_trace(*events: Event, protocol: str = "not-installed") -> None:
    """A study with one trace of a protocol that has no view of its own."""
    run = RunRecord(name="r", protocol=protocol, settings={"judges": [{"name": "ann"}, {"name": "ben"}, "cat"]})
    prepare_study([ItemRecord(item=make_item("i")), run, TraceRecord(run="r", item="i", events=events)])


def test_a_protocol_that_is_not_installed_is_named_and_its_turns_are_shown() -> None:
    prepare_trace(completed_turn(0, "ann", 1), verdict(1, opinion("ann", "", 1, "preference")))
    text = trace_text("i").replace("\\", "")
    assert "The protocol “not-installed” is not installed here." in text
    assert "**ann** · first opinion · :blue-badge[1]" in text and "a reply" in text
    assert "Agreed]: :blue-badge[1]" in text


VALUES = {"clarity": 4.0, "brevity": 3.5}


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ((completed_turn(1, "ben", 2.5), verdict(2.25)), ["**ben** · first opinion · **2.50**", "Agreed]: 2.25"]),
        (
            (completed_turn(0, "ann", VALUES), verdict(VALUES)),
            ["**clarity 4, brevity 3.50**", "Agreed]: clarity 4, brev"],
        ),
        ((completed_turn(0, "ann", {"1": 8.0, "2": 6.0}), verdict(1)), [r"**8 \: 6**"]),
        ((completed_turn(0, "ann", None, problem="no choice"), verdict(None)), ["opinion · no verdict: no choice"]),
    ],
)
def test_a_value_is_shown_by_its_type(events: tuple[Event, ...], shown: list[str]) -> None:
    prepare_trace(*events)
    text = trace_text("i")
    assert [part for part in shown if part not in text] == []


def test_several_criteria_have_a_turn_and_a_value_each() -> None:
    turns = [completed_turn(n, "ann", n + 3, criterion=criterion) for n, criterion in enumerate(CRITERIA)]
    opinions = [opinion("ann", criterion, n + 3) for n, criterion in enumerate(CRITERIA)]
    values = zip(CRITERIA, (3, None), strict=True)
    opinions += [opinion("", name, value).model_copy(update={"stage": "verdict"}) for name, value in values]
    prepare_trace(*turns, verdict(None, *opinions))
    text = trace_text("i")
    assert "**ann** · clarity · first opinion · **3**" in text and "**ann** · brevity · first opinion · **4**" in text
    assert r"clarity: 3 · brevity: –" in text


def test_a_debate_in_both_orders_has_a_row_and_headings_for_each_order() -> None:
    orders = ((1, 2), (2, 1))
    turns = [completed_turn(ask, "ann", ask + 1, shown=shown) for ask, shown in enumerate(orders)]
    prepare_trace(*turns, verdict(None, opinion("ann", "", None, "preference", problem="its choice changes")))
    text = trace_text("i")
    assert "There is one debate in each order of the responses" in text
    assert "**ann** · first opinion · :blue-badge[1] · order 1, 2" in text
    assert "**ann** · first opinion · :orange-badge[2] · order 2, 1" in text


def test_a_submission_is_named_by_the_items_own_number_outside_of_code():
    text = "Submission 1 beats submission 2, not `Submission 1` or Submission 12."
    marks = [(text[one["start"] : one["end"]], one["words"]) for one in named_responses(text, (2, 1))]
    assert marks == [("Submission 1", "Response 2"), ("submission 2", "Response 1")]
    assert list(named_responses("Submission 1", ())) == []


def test_a_structured_reply_is_drawn_once_and_as_it_was_written_on_request():
    reply = '{"reasoning": "It is short.", "answer": "Response 2"}'
    turn = completed_turn(0, "ann", 2).turn.model_copy(update={"reply": reply, "format": "json"})
    prepare_trace(TurnCompleted(ask=0, turn=turn), verdict(2))
    text = trace_text("i")
    assert ">It is short.\n\nAnswer: Response 2</div>" in text
    assert text.count("It is short.") == 2 and "data-raw=" in text
