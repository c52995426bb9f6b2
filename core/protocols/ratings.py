"""Readers of replies that end with a rating, an option's letter or a number, and the comment above the value.

Such a reply ends with a line of its own: "Rating: N" or "Answer: X". Where no line has the label, a last line with the
value alone is accepted. A range, two different values or a value outside the scale is Unreadable.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from core.labels import Scale
from core.problems import Unreadable

_EDGE = " \t*_#>`~|\"'“”‘’-–—•"
_NUMBER = r"[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[-−+]?\.\d+"
_BARE = re.compile(rf"\W*?({_NUMBER})(?:\s*(?:/|out of)\s*({_NUMBER}))?[\s*_`\"'”’.)\]]*")
_AMOUNT = re.compile(_NUMBER)
_OPTION = re.compile(r"[\s*_`\"'“‘(\[]*(?:option|choice|answer)?\s*[(\[*\"'“]*([A-Z])(?:[)\].:,*\"'”][\s\S]*|\s*)")
_ANALYSIS = re.compile(r"^\W*analysis\W*?:[\s*_]*", re.I)
_CONJUNCTION = re.compile(r"\b(?:or|and)\b", re.I)


def read_rating(reply: str, scale: Scale, names: Collection[str] = ()) -> int | float:
    """Return the value of the last line "Rating: N"; `names` are other labels accepted instead of "Rating".

    Accepted on a scale of 1, 2, 3: `Rating: 2`, `**Rating:** 2/3`, `Engagingness: 2 out of 3`, `2` alone.
    """
    ratings = {_parse_rating(text, scale) for text in _value_texts(reply, ("rating", "score", *names))}
    if len(ratings) > 1:
        raise Unreadable(f"it gives the ratings {_join(ratings)}")
    value = ratings.pop()
    if not scale.contains(value):
        raise Unreadable(f"{value:g} is not on the scale: {describe_scale(scale)}")
    return value


def read_option(reply: str, letters: Sequence[str]) -> str:
    """Return the letter of the last line "Answer: X": `Answer: B`, `**Answer:** (B)`, `Answer: B) 12 km`, `B` alone."""
    texts = _value_texts(reply, ("answer", "final answer"))
    answers = {match[1] for text in texts if not _names_several(text, letters) and (match := _OPTION.fullmatch(text))}
    if not answers:
        raise Unreadable("the answer is not one letter")
    if len(answers) > 1:
        raise Unreadable(f"it gives the answers {_join(answers)}")
    letter = answers.pop()
    if letter not in letters:
        raise Unreadable(f"{letter} is not one of {', '.join(letters)}")
    return letter


def read_number(reply: str) -> int | float:
    """Return the number of the last line "Answer: N"; a currency or a unit is ignored: `Answer: $1,200.50`."""
    texts = _value_texts(reply, ("answer", "final answer"))
    numbers = {_parse_number(amount) for text in texts for amount in _AMOUNT.findall(text)}
    if len(numbers) != 1:
        raise Unreadable("the answer holds no number" if not numbers else f"the answer holds {_join(numbers)}")
    return numbers.pop()


def comment_text(reply: str, names: Collection[str] = ()) -> str:
    """Return the text above the value, without the word "Analysis:"; it does not reveal the value."""
    labels = ("rating", "score", "answer", *names)
    unlabelled = [line for line in reply.splitlines() if _text_after_label(line, labels) is None]
    text = _ANALYSIS.sub("", "\n".join(unlabelled).strip())
    lines = text.splitlines()
    return "\n".join(lines[:-1] if lines and _is_bare_value(lines[-1]) else lines).strip()


def is_numeric(scale: Scale | None) -> bool:
    """Return whether scores on the scale can be averaged: all categories are numbers, or it has two numeric ends."""
    if scale is None or not (scale.categories or (scale.low is not None and scale.high is not None)):
        return False
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in scale.categories)


def lowest_value(scale: Scale) -> int | float:
    """Return the first numeric category, else the lower end, else 0."""
    numbers = [value for value in scale.categories if isinstance(value, int | float)]
    return numbers[0] if numbers else scale.low or 0


def rating_grammar(label: str, values: Sequence[object]) -> str:
    """Return a grammar (llama.cpp's GBNF): an analysis of one line, then the label and one of `values`."""
    alternatives = " | ".join(f'"{value}"' for value in values)
    return rf'root ::= "Analysis: " [^\n]{{40,300}} "\n{label}: " ({alternatives})'


def describe_scale(scale: Scale) -> str:
    """Return `1, 2 or 3`, or `a number from 0 to 100`."""
    if scale.categories:
        *most, last = [
            f"{category:g}" if isinstance(category, float) else str(category) for category in scale.categories
        ]
        return f"{', '.join(most)} or {last}" if most else last
    low, high = (None if end is None else f"{end:g}" for end in (scale.low, scale.high))
    return "a number" + (f" from {low}" if low else "") + (f" to {high}" if high else "")


def _value_texts(reply: str, labels: Collection[str]) -> list[str]:
    """Return the texts after the labels; without any label, the last line if it is a value alone."""
    lines = [line for line in unicodedata.normalize("NFKC", reply).splitlines() if line.strip(_EDGE)]
    if not lines:
        raise Unreadable("the reply is empty")
    texts = list(_labelled_texts(lines, labels))
    if not texts and not _is_bare_value(lines[-1]):
        raise Unreadable(f'no "{next(iter(labels)).capitalize()}: …" line')
    return texts or [lines[-1]]


def _labelled_texts(lines: Sequence[str], labels: Collection[str]) -> Iterator[str]:
    """Yield the text after each label; the next line where nothing follows the label on its own line."""
    for position, line in enumerate(lines):
        text = _text_after_label(line, labels)
        if text is None:
            continue
        if text.strip(_EDGE + ":"):
            yield text
        elif position + 1 < len(lines):
            yield lines[position + 1]


def _text_after_label(line: str, labels: Collection[str]) -> str | None:
    """Return the text after "Rating:" at the beginning of a line, which may be empty; None where no label is."""
    # The longest label first, so that "final answer" is not matched as "answer" after a stray word.
    words = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    match = re.match(
        rf"[\W_]*(?:final\s+|overall\s+|my\s+)?(?:{words})(?:\s*\([^)]*\))?[\s*_`\"]*(?::|=|$)(.*)", line, re.I
    )
    return match[1] if match else None


def _parse_rating(text: str, scale: Scale) -> int | float:
    match = _BARE.fullmatch(text.strip())
    if match is None:
        raise Unreadable(f"{' '.join(text.split())[:40]!r} is not one rating")
    maximum = scale.categories[-1] if scale.categories else scale.high
    if match[2] is not None and _parse_number(match[2]) != maximum:
        raise Unreadable(f"it rates out of {match[2]}, and the scale ends at {maximum}")
    return _parse_number(match[1])


def _parse_number(text: str) -> int | float:
    value = float(text.replace(",", "").replace("−", "-"))
    return int(value) if value.is_integer() else value


def _is_bare_value(line: str) -> bool:
    """Return whether the line is a number or a letter alone."""
    return bool(re.fullmatch(rf"[\W_]*(?:{_NUMBER}|[A-Z])[\W_]*", line))


def _names_several(text: str, letters: Sequence[str]) -> bool:
    """Return whether more than one letter is named as the answer: `A or B`, `A, C`."""
    head = re.split(r"[.:;]", text)[0]
    named = {letter for letter in letters if re.search(rf"(?<!\w){re.escape(letter)}(?!\w)", head)}
    return len(named) > 1 and (bool(_CONJUNCTION.search(head)) or "," in head)


def _join(values: Collection[object]) -> str:
    return " and ".join(sorted(f"{value:g}" if isinstance(value, float) else str(value) for value in values))
