"""ChatEval as in its paper: what each persona sees (Algorithms 1 to 3), and how the verdict is formed (Appendix B)."""

import re

import pytest
from pydantic import ValidationError

from core.items import Criterion
from core.llm.client import Reply
from core.llm.costs import estimate_run
from core.problems import Problem
from core.protocols.chateval.protocol import turns_in_history
from core.protocols.chateval.settings import ROLES, Persona, Settings
from core.protocols.registry import PROTOCOLS
from core.trace import EVENT_ADAPTER, Ask, Spec, TraceFailed, TurnCompleted
from tests.core.protocols.discussions import (
    NATURAL,
    ScriptedTrace,
    ask_rounds,
    make_flow,
    make_item,
    make_settings,
    make_single_response_item,
    run_scripted,
    scores_reply,
    scores_script,
    votes_script,
)


def marked_reply(ask: Ask) -> str:
    if ask.step == "summary":
        return f"mark-s{ask.round} sums up."
    return f"mark-{ask.speaker}{ask.round}. {scores_reply(5, 5)}"


def visible_turns_by_ask(trace: ScriptedTrace) -> dict[str, str]:
    """Return {"b0": "a0"}: persona and turn -> the contributions in its prompt, in their order."""
    visible = {}
    for ask in trace.asked:
        name = "s" if ask.step == "summary" else ask.speaker
        visible[f"{name}{ask.round}"] = " ".join(re.findall(r"mark-(\w\d)", ask.prompt))
    return visible


def test_algorithm_1_shows_all_earlier_turns() -> None:
    assert visible_turns_by_ask(run_scripted(marked_reply, make_settings(strategy="one by one"))) == {
        **{"a0": "", "b0": "a0", "c0": "a0 b0"},
        **{"a1": "a0 b0 c0", "b1": "a0 b0 c0 a1", "c1": "a0 b0 c0 a1 b1"},
    }


def test_algorithm_1_as_printed_hides_all_turns_from_the_first_persona() -> None:
    assert visible_turns_by_ask(run_scripted(marked_reply, make_settings(hearing="speakers before"))) == {
        **{"a0": "", "b0": "a0", "c0": "a0 b0"},
        **{"a1": "", "b1": "a0 b0 a1", "c1": "a0 b0 c0 a1 b1"},
    }


def test_algorithm_2_shows_the_turns_of_earlier_rounds() -> None:
    assert visible_turns_by_ask(run_scripted(marked_reply, make_settings(strategy="simultaneous", turns=3))) == {
        **{"a0": "", "b0": "", "c0": ""},
        **{"a1": "a0 b0 c0", "b1": "a0 b0 c0", "c1": "a0 b0 c0"},
        **{name: "a0 b0 c0 a1 b1 c1" for name in ("a2", "b2", "c2")},
    }


def test_algorithm_3_replaces_the_history_by_a_summary() -> None:
    assert visible_turns_by_ask(
        run_scripted(marked_reply, make_settings(strategy="simultaneous with summary", turns=3))
    ) == {
        **{"a0": "", "b0": "", "c0": "", "s0": "a0 b0 c0"},
        **{"a1": "s0", "b1": "s0", "c1": "s0", "s1": "a0 b0 c0 a1 b1 c1"},
        **{"a2": "s1", "b2": "s1", "c2": "s1"},
    }


def test_an_ensemble_is_asked_once_without_a_history() -> None:
    assert visible_turns_by_ask(run_scripted(marked_reply, make_settings(strategy="alone", turns=3))) == {
        "a0": "",
        "b0": "",
        "c0": "",
    }


@pytest.mark.parametrize("hearing", ["everybody", "speakers before"])
@pytest.mark.parametrize("strategy", ["one by one", "simultaneous", "simultaneous with summary", "alone"])
def test_turns_in_history_are_those_in_the_prompt(strategy: str, hearing: str) -> None:
    settings = make_settings(strategy=strategy, hearing=hearing, both_orders=True, turns=3)
    trace = run_scripted(marked_reply, settings)
    for ask, turn in zip(trace.asked, trace.turns, strict=True):
        history = turns_in_history(settings, turn, trace.turns)
        marks = [f"{'s' if earlier.step == 'summary' else earlier.speaker}{earlier.round}" for earlier in history]
        assert marks == re.findall(r"mark-(\w\d)", ask.prompt)


def test_one_by_one_asks_singly_and_a_simultaneous_turn_in_parallel() -> None:
    assert ask_rounds(make_settings("ab")) == ["a0", "b0", "a1", "b1"]
    assert ask_rounds(make_settings("ab", strategy="simultaneous")) == ["a0 b0", "a1 b1"]
    assert ask_rounds(make_settings("ab", strategy="simultaneous with summary")) == ["a0 b0", "summariser0", "a1 b1"]
    assert ask_rounds(make_settings("ab", strategy="alone")) == ["a0 b0"]


def test_discussions_in_both_orders_are_parallel_and_independent() -> None:
    assert ask_rounds(make_settings("ab", both_orders=True)) == ["a0 a0", "b0 b0", "a1 a1", "b1 b1"]
    trace = run_scripted(
        lambda ask: f"order{ask.shown[0]}. {scores_reply(5, 5)}", make_settings("ab", both_orders=True)
    )
    for ask in trace.asked:
        other = "order2" if ask.shown == (1, 2) else "order1"
        assert other not in ask.prompt
        sun, moon = ask.prompt.index("the sun"), ask.prompt.index("the moon")
        assert (sun < moon) == (ask.shown == (1, 2))


def test_scores_are_averaged_over_the_last_turn_of_every_persona() -> None:
    trace = run_scripted(scores_script(a=[(1, 9), (8, 6)], b=[(9, 1), (7, 8)], c=[(5, 5)]), make_settings())
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("agreed", 1)
    assert trace.verdict.reason == "6.67 for response 1 and 6.33 for response 2 on average"
    assert trace.opinions() == {
        **{("a", "first"): 2, ("b", "first"): 1, ("c", "first"): 0},
        **{("a", "last"): 1, ("b", "last"): 2, ("c", "last"): 0, ("chateval", "verdict"): 1},
    }


def test_position_calibration_removes_a_preference_for_the_first_response() -> None:
    trace = run_scripted(scores_script(a=[(9, 7)], b=[(9, 7)]), make_settings("ab", both_orders=True))
    assert trace.turns[0].reading == {"1": 9, "2": 7} and trace.turns[1].reading == {"1": 7, "2": 9}
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("agreed", 0)
    assert trace.verdict.reason == "both responses have 8.00 on average"


def test_a_response_preferred_in_both_orders_wins() -> None:
    def prefers_the_moon(ask: Ask) -> str:
        return scores_reply(6, 8) if ask.shown == (1, 2) else scores_reply(9, 5)

    trace = run_scripted(prefers_the_moon, make_settings("ab", both_orders=True))
    assert trace.verdict and trace.verdict.value == 2
    assert trace.verdict.reason == "5.50 for response 1 and 8.50 for response 2 on average"


def test_a_majority_is_counted_over_all_requested_votes() -> None:
    trace = run_scripted(votes_script(a="12", b="2", c="1"), make_settings(outcome="vote"))
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("agreed", 2)
    assert trace.verdict.reason == "2 of 3 votes for response 2"
    assert (trace.opinions()["a", "first"], trace.opinions()["a", "last"]) == (1, 2)


def test_a_vote_without_majority_is_disputed_and_not_a_tie() -> None:
    trace = run_scripted(votes_script(a="1", b="2"), make_settings("ab", outcome="vote"))
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("disputed", None)
    assert trace.verdict.reason == "no majority of the 2 votes: 1 for response 1, 1 for response 2"


def test_votes_that_differ_between_the_orders_are_no_opinion() -> None:
    trace = run_scripted(votes_script(a="1", b="1"), make_settings("ab", outcome="vote", both_orders=True))
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("disputed", None)
    assert trace.opinions()["a", "last"] is None
    assert trace.problems()["a", "last"] == (
        "its vote changes with the order of the responses: response 1 and response 2"
    )


def test_a_majority_may_vote_for_neither() -> None:
    trace = run_scripted(votes_script(a="0", b="0", c="1"), make_settings(outcome="vote"))
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("agreed", 0)
    assert trace.verdict.reason == "2 of 3 votes for neither"


def test_one_response_is_rated_on_the_criterions_scale_and_ratings_are_averaged() -> None:
    settings = make_settings("ab", outcome="rating", criterion=NATURAL, both_orders=True)
    trace = run_scripted(
        lambda ask: f"Well.\nRating: {'32'['ab'.index(ask.speaker)]}", settings, make_single_response_item()
    )
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("agreed", 2.5)
    assert trace.verdict.reason == "the mean of 2 ratings"
    assert {(opinion.kind, opinion.criterion) for opinion in trace.verdict.opinions} == {("score", "natural")}
    assert len(trace.asked) == 4 and {ask.shown for ask in trace.asked} == {()}


@pytest.mark.parametrize("outcome", ["scores", "vote"])
def test_a_refusal_is_no_verdict_and_not_a_tie(outcome: str) -> None:
    trace = run_scripted(lambda ask: Reply(text="", finish="refused"), make_settings("ab", outcome=outcome))
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("no_verdict", None)
    assert trace.opinions() == {
        ("chateval", "verdict"): None,
        **{(name, stage): None for name in "ab" for stage in ("first", "last")},
    }
    assert trace.problems()["a", "last"] == "the model refused to answer"


def test_an_unreadable_vote_counts_in_the_total_of_a_majority() -> None:
    trace = run_scripted(votes_script(a="1", b="1", c="?"), make_settings(outcome="vote"))
    assert trace.verdict and trace.verdict.value == 1
    assert trace.verdict.reason == "2 of 3 votes for response 1; 1 of 3 could not be read"
    unreadable = run_scripted(votes_script(a="1", b="?", c="?"), make_settings(outcome="vote"))
    assert unreadable.verdict and (unreadable.verdict.outcome, unreadable.verdict.value) == ("no_verdict", None)


def test_unreadable_scores_are_left_out_and_reported() -> None:
    trace = run_scripted(scores_script(a=[(8, 6)], b=["Both are fine."]), make_settings("ab"))
    assert trace.verdict and trace.verdict.value == 1
    assert trace.verdict.reason == (
        "8.00 for response 1 and 6.00 for response 2 on average; 1 of 2 scorings could not be read"
    )


def test_an_order_without_a_readable_reply_leaves_no_verdict() -> None:
    def unreadable_second_order(ask: Ask) -> str:
        return scores_reply(9, 5) if ask.shown == (1, 2) else "Hm."

    trace = run_scripted(unreadable_second_order, make_settings("ab", both_orders=True))
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("no_verdict", None)
    assert trace.verdict.reason == "only 2 of 4 scorings could be read"


def test_an_unreadable_reply_in_one_order_does_not_shift_the_mean() -> None:
    def prefers_first(ask: Ask) -> str:
        return "Hm." if ask.speaker == "b" and ask.shown == (2, 1) else scores_reply(9, 7)

    trace = run_scripted(prefers_first, make_settings("ab", both_orders=True))
    assert trace.verdict and trace.verdict.value == 0


def test_the_last_turn_counts_even_if_unreadable() -> None:
    trace = run_scripted(scores_script(a=[(9, 1), "Hm."], b=[(5, 6)]), make_settings("ab"))
    assert trace.verdict and trace.verdict.value == 2
    assert (trace.opinions()["a", "first"], trace.opinions()["a", "last"]) == (1, None)


def test_without_a_readable_summary_the_contributions_are_the_history() -> None:
    def answer(ask: Ask) -> Reply | str:
        return Reply(text="mark-s", finish="cut off") if ask.step == "summary" else marked_reply(ask)

    visible = visible_turns_by_ask(run_scripted(answer, make_settings(strategy="simultaneous with summary")))
    assert visible["a1"] == visible["b1"] == "a0 b0 c0"


def test_the_summariser_has_the_first_personas_model_or_its_own() -> None:
    settings = make_settings(strategy="simultaneous with summary")
    asked = [ask for ask in run_scripted(marked_reply, settings).asked if ask.step == "summary"]
    assert [(ask.speaker, ask.spec.model) for ask in asked] == [("summariser", "model-a")]
    other = make_settings(strategy="simultaneous with summary", summariser={"name": "clerk", "spec": {"model": "m"}})
    asked = [ask for ask in run_scripted(marked_reply, other).asked if ask.step == "summary"]
    assert [(ask.speaker, ask.spec.model) for ask in asked] == [("clerk", "m")]


def test_a_persona_of_the_paper_has_a_default_role() -> None:
    critic = Persona(name="Critic", spec=Spec(model="m"))
    assert critic.role == ROLES["Critic"] and len(ROLES) == 5
    assert Persona(name="Guido", role="You made Python.", spec=Spec(model="m")).role == "You made Python."
    assert Persona(name="Critic", role="", spec=Spec(model="m")).role == ""


def test_prompts_name_no_model() -> None:
    trace = run_scripted(marked_reply, make_settings(strategy="simultaneous with summary", both_orders=True))
    assert not any("model-" in ask.prompt for ask in trace.asked)


def test_the_defaults_are_the_papers() -> None:
    defaults = Settings(personas=(Persona(name="Critic", spec=Spec(model="m")),))
    assert (defaults.strategy, defaults.turns, defaults.both_orders, defaults.outcome) == (
        "one by one",
        2,
        True,
        "scores",
    )
    assert (defaults.lowest, defaults.highest) == (1, 10)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"names": "aa"}, "two speakers are called 'a'"),
        ({"strategy": "simultaneous with summary", "summariser": {"name": "a", "spec": {"model": "m"}}}, "called 'a'"),
        ({"lowest": 5, "highest": 5}, "above the worst"),
        ({"outcome": "rating"}, "a scale of numbers"),
        ({"outcome": "rating", "criterion": Criterion(name="tone")}, "a scale of numbers"),
    ],
)
def test_inconsistent_settings_are_refused(fields: dict, words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        make_settings(**fields)


def test_an_item_with_another_number_of_responses_fails_the_trace() -> None:
    trace = run_scripted(marked_reply, make_settings(), make_single_response_item())
    assert trace.events == [TraceFailed(problem="Item tides has 1 responses; this discussion compares two.")]
    with pytest.raises(Problem, match="has 2 responses; this discussion rates one"):
        next(make_flow(make_settings(outcome="rating", criterion=NATURAL)))


def test_text_with_dollars_and_braces_is_data() -> None:
    trace = run_scripted(marked_reply, make_settings(), make_item(prompt="$history ${x} $$5 {criteria} %s"))
    assert all("$history ${x} $$5 {criteria} %s" in ask.prompt for ask in trace.asked)


@pytest.mark.parametrize("strategy", ["one by one", "simultaneous", "simultaneous with summary"])
def test_resuming_asks_only_for_what_is_missing(strategy: str) -> None:
    settings = make_settings(strategy=strategy, both_orders=True)
    complete = run_scripted(marked_reply, settings)
    stored = [EVENT_ADAPTER.validate_json(EVENT_ADAPTER.dump_json(event)) for event in complete.events[:8]]
    assert all(isinstance(event, TurnCompleted) for event in stored)
    resumed = run_scripted(marked_reply, settings, stored=stored)
    assert len(resumed.asked) == len(complete.asked) - 8
    assert resumed.verdict == complete.verdict and resumed.turns == complete.turns


@pytest.mark.parametrize(
    ("fields", "calls"),
    [
        ({}, 6),
        ({"both_orders": True}, 12),
        ({"strategy": "simultaneous with summary", "turns": 3}, 11),
        ({"strategy": "alone"}, 3),
        ({"outcome": "vote"}, 6),
    ],
)
def test_an_estimate_counts_every_call(fields: dict, calls: int) -> None:
    estimate = estimate_run(PROTOCOLS["chateval"], [make_item()], make_settings(**fields))
    assert (estimate.calls_at_least, estimate.calls_at_most) == (calls, calls)
    assert estimate.completion_tokens == calls * 160
