"""The probabilities of the levels of a rating, from the log probabilities of the token that states it.

G-Eval's score is the sum of the levels weighted by these probabilities (Liu et al. 2023, arXiv:2303.16634, eq. 1).
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.errors import UnreadableReply
from core.labels import Value

if TYPE_CHECKING:
    from core.llm.wire import TokenChoice

    Tokens = Sequence[TokenChoice]

MIN_COVERAGE = 0.5
"""The smallest probability of all levels together; with less, the place does not state the rating."""
NEGLIGIBLE = 0.01
_STRIPPED = " \t\n\r\"'*_`"


def level_name(level: float | str) -> str:
    """Return a level as replies write it."""
    return f"{level:g}" if isinstance(level, float) else str(level)


def level_probabilities(
    levels: Sequence[float | str],
    value: Value,
    text: str,
    span: tuple[int, int] | None,
    tokens: "Tokens",
) -> dict[str, float]:
    """Return level -> its probability at the token that states the rating; they add up to at most 1.

    `value` was read in the characters `span` of the reply. Raises UnreadableReply with the reason if there are no
    probabilities that can be used.
    """
    if not tokens:
        raise UnreadableReply("no log probabilities were returned")
    names = [level_name(level) for level in levels]
    name = level_name(value) if isinstance(value, int | float | str) else ""
    choice = _stating(name, text, span, tokens) if name in names else None
    if choice is None:
        raise UnreadableReply("the rating is not one token of the reply, so its probabilities are not known")
    found: dict[str, float] = {}
    for token, logprob in choice.alternatives.items():
        stripped = token.strip(_STRIPPED)
        if stripped in names:
            found[stripped] = found.get(stripped, 0.0) + math.exp(logprob)
    for short in found:
        longer = [other for other in names if other != short and other.startswith(short)]
        if longer and not found.keys() & set(longer) and found[short] > NEGLIGIBLE and short != name:
            raise UnreadableReply(f"the first tokens of {short} and {longer[0]} cannot be distinguished")
    covered = sum(found.values())
    if covered < MIN_COVERAGE:
        raise UnreadableReply(f"only {covered:.2f} of the probability is on ratings")
    return {level: found[level] for level in names if level in found}


def weighted_mean(probabilities: Mapping[str, float]) -> float:
    """Return the sum of the levels weighted by their probabilities, which are divided by their sum."""
    return sum(float(level) * p for level, p in probabilities.items()) / sum(probabilities.values())


def _stating(name: str, text: str, span: tuple[int, int] | None, tokens: "Tokens") -> "TokenChoice | None":
    """Return the token that is this number alone, in the span of the reading.

    In JSON the rating is the last field; elsewhere the first number of the span is the rating, as in `3 out of 3`.
    """
    start, end = span or (0, len(text))
    numbers = re.finditer(rf"(?<![\d.]){re.escape(name)}(?!\.?\d)", text)
    places = [match.start() for match in numbers if start <= match.start() < end]
    if not places:
        return None
    place = places[-1] if text.lstrip().startswith(("{", "```")) else places[0]
    for choice in tokens:
        if choice.start <= place < choice.start + len(choice.token):
            return choice if choice.token.strip(_STRIPPED) == name else None
    return None
