"""A response named by its place or by a numeral alone: `the second`, `zwei`, `number 2`, `第二个`.

Such words occur in any text, so they are read only if they make up the whole answer.
"""

import re
from functools import lru_cache

from core.answers.words import Words

PLACES = (1, 2, 3)
_COUNTER = r"(?:\s*(?:[个個份篇条項项位名号號]|番目?|つ目|번째?|의|の(?:方|ほう)?))?"
_DASHES = ("–", "—", "-")
_PRONOUN = re.compile(r"(?:it|its|this|sie|er|es|elle|il|ella|ele|ela)(?!\w)", re.I)
_OPEN, _CLOSE = r"[\s\"'(\[*:=]*", r"[\s\"')\]*]*"


def place_alone(text: str, words: Words, noun: str, *, listed: bool = False) -> tuple[int, int] | None:
    """Return the response that a text names, 0 for "zero", and where its name ends; None if more belongs to it.

    After a comma or dash only a reason may follow; with `listed`, other answers after it as well.
    """
    match = _alone(words, noun).match(text.lower())
    if match is None:
        return None
    rest = text[match.end() :].lstrip(" \"')]*")
    after = rest.lstrip(" .,;!。！，–—-")
    if not listed and any(words.starts(concept, after) for concept in ("retraction", "correction", "conjunction")):
        return None
    explained = words.starts("reason", after) or (rest[:1] in _DASHES and _PRONOUN.match(after))
    if rest.startswith((",", "，", *_DASHES)) and not explained:
        return None
    return _number(match), match.end()


def place_chosen(rest: str, words: Words, noun: str) -> int | None:
    """Return the response that the words after a verb of choice name: `the second`, `la primera`."""
    match = _chosen(words, noun).match(rest.lower())
    return _number(match) if match else None


def place_preferred(clause: str, words: Words) -> tuple[int, int] | None:
    """Return the response that a clause begins with, `the second is`, and where a word such as "better" follows."""
    match = _subject(words).match(clause.lower())
    return (_number(match), match.end()) if match else None


def _number(match: re.Match[str]) -> int:
    groups = match.groupdict()
    if digit := groups.get("digit") or groups.get("counted"):
        return int(digit)
    return next(number for number in (0, *PLACES) if groups.get(f"place{number}") or groups.get(f"numeral{number}"))


def _ordinals(words: Words) -> str:
    return "|".join(rf"(?P<place{number}>{words.any(f'ordinal_{number}')})" for number in PLACES)


def _numerals(words: Words) -> str:
    return "|".join(rf"(?P<numeral{number}>{words.any(f'numeral_{number}')})" for number in (0, *PLACES))


def _nouns(words: Words, noun: str) -> str:
    return rf"(?:{words.any('response')}|(?<!\w){re.escape(noun.lower())}(?!\w))"


@lru_cache(maxsize=64)
def _alone(words: Words, noun: str) -> re.Pattern[str]:
    article, nouns, sign = words.any("article"), _nouns(words, noun), words.any("number")
    digits = rf"{sign}[\s\"'(\[]*(?P<digit>\d)(?![\d%]|[.,/]\d)|(?P<counted>\d)(?=\s*[号號番번つ])"
    places = rf"(?:{digits}|{_ordinals(words)}){_COUNTER}(?:\s*{nouns})?"
    numerals = rf"(?:{sign}\s*)?(?:{_numerals(words)}){_COUNTER}"  # `one response` names none
    return re.compile(
        rf"{_OPEN}(?:{article}\s*)?(?:{nouns}\s*)?(?:{places}|{numerals}){_CLOSE}(?=$|[.;!。！(\n]|[,，–—]|\s-)"
    )


@lru_cache(maxsize=64)
def _chosen(words: Words, noun: str) -> re.Pattern[str]:
    return re.compile(
        rf"{_OPEN}(?:{words.any('article')}\s*)?(?:{_ordinals(words)}){_COUNTER}(?:\s*{_nouns(words, noun)})?{_CLOSE}"
        rf"(?=$|[.;!。！]|[,，]?\s*{words.any('reason')})"
    )


@lru_cache(maxsize=64)
def _subject(words: Words) -> re.Pattern[str]:
    copula = r"(?:\s+(?:is|ist|est|es|é|è)\b)?"
    return re.compile(rf"{_OPEN}(?:{words.any('article')}\s*)?(?:{_ordinals(words)}){_COUNTER}{copula}\s*")
