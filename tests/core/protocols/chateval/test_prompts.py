"""Every prompt of a discussion as a model receives it."""

from core.items import Criterion
from core.trace import Ask
from tests.core.protocols.discussions import (
    NATURAL,
    ScriptedTrace,
    make_settings,
    make_single_response_item,
    run_scripted,
    scores_reply,
    votes_script,
)
from tests.golden.files import assert_golden


def argued_reply(ask: Ask) -> str:
    if ask.step == "summary":
        return "a and b lean to response 1; c does not say why."
    return f"In turn {ask.round + 1} I hold to my view.\n\n{scores_reply(8, 6)}"


def prompt(trace: ScriptedTrace, speaker: str, number: int) -> str:
    return [ask.prompt for ask in trace.asked if (ask.speaker, ask.round) == (speaker, number)][-1]


def test_the_first_contribution() -> None:
    assert_golden("chateval/first.txt", prompt(run_scripted(argued_reply, make_settings()), "a", 0))


def test_one_by_one_in_the_second_turn() -> None:
    assert_golden("chateval/one_by_one.txt", prompt(run_scripted(argued_reply, make_settings()), "b", 1))


def test_simultaneous_in_the_second_turn() -> None:
    assert_golden(
        "chateval/simultaneous.txt", prompt(run_scripted(argued_reply, make_settings(strategy="simultaneous")), "b", 1)
    )


def test_the_prompts_with_a_summary() -> None:
    trace = run_scripted(argued_reply, make_settings(strategy="simultaneous with summary"))
    assert_golden("chateval/summarise.txt", prompt(trace, "summariser", 0))
    assert_golden("chateval/with_summary.txt", prompt(trace, "b", 1))


def test_the_prompts_of_the_ensemble_and_the_single_agent() -> None:
    assert_golden("chateval/ensemble.txt", prompt(run_scripted(argued_reply, make_settings(strategy="alone")), "a", 0))
    (persona,) = make_settings("a").personas
    single = make_settings(strategy="alone", personas=(persona.model_copy(update={"role": ""}),))
    assert_golden("chateval/single.txt", prompt(run_scripted(argued_reply, single), "a", 0))


def test_a_vote_on_a_criterion() -> None:
    clarity = Criterion(name="clarity", definition="Which answer is easier to follow?")
    trace = run_scripted(votes_script(a="1", b="?", c="1"), make_settings(outcome="vote", criterion=clarity, turns=1))
    assert_golden("chateval/vote.txt", prompt(trace, "a", 0))
    assert_golden("chateval/retry_vote.txt", prompt(trace, "b", 0))


def test_a_rating() -> None:
    trace = run_scripted(
        lambda ask: "Hm.", make_settings("a", outcome="rating", criterion=NATURAL, turns=1), make_single_response_item()
    )
    assert_golden("chateval/rating.txt", trace.asked[0].prompt)
    assert_golden("chateval/retry_rating.txt", trace.asked[-1].prompt)


def test_the_retry_prompt_for_scores() -> None:
    assert_golden(
        "chateval/retry_scores.txt", prompt(run_scripted(lambda ask: "Hm.", make_settings("a", turns=1)), "a", 0)
    )


def test_an_empty_contribution_is_quoted_as_no_answer() -> None:
    trace = run_scripted(lambda ask: "" if ask.speaker == "a" else argued_reply(ask), make_settings())
    assert "[a, turn 1]\n(no answer)" in prompt(trace, "b", 0)
