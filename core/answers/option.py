"""Answers of few values: the letter of one of the options of a question, and whether a claim is true."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.answers import words
from core.answers.answer import listed
from core.answers.sentences import FINAL, Labelled, by_others, clauses, in_doubt
from core.answers.single import EDGE, Candidate, Parsed, Single
from core.answers.text import Text, Unit, shorten

_NOUN = (
    r"(?:(?-i:the|la|el|a|o|die|l'|il)\s+)?"
    r"(?:(?:option|choice|answer|letter|antwort|opción|opção|opzione|letra|lettera|lettre|buchstabe|litera|harfi|выбор|вариант|选项|선택지)\s*)?"
)
_LETTER = re.compile(rf"[\s\"'(\[<|:=]*(?i:{_NOUN})[\s\"'(\[]*(?P<letter>[A-Z]|[a-z](?=[).:\]]|\s*$))(?![A-Za-z0-9_'])")
_ANOTHER = re.compile(
    r"[\"')\]]*\s*(?:/|,|&|\+|-(?=[A-Z])|\b(?:or|and|oder|und|ou|et|o|y|e)\b|或|和|или|и\b)\s*(?:option\s+)?[\"'(\[]*[A-Z](?!\w)"
)
_REMARK = re.compile(r"[\"')\]]*\s*,\s*[\"'(]*[A-Z][\"')]*\s+(?:is|was|has)\b")
"""`B, A is too long` names one answer."""
_AFTER = re.compile(
    r"[\"')\]>|\s]*(?:$|[).:,;\]–—=!。]|\s*[-–—(:]|\s+(?:because|since|as|is\s+(?:the\s+)?(?:correct|right|best|answer)|which|for|on|in|weil|da|car|porque|perché|ist|est|es)\b|\s*(?:입니다|です|है|が|を|선택))"
)
_MARKED = re.compile(r"[\"'(]*(?P<letter>[A-Z])[\"')]*\s*[:–-]\s*(?:correct|right|true|yes|richtig|korrekt)\W*$", re.I)
_REJECTED = re.compile(r"[).:]\s+(?:in|not\b|un|wrong|false|no\b|falsch|nicht\b)", re.I)
_ONE = rf"(?i:{_NOUN})[\"'(\[]*(?P<letter>[A-Z])[\"')\]]*"
_PLAINLY = re.compile(
    r"\W*(?i:clearly|definitely|obviously|it's|it is|it must be|it has to be|i'd say|i would say|i say|so it's),?\s+"
    rf"{_ONE}\W*"
)
_CHOSEN = (
    r"(?:\b(?:choose|pick|select|I say|I'd say|go with|going with|settle on|opt for|leaves|left with|leaves us with|"
    rf"wähle|choisis|elijo|escolho|scelgo)\b|选择?|выбираю)\s*(?:the\s+)?{_ONE}(?!\w)"
)
_CORRECT = (
    rf"(?:^\W*|[,:;]\s*|\b(?i:that|so|hence|thus|therefore|and|think|believe|say|option|answer|choice|letter)\s+){_ONE}\s+"
    r"(?:is|ist|est|es|é|è)\s+(?:the\s+|clearly\s+|therefore\s+|thus\s+|die\s+|la\s+)*"
    r"(?:correct|right|best|answer|richtig|korrekt|correcte?|bonne|correcta|correto|correta|corretta)(?!\w)"
)
_ONLY = rf"\b[Oo]nly\s+{_ONE}\s+(?:is|satisfies|fits|works|holds|meets|remains|matches|can)\b"
_IT_IS = rf"^\W*{_ONE}\s+(?:it is|it must be|it has to be)(?:,? then)?\W*$"
_STATED = tuple(map(re.compile, (_CHOSEN, _CORRECT, _ONLY, _IT_IS, rf"^{_PLAINLY.pattern}$")))
_BARE = re.compile(rf"(?i:{_NOUN})[(\"']*[A-Za-z]")
_EXPLAINED = re.compile(r"[\"'(\[]*([A-Z])(?:[).:]\s+\S|\W{1,3}(?:because|since|weil|car|porque)\b)")
_LISTED = re.compile(r"[\"'(\[]*[A-Z][).:]\s+\S")


@dataclass(frozen=True)
class Option(Single[str]):
    """One of `letters`."""

    letters: str = "ABCD"

    key = "answer"

    def ends(self) -> tuple[str, str]:
        return self.letters[0], self.letters[-1]

    def _field(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.letters)}

    def _described(self) -> str:
        return f"one letter, {listed(tuple(self.letters))}"

    def _names(self) -> tuple[str, ...]:
        return (self.label, "letter", "selected", "correct")

    def _decoded(self, value: Any) -> Parsed[str] | None:
        if not isinstance(value, str):
            return Parsed(None, problem="its answer is null") if value is None else None
        return self._parse_rest(value) or Parsed(None, problem=f"“{shorten(value)}” is not {self._described()}")

    def _alone(self, line: str) -> Parsed[str] | None:
        """Read `B`, `(b)`, `B) 12 km`."""
        line = line.strip()
        bare = line.strip(EDGE)
        if _BARE.fullmatch(bare) and (bare[-1].isupper() or len(bare) < len(line)):
            return self._checked(bare[-1], len(line))
        if match := _PLAINLY.fullmatch(line):
            return self._checked(match["letter"], len(line))
        match = _EXPLAINED.match(line)
        if match is None or any(pattern.match(line, match.end(1)) for pattern in (_ANOTHER, _REJECTED)):
            return None
        return self._checked(match[1], match.end(1))

    def _lines(self, text: Text) -> Iterator[Candidate[str]]:
        """Yield the lines that may be the answer: none of a list of all options."""
        listing = sum(_LISTED.match(line.text) is not None for line in text.lines) > 1
        return (one for one in super()._lines(text) if not listing or not _LISTED.match(text.spoken, one.start))

    def _last(self, unit: Unit) -> Candidate[str] | None:
        return None if _LISTED.match(unit.text) else super()._last(unit)

    def _parse_rest(self, rest: str) -> Parsed[str] | None:
        match = _LETTER.match(rest)
        if match is None:
            return None
        after = rest[match.end() :]
        follows = re.match(r"[\s,]+[A-H](?:\W|$)", after)
        if (follows or _ANOTHER.match(after)) and not _REMARK.match(after):
            letters = set(re.findall(r"(?<!\w)[A-Z](?!\w)", after)) | {match["letter"]}
            several = Parsed[str](None, match.end(), f"it names more than one: “{shorten(rest)}”")
            return several if follows or len(letters) <= 2 else None
        return self._checked(match["letter"], match.end()) if _AFTER.match(after) else None

    def _begins(self, text: str) -> tuple[str, int] | None:
        match = _LETTER.match(text)
        return (match["letter"].upper(), match.end()) if match else None

    def _checked(self, letter: str, end: int) -> Parsed[str]:
        if letter.upper() not in self.letters:
            return Parsed(None, end, f"{letter} is not {self._described()}")
        return Parsed(letter.upper(), end)

    def _stated(self, sentence: str) -> str | None:
        if (match := _MARKED.match(sentence)) and match["letter"] in self.letters:
            return match["letter"]
        for hence in words.finditer("therefore", sentence):  # `..., hence A.`
            alone = self._alone(sentence[hence.end() :].lstrip(" ,:"))
            if alone and alone.value and not in_doubt(sentence[: hence.start()]):
                return alone.value
        letters = {letter for clause in clauses(sentence) for letter in self._concluded(clause)}
        return letters.pop() if len(letters) == 1 else None

    def _concluded(self, clause: str) -> set[str]:
        """Read `Option D is correct`, `I choose B`, `Therefore, D.`"""
        if in_doubt(clause):
            return set()
        rest = words.after("therefore", clause).strip()
        stated = [match for pattern in _STATED for match in pattern.finditer(rest)]
        letters = {one["letter"] for one in stated if not by_others(rest[: one.start()], one[0])}
        return {letter for letter in letters if letter in self.letters}


_ATTRIBUTE = re.compile(
    r"(?:true|false|correct|incorrect|accurate|inaccurate|valid|invalid)\s+(?!(?:because|since|as|by|based|according|in|for|from|given|to|"
    r"though|although|and|or|here|due|on|with|when|if|unless|but|while|under|overall|too|indeed|after)\b)[a-z]{2,}"
)
_REPLY = re.compile(r"\W*(?P<word>[^\W\d_]+)\s*[,.:;–—-]\s")
_CONSIDERED = re.compile(
    r"\s(?:can|must|should|has to|is to) (?:\w+ )?be (?:considered|deemed|regarded as|judged|classified as) ", re.I
)
_PURPOSE = re.compile(
    r"\b(?:ensure|make sure)\b|\b(?:important|necessary|needs?|task|try|trying|wants?|have) to "
    r"(?:\w+\s+){0,4}?(?:verify|check|determine|see|test)\b"
)
"""`It is important to ensure that the claim is true` says nothing about it."""
_OTHER = re.compile(
    r",\s*(?:and\s+)?(?:not|nicht|(?:et )?non|(?:et )?pas|no)\s+"
    r"(?:true|false|correct|incorrect|wahr|falsch|vraie?|fausse|faux|verdader[ao]|fals[ao])\W*$",
    re.I,
)
_VALUED = re.compile(r"\W*\w+\s*:\s*\W?\d")
"""`Correct: 12 km.` gives a value."""
_PRONOUN = re.compile(r"\W*(?:it|this|das|es|c'est|esto|isso)(?:'s| is| ist| es| é)?\s+(?:\w+ly |indeed )?", re.I)
_CASE = re.compile(r"\W*(?:it|this|that) is (?:\w+ly |indeed )?(?P<denied>not )?the case\W*", re.I)
_IS = r"(?:is|was|are|be|ist|est|es|é|è|remains|seems|holds)"
_PREDICATED = re.compile(
    rf"(?:{_IS}|based|by|in|on|at|for|before|after|under|according|to|from|here|입니다|です|है)\b|입니다|です|है"
)
_JOINED = re.compile(r"\s*(?:/|\||or\b|oder\b|ou\b|,\s*(?:partly|partially))")
_CLAIMED = re.compile(
    rf"(\bclaim|statement)(\s+that\s.{{1,300}})"
    rf"(?=\s{_IS}\s+(?:\w+ly\s+|therefore\s+|thus\s+)?(?:true|false|correct|incorrect)\b)"
)
"""`the claim that the answer is false` before `is true`"""
_OTHER_CLAIM = re.compile(
    r"\b(?:first|second|other|another|third|previous|part of the)\s+(?:claim|statement)|"
    r"\b(?:it|this|that) (?:is|was) (?:true|false|correct|incorrect) that\b"
)


@dataclass(frozen=True)
class Truth(Single[bool]):
    """Whether the `noun` of the prompt, a claim, is true."""

    noun: str = "claim"

    key = "is_true"

    def ends(self) -> tuple[bool, bool]:
        return True, False

    def _text_instruction(self) -> str:
        return (
            f"{self._closing}"
            f'"{self.label}: true" if the {self.noun} is true, or "{self.label}: false" if the {self.noun} is false.'
        )

    def _written(self, value: bool) -> str:
        return f"{self.label}: {'true' if value else 'false'}"

    def _field(self) -> dict[str, Any]:
        return {"type": "boolean", "description": f"Whether the {self.noun} is true."}

    def _described(self) -> str:
        return "true or false"

    def _missing(self) -> str:
        return f"it does not say that the {self.noun} is true, or that it is false"

    def _names(self) -> tuple[str, ...]:
        return (self.label, "is true", "claim is true", "true", "is_true", "truth", "truth value", "label", self.noun)

    def _decoded(self, value: Any) -> Parsed[bool] | None:
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return Parsed(bool(value))
        if value is None:
            return Parsed(None, problem="its verdict is null")
        if not isinstance(value, str):
            return None
        other = Parsed[bool](None, problem=f"“{shorten(value)}” is neither true nor false")
        return self._alone(value) or self._parse_rest(value) or (other if len(value.split()) < 5 else None)

    def _alone(self, line: str) -> Parsed[bool] | None:
        """Read `True`, `**False**.`, `No`, `Not true`."""
        bare = line.strip(EDGE).lower()
        if (named := self._named(bare)) and not bare[named[1] :].strip(EDGE):
            return Parsed(named[0], len(line))
        said = self._said(bare)
        return None if said is None else Parsed(said, len(line))

    def _named(self, text: str) -> tuple[bool, int] | None:
        """Return the value whose word the text begins with, and where the word ends."""
        for value, concept in ((False, "false"), (True, "true")):
            if match := words.starts(concept, text):
                return value, match.end()
        return None

    def _said(self, word: str) -> bool | None:
        """Read "yes" and "no" in lower case."""
        return True if word in words.PHRASES["yes"] else False if word in words.PHRASES["no"] else None

    def _parse_rest(self, rest: str) -> Parsed[bool] | None:
        """Read `True, because`, `false (not in the text)`, `the claim is true`; not `partly true`, `true / false`."""
        first = re.split(r"[.;\n。](?=\s|$)", rest, maxsplit=1)[0]
        head = _head(first)
        other = words.without("false", head)  # "not true" is false
        if words.find("partly", head) or (words.find("true", other) and words.find("false", head)):
            both = Parsed[bool](None, len(first), f"“{shorten(first)}” is neither true nor false")
            return both if self._value(head) is not None or words.find("true", head) else None
        value = self._value(head)
        if value is not None and not _JOINED.match(rest, len(head)):
            return Parsed(value, len(head))
        word = re.match(r"\W*(\w+)(?=\s*(?:[,.:;(–—]|-\s|$))", head)
        if word and (said := self._said(word[1].lower())) is not None:
            return Parsed(said, word.end())
        stated = self._stated(first)
        return Parsed(stated, len(first)) if stated is not None else None

    def _begins(self, text: str) -> tuple[bool, int] | None:
        named = self._named(text)
        if named and not text[named[1] :].lstrip().startswith(":"):  # `false; correct: 12`
            return named
        word = re.match(r"\W*(\w+)", text)
        said = self._said(word[1].lower()) if word else None
        return None if word is None or said is None else (said, word.end())

    def _labels(self, label: Labelled) -> bool:
        """ "The answer is false" speaks of the answer, "Answer: false" of the claim."""
        return label.colon or label.below or label.rank == FINAL

    def _value(self, head: str) -> bool | None:
        """Return true or false if the text begins with the word."""
        named = self._named(head)
        after = head[named[1] :].strip(EDGE) if named else ""
        return named[0] if named and (not after or _PREDICATED.match(after)) else None

    def _stated(self, sentence: str) -> bool | None:
        if _VALUED.match(sentence):
            return None
        first = re.match(r"(.{1,40}?)(?:\s[-–—]\s|:\s|$)", words.after("therefore", sentence))
        alone = self._alone(first[1]) if first else None
        if alone:
            return alone.value
        if case := _CASE.fullmatch(sentence):
            return case["denied"] is None
        pronoun = _PRONOUN.match(sentence)
        if pronoun and (alone := self._alone(sentence[pronoun.end() :])):
            return alone.value
        if (said := self._replied(sentence)) is not None:
            return said
        parts = list(clauses(sentence))
        bare = (re.sub(r"^\W*(?:also|auch|aussi|también)\b", "", part) for part in parts)
        bare_letters = {parsed.value for part in bare if (parsed := self._alone(part))}
        values = bare_letters | ({self._concluded(part) for part in parts} - {None})
        return values.pop() if len(values) == 1 else None

    def _replied(self, sentence: str) -> bool | None:
        """Read `Yes, the claim follows from the text.`; None if the rest contradicts it."""
        word = _REPLY.match(sentence)
        value = self._said(word["word"].lower()) if word else None
        if word is None or value is None or words.find("claim", sentence) is None:
            return None
        rest = sentence[word.end() :]
        unsure = any(words.find(concept, rest) for concept in ("hedge", "partly", "condition"))
        return value if not unsure and self._stated(rest) in (None, value) else None

    def _concluded(self, clause: str) -> bool | None:
        """Return the last predicate of a clause about the claim."""
        clause = _OTHER.sub("", clause)
        clause = _CONSIDERED.sub(" is ", clause)
        low = _CLAIMED.sub(lambda match: match[1] + " " * len(match[2]), clause.lower())
        concluding = words.starts("therefore", low)
        about = concluding and re.match(r"[\s,]*(?:it|this|that|es|das|dies|c'est|это)\b", low[concluding.end() :])
        if not (about or words.find("claim", low)) or _OTHER_CLAIM.search(low) or _PURPOSE.search(low):
            return None
        predicates = self._predicates(low)
        if len({value for _, value in predicates}) != 1:
            return None
        if in_doubt(words.without("false", low)) or words.find("partly", low):
            return None
        return predicates[-1][1]

    def _predicates(self, low: str) -> list[tuple[int, bool]]:
        """Return each position at which the clause asserts true or false; "a true story" asserts neither."""
        falses = [match.span() for match in words.finditer("false", low)]
        trues = [match.start() for match in words.finditer("true", low)]
        apart = [one for one in trues if not any(start - 4 < one < max(end, start + 4) for start, end in falses)]
        predicates = sorted([*((start, False) for start, _ in falses), *((start, True) for start in apart)])
        return [predicate for predicate in predicates if not _ATTRIBUTE.match(low, predicate[0])]


def _head(text: str) -> str:
    """Return the text before a comma, a bracket, a dash or "because"."""
    return re.split(
        r"[,:(–—]|\s-\s|\s(?:because|since|as|given|due|weil|da|car|porque)\s", text.lstrip(" \"'([:=-–—|"), maxsplit=1
    )[0]
