"""Numbers: the result of a calculation, and a level on a declared scale."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import copysign, isclose
from typing import Any

from core.answers import words
from core.answers.answer import listed
from core.answers.sentences import clauses, in_doubt
from core.answers.single import (
    AMOUNT,
    ARTICLES,
    EDGE,
    NUMERAL,
    SENTENCE,
    WEAK,
    Candidate,
    Measure,
    Parsed,
    Single,
    fraction,
    measure,
    own_units,
    value,
    whole,
)
from core.answers.text import Text, Unit, shorten
from core.answers.words import readable, squash

_AMOUNT = re.compile(rf"(?<![A-Za-z0-9_.,^])(?:{AMOUNT})(?:[eE][-+]?\d{{1,3}}(?!\w))?|(?<!\w)[½¼¾]")
_TEN = re.compile(r"\s*(?:[x×·*]\s*|\s\s+)10\s*\^\s*\(?([-−+]?\d{1,3})")
_TIMES = {"hundred": 1e2, "thousand": 1e3, "tausend": 1e3, "million": 1e6, "billion": 1e9, "万": 1e4, "亿": 1e8}
_TIMES |= dict.fromkeys(("millionen", "millions", "millones", "milhões", "milioni", "миллионов"), 1e6)
_LARGE = re.compile(rf"\s*({'|'.join(sorted(_TIMES, key=len, reverse=True))})(?!\w)", re.I)
_OVER = re.compile(rf"\s*/\s*({AMOUNT})(?!\s*/)")
_NUMBERED = re.compile(
    r"\b(?:step|page|section|part|question|option|chapter|figure|line|equation|version|solver|reviewer|case)\s*#?\d",
    re.I,
)
_ABOUT = re.compile(r"\W*(?:approximately|about|around)", re.I)
_MIXED = re.compile(r"\s+(\d)/([1-9]\d?)(?!\d)|\s?([½¼¾])")
_IN_TOTAL = re.compile(r"\b(?:in total|altogether|in all|insgesamt|au total|en total|no total|in totale)\W*$", re.I)
_HENCE = re.compile(r",\s+(?:so|thus|hence|therefore|also|donc|daher|por lo tanto|portanto|quindi)\b", re.I)
_COUNTED = re.compile(r"\b(?:neither|without|no|less)\b(?=\s+[a-z])", re.I)
"""Words that introduce the counted objects: "who take neither class"."""
_NOT = re.compile(r",\s+(?:and\s+)?not\s+\d.*$", re.I | re.S)
_EQUATION = re.compile(r"(?:\d[a-z](?![a-z])|(?<![a-z])[a-z]\s*[+*/^-]|[+*/-]\s*[a-z](?![a-z]))[^=]*=", re.I)
_BOLD = re.compile(r"\*\*[^*\d\n]{0,12}\d[^*\n]{0,30}\*\*|__[^_\d\n]{0,12}\d[^_\n]{0,30}__")
_MINUS = re.compile(r"(?:\b(?:minus|negative|moins|menos|meno|минус)\s+|负|マイナス)$", re.I)
_UNSURE = re.compile(r"\b(?:or|maybe|perhaps|possibly|oder|ou|o)\b[^\d]{0,12}\d", re.I)
_OPERATOR = re.compile(r"\s*(?:[+×÷^*:]|x(?=\s*\d)|\s-(?=\s))\s*[-+(]?\d")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")
_CURRENCY = re.compile(r"\s*(?:€|\$|£|EUR|USD|Euro?s?\b|Dollars?\b|Pesos?\b|Reais\b|CHF)", re.I)
_ABBREVIATED = re.compile(r"\W*(?:A|Ans)\s*[.:]\s*(?=\W*\d)")
_SUM = re.compile(r"\W*an?\s+[^\W\d]+\s+\d", re.I)
_TOTAL_OF = re.compile(r"^\W*an?\s+total\s+of\s+(?=\S?\d)", re.I)
_DEFINITE = re.compile(r"\b(?:the|these|those|all|both|every|each|my|his|her|its|our|their)\W*$", re.I)
"""`The **3** dogs` counts what is known already; `there are **3** dogs` answers."""
_COPULA = re.compile(r"\b(?:is|are|was|were|equals|ist|sind|beträgt|est|es|é|è)\s+(?=[^\W\d]{0,14}\s?\S?\d)", re.I)
_LISTED = re.compile(r"^\W*\d+[.)]\s|[^\W\d]\s*:")
_VULGAR = {"½": 0.5, "¼": 0.25, "¾": 0.75}
_LAST_EQUATION = re.compile(
    r"(?i)^(?!.*\b(?:check|verif|prüf|vérif)).*\d\s*[-+*/×÷·]\s*\$?\d[^=]{0,60}=\s*(?P<result>[^=]{1,30})$"
)
"""`The mean is (3 + 4) / 2 = 3.5.` at the end of a reply."""
_TWO_EQUATIONS = re.compile(r"=[^=\n]{1,25}(?:\bor\b|\boder\b|\bou\b|\bo\b|\bили\b|或)[^=\n]{0,20}=", re.I)
"""`x = 3 or x = -3`"""


@dataclass(frozen=True)
class Number(Single[float]):
    """Any number; units and currencies next to it are left out."""

    key = "answer"

    def ends(self) -> tuple[float, float]:
        return 0, 1234567.25

    def _text_instruction(self) -> str:
        return f'{self._closing}"{self.label}: " and the number in digits, without a unit.'

    def _field(self) -> dict[str, Any]:
        return {"type": "number"}

    def _encoded(self, value: float) -> float:
        return whole(value)

    def _described(self) -> str:
        return "one number"

    def _decoded(self, value: Any) -> Parsed[float] | None:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            usable = abs(value) < 1e300
            return Parsed(whole(value)) if usable else Parsed(None, problem="its answer is not a finite number")
        text = readable(str(value))
        return self._parse_rest(text) or Parsed(None, problem=f"“{shorten(text)}” is not a number")

    def _alone(self, line: str) -> Parsed[float] | None:
        """Read `42`, `= 42`, `$1,200`, `42 km`; a line with other words is a sentence."""
        line = _TOTAL_OF.sub("", _ABBREVIATED.sub("", line))
        before = re.split(r"[\d=]", line)[0]
        if _SUM.match(line):  # `a total 5` names no sum
            return None
        if re.search(r"[^\W\d]{2,}", before) and "=" not in line:
            return None
        if any(pattern.search(line) for pattern in (_TWO_EQUATIONS, _LISTED, _EQUATION, _HENCE)):
            return None
        if len(re.findall(r"[^\W\d]{2,}", line)) > 1 or words.starts("confidence", line):
            return None
        return None if in_doubt(line) else self._parse_rest(line)

    def _parse_rest(self, rest: str) -> Parsed[float] | None:
        """Return the only number before the reasons; after the last "=", if there is one."""
        clause = self._clause(rest)
        if _TWO_EQUATIONS.search(clause):
            return Parsed(None, len(clause), f"“{shorten(rest)}” is not one number")
        if in_doubt(clause) and not _ABOUT.match(clause):
            return None
        start = clause.rfind("=") + 1
        several = Parsed[float](None, len(clause), f"“{shorten(rest)}” is not one number")
        if self._is_unclear(clause[start:], rest[len(clause.rstrip()) :], bool(start)):
            return several
        amounts = list(self._amounts(clause, start))
        if not amounts:
            return self._word(clause, start)
        alone = not _OPERATOR.match(clause, amounts[0].end) and not re.match(r"\s*:\s*\d", clause[amounts[0].end :])
        return amounts[0] if alone and len({parsed.value for parsed in amounts}) == 1 else several

    def _is_unclear(self, clause: str, after: str, equation: bool) -> bool:
        """Return whether it is a bound or one of several numbers: "36 or so, maybe 37", "x = 2, y = 3", "option 2"."""
        another = equation and re.match(r"[^=\n]{0,20}=\s*\S", after)
        number = _NUMBERED.search(clause)
        return bool(words.find("bound", clause) or _UNSURE.search(after[:40]) or another or number)

    def _begins(self, text: str) -> tuple[float, int] | None:
        match = _AMOUNT.match(text)
        parsed = self._amount(text, match) if match else None
        return (parsed.value, parsed.end) if parsed and parsed.value is not None else None

    def _clause(self, rest: str) -> str:
        """Return the text before a bracket, a reason or the next sentence."""
        text = re.sub(r"(?<=\d)(?:\s+[^\W\d]{1,20})?\s*\([^()]{0,80}\)", lambda aside: " " * len(aside[0]), rest)
        clause = re.split(r"(?<=[\w%])[.;。](?=\s|$)|,\s+(?=[^\W\d])|\s[-–—]\s(?=[^\W\d])", text)[0]
        reason = words.find("reason", clause)
        return clause[: reason.start()] if reason and re.search(r"\d", clause[: reason.start()]) else clause

    def _amounts(self, clause: str, start: int) -> Iterator[Parsed[float]]:
        done = start
        for match in _AMOUNT.finditer(clause, start):
            if match.start() < done:
                continue
            parsed = self._amount(clause, match)
            done = parsed.end
            yield parsed

    def _amount(self, clause: str, match: re.Match[str]) -> Parsed[float]:
        """Match a number with the fraction, power or "million" that follows it."""
        end = match.end()
        if match[0] in _VULGAR:
            return Parsed(_VULGAR[match[0]], end)
        digits, _, power = re.split(r"([eE])", match[0]) if re.search("[eE]", match[0]) else (match[0], "", "")
        if _THOUSANDS.fullmatch(digits):
            return _thousands(digits, clause, end)
        minus = -1 if _MINUS.search(clause[: match.start()]) else 1
        number = minus * value(digits) * _power(power or "0")
        if mixed := _MIXED.match(clause, end):
            part = _VULGAR[mixed[3]] if mixed[3] else int(mixed[1]) / int(mixed[2])
            return Parsed(whole(number + copysign(part, number)), mixed.end())
        if over := _OVER.match(clause, end):
            quotient = fraction(number, value(over[1]))
            return Parsed(quotient, over.end()) if quotient is not None else Parsed(None, over.end(), "it divides by 0")
        if ten := _TEN.match(clause, end):
            number, end = number * _power(ten[1].replace("−", "-")), ten.end()
        if large := _LARGE.match(clause, end):
            number, end = number * _TIMES[large[1].lower()], large.end()
        return Parsed(whole(number), end)

    def _word(self, clause: str, start: int) -> Parsed[float] | None:
        """Read `seven`, `forty-two apples`."""
        match = re.match(rf"[\s\"'(]*({NUMERAL})(?:\s|[.\")]|$)", clause[start:], re.I)
        if match is None or (match[1].lower() in ARTICLES and len(clause[start:].split()) > 1):
            return None
        part = re.search(r"\b(?:half|third|quarter|fourth|fifth|tenth|hundredth)s?\b", clause)
        either = words.find("either", clause[start + match.end() :])
        return None if part or either else Parsed(value(match[1]), start + match.end())

    def _sentences(self, text: Text) -> Iterator[Candidate[float]]:
        """Read the only, or the only bold, number of the last sentence: `There are **5** apples.`, `The sum is 5.`"""
        yield from super()._sentences(text)
        unit = next(reversed(own_units(text)), None)
        if unit is None or words.find("condition", unit.text):
            return
        if (equation := _LAST_EQUATION.search(unit.text[-200:])) and not in_doubt(unit.text):
            if result := self._parse_rest(equation["result"]):
                yield result.at("sentence", unit.start, unit.end, WEAK)
            return
        bold = list(_BOLD.finditer(text.clean, unit.start, unit.end))
        stated = self._predicate(unit.text)
        if len(bold) == 1:
            start, end = bold[0].span()
            named = re.match(r"\W*[^\W\d]", text.plain[end : unit.end])
            stated = "" if named and _DEFINITE.search(text.plain[unit.start : start]) else text.plain[start:end]
        doubtful = in_doubt(_COUNTED.sub(" ", _NOT.sub(" ", unit.text)))
        if not doubtful and (parsed := self._parse_rest(stated)):
            yield parsed.at("sentence", unit.start, unit.end, SENTENCE)

    def _predicate(self, sentence: str) -> str:
        """Return the predicate of `The sum is 5 cents.`; "" if the sentence has another number."""
        text = _NOT.sub(" ", sentence).rstrip(" .")
        if re.search(r"\bthere (?:is|are|was|were)\b", text, re.I):
            return ""
        verbs = list(_COPULA.finditer(text))
        return text[verbs[0].end() :] if len(verbs) == 1 and len(_AMOUNT.findall(text)) == 1 else ""

    def _stated(self, sentence: str) -> float | None:
        """Read `Therefore, the total is 42.`, `So 6 * 7 = 42.`"""
        if not (words.starts("therefore", sentence) or _IN_TOTAL.search(sentence)):
            hence = list(_HENCE.finditer(sentence))
            if not hence:
                return None
            sentence = sentence[hence[-1].end() :]
        values = set()
        for clause in clauses(sentence):
            if re.search(r"\d", clause) and not in_doubt(_COUNTED.sub(" ", clause)):
                rest = words.after("therefore", clause).lstrip(" ,:")
                parsed = self._parse_rest(re.sub(r"(?<=\D),\s", "  ", rest))
                values.add(parsed.value if parsed else None)
        return values.pop() if len(values) == 1 else None


def _power(exponent: str) -> float:
    return 10.0 ** max(-300, min(300, int(exponent)))


def _thousands(digits: str, clause: str, end: int) -> Parsed[float]:
    """Parse a number with points: `15.000 €` is 15000 and `3.142` a decimal; `15.000` without a unit is ambiguous."""
    if currency := _CURRENCY.match(clause, end):
        return Parsed(value(digits.replace(".", "")), currency.end())
    ambiguous = digits.endswith("00")
    problem = f"“{digits}” may be a decimal or a number of thousands"
    return Parsed(None, end, problem) if ambiguous else Parsed(value(digits), end)


Level = float | str

_ENDS = re.compile(
    r"[\s\"')\]*>|]*(?:$|[.,;:!()\[\]<|/–—。，；！★⭐]|-\s|-$|\s*+(?:stars?|sterne?n?|points?|pts?|punkte?n?|étoiles?|estrellas?|puntos?|pontos?|stelle|"
    r"punti|分|点|점|балл|बिंदु|because|since|as|for|which|given|from|out|overall|and|but|weil|da|car|porque|perché|due|based|on|with|by|under|rather|입니다|です|है|level)(?![a-z]))",
    re.I,
)


@dataclass(frozen=True)
class Rating(Single[Level]):
    """A level: one of `levels`, or a number from `low` to `high` in steps of `step` (any number if it is None).

    `names` are other labels that may precede it, such as the criterion's name.
    """

    label: str = "Rating"
    levels: tuple[Level, ...] = ()
    low: float = 1
    high: float = 5
    step: float | None = None
    names: tuple[str, ...] = ()

    key = "rating"

    def holds(self, value: Level) -> bool:
        """Return whether the scale has this level."""
        if self.levels:
            return value in self.levels
        if isinstance(value, str) or not self.low <= value <= self.high:
            return False
        return self.step is None or isclose(steps := (value - self.low) / self.step, round(steps), abs_tol=1e-6)

    def ends(self) -> tuple[Level, Level]:
        return (self.levels[0], self.levels[-1]) if self.levels else (whole(self.low), whole(self.high))

    def _field(self) -> dict[str, Any]:
        if self.levels:
            kind = {type(level) for level in self.levels}
            return {"type": "string" if kind == {str} else "number", "enum": list(self.levels)}
        return {"type": "number", "description": f"It is {self._described()}."}

    def _encoded(self, value: Level) -> Level:
        return value if isinstance(value, str) else whole(value)

    def _described(self) -> str:
        if self.levels:
            return f"one of {listed(self.levels)}"
        steps = f" in steps of {self.step:g}" if self.step else ""
        return f"a number from {self.low:g} to {self.high:g}{steps}"

    def _missing(self) -> str:
        return f"it states no rating; expected {self._described()}"

    def _concepts(self) -> tuple[str, ...]:
        return ("rating", "answer", "final")

    def _names(self) -> tuple[str, ...]:
        return (self.label, *self.names)

    def _decoded(self, value: Any) -> Parsed[Level] | None:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return Parsed(None, problem="its rating is null") if value is None else None
        text = readable(str(value))
        other = Parsed[Level](None, problem=f"“{shorten(text)}” is not {self._described()}")
        return self._alone(text) or self._parse_rest(text) or other

    def _alone(self, line: str) -> Parsed[Level] | None:
        line = re.sub(r"\([^()\d]{0,80}\)\W*$", "", line).strip()
        line = words.after("rating", line).strip(" :=")
        amount = self._measured(line)
        if amount and not _UNIT.sub("", line[amount.end :]).strip(EDGE):
            return self._checked(amount)
        return self._named(line, alone=True)

    def _parse_rest(self, rest: str) -> Parsed[Level] | None:
        """Read `4`, `4/5`, `4 out of 5, because`, `Level 4`, `Good (4)`, `four`; not `3-4`, `3 of the 5 points`."""
        lead = rf"^[\s\"'(\[|:=]*(?:an?\s+|of\s+|{words.any_of('rating')}\s*:?\s*)*"
        bare = re.sub(lead, "", rest, flags=re.I)
        amount = self._measured(bare)
        several = Parsed[Level](None, len(rest), f"“{shorten(rest)}” is not one value")
        if amount and _ANOTHER.match(bare[amount.end :]):
            return several
        if amount and (amount.problem or _ENDS.match(bare[amount.end :])):
            parsed = self._checked(amount)
            return Parsed(parsed.value, len(rest) - len(bare) + parsed.end, parsed.problem)
        either = words.starts("either", rest)
        between = either and re.match(r"\s*\d", rest[either.end() :])
        return self._named(rest) or self._bracketed(rest) or (several if between else None)

    def _begins(self, text: str) -> tuple[Level, int] | None:
        for level in sorted(self.levels, key=lambda level: -len(str(level))) if self._worded() else ():
            if match := re.match(rf"{re.escape(str(level))}(?!\w)", text, re.I):
                return level, match.end()
        amount = self._measured(text) if re.match(r"\W*\d", text) else None
        return (amount.value, amount.end) if amount else None

    def _bracketed(self, rest: str) -> Parsed[Level] | None:
        """Read `Good (4)`."""
        match = re.match(r"\s*[^\W\d][\w ]{0,20}\(\s*(\d[^()]{0,20})\)", rest)
        amount = self._measured(match[1]) if match else None
        if match is None or amount is None or match[1][amount.end :].strip():
            return None
        parsed = self._checked(amount)
        return Parsed(parsed.value, match.end(), parsed.problem)

    def _measured(self, text: str) -> Measure | None:
        return None if self._worded() else measure(text)

    def _worded(self) -> bool:
        return any(isinstance(level, str) for level in self.levels)

    def _named(self, text: str, alone: bool = False) -> Parsed[Level] | None:
        """Read a level that is a word."""
        plain = squash(text) if self._worded() else ""
        for level in sorted(map(str, self.levels), key=len, reverse=True):
            name = squash(level)
            if plain == name or (plain.startswith(f"{name} ") and not alone and not self._another(plain, name)):
                return Parsed(next(amount for amount in self.levels if str(amount) == level), len(text))
        return None

    def _another(self, plain: str, name: str) -> bool:
        rest = plain[len(name) :].split()
        return bool({"or", "to", "and"} & set(rest[:1])) or any(squash(str(level)) in rest[:3] for level in self.levels)

    def _checked(self, amount: Measure) -> Parsed[Level]:
        if amount.problem:
            return Parsed(None, amount.end, amount.problem)
        if amount.top is not None and amount.top != self.ends()[1]:
            return Parsed(None, amount.end, f"it rates out of {amount.top:g}, and the scale ends at {self.ends()[1]}")
        if amount.percent and self.ends()[1] != 100:
            return Parsed(None, amount.end, f"{amount.value:g}% is not {self._described()}")
        value = next((level for level in self.levels if level == amount.value), whole(amount.value))
        if not self.holds(value):
            return Parsed(None, amount.end, f"{amount.value:g} is not {self._described()}")
        return Parsed(value, amount.end)

    def _sentences(self, text: Text) -> Iterator[Candidate[Level]]:
        """Read plain sentences; ratings of several other criteria, one per line, are not an overall rating."""
        several = len({match[1] for line in text.lines if (match := _CRITERION.match(line.text))}) > 1
        for one in super()._sentences(text):
            if not several or not _CRITERION.match(text.spoken[one.start : one.end]):
                yield one

    def _last(self, unit: Unit) -> Candidate[Level] | None:
        """Read `Bad sources, no structure: poor.`"""
        if self._worded() and ":" in unit.text and (named := self._named(unit.text.rpartition(":")[2], alone=True)):
            return Candidate(named.value, "sentence", unit.start, unit.end, SENTENCE)
        return super()._last(unit)

    def _stated(self, sentence: str) -> Level | None:
        if len({match[1] for match in _FOR_A_PART.finditer(sentence)}) > 1:
            return None
        if reasoned := _REASONED.match(sentence):
            amount = self._measured(reasoned[1])
            return self._checked(amount).value if amount else None
        values = {value for clause in clauses(sentence) for value in self._given(clause)}
        return values.pop() if len(values) == 1 else None

    def _given(self, clause: str) -> list[Level]:
        """Read `I'd give it a 4`, `it deserves 4 out of 5`, `4/5`: a verb that gives, or the top of the scale."""
        if in_doubt(clause) or words.find("bound", clause):
            return []
        if self._worded():
            verb = _CALLS.search(clause)
            parsed = self._level_word(clause[verb.end() :]) if verb else None
            return [parsed] if parsed is not None else []
        clause = _SCALE.sub(lambda scale: " " * len(scale[0]), clause)
        levels: list[Level | None] = []
        for match in _DIGITS.finditer(clause):
            amount = measure(clause[match.start() :])
            verb = words.pattern(_GIVES).search(clause[: match.start()].lower())
            given = amount and (amount.top == self.ends()[1] or verb)
            if amount and given and _ENDS.match(clause[match.start() + amount.end :]):
                levels.append(self._checked(amount).value)
        return [level for level in levels if level is not None] if None not in levels else []

    def _level_word(self, rest: str) -> Level | None:
        last = "".join(squash(rest).split()[-1:])
        return next((level for level in self.levels if squash(str(level)) == last), None)


_ANOTHER = re.compile(r"\s*[,;&]\s*\d+\s*(?:$|[,;.&])")
_FOR_A_PART = re.compile(
    r"(?<![\d.,/])(\d(?:[.,]\d)?)(?:\s*/\s*\d+)?\s+(?:for|in|on|für|pour|para|per|bei)\s+[^\W\d]", re.I
)
"""`a 3 for grammar and a 5 for content`"""
_UNIT = re.compile(r"^\s*(?:points?|pts?|stars?|punkte?|sterne?|puntos?|pontos?|punti|étoiles?|балл\w*)(?!\w)", re.I)
_REASONED = re.compile(r"\W*(\d{1,3}(?:[.,]\d)?)\s*,\s*(?:because|since|as it|weil|porque|car|perché)\b", re.I)
_CRITERION = re.compile(r"\W*(?:\d{1,2}[.)]\s*)?([^\W\d][\w /&-]{1,40}?)\s*[:=–-]+\s*\d")
_SCALE = re.compile(r"\b(?:on|auf|sur|en|in|na)\b[^\d.;]{1,25}\d+\s*(?:to|-|–|bis|à|a)\s*\d+", re.I)
_CALLS = re.compile(r"\b(?:call|rate|judge|consider|deem|find|grade|is)\b")
_DIGITS = re.compile(
    r"(?<![A-Za-z0-9_.,/-])\d|\b(?:one|two|three|four|five|six|seven|eight|nine)(?=\s+out\s+of\b)", re.I
)
_GIVES = (
    r"(?<!to )(?&gives)[^\d.;]{0,60}$|"
    r"^\W*(?:(?:so|overall|all in all),?\s+)?(?:it|this|that)(?:'s| is) an?\s+$|^\W*an?\s+[a-z-]{3,15}\s+$"
)
"""A verb of rating before a number; "to deserve a 4" is none."""
