"""Ratings, pairs and refinements of critiques, with scripted judges."""

import pytest

from core.llm.client import Reply
from core.protocols.critique_baselines.protocol import (
    PAIRWISE_NAME,
    REFINEMENT_NAME,
    SINGLE_NAME,
    PairwiseSettings,
    RefinementSettings,
    SingleSettings,
    list_asks,
)
from core.trace import Ask, TraceFailed, TurnCompleted
from tests.core.protocols.critiques import ScriptedTrace, make_complete_item, make_judges, run_scripted
from tests.golden.files import assert_golden


def run_pairwise(script: object, count: int = 2, seed: int = 0, **fields: object) -> ScriptedTrace:
    return run_scripted(
        script, PairwiseSettings(judges=make_judges(), **fields), make_complete_item(count), PAIRWISE_NAME, seed=seed
    )  # type: ignore[arg-type]


def test_every_critique_is_rated() -> None:
    trace = run_scripted(
        lambda ask: "Fine. [[6]]", SingleSettings(judges=make_judges("ab")), make_complete_item(2), SINGLE_NAME
    )
    assert trace.values_by_part("likert") == {"c1": 6, "c2": 6} and len(trace.asked) == 4
    assert trace.verdict and trace.verdict.outcome == "agreed"
    assert_golden("metacritique-single/rate.txt", trace.asked[0].prompt)


@pytest.mark.parametrize(
    ("ratings", "outcome", "contention"),
    [("66", "agreed", 0.0), ("36", "agreed", 0.5), ("26", "disputed", 4 / 6), ("6?", "no_verdict", 0.0)],
)
def test_ratings_more_than_half_of_the_scale_apart_are_disputed(ratings: str, outcome: str, contention: float) -> None:
    by_judge = dict(zip("ab", ratings, strict=True))
    trace = run_scripted(
        lambda ask: f"Rating: {by_judge[ask.speaker]}",
        SingleSettings(judges=make_judges("ab")),
        make_complete_item(1),
        SINGLE_NAME,
    )
    assert trace.verdict and trace.verdict.outcome == outcome
    assert trace.verdict.contention == pytest.approx(contention)


def test_an_unreadable_rating_has_no_value() -> None:
    trace = run_scripted(lambda ask: "Good!", SingleSettings(judges=make_judges()), make_complete_item(1), SINGLE_NAME)
    assert trace.verdict and trace.verdict.outcome == "no_verdict" and trace.values_by_part("likert") == {"c1": None}
    assert_golden("metacritique-single/retry.txt", trace.asked[-1].prompt)


def prefers_the_first(ask: Ask) -> str:
    return "[[A]]" if ask.prompt.index("Critique 1.") < ask.prompt.index("Critique 2.") else "[[B]]"


def test_a_preference_is_in_the_items_own_order() -> None:
    shown = set()
    for seed in range(12):
        trace = run_pairwise(prefers_the_first, seed=seed)
        assert trace.values_by_part("preference") == {"c1 or c2": 1}
        shown.add(trace.turns[0].shown)
    assert shown == {(1, 2), (2, 1)}


def test_an_item_with_one_critique_fails_the_trace() -> None:
    trace = run_pairwise(lambda ask: "[[A]]", 1)
    assert trace.events == [TraceFailed(problem="Item ladder has 1 critique by models; a comparison needs two.")]


def test_critiques_by_people_are_compared_only_on_request() -> None:
    trace = run_pairwise(lambda ask: "[[A]]", 2, among="people")
    assert trace.events == [TraceFailed(problem="Item ladder has 0 critiques by people; a comparison needs two.")]


def test_the_prompts_of_a_comparison_match_their_golden_files() -> None:
    trace = run_pairwise(lambda ask: "Hm.", shuffle=False)
    assert_golden("metacritique-pairwise/compare.txt", trace.asked[0].prompt)
    assert_golden("metacritique-pairwise/retry.txt", trace.asked[1].prompt)


def test_both_orders_give_one_preference_or_a_flip() -> None:
    same = run_pairwise(prefers_the_first, both_orders=True)
    assert [turn.shown for turn in same.turns] == [(1, 2), (2, 1)]
    assert same.values_by_part("preference") == {"c1 or c2": 1}
    assert same.verdict and (same.verdict.outcome, same.verdict.contention) == ("agreed", 0.0)
    flipped = run_pairwise(lambda ask: "Final answer: A", both_orders=True)
    assert flipped.values_by_part("preference") == {"c1 or c2": None}
    assert flipped.problems() == {("a", "last"): "the choice changes with the order"}
    assert flipped.verdict and (flipped.verdict.outcome, flipped.verdict.contention) == ("disputed", 1.0)
    half = iter(["Final answer: A", "Hm.", "Hm."])
    unread = run_pairwise(lambda ask: next(half), both_orders=True)
    assert unread.verdict and unread.verdict.outcome == "no_verdict"


def test_a_refusal_is_no_refined_answer() -> None:
    settings = RefinementSettings(judges=make_judges())
    trace = run_scripted(
        lambda ask: "I'm sorry, but I cannot help with that.", settings, make_complete_item(2), REFINEMENT_NAME
    )
    assert {ask.step for ask in trace.asked} == {"refine"}
    assert trace.problems() == {("a", "last"): "it declines to answer"}


def refinement_reply(ask: Ask) -> str:
    if ask.step == "refine":
        return "Ben (mended)." if "Critique 2." in ask.prompt else "Still Ada."
    return "[[A]]" if ask.prompt.index("Ben (mended)") < ask.prompt.index("Still Ada") else "[[B]]"


def test_the_prompts_of_a_refinement_match_their_golden_files() -> None:
    trace = run_scripted(
        refinement_reply,
        RefinementSettings(judges=make_judges(), shuffle=False),
        make_complete_item(2),
        REFINEMENT_NAME,
    )
    assert_golden("metacritique-refinement/refine.txt", trace.asked[0].prompt)
    assert_golden("metacritique-refinement/compare.txt", trace.asked[2].prompt)


def refuses_the_first(ask: Ask) -> Reply | str:
    return Reply(text="", finish="refused") if "Critique 1." in ask.prompt else "[[A]]"


@pytest.mark.parametrize(
    ("name", "settings", "script"),
    [
        (SINGLE_NAME, SingleSettings(judges=make_judges("ab")), lambda ask: "[[4]]"),
        (PAIRWISE_NAME, PairwiseSettings(judges=make_judges("ab")), lambda ask: "[[A]]"),
        (PAIRWISE_NAME, PairwiseSettings(judges=make_judges("ab"), both_orders=True), lambda ask: "[[A]]"),
        (REFINEMENT_NAME, RefinementSettings(judges=make_judges("ab")), lambda ask: "[[A]]"),
        (REFINEMENT_NAME, RefinementSettings(judges=make_judges("ab")), refuses_the_first),
    ],
)
def test_asks_are_listed_with_their_turns(name: str, settings: object, script: object) -> None:
    item = make_complete_item(3)
    trace = run_scripted(script, settings, item, name)  # type: ignore[arg-type]
    turns = {event.ask: event.turn for event in trace.events if isinstance(event, TurnCompleted)}
    asks = list_asks(item, settings, turns)  # type: ignore[arg-type]
    assert [ask.number for ask in asks] == sorted(turns)
    for ask in asks:
        assert ask.turn and (ask.judge, ask.step) == (ask.turn.speaker, ask.turn.step)
        if not (name == REFINEMENT_NAME and ask.step == "compare"):  # these prompts have the refined answers alone
            assert all(critique.text in ask.turn.prompt for critique in ask.critiques)
