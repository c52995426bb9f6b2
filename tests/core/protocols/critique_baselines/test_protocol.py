"""Ratings, pairs and refinements of critiques, with scripted judges."""

import pytest

from core.llm.client import Reply
from core.llm.costs import estimate
from core.protocols.critique_baselines.protocol import PAIRWISE, REFINEMENT, SINGLE, Pairwise, Refinement, Single, asked
from core.protocols.registry import PROTOCOLS
from core.trace import Ask, TraceFailed, TurnTaken
from tests.core.protocols.critiques import Told, brought, judges, play
from tests.golden.files import golden


def pairwise(script: object, count: int = 2, seed: int = 0, **fields: object) -> Told:
    return play(script, Pairwise(judges=judges(), **fields), brought(count), PAIRWISE, seed=seed)  # type: ignore[arg-type]


def test_every_critique_is_rated() -> None:
    told = play(lambda ask: "Fine. [[6]]", Single(judges=judges("ab")), brought(2), SINGLE)
    assert told.said("likert") == {"c1": 6, "c2": 6} and len(told.asked) == 4
    assert told.verdict and told.verdict.outcome == "agreed"
    golden("metacritique-single/rate.txt", told.asked[0].prompt)


def test_a_rating_that_cannot_be_read_is_no_rating() -> None:
    told = play(lambda ask: "Good!", Single(judges=judges()), brought(1), SINGLE)
    assert told.verdict and told.verdict.outcome == "no_verdict" and told.said("likert") == {"c1": None}
    golden("metacritique-single/again.txt", told.asked[-1].prompt)


def prefers_the_first(ask: Ask) -> str:
    return "[[A]]" if ask.prompt.index("Critique 1.") < ask.prompt.index("Critique 2.") else "[[B]]"


def test_a_preference_speaks_in_the_items_own_order() -> None:
    shown = set()
    for seed in range(12):
        told = pairwise(prefers_the_first, seed=seed)
        assert told.said("preference") == {"c1 or c2": 1}
        shown.add(told.turns[0].shown)
    assert shown == {(1, 2), (2, 1)}


def test_a_tie_is_a_tie_in_both_orders() -> None:
    assert {pairwise(lambda ask: "[[C]]", seed=s).said("preference")["c1 or c2"] for s in range(6)} == {0}


def test_every_pair_meets_once() -> None:
    assert set(pairwise(lambda ask: "[[C]]", 3).said("preference")) == {"c1 or c2", "c1 or c3", "c2 or c3"}


def test_an_item_with_one_critique_has_nothing_to_compare() -> None:
    told = pairwise(lambda ask: "[[A]]", 1)
    assert told.events == [TraceFailed(problem="Item ladder has 1 critique by models; a comparison needs two.")]


def test_people_are_compared_with_people_only_where_it_is_asked_for() -> None:
    told = pairwise(lambda ask: "[[A]]", 2, among="people")
    assert told.events == [TraceFailed(problem="Item ladder has 0 critiques by people; a comparison needs two.")]


def test_the_prompts_of_a_comparison_are_as_they_were_looked_at() -> None:
    told = pairwise(lambda ask: "A", shuffle=False)
    golden("metacritique-pairwise/compare.txt", told.asked[0].prompt)
    golden("metacritique-pairwise/again.txt", told.asked[1].prompt)


def refining(ask: Ask) -> str:
    if ask.step == "refine":
        return "Ben (mended)." if "Critique 2." in ask.prompt else "Still Ada."
    return "[[A]]" if ask.prompt.index("Ben (mended)") < ask.prompt.index("Still Ada") else "[[B]]"


def test_the_answers_that_critiques_lead_to_are_compared() -> None:
    for seed in range(4):
        told = play(refining, Refinement(judges=judges()), brought(2), REFINEMENT, seed=seed)
        assert [ask.step for ask in told.asked] == ["refine", "refine", "compare"]
        assert told.said("preference") == {"c1 or c2": 2}


def test_a_critique_is_taken_up_once_however_many_pairs_it_is_in() -> None:
    told = play(lambda ask: "[[C]]", Refinement(judges=judges()), brought(3), REFINEMENT)
    assert [ask.step for ask in told.asked] == ["refine"] * 3 + ["compare"] * 3


def test_an_answer_that_was_not_refined_is_compared_with_none() -> None:
    told = play(
        lambda ask: Reply(text="", finish="refused") if "Critique 1." in ask.prompt else "[[A]]",
        Refinement(judges=judges()),
        brought(3),
        REFINEMENT,
    )
    assert told.said("preference")["c1 or c2"] is None and told.said("preference")["c2 or c3"] in (1, 2)
    assert told.verdict and {o.problem for o in told.verdict.opinions} == {"the model refused to answer", ""}


def test_the_prompts_of_a_refinement_are_as_they_were_looked_at() -> None:
    told = play(refining, Refinement(judges=judges(), shuffle=False), brought(2), REFINEMENT)
    golden("metacritique-refinement/refine.txt", told.asked[0].prompt)
    golden("metacritique-refinement/compare.txt", told.asked[2].prompt)


@pytest.mark.parametrize(
    ("name", "settings", "calls"), [(SINGLE, Single, 2), (PAIRWISE, Pairwise, 1), (REFINEMENT, Refinement, 3)]
)
def test_an_estimate_is_exact(name: str, settings: type, calls: int) -> None:
    told = estimate(PROTOCOLS[name], [brought(2)], settings(judges=judges()))
    assert (told.calls_at_least, told.calls_at_most) == (calls, calls)


def refuses_the_first(ask: Ask) -> Reply | str:
    return Reply(text="", finish="refused") if "Critique 1." in ask.prompt else "[[A]]"


@pytest.mark.parametrize(
    ("name", "settings", "script"),
    [
        (SINGLE, Single(judges=judges("ab")), lambda ask: "[[4]]"),
        (PAIRWISE, Pairwise(judges=judges("ab")), lambda ask: "[[A]]"),
        (REFINEMENT, Refinement(judges=judges("ab")), lambda ask: "[[A]]"),
        (REFINEMENT, Refinement(judges=judges("ab")), refuses_the_first),
    ],
)
def test_every_turn_is_known_by_what_was_asked(name: str, settings: object, script: object) -> None:
    item = brought(3)
    told = play(script, settings, item, name)  # type: ignore[arg-type]
    turns = {event.ask: event.turn for event in told.events if isinstance(event, TurnTaken)}
    found = asked(item, settings, turns)  # type: ignore[arg-type]
    assert [one.number for one in found] == sorted(turns)
    for one in found:
        assert one.turn and (one.judge, one.step) == (one.turn.speaker, one.turn.step)
        assert (name == REFINEMENT and one.step == "compare") or all(c.text in one.turn.prompt for c in one.critiques)
