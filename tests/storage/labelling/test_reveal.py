"""References to "Submission 1" and quotations in the texts of judges."""

from types import SimpleNamespace

import pytest

from core.items import Response
from core.labels import Opinion, Target
from core.trace import Turn, TurnCompleted, Verdict, VerdictReached
from storage.labelling.reveal import _grid, _outcome, _turn, find_quotations, find_references, first_sentence
from tests.conftest import make_item, make_target


def test_references_mean_the_item_s_own_responses_after_a_swap():
    text = "Submission 1 is longer than submission 2."
    swapped = list(find_references(text, (2, 1), 2))
    assert [(text[one["start"] : one["end"]], one["column"]) for one in swapped] == [
        ("Submission 1", "response-2"),
        ("submission 2", "response-1"),
    ]
    assert [one["column"] for one in find_references(text, (), 2)] == ["response-1", "response-2"]
    assert list(find_references(text, (), 1)) == [], "with one response there is nothing to refer to"


def test_a_bare_letter_of_an_imported_verdict_is_the_response_that_it_means():
    turn = Turn(speaker="j", step="opinion", round=0, model="", reply="A", reading=2, shown=(2, 1))
    shown = _turn(turn, make_target(), make_item(responses=(Response(text="a"), Response(text="b"))))
    assert (shown["text"], shown["value"], shown["short"]) == ("Response 2", 2, "2")
    assert [one["column"] for one in shown["references"]] == ["response-2"]


@pytest.mark.parametrize(
    "text", ["Assistant A is right", "Response A is right", "Answer 1 is right", "Candidate #1 won"]
)
def test_other_names_of_the_first_response_are_references(text):
    assert [one["column"] for one in find_references(text, (1, 2), 2)] == ["response-1"]


@pytest.mark.parametrize("text", ["A Submission 12 is not one", "the answer, 1", "responsea 1", "Answer 3"])
def test_other_words_and_numbers_are_no_references(text):
    assert list(find_references(text, (1, 2), 2)) == []


def test_a_quotation_is_located_in_the_response_with_code_points():
    item = make_item(
        responses=(Response(text="\N{GRINNING FACE} It costs nothing at all."), Response(text="Energy drinks."))
    )
    [passage] = find_quotations("It says “costs nothing at all”.", item)
    text = item.responses[0].text
    assert passage["block"] == "response-1"
    assert text[passage["start"] : passage["end"]] == "costs nothing at all"


def test_an_invented_quotation_is_not_located():
    item = make_item(responses=(Response(text="The lake is named after the architect."), Response(text="No.")))
    assert list(find_quotations('It writes "a river of many colours".', item)) == []


def test_the_outcome_has_the_verdict_on_the_own_target_of_several():
    target = make_target()
    about = {"kind": target.kind, "judge": "panel", "stage": "verdict"}
    opinions = (Opinion(**about, criterion=target.criterion, value=2), Opinion(**about, criterion="other", value=1))
    reached = VerdictReached(verdict=Verdict(outcome="agreed", value=None, opinions=opinions))
    trace = SimpleNamespace(status="agreed")
    assert _outcome(trace, [reached], target) == {"outcome": "Verdict", "verdicts": [{"value": 2, "short": "2"}]}
    assert _outcome(trace, [], target) == {"outcome": "Agreed", "verdicts": []}


@pytest.mark.parametrize(
    ("kind", "value", "short"),
    [("score", 3.126, "3.13"), ("score", 4.0, "4"), ("preference", 0, "tie"), ("score", 0, "0")],
)
def test_a_short_value_has_two_decimals_at_most(kind, value, short):
    opinion = Opinion(kind=kind, judge="j", stage="verdict", value=value)
    reached = VerdictReached(verdict=Verdict(outcome="agreed", value=None, opinions=(opinion,)))
    outcome = _outcome(SimpleNamespace(status="agreed"), [reached], Target(item="item", kind=kind))
    assert [one["short"] for one in outcome["verdicts"]] == [short]


def test_a_reason_is_one_sentence():
    assert first_sentence("Both are good enough. But one is better.") == "Both are good enough. But one is better."[:21]
    assert first_sentence("1. The first response gives the steps in order. And more.").endswith("in order.")
    assert len(first_sentence("word " * 200)) <= 200
    assert first_sentence("") == ""


def test_judges_without_a_reply_text_are_revealed_with_the_opinions_of_the_verdict():
    target = make_target()
    about = {"kind": target.kind, "criterion": target.criterion}
    staged = [("ann", "first", 1), ("ann", "last", 2), ("ben", "first", 2), ("ben", "last", 2), ("panel", "verdict", 2)]
    work = SimpleNamespace(study=SimpleNamespace(name="s"))
    trace = SimpleNamespace(id=1, run="r", protocol="none", status="agreed")

    def judges(opinions, *turns):
        given = tuple(Opinion(**about, judge=judge, stage=stage, value=value) for judge, stage, value in opinions)
        reached = VerdictReached(verdict=Verdict(outcome="agreed", value=2, opinions=given))
        events = [*((seq, TurnCompleted(ask=seq, turn=turn)) for seq, turn in enumerate(turns)), (9, reached)]
        grid = _grid(work, target, make_item(), trace, {}, events)
        turns_of = {one["name"]: one["turns"] for one in grid["judges"]}
        return grid["stages"], {
            judge: [(turn["stage"], turn["value"]) for turn in row] for judge, row in turns_of.items()
        }

    assert judges(staged) == (["first", "last"], {"ann": [(0, 1), (1, 2)], "ben": [(0, 2), (1, 2)]})
    assert judges([("solo", "verdict", 0)]) == (["opinion"], {"solo": [(0, 0)]})
    spoken = Turn(speaker="ben", step="opinion", round=0, model="", reply="2", reading=2)
    assert judges([staged[0], staged[2], staged[4]], spoken) == (["opinion"], {"ben": [(0, 2)], "ann": [(0, 1)]})
