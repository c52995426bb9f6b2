"""Whether a claim is true."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.answers.finals import Candidate
from core.answers.labels import FINAL, labelled
from core.answers.sentences import clauses, in_doubt
from core.answers.single import Parsed, Single
from core.answers.text import Text, shorten

_EDGE = " \t\"'()[]<>|:=.,;!*-–—。"
_YES = {
    "yes": True,
    "no": False,
    "t": True,
    "f": False,
    "ja": True,
    "nein": False,
    "oui": True,
    "non": False,
    "sí": True,
}
_YES |= {
    "sim": True,
    "não": False,
    "si": True,
    "sì": True,
    "是": True,
    "否": False,
    "да": True,
    "нет": False,
    "はい": True,
}
_YES |= {"いいえ": False, "네": True, "예": True, "아니요": False, "نعم": True, "لا": False, "हाँ": True, "नहीं": False}
_NOT = re.compile(r"(?:not|nicht|pas|no|non|não|niet|не)\s+(?=\w)")
_ATTRIBUTE = re.compile(
    r"(?:true|false|correct|incorrect|accurate|inaccurate|valid|invalid)\s+(?!(?:because|since|as|by|based|according|in|for|from|given|to|"
    r"though|although|and|or|here|due|on|with|when|if|unless|but|while|under|overall|too|indeed|after)\b)[a-z]{2,}"
)
_REPLY = re.compile(r"\W*(?P<word>[^\W\d_]+)\s*[,.:;–—-]\s")
_RIGHT = r"(?:true|correct|accurate|right)"
_DENIED = re.compile(
    rf"\b(?:is|are|was|ist|est|es)(?:n't|\s+not)\s+{_RIGHT}\b|"
    r"\b(?:is|are|was)\s+(?:\w+ly\s+)?(?:refuted|disproved|disproven|untrue)\b|"
    r"\b(?:does|do)(?:n't|\s+not)\s+(?:hold|follow)\b|"
    r"\bist nicht (?:wahr|richtig|korrekt|zutreffend)\b|\bn'est pas (?:vraie?|correcte?|exacte?)\b|"
    r"\bno es (?:verdader[ao]|correct[ao]|ciert[ao])\b|\bnão é (?:verdadeir[ao]|corret[ao])\b"
)
_AFFIRMED = re.compile(
    r"\b(?:is|are|was)\s+(?:\w+ly\s+)?(?:proved|proven)\b|\b(?:claim|statement)\s+(?:therefore\s+|thus\s+)?(?:holds|follows)\b"
)
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


@dataclass(frozen=True)
class Truth(Single[bool]):
    """Whether the `noun` of the prompt, a claim, is true."""

    noun: str = "claim"

    key = "is_true"

    def shortest(self) -> bool:
        return True

    def longest(self) -> bool:
        return False

    def _text_instruction(self) -> str:
        return (
            f"{self._closing}"
            f'"{self.label}: true" if the {self.noun} is true, or "{self.label}: false" if the {self.noun} is false.'
        )

    def _written(self, value: bool) -> str:
        return f"{self.label}: {'true' if value else 'false'}"

    def _field(self) -> dict[str, Any]:
        return {"type": "boolean", "description": f"Whether the {self.noun} is true."}

    def _encoded(self, value: bool) -> bool:
        return value

    def _described(self) -> str:
        return "true or false"

    def _missing(self) -> str:
        return f"it does not say that the {self.noun} is true, or that it is false"

    def _concepts(self) -> tuple[str, ...]:
        return ("answer",)

    def _names(self) -> tuple[str, ...]:
        return (self.label, "is true", "claim is true", "true", "is_true", "truth", "truth value", "label", self.noun)

    def _decoded(self, value: Any) -> Parsed[bool] | None:
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return Parsed(bool(value), 0)
        if value is None:
            return Parsed(None, 0, "its verdict is null")
        if not isinstance(value, str):
            return None
        return (
            self._alone(value)
            or self._parse_rest(value)
            or (Parsed(None, 0, f"“{shorten(value)}” is neither true nor false") if len(value.split()) < 5 else None)
        )

    def _alone(self, line: str) -> Parsed[bool] | None:
        """Read `True`, `**False**.`, `No`, `Not true`."""
        bare = line.strip(_EDGE).lower()
        denied = _NOT.match(bare)
        bare = bare[denied.end() :] if denied else bare
        for value, concept in ((True, "true"), (False, "false")):
            if (match := self.words.starts(concept, bare)) and not bare[match.end() :].strip(_EDGE):
                return Parsed(value is not bool(denied), len(line))
        return Parsed(_YES[bare], len(line)) if bare in _YES and not denied else None

    def _parse_rest(self, rest: str) -> Parsed[bool] | None:
        """Read `True, because`, `false (not in the text)`, `the claim is true`; not `partly true`, `true / false`."""
        first = re.split(r"[.;\n。](?=\s|$)", rest, maxsplit=1)[0]
        head = _head(first)
        if self.words.find("partly", head) or (self.words.find("true", head) and self.words.find("false", head)):
            both = f"“{shorten(first)}” is neither true nor false"
            return (
                Parsed(None, len(first), both)
                if self._value(head) is not None or self.words.find("true", head)
                else None
            )
        value = self._value(head)
        if value is not None and not self._joined(rest, head):
            return Parsed(value, len(head))
        word = re.match(r"\W*(\w+)(?=\s*(?:[,.:;(–—]|-\s|$))", head)
        if word and word[1].lower() in _YES:
            return Parsed(_YES[word[1].lower()], word.end())
        stated = self._stated(first)
        return Parsed(stated, len(first)) if stated is not None else None

    def _begins(self, text: str) -> tuple[bool, int] | None:
        for value, concept in ((False, "false"), (True, "true")):
            match = self.words.starts(concept, text)
            if match and not text[match.end() :].lstrip().startswith(":"):  # `false; correct: 12`
                return value, match.end()
        word = re.match(r"\W*(\w+)", text)
        return (_YES[word[1].lower()], word.end()) if word and word[1].lower() in _YES else None

    def _labelled(self, text: Text) -> Iterator[Candidate[bool]]:
        """ "The answer is false" speaks of the answer, "Answer: false" of the claim."""
        for label in labelled(text, self._concepts(), self._names()):
            parsed = self._alone(label.rest) if label.below else self._behind(label, text)
            if parsed and (label.colon or label.below or label.rank == FINAL):
                yield Candidate(
                    parsed.value, "labelled", label.start, label.rest_start + parsed.end, label.rank, parsed.problem
                )

    def _value(self, head: str) -> bool | None:
        """Return true or false if the text begins with the word."""
        for value, concept in ((False, "false"), (True, "true")):
            match = self.words.starts(concept, head)
            after = head[match.end() :].strip(_EDGE) if match else ""
            if match and (
                not after
                or re.match(
                    rf"(?:{_IS}|based|by|in|on|at|for|before|after|under|according|to|from|here|입니다|です|है)\b|입니다|です|है",
                    after,
                )
            ):
                return value
        return None

    def _joined(self, rest: str, head: str) -> bool:
        after = rest[len(head) : len(head) + 30]
        return bool(re.match(r"\s*(?:/|\||or\b|oder\b|ou\b|,\s*(?:partly|partially))", after))

    def _stated(self, sentence: str) -> bool | None:
        if _VALUED.match(sentence):
            return None
        therefore = self.words.starts("therefore", sentence)
        first = re.match(r"(.{1,40}?)(?:\s[-–—]\s|:\s|$)", sentence[therefore.end() :] if therefore else sentence)
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
        parts = list(clauses(sentence, self.words))
        words = {
            parsed.value
            for part in parts
            if (parsed := self._alone(re.sub(r"^\W*(?:also|auch|aussi|también)\b", "", part)))
        }
        values = {value for part in parts if (value := self._concluded(part)) is not None} | words
        return values.pop() if len(values) == 1 else None

    def _replied(self, sentence: str) -> bool | None:
        """Read `Yes, the claim follows from the text.`; None if the rest contradicts it."""
        word = _REPLY.match(sentence)
        value = _YES.get(word["word"].lower()) if word else None
        if word is None or value is None or self.words.find("claim", sentence) is None:
            return None
        rest = sentence[word.end() :]
        if self.words.find("hedge", rest) or self.words.find("partly", rest) or self.words.find("condition", rest):
            return None
        return value if self._stated(rest) in (None, value) else None

    def _concluded(self, clause: str) -> bool | None:
        """Return the last predicate of a clause about the claim."""
        clause = _OTHER.sub("", clause)
        clause = _CONSIDERED.sub(" is ", clause)
        low = _AFFIRMED.sub("claim is true", _DENIED.sub("is false", self._without_claimed(clause.lower())))
        subject = self.words.find("claim", low)
        concluding = self.words.starts("therefore", low)
        pronoun = re.match(
            r"\s*(?:it|this|that|es|das|dies|c'est|это)\b", low[concluding.end() :].lstrip(" ,") if concluding else low
        )
        if subject is None and not (pronoun and concluding):
            return None
        if re.search(r"\b(?:first|second|other|another|third|previous|part of the)\s+(?:claim|statement)", low):
            return None
        if _PURPOSE.search(low) or re.search(
            r"\b(?:it|this|that) (?:is|was) (?:true|false|correct|incorrect) that\b", low
        ):
            return None
        predicates = self._predicates(low)
        if len({value for _, value in predicates}) != 1:
            return None
        if in_doubt(self.words.without("false", low), self.words) or self.words.find("partly", low):
            return None
        return predicates[-1][1]

    def _predicates(self, low: str) -> list[tuple[int, bool]]:
        """Return each position at which the clause asserts true or false; "a true story" asserts neither."""
        falses = [match.span() for match in re.finditer(self.words.any("false"), low)]
        trues = [
            match.start()
            for match in re.finditer(self.words.any("true"), low)
            if not any(start - 4 < match.start() < max(end, start + 4) for start, end in falses)
        ]
        predicates = sorted([(start, False) for start, _ in falses] + [(place, True) for place in trues])
        return [predicate for predicate in predicates if not _ATTRIBUTE.match(low, predicate[0])]

    def _without_claimed(self, low: str) -> str:
        """Read `the claim that the answer is false is true` without the claim."""
        return re.sub(
            rf"(\bclaim|statement)(\s+that\s.{{1,300}})(?=\s{_IS}\s+(?:\w+ly\s+|therefore\s+|thus\s+)?(?:true|false|correct|incorrect)\b)",
            lambda match: match[1] + " " * len(match[2]),
            low,
        )


def _head(text: str) -> str:
    """Return the text before a comma, a bracket, a dash or "because"."""
    return re.split(
        r"[,:(–—]|\s-\s|\s(?:because|since|as|given|due|weil|da|car|porque)\s", text.lstrip(" \"'([:=-–—|"), maxsplit=1
    )[0]
