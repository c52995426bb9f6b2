"""Verdicts on several criteria."""

from typing import Any

import pytest

from core.labels import Opinion
from core.trace import Outcome, Verdict
from core.verdicts import combine_verdicts, criterion_outcomes


def make_verdict(criterion: str, value: int | None, outcome: Outcome, reason: str = "") -> Verdict:
    problem = "" if value is not None else "unreadable"
    opinion = Opinion(kind="score", judge="a", stage="verdict", value=value, criterion=criterion, problem=problem)
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(opinion,))


def test_the_contention_of_several_criteria_is_the_largest() -> None:
    known = make_verdict("brevity", 2, "agreed").model_copy(update={"contention": 0.25})
    assert combine_verdicts({"brevity": known, "tone": make_verdict("tone", 3, "agreed")}).contention == 0.25


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
