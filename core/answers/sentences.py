"""The assertion of a sentence: its clauses without reasons, concessions and remarks, and whether it is in doubt."""

import re
from collections.abc import Iterator
from functools import lru_cache

from core.answers.words import Words

CLAUSES = 12
"""Maximum length: longer sentences are not parsed."""

_ASIDE = re.compile(r"\((?!\w\))[^()\n]{0,300}\)|, (?:which|who) [^,\n]{0,200},")
_RANKS = (
    r"(?:clear |overall |final |definite )?"
    r"(?:winner|better|best|stronger|strongest|preferred|superior|more|most|answer|choice)"
)
_LEAD = re.compile(r"(?:\W|\b(?:oh|no|hmm|but|sorry|okay|ok|ah|so|and|hm|well)\b){0,20}", re.I)
_OWN = re.compile(r"\b(?:i|we|my|our|me|us|let|should|must)\b")
_CHOOSES = re.compile(r"(?:prefer|recommend|choos|chose|pick|select|vote|favou?r|opt|go|side|lean|settle|decide)\w*\b")
_FINDS = re.compile(r"\b(?:finds?|considers?|deems?|regards?|perceives?)\b")
_ADVERBS = {
    "clearly",
    "finally",
    "then",
    "now",
    "still",
    "also",
    "and",
    "so",
    "to",
    "would",
    "the",
    "have",
    "had",
    "this",
    "that",
    "it",
}
_FIRST_PERSON = re.compile(
    r"\bje (?:pense|crois|estime|trouve|considère) que\b|(?<!不)我(?:个人|還是|还是)?(?:认为|認為|觉得|覺得)"
)
_CONTRACTED = re.compile(r"\w+n't\b")


def clauses(sentence: str, words: Words) -> Iterator[str]:
    """Yield the main clauses of a sentence: without reasons, concessions and asides."""
    if words.find("condition", _without_reasons(sentence, words)) or _is_question(sentence):
        return
    text = _without_reasons(sentence, words)
    start = 0
    borders = list(_boundary(words).finditer(text.lower()))
    if len(borders) > CLAUSES:
        return
    for match in [*borders, None]:
        end = match.start() if match else len(text)
        clause = _without_concession(text[start:end], words)
        if clause.strip(" ,.;:"):
            yield clause.strip()
        start = match.end() if match else end


def in_doubt(clause: str, words: Words) -> bool:
    """Return whether it is negated, hedged, or another person's view."""
    low = re.sub(r"(?<=[\w,] )May\b", "   ", clause).lower()
    low = _FIRST_PERSON.sub(" ", low)
    return bool(_CONTRACTED.search(low)) or any(words.find(kind, low) for kind in ("negation", "hedge", "reported"))


def by_others(before: str, verb: str, words: Words) -> bool:
    """Return whether the words before "choose" and similar verbs name another person: `Many students choose B`.

    It looks at English verbs: those of other languages in the table are in the first person.
    """
    if not _CHOOSES.match(verb.lower()):
        return False
    return _names_another(words.without("therefore", before))


def _names_another(low: str) -> bool:
    """Return whether words in lower case are a subject other than the first person."""
    names = re.sub(r"[^\w']", " ", low).split()
    return bool(names) and not _OWN.search(low) and not set(names) <= _ADVERBS


def found_by_others(before: str, words: Words) -> bool:
    """Return whether the words before a name say that another person finds something: `Readers will find`."""
    low = words.without("therefore", before)
    verb = _FINDS.search(low)
    return verb is not None and _names_another(low[: verb.start()])


def announcement(sentence: str, words: Words) -> int:
    """Return the end of the words that announce a correction; 0 if the sentence begins otherwise."""
    lead = _LEAD.match(sentence)
    for start in (lead.end() if lead else 0, 0):
        if match := words.starts("correction", sentence[start:]):
            return start + match.end()
    return 0


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"')]").endswith(("?", "？"))


def _without_reasons(sentence: str, words: Words) -> str:
    """Blank asides, and the text after "because" and similar words unless the sentence begins with them."""
    text = sentence if sentence.startswith("(") else _ASIDE.sub(lambda aside: " " * len(aside[0]), sentence)
    text = _without_concession(text, words)
    for match in _reasons(words).finditer(text.lower()):
        if text[: match.start()].strip(" ,.;:\"'"):
            return text[: match.start()] + " " * (len(text) - match.start())
    return text


def _without_concession(text: str, words: Words) -> str:
    """Blank a subordinate clause that begins the text, up to its comma."""
    therefore = words.starts("therefore", text)
    start = therefore.end() if therefore else 0
    opening = words.starts("concession", text[start:]) or words.starts("opening", text[start:])
    if opening is None:
        return text
    comma = re.search(r",", text[start + opening.end() :])
    if comma is None:
        return text
    begin, end = start + opening.start(), start + opening.end() + comma.end()
    return text[:begin] + " " * (end - begin) + text[end:]


@lru_cache(maxsize=16)
def _boundary(words: Words) -> re.Pattern[str]:
    return re.compile(
        rf"[;:]\s(?!\s{{0,3}}[\"'(\[]*\d\W*$)|[,.]?\s{{0,3}}{words.any('contrast')}[\s,]{{0,3}}|\s[-–—]\s|"
        rf",\s{{1,3}}(?:and|und|et|y|e)\s|,\s{{0,3}}(?:and\s+)?{words.any('therefore')}[\s,]{{0,3}}"
    )


@lru_cache(maxsize=16)
def _reasons(words: Words) -> re.Pattern[str]:
    reason, concession = words.any("reason"), words.any("concession")
    return re.compile(rf"(?!which is why\b){reason}|\sas the\s(?!{_RANKS})|,\s*{concession}|\s{concession}\s(?!good\b)")
