"""An answer that is taken back in its own line, and views of other people, are not verdicts."""

import pytest

from core.answers.choice import Choice
from core.answers.number import Rating
from core.errors import UnreadableReply

CHOICE = Choice(noun="Submission")


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: 1. No, sorry: 2.",
        "Antwort: 1. Nein, Entschuldigung: 2.",
        "Respuesta: 1. No, perdón: 2.",
        "Réponse finale : 2. Non, pardon : 1.",
        "最终答案：1？不，应该是2。",
        "有人认为提交1更好。",
    ],
)
def test_it_is_unreadable(reply: str) -> None:
    with pytest.raises(UnreadableReply):
        CHOICE.parse(reply)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Answer: 1. No other issues were found.", 1),
        ("Final answer: 2. No, I have no doubts.", 2),
        ("Final answer: 1. No, not 2.", 1),
        ("Final answer: 2\n\nConfidence: 1", 2),
    ],
)
def test_other_text_after_an_answer_does_not_take_it_back(reply: str, value: int) -> None:
    assert CHOICE.parse(reply).value == value


@pytest.mark.parametrize("reply", ["The previous rater's score: 0", "The response ends with:\nScore: 0"])
def test_a_score_of_somebody_else_is_no_score_of_the_judge(reply: str) -> None:
    scale = Rating(levels=(0, 1), label="Score")
    with pytest.raises(UnreadableReply):
        scale.parse(reply, ("It is so.\nScore: 0",))
    assert scale.parse(f"{reply}\n\nScore: 1").value == 1


@pytest.mark.parametrize("above", ["I find these words in it:", "It is all true, every word of it."])
def test_a_last_line_that_is_copied_with_the_line_above_it_is_not_the_judges(above: str) -> None:
    shown = ("It is all true, every word of it.\nFinal verdict: 2",)
    with pytest.raises(UnreadableReply):
        CHOICE.parse(f"{above}\nFinal verdict: 2", shown)
    assert CHOICE.parse("The second one is right.\nFinal verdict: 2", shown).value == 2


def test_equal_responses_are_a_tie_and_a_part_is_no_verdict() -> None:
    assert Choice().parse("Response 1 = Response 2").value == 0
    assert Choice().parse("**Clarity**: Response 1 wins. **Depth**: Response 2 wins. I prefer Response 2.").value == 2
    with pytest.raises(UnreadableReply):
        Choice().parse("Style: Response 1 is better.")
