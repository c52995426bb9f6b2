"""ScaleEval's six ways to write the same criterion (Section 8, Table 7): one is plain, five are worn down on purpose.

A researcher who perturbs the criterion asks how much a judge leans on it. Each format is a function of a text and of a
seeded chance, so a trace can be told again letter by letter.
"""

import re
from collections.abc import Callable
from random import Random
from typing import Literal, get_args

from core.items import Criterion

Format = Literal["general", "shortened", "gibberish", "shuffled", "flipped", "masked"]
FORMATS: tuple[Format, ...] = get_args(Format)

SYMBOLS = "*$!#%&/()=€@0457"
GIBBERISH_SHARE = 0.3
"""Letters replaced: between a quarter and a third in Table 7."""
MASKED_SHARE = 0.3

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")


def written(criterion: Criterion, form: Format, chance: Random) -> str:
    """The criterion as a judge reads it: its definition, then its levels as `"1": "Name - text"`, in that format."""
    levels = [f'"{number}": "{FORMAT[form](text, chance)}"' for number, text in enumerate(criterion.rubric, start=1)]
    if criterion.definition or not levels:
        levels.insert(0, _definition(criterion, form, chance))
    return "\n".join(levels)


def general(text: str, chance: Random) -> str:
    """`Level name - text`, as it stands."""
    return text


def shortened(text: str, chance: Random) -> str:
    """Without the level's name before " - "."""
    return text.partition(" - ")[2] or text


def gibberish(text: str, chance: Random) -> str:
    """Some letters become symbols."""
    return _LETTER.sub(lambda letter: _sometimes(chance, letter[0], chance.choice(SYMBOLS), GIBBERISH_SHARE), text)


def shuffled(text: str, chance: Random) -> str:
    """The same words in another order."""
    words = text.split()
    chance.shuffle(words)
    return " ".join(words)


def flipped(text: str, chance: Random) -> str:
    """The letters of each word in reverse, punctuation in its place."""
    return _WORD.sub(lambda word: word[0][::-1], text)


def masked(text: str, chance: Random) -> str:
    """Some letters become "_"."""
    return _LETTER.sub(lambda letter: _sometimes(chance, letter[0], "_", MASKED_SHARE), text)


FORMAT: dict[Format, Callable[[str, Random], str]] = {
    "general": general,
    "shortened": shortened,
    "gibberish": gibberish,
    "shuffled": shuffled,
    "flipped": flipped,
    "masked": masked,
}


def _definition(criterion: Criterion, form: Format, chance: Random) -> str:
    text = criterion.definition or criterion.name
    return text if form == "shortened" else FORMAT[form](text, chance)


def _sometimes(chance: Random, kept: str, replaced: str, share: float) -> str:
    return replaced if chance.random() < share else kept
