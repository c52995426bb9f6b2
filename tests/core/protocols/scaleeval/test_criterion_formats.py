"""The six ways to write a criterion, each held by a golden file."""

from random import Random

import pytest

from core.items import Criterion
from core.protocols.scaleeval.criterion_formats import (
    FORMATS,
    Format,
    flipped,
    gibberish,
    masked,
    shortened,
    shuffled,
    written,
)
from tests.core.protocols.debates import RUBRIC
from tests.golden.files import golden

CRITERION = Criterion(name="clarity", rubric=RUBRIC)
TEXT = "Somewhat Clear - The reader’s needs are met, on-point, and no more than that."


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_is_as_it_was_looked_at(form: Format) -> None:
    golden(f"scaleeval/criterion_{form}.txt", written(CRITERION, form, Random(7)))


def test_the_same_chance_writes_the_same() -> None:
    assert written(CRITERION, "gibberish", Random(1)) == written(CRITERION, "gibberish", Random(1))
    assert written(CRITERION, "gibberish", Random(1)) != written(CRITERION, "gibberish", Random(2))


def test_shortened_drops_the_levels_name_once() -> None:
    assert shortened("Bad - so - so", Random(0)) == "so - so"
    assert shortened("no name here", Random(0)) == "no name here"


def test_shuffled_keeps_every_word() -> None:
    assert sorted(shuffled(TEXT, Random(0)).split()) == sorted(TEXT.split())
    assert shuffled(TEXT, Random(0)) != TEXT


def test_flipped_twice_is_the_text_again() -> None:
    assert flipped(TEXT, Random(0)).startswith("tahwemoS raelC - ehT redaer’s sdeen")
    assert flipped(flipped(TEXT, Random(0)), Random(0)) == TEXT


@pytest.mark.parametrize("worn", [gibberish, masked])
def test_letters_change_and_nothing_else(worn: type) -> None:
    result = worn(TEXT, Random(0))
    assert len(result) == len(TEXT)
    changed = [(old, new) for old, new in zip(TEXT, result, strict=True) if old != new]
    assert changed and all(old.isalpha() and not new.isalpha() for old, new in changed)


def test_a_criterion_without_a_rubric_is_its_definition() -> None:
    assert written(Criterion(name="clarity", definition="Easy to follow."), "general", Random(0)) == "Easy to follow."
    assert written(Criterion(name="clarity"), "shortened", Random(0)) == "clarity"


def test_a_definition_stands_before_its_levels() -> None:
    both = Criterion(name="clarity", definition="Easy to follow.", rubric=("Bad - is bad",))
    assert written(both, "general", Random(0)) == 'Easy to follow.\n"1": "Bad - is bad"'
