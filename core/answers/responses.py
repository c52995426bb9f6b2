"""Mentions of responses in a text, by their number ("Response 1", "回答1") or their place ("the second one")."""

import re
from functools import lru_cache

from core.answers.words import Words

ORDINALS = (
    r"first|erste[nrs]?|premi[eè]re?|primer[ao]?|primeir[ao]|prim[ao]|第一[个個份篇]?|第一の|最初の|"
    r"첫 번째|перв(?:ый|ая|ое|ого)|الأول[ى]?|पहल[ाी]",
    r"second|zweite[nrs]?|deuxi[eè]me|seconde?|segund[ao]|second[ao]|第二[个個份篇]?|第二の|"
    r"두 번째|втор(?:ой|ая|ое|ого)|الثاني[ة]?|दूसर[ाी]",
    r"third|dritte[nrs]?|troisi[eè]me|tercer[ao]?|terceir[ao]|terz[ao]|第三[个個份篇]?|第三の|"
    r"세 번째|трет(?:ий|ья|ье)|الثالث[ة]?|तीसर[ाी]",
)
_BEHIND = ("الأول[ى]?", "الثاني[ة]?", "الثالث[ة]?")
"""Ordinals that follow the noun."""
_COUNTED = ("第一[个個]", "第二[个個]", "第三[个個]")
"""Ordinals without a noun."""
_NUMERALS = ("one|eins|un|uno|um|一|один", "two|zwei|deux|dos|dois|due|二|два", "three|drei|trois|tres|três|tre|三|три")


@lru_cache(maxsize=64)
def responses(words: Words, noun: str) -> re.Pattern[str]:
    """Match a response by its number ("Response 1", "R1", "回答1") or its place ("the second one")."""
    nouns = rf"(?:{words.any('response')}|(?<!\w){re.escape(noun.lower())}|(?<![\w])R(?=[12]))"
    marks = rf"\d{{1,2}}(?![\d%]|[.,/]\d)|(?-i:[A-H])(?!\w|')|(?:{'|'.join(_NUMERALS)})(?!\w)"
    numbered = rf"(?i:{nouns})(?:'s?)?\s*(?:#|no\.?\s|number\s|n[°º]\s?|nr\.?\s)?[\s\"'(\[]*(?P<number>(?i:{marks}))"
    placed = "|".join(
        rf"(?P<ordinal{n}>(?:(?<!\w)|(?=[\u3040-\u9fff]))(?i:{ordinals}))\s*(?i:{nouns}|one(?!\w)|two(?!\w))"
        for n, ordinals in enumerate(ORDINALS, 1)
    )
    behind = "|".join(rf"{nouns}\s+(?P<behind{n}>{form})(?!\w)" for n, form in enumerate(_BEHIND, 1))
    alone = "|".join(
        rf"(?i:(?<!\w)(?:the|die|der|la|le|el|il|o|a)\s+(?P<alone{n}>{ordinals})(?=\s+(?:is|wins|ist|gewinnt|est|es|gana|é|è)\b))|"
        rf"(?P<counted{n}>{counted}(?=更|比|较|明显|要|胜))"
        for n, (ordinals, counted) in enumerate(zip(ORDINALS, _COUNTED, strict=True), 1)
    )
    return re.compile(rf"(?:{numbered}|{placed}|{behind}|{alone})[\"')\]]*(?:'s(?:\s+(?:answer|response))?|'s)?")


def number_of(match: re.Match[str]) -> int:
    """Return the response that a mention refers to."""
    if match["number"]:
        number = match["number"].lower()
        if number.isdigit():
            return int(number)
        if len(number) == 1 and "a" <= number <= "h":
            return ord(number) - 96
        return next(n for n, words in enumerate(_NUMERALS, 1) if number in words.split("|"))
    return next(
        n
        for n, _ in enumerate(ORDINALS, 1)
        if any(match[f"{form}{n}"] for form in ("ordinal", "behind", "alone", "counted"))
    )
