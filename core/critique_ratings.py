"""The 1-7 ratings that people give of what models wrote (MetaCritique, Tables 12 to 14), with anchors in our words."""

from core.critiques import Critique
from core.items import Criterion
from core.labels import Scale, Target

SEVEN = Scale(level="ordinal", categories=(1, 2, 3, 4, 5, 6, 7))
ANSWER = Criterion(
    name="reference answer",
    definition="How good is the reference answer? 4 to 7 where its content is right, 1 to 3 where it is wrong.",
    rubric=(
        "Useless - It has nothing to do with the question, or only repeats it.",
        "Poor - The answer is wrong, and its explanation has flaws too.",
        "Middling - The answer is wrong, but the explanation is at one with it.",
        "Good - The answer is right, but is not explained as it should be.",
        "Very good - The answer is right and explained, with flaws in both.",
        "Excellent - The answer is right to the point and well explained, with few flaws.",
        "Perfect - The answer is right to the point and well explained.",
    ),
    scale=SEVEN,
)
CRITIQUE = Criterion(
    name="reference critique",
    definition="How good is the reference critique? First see whether it is on the right side: it calls a right answer "
    "right, or a wrong one wrong. 4 to 7 where it is, 1 to 3 where it is not.",
    rubric=(
        "Useless - It is unrelated text, or only repeats the answer.",
        "Wrong side - It calls a right answer wrong, or a wrong one right.",
        "Undecided - It leaves open whether the answer is right, or answers the question itself.",
        "Right side - It judges the answer rightly, and does no more.",
        "Plain - Wrong answer: says so plainly, but misses what matters. Right answer: says so, suggests little.",
        "Useful - Wrong answer: says so and names the gravest errors. Right answer: says so, with useful suggestions.",
        "Very useful - Wrong answer: makes the gravest errors plain and says what to do. Right answer: says so, with "
        "very useful suggestions.",
    ),
    scale=SEVEN,
)
EXTRACTION = Criterion(
    name="AIU extraction",
    definition="How well was the critique taken apart? Look at the critique and its AIUs only.",
    rubric=(
        "Useless - The AIUs are unrelated text, or the critique over again.",
        "Poor - Too much that matters is missing, or too much was put in.",
        "Middling - Some of what matters is there, with too much that the critique does not say.",
        "Good - Some of what matters is there, with a little that the critique does not say.",
        "Very good - All that matters is there, with a little that the critique does not say.",
        "Excellent - All that matters and nothing else, but for very few AIUs that are idle or said twice.",
        "Perfect - All that matters and nothing else; nothing is idle or said twice.",
    ),
    scale=SEVEN,
)
ALL = (ANSWER, CRITIQUE, EXTRACTION)


def of_answer(item: str) -> Target:
    """The rating of an item's reference answer."""
    return Target(item=item, kind="likert", criterion=ANSWER.name)


def of_critique(item: str, reference: Critique) -> Target:
    """The rating of a reference critique."""
    return Target(item=item, kind="likert", criterion=CRITIQUE.name, part=reference.id)


def of_extraction(item: str, critique: str) -> Target:
    """The rating of how a critique was taken apart; skips, flags and notes about a critique hang on it too."""
    return Target(item=item, kind="likert", criterion=EXTRACTION.name, part=critique)
