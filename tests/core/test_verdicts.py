"""Verdicts on several criteria."""

from typing import Any

import pytest

from core.labels import Opinion, Scale
from core.trace import CallFailed, Event, Outcome, Turn, TurnCompleted, Verdict
from core.verdicts import (
    DISPUTE_THRESHOLD,
    combine_verdicts,
    contention,
    criterion_outcomes,
    find_disagreements,
    is_disputed,
    list_stances,
)


def make_verdict(criterion: str, value: int | None, outcome: Outcome, reason: str = "") -> Verdict:
    problem = "" if value is not None else "unreadable"
    opinion = Opinion(kind="score", judge="a", stage="verdict", value=value, criterion=criterion, problem=problem)
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(opinion,))


def test_the_outcome_of_several_criteria_is_the_one_that_needs_an_annotator_most() -> None:
    agreed = make_verdict("brevity", 2, "agreed", "one rating")
    unread = make_verdict("tone", None, "no_verdict", "no rating could be read")
    disputed = make_verdict("depth", None, "disputed", "the orders differ")
    assert combine_verdicts({"brevity": agreed, "tone": agreed}).outcome == "agreed"
    assert combine_verdicts({"brevity": agreed, "tone": unread}).outcome == "no_verdict"
    assert combine_verdicts({"tone": unread, "depth": disputed, "brevity": agreed}).outcome == "disputed"


def test_several_criteria_have_their_opinions_and_reasons_but_no_common_value() -> None:
    verdicts = {
        "brevity": make_verdict("brevity", 2, "agreed", "one rating"),
        "tone": make_verdict("tone", 3, "agreed"),
    }
    combined = combine_verdicts(verdicts)
    assert combined.value is None and combined.reason == "brevity: one rating"
    assert [(opinion.criterion, opinion.value) for opinion in combined.opinions] == [("brevity", 2), ("tone", 3)]


def test_a_single_criterion_has_its_value() -> None:
    assert combine_verdicts({"brevity": make_verdict("brevity", 2, "agreed")}).value == 2


def test_each_of_several_criteria_has_its_own_outcome() -> None:
    agreed, disputed = make_verdict("brevity", 2, "agreed"), make_verdict("depth", 3, "disputed")
    combined = combine_verdicts({"brevity": agreed, "depth": disputed})
    assert criterion_outcomes(combined) == {"brevity": "agreed", "depth": "disputed"}
    assert Verdict.model_validate_json(combined.model_dump_json()) == combined
    single = combine_verdicts({"brevity": agreed})
    assert criterion_outcomes(single) == {} and "outcomes" not in single.model_dump(mode="json")


@pytest.mark.parametrize(
    ("values", "outcome", "expected"),
    [
        ({"brevity": 2, "depth": None}, "disputed", {"brevity": "agreed"}),
        ({"brevity": 2, "depth": None}, "no_verdict", {"brevity": "agreed"}),
        ({"brevity": 2, "depth": 3}, "disputed", {}),
        ({"brevity": None}, "disputed", {}),
        ({"brevity": 2, "depth": 3}, "agreed", {}),
    ],
)
def test_a_criterion_without_a_value_is_the_reason_of_an_earlier_dispute(
    values: dict[str, Any], outcome: Outcome, expected: dict[str, Outcome]
) -> None:
    opinions = [
        opinion for criterion, value in values.items() for opinion in make_verdict(criterion, value, outcome).opinions
    ]
    assert criterion_outcomes(Verdict(outcome=outcome, opinions=tuple(opinions))) == expected


# Contention: 0 if opinions agree, 1 if they could not differ more.


LEVELS = Scale(level="ordinal", categories=(1, 2, 3))


@pytest.mark.parametrize(
    ("opinions", "expected"),
    [
        ([1, 1, 1], 0.0),
        ([1, 1, 2], 0.5),
        ([1, 2, 0], 1.0),
        ([1, 2], 1.0),
        ([1], 0.0),
        ([1, None, 1], 0.0),
        ([None, None], None),
        ([True, 1], 1.0),
        (["A", "A", "B", "B"], 2 / 3),
    ],
)
def test_choices_are_measured_by_the_share_of_the_most_frequent_value(opinions, expected):
    assert contention(opinions) == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("scores", "expected"), [([1, 3, 1, 3], 1.0), ([2, 2], 0.0), ([1, 2], 0.5), ([2.5], 0.0), ([0, 4], 1.0)]
)
def test_scores_are_measured_by_their_range_on_the_scale(scores, expected):
    assert contention(scores, LEVELS) == pytest.approx(expected)


def test_a_choice_that_changes_with_the_order_of_responses_is_fully_contended():
    assert contention([1, 1], flipped=True) == 1.0


@pytest.mark.parametrize(
    ("votes", "disputed"),
    [([1, 1, 2], False), ([1, 1, 1, 2, 2, 0, 0], True), ([1, 1, 1, 1, 2, 2, 2], False), ([1, 2], True)],
)
def test_votes_without_a_majority_are_above_the_default_threshold(votes: list[int], disputed: bool) -> None:
    assert is_disputed(contention(votes), DISPUTE_THRESHOLD) is disputed


def test_nothing_is_above_a_threshold_of_1_and_no_contention_is_not_disputed() -> None:
    assert not is_disputed(contention([1, 2, 0]), 1)
    assert not is_disputed(None, 0)


# The grid of stances of a debate.


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


def test_a_change_names_the_judges_who_had_stated_the_value_in_what_was_read() -> None:
    values = [("a", 1), ("b", 2), ("a", 2), ("b", 1), ("b", 0)]
    events = numbered(*(turn(ask, judge, ask // 2, value) for ask, (judge, value) in enumerate(values)))
    stances = list_stances(events, lambda turn, earlier: [one for one in earlier if one.round < turn.round])
    assert [stance.held_before for stance in stances] == [None, None, (("b", 0),), (("a", 0),), ()]
    assert {stance.held_before for stance in list_stances(events)} == {None}, "what was read is not known"


def test_a_disagreement_is_a_change_or_a_contradiction_of_the_previous_speaker() -> None:
    events = numbered(
        turn(0, "a", 0, 1), turn(1, "b", 0, 1), turn(2, "c", 0, None), turn(3, "d", 0, 2), turn(4, "d", 1, 1)
    )
    assert find_disagreements(list_stances(events)) == [13, 14]
    assert find_disagreements([]) == []
