"""The words that parsers know, by concept and language: `words.toml`.

A phrase matches whole words, in any case. Scripts that are written without spaces match anywhere in a line.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

# Signs and digits of any script as ASCII, character by character.


def _table() -> dict[int, str]:
    """Return the characters that have one plain counterpart."""
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "！？；"}
    digits = (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50)
    table |= {start + digit: str(digit) for start in digits for digit in range(10)}
    table |= {ord("①") + digit: str(digit + 1) for digit in range(9)}
    for plain, signs in {
        '"': "“”„‟«»「」『』″❝❞",
        "'": "‘’‚‛′´",
        "-": "−‐‑‒﹣",
        ",": "、،﹐",
        ":": "∶꞉﹕",
        "%": "٪﹪",
        "[": "【〔［",
        "]": "】〕］",
        "<": "〈《",
        ">": "〉》",
        "i": "İ",
        "~": "～〜∼",
        " ": (
            "\u00a0\u2002\u2003\u2007\u2009\u200a\u200b\u200c\u200d\u202f\u2060\u3000\ufeff\ufe0f\u20e3"
            "\r\t\v\f\u200e\u200f"
        ),
        "\n": "\u2028\u2029\x85",
    }.items():
        table |= {ord(sign): plain for sign in signs}
    return table


_PLAIN = _table()


def readable(text: str) -> str:
    """Return a text of the same length with plain signs and digits."""
    return text.translate(_PLAIN)


def squash(text: str) -> str:
    """Return only the words, in lower case, for comparing names."""
    return " ".join(re.findall(r"\w+", readable(text).replace("_", " ").lower()))


FILE = Path(__file__).with_name("words.toml")
PHRASES: dict[str, tuple[str, ...]] = {
    concept: tuple(
        dict.fromkeys(
            readable(phrase).strip().lower()
            for text in languages.values()
            for phrase in text.replace("\n", " ").split("|")
            if phrase.strip()
        )
    )
    for concept, languages in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
}
"""The phrases of each concept, such as `PHRASES["answer"]`."""


def any_of(*concepts: str) -> str:
    """Return a regular expression for any phrase of these concepts."""
    return alternatives(tuple(phrase for concept in concepts for phrase in PHRASES[concept]))


@lru_cache(maxsize=512)
def pattern(template: str, flags: int = 0, noun: str = "") -> re.Pattern[str]:
    """Return a regular expression in which `(?&answer|final)` is any phrase of these concepts, and `(?&noun)` the noun
    of a prompt."""
    filled = template.replace("(?&noun)", re.escape(noun.lower()))
    return re.compile(re.sub(r"\(\?&([\w|]+)\)", lambda some: any_of(*some[1].split("|")), filled), flags)


def find(concept: str, text: str) -> re.Match[str] | None:
    """Return the first match of a phrase of `concept`."""
    return _compiled(concept).search(text.lower())


def has(text: str, *concepts: str) -> bool:
    """Return whether a phrase of one of the concepts is in the text."""
    return any(find(concept, text) for concept in concepts)


def finditer(concept: str, text: str) -> Iterator[re.Match[str]]:
    """Yield every occurrence of a phrase of `concept`."""
    return _compiled(concept).finditer(text.lower())


def without(concept: str, text: str) -> str:
    """Return the text in lower case, with spaces for the phrases of `concept`."""
    return _compiled(concept).sub(lambda match: " " * len(match[0]), text.lower())


def starts(concept: str, text: str) -> re.Match[str] | None:
    """Return the phrase of `concept` that `text` begins with, after any marks."""
    return _compiled(concept, start=True).match(text.lower())


def after(concept: str, text: str) -> str:
    """Return the text without the phrase of `concept` that it begins with."""
    match = starts(concept, text)
    return text[match.end() :] if match else text


@lru_cache(maxsize=512)
def alternatives(phrases: tuple[str, ...]) -> str:
    """Return a regular expression for the longest of the phrases, at word boundaries if the script has them."""
    forms = list(dict.fromkeys(" ".join(phrase.split()) for phrase in phrases))
    if not forms:
        return r"(?!)"
    anywhere = [form for form in forms if _UNSPACED.search(form) or not _LETTER.search(form)]
    spaced = [form for form in forms if form not in set(anywhere)]
    parts = [rf"(?<!\w){_branches(spaced)}(?!\w)"] if spaced else []
    return rf"(?:{'|'.join([*parts, *([_branches(anywhere)] if anywhere else [])])})"


def _branches(forms: Iterable[str]) -> str:
    """Return a regular expression for any of the forms that merges common prefixes: many times faster than a list."""
    tree: dict[str, Any] = {}
    for form in forms:
        branch = tree
        for character in form:
            branch = branch.setdefault(character, {})
        branch[""] = {}
    return _expression(tree)


def _expression(tree: Mapping[str, Any]) -> str:
    parts = [
        (r"\s+" if character == " " else re.escape(character)) + _expression(branch)
        for character, branch in tree.items()
        if character
    ]
    if not parts:
        return ""
    if "" in tree:
        return f"(?:{'|'.join(parts)})?"
    return f"(?:{'|'.join(parts)})" if len(parts) > 1 else parts[0]


_LETTER = re.compile(r"[^\W\d_]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@lru_cache(maxsize=512)
def _compiled(concept: str, start: bool = False) -> re.Pattern[str]:
    return re.compile((r"[^\w\n]*" if start else "") + any_of(concept))


# Labels that give a value to somebody else: `Judge A's verdict: 2`, `Rating by the first reviewer: 3`.
#
# The judge's own role stays: `My verdict`, `Area chair's rating`, `Verdict of this judge`, `The judge's verdict`.

LABEL = 3
"""Maximum number of words of a label between the name of a passage and the value."""

_MARK = r"(?:#\s?|no\.\s?)?(?:\d{1,2}|(?-i:[A-H]))(?!\w)"
_JUDGE = (
    r"(?:judge|referee|rater|annotator|reviewer|evaluator|assessor|grader|labell?er|juror|panell?ist|expert|peer|"
    r"colleague)"
)
_ANYONE = rf"(?:{_JUDGE}|model|system|llm|agent|debater|participant|speaker|critic|persona?|user|human|student)"
_OTHER = r"(?:another|others?|previous|prior|earlier|former|preceding|different|remaining|fellow|one|human|expert)"
_MODEL = r"(?:(?:chat)?gpt|claude|gemini|llama|mistral|mixtral|qwen|deepseek|grok)(?:[- ]?\d[\w.]*)?"
_PARTY = (
    rf"(?:{_OTHER}\s+(?:\w+\s+)?{_ANYONE}s?(?:\s+{_MARK})?|(?:first|second|third|next|last)\s+(?:\w+\s+)?{_JUDGE}|"
    rf"(?:peer\s+)?{_JUDGE}\s+{_MARK}|{_JUDGE}s|peer|{_MODEL}|(?:somebody|someone)\s+else)"
)
_VERDICT = (
    r"(?:verdict|decision|judge?ment|rating|score|grade|mark|vote|choice|answer|conclusion|pick|preference|evaluation|"
    r"winner)s?"
)
_ADJECTIVES = r"(?:(?:own|final|overall|initial|last|first|total|stated|claimed|alleged)\s+){0,3}"
_TEXT = r"(?:response|submission|answer|candidate|critique|solution|text|author|writer|essay|reply)"
_POSSESSIVE = (
    rf"(?<!\w)(?:{_PARTY}(?:'s|(?<=s)')\s+{_ADJECTIVES}{_VERDICT}|"
    rf"(?:{_TEXT}|assistant)(?:\s+{_MARK})?'s\s+(?:own\s+{_ADJECTIVES}{_VERDICT}|"
    r"(?:final\s+|stated\s+)?(?:verdict|decision|judge?ment|conclusion)|final\s+answer))(?!\w)"
)
_BY = (
    rf"(?<!\w){_VERDICT}\s*\(?\s*(?:(?:is|was)?\s*(?:given|stated|assigned|proposed|made|reached|written)\s+)?"
    rf"(?:(?:by|from|according\s+to)\s+|of\s+(?!(?:the\s+)?{_MODEL}))(?:the\s+|an?\s+)?{_PARTY}(?![\w'])|"
    rf"(?<!\w){_VERDICT}\s*\(\s*{_PARTY}\s*\)|(?<!\w)(?:verdict|decision)\s+of\s+{_MODEL}(?![\w'])"
)
_ABROAD = (
    r"(?&answer|rating)(?:\s+finale?)?\s+(?:(?&of)\s*){1,3}"
    r"(?:(?&other)\s+(?&judge)|(?&judge)\s+(?:(?&other)|(?:\d|[a-h])(?!\w)))|"
    r"(?:(?&other)[位个名]?的?(?&judge)|(?&judge)\s*[a-h\d]+)们?的?.{0,4}?(?&answer|rating)"
)
"""In other languages than English; the nouns that name a judge are read only there."""
_OTHERS_LABEL = "|".join((_POSSESSIVE, _BY, _ABROAD))
_PASSAGE = re.compile(
    r"\W*(?:the\s+)?(?:(?:text|excerpt|quote|quotation|passage|content|ending|end|wording|(?:last|closing|final)\s+"
    rf"(?:line|lines|words|sentence))\s+(?:of|from|in)\s+(?:the\s+)?(?:\w+\s+)?{_TEXT}(?:\s+{_MARK})?|"
    rf"(?:judged|quoted|original|{_TEXT})(?:\s+{_MARK})?\s+(?:text|content|excerpt|quote|ending|wording)s?)\s*",
    re.I,
)
"""`Submission text:`, `Last line of response 2:`"""
_ANNOUNCEMENT = (
    rf"(?:(?&judged)(?:\s*{_MARK})?|(?<!\w)answer\s+{_MARK})"
    r"(?:\s+(?:itself|also|then|even|only|simply|just|literally|actually|explicitly))*[\s的]*(?&says)(?:\s+[^\s:]+){0,7}\W*$"
)
_WEIGHED = re.compile(
    r"(?<!\w)(?:agree\w*|concur\w*|confirm\w*|uphold\w*|adopt\w*|follow(?:ing)?(?=\s+(?:the|judge|peer|another))|endors\w*|shar(?:e|es|ing)|same|"
    r"in\s+line|contrary|unlike|against|consistent|overrul\w*|despite|like|given\s+(?:the|that)|based|weigh\w*|"
    r"average|mean|combin\w*|consensus|median|aggregat\w*|since|because|considering|after|having|summar\w*)(?!\w)",
    re.I,
)
"""`In line with judge A's verdict: 2`, `Average of the peers' ratings: 3`: the judge's own."""
_COMPARED = re.compile(
    r"(?<!\w)(?:what|how|each|both|whether|if|better|best|considering|given|since|because)(?!\w)", re.I
)
"""`Considering what each response says:` announces the judge's own words."""
_STATES = re.compile(r"[\"'*_)\]]*\s*(?:[:：=|–—]|-\s|(?:is|was|ist|war|est|es|fue|为|是)(?!\w))")
_SENTENCE = re.compile(r"(?<!\bno)[.!?;。！？；](?=\s|$)|[。！？；]|\n")
_NOTED = (
    rf"\W*?(?:[(\[]|\s[-–—]\s)\s*(?:{_POSSESSIVE}|(?:by|from|according\s+to|says|said)\s+(?:the\s+|an?\s+)?{_PARTY}(?![\w']))|"
    rf"\W*?(?:(?:this|that|it|(?:the\s+)?(?:above|block|line|json))\s+){{0,2}}(?:is|was|are)\s+(?:what|how)\s+(?:the\s+|an?\s+)?(?:\w+\s+)?(?:{_TEXT}|assistant|{_PARTY})(?:\s+{_MARK})?\s+(?&says)|"
    r"\W*?(?:is|was|are)\s+(?:what|how)\s+i\s+(?:found|saw|read|see)\s+in(?!\w)"
)


def attributed(head: str) -> bool:
    """Return whether the words before a value, up to its label's sign, give it to somebody else."""
    sentence = _SENTENCE.split(head[-1000:].rstrip(" .:：=\t\n"))[-1]  # a line has any length, and is searched often
    if find("self", sentence) or _WEIGHED.search(sentence):
        return False
    labels = [label.end() for label in pattern(_OTHERS_LABEL, re.I).finditer(sentence)]
    if labels and not re.search(_VERDICT, sentence[labels[-1] :], re.I):
        return True
    passage, _, rest = sentence.partition(":")
    return len(rest.split()) <= LABEL and _PASSAGE.fullmatch(passage) is not None


def states_of_others(sentence: str) -> bool:
    """Return whether a sentence states the verdict of somebody else: `Judge A's final answer is 2.`"""
    if find("self", sentence) or _WEIGHED.search(sentence):
        return False
    return any(_STATES.match(sentence, label.end()) for label in pattern(_OTHERS_LABEL, re.I).finditer(sentence))


def heads_others(heading: str) -> bool:
    """Return whether a line directly above a value gives it to somebody else: `The response ends with:`."""
    if not heading.rstrip().endswith((":", "：")):
        label = pattern(_OTHERS_LABEL, re.I).search(heading)
        return label is not None and not re.search(r"\w", heading[label.end() :]) and attributed(heading)
    sentence = _SENTENCE.split(heading)[-1]
    announced = pattern(_ANNOUNCEMENT, re.I).search(sentence)
    return attributed(heading) or (announced is not None and not _COMPARED.search(sentence[: announced.start()]))


def noted_as_others(after: str) -> bool:
    """Return whether the words after a value give it to somebody else: `2 (judge A's verdict)`."""
    return pattern(_NOTED, re.I).match(after) is not None
