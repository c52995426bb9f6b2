"""Scales of scores: which are numeric, how they are described, and what is asked for."""

import pytest

from core.errors import UnreadableReply
from core.labels import Scale
from core.protocols.prompt_parts import describe_scale, is_numeric, rating_answer

THREE = Scale(level="ordinal", categories=(1, 2, 3))
HUNDRED = Scale(level="interval", low=0, high=100)
WORDS = Scale(level="nominal", categories=("good", "bad"))


@pytest.mark.parametrize(
    ("scale", "numeric"),
    [(THREE, True), (HUNDRED, True), (WORDS, False), (Scale(level="interval"), False), (None, False)],
)
def test_scores_can_be_averaged_on_numbers_or_between_two_ends(scale: Scale | None, numeric: bool) -> None:
    assert is_numeric(scale) is numeric


def test_a_scale_is_described_by_its_values_or_its_ends() -> None:
    assert describe_scale(THREE) == "1, 2 or 3"
    assert describe_scale(HUNDRED) == "a number from 0 to 100"
    assert describe_scale(WORDS) == "good or bad"


@pytest.mark.parametrize(("scale", "on", "off"), [(THREE, "Rating: 3", "Rating: 2.5"), (HUNDRED, "87.5", "101")])
def test_a_rating_is_one_of_the_scales_values(scale: Scale, on: str, off: str) -> None:
    answer = rating_answer(scale, "engaging")
    assert scale.covers(answer.parse(on).value)
    with pytest.raises(UnreadableReply):
        answer.parse(off)


def test_the_criterions_name_may_label_a_rating() -> None:
    assert rating_answer(THREE, "engaging").parse("It is dull.\nEngaging: 1").value == 1
