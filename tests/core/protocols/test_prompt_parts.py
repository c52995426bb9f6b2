"""The six formats of a criterion, each with a golden file."""

from random import Random

import pytest

from core.errors import UnreadableReply
from core.items import Criterion
from core.labels import PREFERENCE, Scale
from core.protocols import Judge
from core.protocols.prompt_parts import (
    CRITERION_FORMATS,
    CriterionFormat,
    criterion_text,
    describe_scale,
    format_note,
    is_numeric,
    rating_answer,
)
from core.protocols.scaleeval.settings import Settings
from core.trace import Spec
from tests.core.protocols.debates import RUBRIC
from tests.golden.files import assert_golden

CRITERION = Criterion(name="clarity", rubric=RUBRIC)


@pytest.mark.parametrize("form", CRITERION_FORMATS)
def test_each_format_matches_its_golden_file(form: CriterionFormat) -> None:
    assert_golden(f"scaleeval/criterion_{form}.txt", criterion_text(CRITERION, form, Random(7)))


def test_a_fixed_text_of_a_format_is_used_as_it_is() -> None:
    criterion = CRITERION.model_copy(update={"formats": {"masked": "_l_ar $5"}})
    assert criterion_text(criterion, "masked", Random(1)) == "_l_ar $5"
    assert criterion_text(criterion, "general", Random(1)) == criterion_text(CRITERION, "general", Random(1))
    assert hash(criterion) == hash(CRITERION) and criterion != CRITERION


BINARY = Scale(level="ordinal", categories=(0, 1))
STARS = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("rubric", "scale", "levels"),
    [
        (("0: it does not use the fact", "1: it uses the fact"), BINARY, [("0", "it does not"), ("1", "it uses")]),
        (("it does not use the fact", "it uses the fact"), BINARY, [("0", "it does not"), ("1", "it uses")]),
        (("0: it does not use the fact", "1: it uses the fact"), None, [("0", "it does not"), ("1", "it uses")]),
        (("1 - Poor", "3 - Fair", "5 - Good"), STARS, [("1", "Poor"), ("3", "Fair"), ("5", "Good")]),
        (("Bad", "Good"), STARS, [("level 1 of 2", "Bad"), ("level 2 of 2", "Good")]),
        (
            ("Bad", "Good"),
            Scale(level="interval", low=0, high=100),
            [("level 1 of 2", "Bad"), ("level 2 of 2", "Good")],
        ),
        (("Bad", "Good"), Scale(level="ordinal", categories=("no", "yes")), [("no", "Bad"), ("yes", "Good")]),
        (("Low - a", "Mid - b", "High - c"), PREFERENCE, [("1", "Low - a"), ("2", "Mid - b"), ("3", "High - c")]),
        (("2 - 3 errors", "No error"), None, [("1", "2 - 3 errors"), ("2", "No error")]),
    ],
)
def test_the_levels_of_a_rubric_have_the_names_that_the_scale_gives_them(
    rubric: tuple[str, ...], scale: Scale | None, levels: list[tuple[str, str]]
) -> None:
    text = criterion_text(Criterion(name="c", rubric=rubric, scale=scale), "general", Random(0))
    assert len(text.splitlines()) == len(levels)
    for line, (name, beginning) in zip(text.splitlines(), levels, strict=True):
        assert line.startswith(f'"{name}": "{beginning}')


def test_a_format_that_changes_nothing_is_stated() -> None:
    judges = (Judge(name="a", spec=Spec(model="m")), Judge(name="b", spec=Spec(model="m")))
    plain = Settings(judges=judges, criterion=Criterion(name="clarity", rubric=("clear",)), format="shortened")
    assert format_note(plain).startswith("The format 'shortened' of 'clarity' equals 'general'")
    assert not format_note(plain.model_copy(update={"criterion": CRITERION}))
    assert not format_note(plain.model_copy(update={"format": "general"}))
    assert not format_note(object())


def test_a_definition_precedes_the_levels() -> None:
    both = Criterion(name="clarity", definition="Easy to follow.", rubric=("Bad - is bad",))
    assert criterion_text(both, "general", Random(0)) == 'Easy to follow.\n"1": "Bad - is bad"'


# Scales of scores: which are numeric, how they are described, and what is asked for


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
