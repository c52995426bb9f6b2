"""Every prompt of a talk as a model receives it."""

from core.items import Criterion
from core.trace import Ask
from tests.core.protocols.talks import NATURAL, Talk, one_response, play, scored, settings, voting
from tests.golden.files import golden


def argued(ask: Ask) -> str:
    if ask.step == "summary":
        return "a and b lean to response 1; c does not say why."
    return f"In turn {ask.round + 1} I hold to my view.\n\n{scored(8, 6)}"


def prompt(talk: Talk, speaker: str, number: int) -> str:
    return [ask.prompt for ask in talk.asked if (ask.speaker, ask.round) == (speaker, number)][-1]


def test_the_first_to_speak() -> None:
    golden("chateval/first.txt", prompt(play(argued, settings()), "a", 0))


def test_one_by_one_in_the_second_turn() -> None:
    golden("chateval/one_by_one.txt", prompt(play(argued, settings()), "b", 1))


def test_simultaneous_in_the_second_turn() -> None:
    golden("chateval/simultaneous.txt", prompt(play(argued, settings(strategy="simultaneous")), "b", 1))


def test_with_a_summary() -> None:
    talk = play(argued, settings(strategy="simultaneous with summary"))
    golden("chateval/summarise.txt", prompt(talk, "summariser", 0))
    golden("chateval/with_summary.txt", prompt(talk, "b", 1))


def test_the_ensemble_and_the_single_agent_leave_the_slots_of_the_talk_out() -> None:
    golden("chateval/ensemble.txt", prompt(play(argued, settings(strategy="alone")), "a", 0))
    (persona,) = settings("a").personas
    single = settings(strategy="alone", personas=(persona.model_copy(update={"role": ""}),))
    golden("chateval/single.txt", prompt(play(argued, single), "a", 0))


def test_a_vote_on_a_criterion() -> None:
    clarity = Criterion(name="clarity", definition="Which answer is easier to follow?")
    talk = play(voting(a="1", b="?", c="1"), settings(outcome="vote", criterion=clarity, turns=1))
    golden("chateval/vote.txt", prompt(talk, "a", 0))
    golden("chateval/again_vote.txt", prompt(talk, "b", 0))


def test_a_rating() -> None:
    talk = play(lambda ask: "Hm.", settings("a", outcome="rating", criterion=NATURAL, turns=1), one_response())
    golden("chateval/rating.txt", talk.asked[0].prompt)
    golden("chateval/again_rating.txt", talk.asked[-1].prompt)


def test_asking_again_for_scores() -> None:
    golden("chateval/again_scores.txt", prompt(play(lambda ask: "Hm.", settings("a", turns=1)), "a", 0))


def test_a_contribution_without_words_is_quoted_as_such() -> None:
    talk = play(lambda ask: "" if ask.speaker == "a" else argued(ask), settings())
    assert "[a, turn 1]\n(no answer)" in prompt(talk, "b", 0)
