"""Criteria of the 1-7 ratings of generated texts (MetaCritique, Tables 12 to 14), with anchors in our own words."""

from core.critiques import Critique
from core.items import Criterion
from core.labels import Scale, Target
from core.texts import mark

SEVEN_POINT_SCALE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5, 6, 7))
REFERENCE_ANSWER = Criterion(
    name=mark("reference answer"),
    definition="How good is the reference answer? 4 to 7 where its content is right, 1 to 3 where it is wrong.",
    rubric=(
        "Useless - It is unrelated to the question, or only repeats it.",
        "Poor - The answer is wrong, and its explanation has flaws too.",
        "Fair - The answer is wrong, but the explanation is consistent with it.",
        "Good - The answer is right, but is not explained as it should be.",
        "Very good - The answer is right and explained, with flaws in both.",
        "Excellent - The answer is right to the point and well explained, with few flaws.",
        "Perfect - The answer is right to the point and well explained.",
    ),
    scale=SEVEN_POINT_SCALE,
)
REFERENCE_CRITIQUE = Criterion(
    name=mark("reference critique"),
    definition="How good is the reference critique? First check its overall judgement: does it call a right answer "
    "right, or a wrong one wrong? 4 to 7 where it does, 1 to 3 where it does not.",
    rubric=(
        "Useless - It is unrelated text, or only repeats the answer.",
        "Wrong judgement - It calls a right answer wrong, or a wrong one right.",
        "Undecided - It leaves open whether the answer is right, or answers the question itself.",
        "Right judgement - It judges the answer correctly, and does no more.",
        "Basic - Wrong answer: says so clearly, but misses what matters. Right answer: says so, suggests little.",
        "Useful - Wrong answer: says so and names the most serious errors. Right answer: says so, with useful "
        "suggestions.",
        "Very useful - Wrong answer: explains the most serious errors and says what to do. Right answer: says so, with "
        "very useful suggestions.",
    ),
    scale=SEVEN_POINT_SCALE,
)
AIU_EXTRACTION = Criterion(
    name=mark("AIU extraction"),
    definition="How well was the critique split into AIUs? Look at the critique and its AIUs only.",
    rubric=(
        "Useless - The AIUs are unrelated text, or repeat the whole critique.",
        "Poor - Too much important information is missing, or too much was added.",
        "Fair - Some important information is covered, with too much that the critique does not say.",
        "Good - Some important information is covered, with a little that the critique does not say.",
        "Very good - All important information is covered, with a little that the critique does not say.",
        "Excellent - All important information and nothing else, with very few superfluous or repeated AIUs.",
        "Perfect - All important information and nothing else, with no superfluous or repeated AIUs.",
    ),
    scale=SEVEN_POINT_SCALE,
)
CRITIQUE = Criterion(
    name="critique",
    definition=REFERENCE_CRITIQUE.definition.replace("reference critique", "critique"),
    rubric=REFERENCE_CRITIQUE.rubric,
    scale=SEVEN_POINT_SCALE,
)


def answer_target(item: str) -> Target:
    """Return the target of the rating of an item's reference answer."""
    return Target(item=item, kind="likert", criterion=REFERENCE_ANSWER.name)


def critique_target(item: str, reference: Critique) -> Target:
    """Return the target of the rating of a reference critique."""
    return Target(item=item, kind="likert", criterion=REFERENCE_CRITIQUE.name, part=reference.id)


def extraction_target(item: str, critique: str) -> Target:
    """Return the target of the rating of a critique's AIUs; skips, flags and notes about a critique use it too."""
    return Target(item=item, kind="likert", criterion=AIU_EXTRACTION.name, part=critique)
