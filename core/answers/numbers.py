"""Number formats in replies: decimal commas, thousands, fractions, words, and the top of a scale."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from core.answers.words import Words, alternatives

UNSIGNED = (
    r"(?:\d{1,3}(?:[. ]\d{3})+,\d+|\d{1,3}(?:[, ']\d{3})+(?:\.\d+)?(?![\d,])|\d{1,3}(?:\.\d{3}){2,}|"
    r"\d{1,15}(?:[.,]\d{1,20})?|\.\d{1,20})"
)
"""Bounded, because replies are untrusted."""
AMOUNT = rf"[-+]?{UNSIGNED}"

_NUMERALS: dict[str, int] = {
    word: number
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn",
        "zéro un deux trois quatre cinq six sept huit neuf dix",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
        "zero um dois três quatro cinco seis sete oito nove dez",
        "zero uno due tre quattro cinque sei sette otto nove dieci",
        "ноль один два три четыре пять шесть семь восемь девять десять",
        "nul één twee drie vier vijf zes zeven acht negen tien",
        "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
        "صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة",
    )
    for number, word in enumerate(words.split())
}
_NUMERALS |= dict(пяти=5, десяти=10, 셋=3, 넷=4, 다섯=5, 여섯=6, 일곱=7, 여덟=8, 아홉=9)
_IDEOGRAPHS = "零一二三四五六七八九"
ARTICLES = ("un", "uno", "um", "one")
"""Numerals that are articles or pronouns if another word follows."""
_TENS = dict(twenty=20, thirty=30, forty=40, fifty=50, sixty=60, seventy=70, eighty=80, ninety=90)
_UNITS = {word: number for word, number in _NUMERALS.items() if 1 <= number <= 9}
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_SPELLED = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{_ONES}))?|{alternatives(tuple(_NUMERALS))})(?![\w-])"
NUMERAL = rf"(?:{_SPELLED}|(?<!\w)[{_IDEOGRAPHS}](?=[分点](?!之)|\W|$))"


def value(text: str) -> float:
    """Return the number of a text that `AMOUNT` or `NUMERAL` matches; whole numbers are int."""
    word = text.strip().lower()
    if word in _NUMERALS:
        return _NUMERALS[word]
    if word in _IDEOGRAPHS:
        return _IDEOGRAPHS.index(word)
    if (parts := re.split(r"[- ]", word, maxsplit=1)) and parts[0] in _TENS:
        return _TENS[parts[0]] + (_UNITS[parts[1]] if len(parts) > 1 else 0)
    return whole(float(_plain(word)))


def whole(number: float) -> float:
    """Return an int if the number is whole."""
    return int(number) if float(number).is_integer() else number


def fraction(top: float, bottom: float) -> float | None:
    """Return a quotient without floating-point noise, or None if there is none."""
    return whole(float(Fraction(str(top)) / Fraction(str(bottom)))) if bottom else None


def _plain(text: str) -> str:
    """Parse digits with a point: `1,200.5`, `1.200,5`, `1 200`, `3,5`."""
    digits = text.replace(" ", "").replace("'", "")
    if "," in digits and "." in digits:
        decimal = max(digits.rfind(","), digits.rfind("."))
        return re.sub(r"[.,]", "", digits[:decimal]) + "." + digits[decimal + 1 :]
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+|[-+]?\d{1,3}(?:\.\d{3}){2,}", digits):
        return re.sub(r"[.,]", "", digits)
    return digits.replace(",", ".")


@dataclass(frozen=True)
class Measure:
    """A value on a scale, as written: `8/10`, `4 out of 5 stars`, `70 %`."""

    value: float
    top: float | None
    percent: bool
    end: int
    problem: str = ""


def measure(text: str, words: Words) -> Measure | None:
    """Return the value that `text` begins with, after brackets; None if none does. A range has a problem."""
    match = _measure(words).match(text)
    if match is None:
        return None
    if match["stars"]:
        count = match["stars"].count("★") + match["stars"].count("⭐")
        whole_scale = float(len(match["stars"])) if "☆" in match["stars"] else None
        return Measure(count, whole_scale, False, match.end()) if count else None
    number = value(match["value"])
    top = value(match["top"]) if match["top"] else None
    problem = f"“{' '.join(match[0].split())}” is not one value" if match["range"] else ""
    return Measure(number, top, bool(match["percent"]), match.end(), problem)


@lru_cache(maxsize=16)
def _measure(words: Words) -> re.Pattern[str]:
    out_of, either = words.any("out_of"), words.any("either")
    return re.compile(
        rf"""[\s"'(\[:|=]*(?:<(?=\s*+[\d.]+\s*+>))?(?:(?P<stars>[★⭐☆]+)|
        (?P<value>{AMOUNT}|{NUMERAL})(?!\d|\.\d|(?!pts?\b)[a-zA-Z]{{2}})
        (?:\s*+(?P<percent>%|percent\b|prozent\b|por\ ciento\b|pour\ cent\b))?
        (?:\s++(?:stars?|points?|punkten?|sternen?|étoiles|points|puntos|estrellas|pontos|punti)(?=\s++(?:{out_of})))?
        (?:\s*+(?:{out_of})\s*+(?:[01]\s*+(?:to|-|–)\s*+)?(?P<top>{UNSIGNED}|{NUMERAL})(?!\d))?
        (?P<range>\s*+%?\s*+(?:-|–|—|~|…|\.\.\.?|\+|{either})\s*+(?:an?\s++)?[-+]?\d+(?![.):]\s)|\s++and\s++a\s++half)?)""",
        re.X | re.I,
    )
