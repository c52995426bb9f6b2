"""Which of several responses is best, or that none is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.answers import words
from core.answers.answer import listed
from core.answers.sentences import by_others, clauses, found_by_others, in_doubt, is_forced
from core.answers.single import WEAK, Candidate, Parsed, Single, own_units
from core.answers.text import Text, shorten
from core.answers.words import readable

# A response named by its place or by a numeral alone: `the second`, `zwei`, `number 2`, `第二个`.
#
# Such words occur in any text, so they are read only if they make up the whole answer.

PLACES = (1, 2, 3)
_COUNTER = r"(?:\s*(?:[个個份篇条項项位名号號]|番目?|つ目|번째?|의|の(?:方|ほう)?))?"
_PRONOUN = re.compile(r"(?:it|its|this|sie|er|es|elle|il|ella|ele|ela)(?!\w)", re.I)
_OPEN, _CLOSE = r"[\s\"'(\[*:=]*", r"[\s\"')\]*]*"

_NAMES = r"(?:(?&response)|(?<!\w)(?&noun)(?!\w))"
_ORDINALS = "|".join(rf"(?P<place{number}>(?&ordinal_{number}))" for number in PLACES)
_NUMERALS = "|".join(rf"(?P<numeral{number}>(?&numeral_{number}))" for number in (0, *PLACES))
_DIGITS = r"(?&number)[\s\"'(\[]*(?P<digit>\d)(?![\d%]|[.,/]\d)|(?P<counted>\d)(?=\s*[号號番번つ])"
_ALONE = (
    rf"{_OPEN}(?:(?&article)\s*)?(?:{_NAMES}\s*)?(?:(?:{_DIGITS}|{_ORDINALS}){_COUNTER}(?:\s*{_NAMES})?|"
    rf"(?:(?&number)\s*)?(?:{_NUMERALS}){_COUNTER}){_CLOSE}(?=$|[.;!。！(\n]|[,，–—]|\s-)"
)
"""`one response` names none."""
_CHOSEN = (
    rf"{_OPEN}(?:(?&article)\s*)?(?:{_ORDINALS}){_COUNTER}(?:\s*{_NAMES})?{_CLOSE}"
    r"(?=$|[.;!。！]|[,，]?\s*(?&reason))"
)
_SUBJECT = rf"{_OPEN}(?:(?&article)\s*)?(?:{_ORDINALS}){_COUNTER}(?:\s+(?:is|ist|est|es|é|è)\b)?\s*"
"""`the second is`, before a word such as "better"."""


def place_alone(text: str, noun: str, *, listed: bool = False) -> tuple[int, int] | None:
    """Return the response that a text names, 0 for "zero", and where its name ends; None if more belongs to it.

    After a comma or dash only a reason may follow; with `listed`, other answers after it as well.
    """
    match = words.pattern(_ALONE, noun=noun).match(text.lower())
    if match is None:
        return None
    rest = text[match.end() :].lstrip(" \"')]*")
    after = rest.lstrip(" .,;!。！，–—-")
    if not listed and any(words.starts(concept, after) for concept in ("retraction", "correction", "conjunction")):
        return None
    explained = words.starts("reason", after) or _PRONOUN.match(after)
    if rest.startswith((",", "，", "–", "—", "-")) and not explained:
        return None
    return number_of(match), match.end()


def number_of(match: re.Match[str]) -> int:
    """Return the response that a mention refers to: by a number, by a letter, or by the word of a group "place2"."""
    groups = {name: text for name, text in match.groupdict().items() if text}
    if word := next((name for name in groups if name[-1].isdigit()), ""):
        return int(word[-1])
    mark = next(iter(groups.values())).lower()
    return int(mark) if mark.isdigit() else ord(mark) - 96


# English phrases around the name of a response that say whether it is the chosen one.

IT_IS = re.compile(r"^\W*(?:so\s+)?(?:the\s+)?\w+\s+\w+\W?\s+it (?:is|must be|has to be)(?:,? then)?\W*$", re.I)
"""`Response 2 it is.`"""
MINE = re.compile(
    r"\bis the one (?:that )?I(?:'d| would)(?: rather)? (?:send|pick|choose|use|go with|recommend|show|give|keep)\b|"
    r"\bwürde ich\b.{1,30}\b(?:wählen|bevorzugen|nehmen)\b"
)
PART_OF = re.compile(
    r"\W*(?:the|that|this|its)\s+(?:\w+\s+)?(?:half|part|section|paragraph|sentence|style|tone|structure|format|beginning|ending|"
    r"introduction|conclusion|opening|example|examples|wording)\s+(?:of|in|from)\b",
    re.I,
)
"""`I prefer the second half of Response 1.`"""
FAULT = re.compile(
    r"\s*(?:is|was)\s+(?:\w+ly\s+)?(?:wrong|incorrect|false|flawed|inaccurate|misleading|incomplete|vague|bad)\b"
)
"""`Verdict: Response 2 is wrong` does not choose it."""
RANKING = re.compile(r"\W*(?:I'd|I|I would|my|the|so,?|final|overall)\s[\w ]{0,20}\brank\w*(?:\s+\w+){0,2}:\s*", re.I)
"""`I'd rank them: ` before `A > B`."""
MOVED = re.compile(
    r"\bI(?:'m|'ve| am| have)?\s+(?:now\s+)?(?:switch|chang|mov|shift)\w*\b.{0,40}\bfrom\b.{1,40}\bto\b", re.I
)
"""`I'm switching from Response 2 to Response 1.`"""
OWN = re.compile(r"(?:I|we|my)\b", re.I)
"""`I have changed my mind: Response 2 is better.` is no judgement of a part, as `Style: Response 2 is better.` is."""
THINKS = re.compile(
    r"\b(?:pense|crois|estime|trouve|considère|dirais|creo|pienso|opino|acho|penso|credo)\s+(?:que|che)(?:\s+\w{1,2})?$"
)
MOVES = re.compile(r"\b(?:chang|switch|mov|shift|differ)\w*\b")

# Mentions of responses in a text, by their number ("Response 1", "回答1") or their place ("the second one").

_BEHIND = ("الأول[ى]?", "الثاني[ة]?", "الثالث[ة]?")
"""Ordinals that follow the noun."""
_COUNTED = ("第一[个個]", "第二[个個]", "第三[个個]")
"""Ordinals without a noun."""


_NOUNS = r"(?:(?&response)|(?<!\w)(?&noun)|(?<![\w])R(?=[12]))"
_MENTION = "|".join(
    [
        rf"(?i:{_NOUNS})(?:'s?)?\s*(?:#|no\.?\s|number\s|n[°º]\s?|nr\.?\s)?[\s\"'(\[]*"
        r"(?:(?P<number>\d{1,2}(?![\d%]|[.,/]\d)|[A-H](?!\w|'))|(?i:"
        + "|".join(rf"(?P<numeral{n}>(?&numeral_{n}))" for n in PLACES)
        + "))",
        *(
            rf"(?P<ordinal{n}>(?i:(?&ordinal_{n}))){_COUNTER}\s*(?i:{_NOUNS}|one(?!\w)|two(?!\w))|"
            rf"{_NOUNS}\s+(?P<behind{n}>{behind})(?!\w)|(?P<counted{n}>{counted}(?=更|比|较|明显|要|胜))|"
            rf"(?i:(?<!\w)(?:the|die|der|la|le|el|il|o|a)\s+(?P<alone{n}>(?&ordinal_{n}))"
            r"(?=\s+(?:is|wins|ist|gewinnt|est|es|gana|é|è)\b))"
            for n, behind, counted in zip(PLACES, _BEHIND, _COUNTED, strict=True)
        ),
    ]
)
_RESPONSE = rf"(?:{_MENTION})[\"')\]]*(?:'s(?:\s+(?:answer|response))?|'s)?"


def responses(noun: str) -> re.Pattern[str]:
    """Match a response by its number ("Response 1", "R1", "回答1") or its place ("the second one")."""
    return words.pattern(_RESPONSE, noun=noun)


_LEAD = re.compile(r"^[\s\"'(\[<|:=*–—→-]*(?:(?:the|la|le|el|die|der|a|o)\s+(?=\w))?[\s\"'(\[]*", re.I)
_BARE = re.compile(r"(?P<mark>\d{1,3}(?![\d%])|[A-H](?=[\s\]).,:;\"']|$))")
_REJECTED = re.compile(r"^\W*,\s*(?:and\s+)?(?:not|nicht|pas|no)\s+\w+")
_OR = r"(?:or|oder|ou|или|或)"
_SEVERAL = re.compile(
    rf"[\"')\]]*\s*(?:/|-|–|,|&|~|\b(?:and|und|et|o|y|e|и|to)\b|和|{_OR}|[.,](?=\d))\s*(?:\w+\s+)?\d|\s*/|\s+{_OR}\b|\s*或"
)
_REMARK = re.compile(
    r"[\"')\]]*\s*(?:,|\s[-–—])\s*(?:\w+\s+)?\d\s+(?:on the other hand,? )?"
    r"(?:is|was|has|lacks|omits|contains|does|gives|makes)\b"
)
"""`Response 1, Response 2 is vague` names one answer."""
_COUNT = re.compile(
    r"\s+(?:responses|submissions|answers|assistants|options|critiques|candidates|models|outputs)\b", re.I
)
_CLAUSE_END = re.compile(r"[,;.(:–—]|\s-\s")
_COPULA = re.compile(r"\s*(?:is|was|are|ist|war|est|était|es|era|é|è)\b", re.I)
_HEDGED = re.compile(r"\s*(?:might|may|could)\b", re.I)
_NO_DOUBT = re.compile(r"\b(?:without (?:a |any )?|no |beyond )doubt\b", re.I)
_THAN = r"(?&than)(?:\s+(?:in|with|that of|those of))?(?:\s+(?:the|la|die|der))?$"
_NEARLY = r"(?&nearly)[^\w]+(?:\w+\s+)?$"
_LAST = re.compile(r"\d\W+(?:or|and)\W+\d")
_MORE = re.compile(r"\b(?:is|provides|gives|offers) (?:clearly |overall |also )?(?:the |a |an )?more \w+", re.I)
"""`Overall, Response 1 is more helpful.` is a conclusion; without "overall" it is a remark."""
_RANKED = re.compile(
    r"(?:[^\W\d]{4,12}\s*)?[\"']?(?:\d|[A-H])[\"']?\s*[<>]{1,3}\s*(?:[^\W\d]{4,12}\s*)?[\"']?(?:\d|[A-H])[\"']?"
)
_COMPARED = re.compile(r"(\d|[A-H])[\"'\s]*(>{1,3}|<{1,3}|=)\s*(?:[A-Za-z]{4,12}\s*)?(\d|[A-H])(?!\w|\.\d)")
_QUOTED_MARK = re.compile(
    r":?\s*(?:number|option|no\.?)?\s*[\"'(\[]*(\d|[A-H])(?!\w)[\"')\].,]*(?:$|\s+(?=for|as|over|,))"
)
_MARK_ALONE = re.compile(
    r"[\"'(]*(\d|[A-H])[\"')]*(?:\s+is\s+(?:clearly |slightly |much |the )?(?:better|best|superior|preferable)\b|"
    r"\s*[,–—-]\s*(?:because|since|as it|weil|porque|car|perché)\b)"
)
_NEITHER = re.compile(
    r"\bneither\b.{0,40}\b(?:better|superior|stronger|best|outperforms|stands out)\b|"
    r"^\W*(?:neither|none)\W*(?:of them)?\W*$"
)
_TOPIC = re.compile(r"\W*(?:[^\W\d]{2,12},\s+)?([^\W\d][\w ]{1,30}):\s+(?=\S+\s+\S)")
_MANNER = re.compile(r"\b(?:reads|sounds|looks|flows|feels|starts|begins|ends) better\b", re.I)
_UNCHANGED = re.compile(r"\W*(?:still\s+)?the same(?:\s+as\b.*)?\W*", re.I)
"""`My answer is the same.` repeats an earlier choice in a discussion; it is not a tie."""
_EDGE = " \t\"'()[]<>|:=.,;!*-–—→>。"


@dataclass(frozen=True)
class Choice(Single[int]):
    """The number of the best of `count` responses, from 1, or 0 for neither. `noun` is their name in the prompt."""

    count: int = 2
    noun: str = "Response"
    letters: bool = False
    """The prompt calls them "Response A", "Response B" instead of "Response 1", "Response 2"."""
    neither: bool = True
    """Whether "none is better" is an answer."""

    key = "answer"
    nouns = True

    def names(self) -> tuple[str, ...]:
        """Return the responses as the prompt names them."""
        return tuple(f"{self.noun} {self._mark(number)}" for number in range(1, self.count + 1))

    def ends(self) -> tuple[int, int]:
        return 1, self.count

    def _mark(self, number: int) -> str:
        return chr(64 + number) if self.letters else str(number)

    def _marks(self) -> tuple[str, ...]:
        none = (("C" if self.letters and self.count == 2 else "0"),) if self.neither else ()
        return (*(self._mark(number) for number in range(1, self.count + 1)), *none)

    def _text_instruction(self) -> str:
        degree, none = ("better", "neither is better") if self.count == 2 else ("best", "none is best")
        cases = [f"{name} is {degree}" for name in self.names()] + [none] * self.neither
        lines = [f'"{self.label}: {mark}" if {case}' for mark, case in zip(self._marks(), cases, strict=True)]
        return f"{self._closing}{', '.join(lines[:-1])}, or {lines[-1]}."

    def _written(self, value: int) -> str:
        return f"{self.label}: {self._marks()[value - 1]}"

    @cached_property
    def _options(self) -> tuple[str, ...]:
        return (*self.names(), *(("neither",) if self.neither else ()))

    def _field(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self._options), "description": "The better one."}

    def _encoded(self, value: int) -> str:
        return self._options[value - 1]

    def _described(self) -> str:
        return listed(tuple(f'"{option}"' for option in self._options))

    def _missing(self) -> str:
        return f"it does not say which one is better: {listed(self._options)}"

    def _concepts(self) -> tuple[str, ...]:
        return ("answer", "winner", "final")

    def _decoded(self, value: Any) -> Parsed[int] | None:
        if isinstance(value, bool) or not isinstance(value, int | str):
            return Parsed(None, problem=f"its answer is {shorten(str(value))}") if value is None else None
        text = readable(str(value)).replace("_", " ")
        return self._alone(text) or self._parse_rest(text) or Parsed(None, problem=f"it chooses “{shorten(text)}”")

    def _alone(self, line: str) -> Parsed[int] | None:
        if line.rstrip().endswith(":"):
            return None
        bare = re.sub(r"^the\s+", "", line.strip(_EDGE), flags=re.I)
        if (placed := place_alone(line, self.noun)) and not line[placed[1] :].strip(_EDGE):
            return self._checked(placed[0], len(line))
        head = responses(self.noun).match(bare)
        if head and not bare[head.end() :].strip(_EDGE):
            return self._checked(number_of(head), len(line))
        if re.fullmatch(rf"\d{{1,3}}|(?:{'|'.join(self._marks())})", bare):
            return self._checked(self._bare(bare), len(line))
        neither = words.starts("neither", bare)
        if neither and not bare[neither.end() :].strip(_EDGE):
            return self._tie(len(line))
        if len(bare) < 60 and self._tied(bare) and not in_doubt(self._without_neither(bare)):
            return None if words.find("condition", bare) and not is_forced(bare) else self._tie(len(line))
        stated = self._compared(line)
        return Parsed(stated, len(line)) if stated is not None else None

    def _bare(self, mark: str) -> int:
        """Return the number of a single mark; in a pair called A and B, C is a tie."""
        if mark.isdigit():
            return int(mark)
        return 0 if mark == "C" and self.letters and self.count == 2 else ord(mark.upper()) - 64

    def _parse_rest(self, rest: str) -> Parsed[int] | None:
        """Read `Response 1 (clearer)`, `2 - Response 2 is better`, `neither`; not `1 or 2`, `1/2`, `1.5`."""
        if (compared := self._compared(rest)) is not None:
            return Parsed(compared, len(rest))
        if placed := place_alone(rest, self.noun):
            return self._checked(*placed)
        lead = len(rest) - len(_LEAD.sub("", rest))
        head = responses(self.noun).match(rest, lead)
        bare = None if head else _BARE.match(rest, lead)
        named = head or bare
        if named is None:
            return self._parse_words(rest)
        end = named.end()
        value = self._bare(bare["mark"]) if bare else number_of(named)
        after, unlike = rest[end:], _REJECTED.sub("", rest[end:])
        if bare and _COUNT.match(after):
            return None
        if _SEVERAL.match(unlike) and not _REMARK.match(unlike):
            listing = unlike.count(",") and _LAST.search(unlike)
            several = Parsed[int](None, end, f"it names more than one: “{shorten(rest)}”")
            return None if listing else self._parse_words(rest) or several
        judged = (words.starts(kind, after.lstrip()) for kind in ("after_better", "better", "worse"))
        if bare and bare["mark"].isdigit() and re.match(r"\s+[a-z]{3,}", after) and not any(judged):
            return None
        if self._denied(after):
            return Parsed(None, end, f"“{shorten(rest)}” does not say which one is better")
        return self._agreeing(value, after, end)

    def _denied(self, after: str) -> bool:
        """Return whether the words after a name say that it is worse, or who chose it: `is what Speaker 2 says`."""
        clause = next(clauses(_CLAUSE_END.split(after)[0]), "")
        other = responses(self.noun).search(clause)
        clause = _NO_DOUBT.sub("", clause[: other.start()] if other else clause)
        better = words.find("better", clause)
        before = clause[: better.start()] if better else clause
        if words.find("worse", before) or _HEDGED.match(clause) or FAULT.match(clause):
            return True
        chosen = better or words.find("answer", clause)
        denied = chosen and words.find("negation", before.rpartition(" and ")[2])
        return bool(_COPULA.match(clause) and (denied or words.find("reported", clause)))

    def _agreeing(self, value: int, after: str, end: int) -> Parsed[int] | None:
        """Return the value, unless the following words state another one."""
        predicate = words.starts("better", after)  # `Response 1 wins, Response 2 is vague`
        stated = self._stated(after[predicate.end() :] if predicate else after)
        if stated is not None and stated != value:
            return Parsed(None, end, f"it names both {value} and {stated}")
        return self._checked(value, end)

    def _parse_words(self, rest: str) -> Parsed[int] | None:
        first = re.split(r"[.;\n。]", rest)[0]
        if _UNCHANGED.fullmatch(first):
            return None
        neither = words.starts("neither", first)
        tied = self._tied(first) or (neither and len(first[neither.end() :].split()) < 3)
        if tied and not in_doubt(self._without_neither(first)):
            return self._tie(len(first))
        stated = self._stated(rest)
        return Parsed(stated, len(rest)) if stated is not None else None

    def _tied(self, text: str) -> bool:
        low = text.lower()
        if tie := words.find("tie", low):
            return not words.pattern(_NEARLY).search(low[: tie.start()])
        return _NEITHER.search(low) is not None

    def _without_neither(self, text: str) -> str:
        """Return the text without phrases for "none is better": these are not negations."""
        return words.without("neither", words.without("tie", text))

    def _compared(self, text: str) -> int | None:
        """Read `Response 2 > Response 1`, `A > B`."""
        match = _COMPARED.search(text[:120])
        if match is None or text[: match.start()].count(" ") > 3 or (self.count > 2 and text.count(match[2][0]) == 1):
            return None
        if match[2] == "=":
            whole = text[: match.start()].strip() and not text[match.end() :].strip(_EDGE)
            return 0 if self.neither and whole else None
        value = self._bare(match[1] if ">" in match[2] else match[3])
        return value if 1 <= value <= self.count else None

    def _checked(self, value: int, end: int) -> Parsed[int] | None:
        if value == 0:
            return self._tie(end)
        if value > 9:
            return None
        if not 1 <= value <= self.count:
            return Parsed(None, end, f"{value} is not one of {listed(self._marks())}")
        return Parsed(value, end)

    def _tie(self, end: int) -> Parsed[int]:
        if self.neither:
            return Parsed(0, end)
        return Parsed(None, end, "it calls a tie, which is not one of the answers")

    def _begins(self, text: str) -> tuple[int, int] | None:
        if head := responses(self.noun).match(text):
            return number_of(head), head.end()
        bare = _BARE.match(text)
        if bare and bare["mark"] in self._marks():
            return self._bare(bare["mark"]), bare.end()
        neither = words.starts("neither", text) if self.neither else None
        return (0, neither.end()) if neither else place_alone(text, self.noun, listed=True)

    def _stated(self, sentence: str) -> int | None:
        if self._about_a_part(sentence):
            return None
        condition, comma, rest = sentence.partition(",")
        if comma and words.find("supposition", condition[:10]) and is_forced(condition):
            sentence = rest.lstrip()  # `If I had to choose, ` before a choice that is made nevertheless
        if (bare := _MARK_ALONE.match(sentence)) and not in_doubt(sentence):
            mark = self._bare(bare[1])
            return mark if 1 <= mark <= self.count and (bare[1].isdigit() or self.letters) else None
        if (ranking := RANKING.match(sentence)) and not in_doubt(ranking[0]):
            sentence = sentence[ranking.end() :]
        if _RANKED.fullmatch(sentence.strip(_EDGE)) and (compared := self._compared(sentence)) is not None:
            return compared
        values = {value for clause in clauses(sentence) if (value := self._concluded(clause)) is not None}
        return values.pop() if len(values) == 1 else None

    def _sentences(self, text: Text) -> Iterator[Candidate[int]]:
        """Read plain sentences; without any, a comparative such as "more helpful" in the last one that concludes."""
        found = list(super()._sentences(text))
        yield from found
        unit = next(reversed(own_units(text)), None)
        if found or unit is None or not words.starts("therefore", unit.text):
            return
        for clause in clauses(unit.text):
            subjects = {number for number, is_object in self._mentions(clause) if not is_object}
            concluded = len(subjects) == 1 and _MORE.search(clause) and not in_doubt(clause)
            if concluded and (parsed := self._checked(subjects.pop(), len(clause))):
                yield parsed.at("sentence", unit.start, unit.end, WEAK)

    def _about_a_part(self, sentence: str) -> bool:
        """Return whether the text is like `Style: Response 1 is better.`"""
        topic = _TOPIC.match(sentence)
        if topic is None or OWN.match(topic[1]) or responses(self.noun).search(topic[1]):
            return False
        return not words.has(topic[1], "answer", "final", "winner", "therefore")

    def _concluded(self, clause: str) -> int | None:
        if self._tied(clause) and self.neither and not in_doubt(self._without_neither(clause)):
            return 0
        if in_doubt(clause):
            return None
        subjects = {number for number, is_object in self._mentions(clause) if not is_object}
        if not subjects:
            mark = self._chosen_mark(clause)
            return self._placed(clause) if mark is None else mark
        if len(subjects) > 1:
            return None
        value = subjects.pop()
        if self.count > 2 and len({number for number, is_object in self._mentions(clause) if is_object}) == 1:
            return None  # better than one of several
        plainly = any(pattern.search(clause) for pattern in (IT_IS, MINE, MOVED))
        stated = plainly or self._preferred(clause) or self._chosen(clause)
        return value if 1 <= value <= self.count and stated else None

    def _chosen(self, clause: str) -> bool:
        """Return whether a choice is stated: `I choose Response 1`, `Response 1 gets my vote`; not `users prefer`."""
        verb = words.find("choose", clause)
        if verb is None:
            return False
        before = clause[: verb.start()]
        if PART_OF.match(clause[verb.end() :]):
            return False
        named = responses(self.noun).search(before)
        return named is not None or not by_others(before, verb[0])

    def _placed(self, clause: str) -> int | None:
        """Read `I choose the second`, `La première est meilleure`."""
        chosen = words.find("choose", clause)
        if chosen and not by_others(clause[: chosen.start()], chosen[0]):
            match = words.pattern(_CHOSEN, noun=self.noun).match(clause[chosen.end() :].lower())
        elif match := words.pattern(_SUBJECT).match(clause.lower()):
            better = words.starts("better", clause[match.end() :])
            match = match if better and self._stands_alone(clause[match.end() + better.end() :]) else None
        value = number_of(match) if match else 0
        return value if 1 <= value <= self.count else None

    def _chosen_mark(self, clause: str) -> int | None:
        """Read `I choose "1"`."""
        chosen = words.find("choose", clause)
        mark = _QUOTED_MARK.match(clause[chosen.end() :].strip()) if chosen else None
        if chosen is None or mark is None or by_others(clause[: chosen.start()], chosen[0]):
            return None
        return self._bare(mark[1]) if mark[1] in self._marks() else None

    def _preferred(self, clause: str) -> bool:
        """Return whether a word such as "better" is there on its own: "better written" says less."""
        named = responses(self.noun).search(clause)
        if named and found_by_others(clause[: named.start()]):
            return False
        places = list(words.finditer("better", _MANNER.sub(lambda manner: " " * len(manner[0]), clause)))
        return any(self._stands_alone(clause[place.end() :]) for place in places)

    def _stands_alone(self, after: str) -> bool:
        word = re.match(r"[\s\"']*([^\W\d_]+)?", after)
        follows = word[1] if word else None
        return not follows or not follows.islower() or words.starts("after_better", follows) is not None

    def _mentions(self, clause: str) -> Iterator[tuple[int, bool]]:
        """Yield each response that is named, and whether another one is compared with it."""
        for match in responses(self.noun).finditer(clause):
            number = number_of(match)
            before, after = clause[: match.start()].lower().rstrip(" \"'"), clause[match.end() :].lower()
            before = THINKS.sub("", before)
            if before.endswith(" from") and MOVES.search(before):  # `I change my vote from Submission 1 to ...`
                yield number, True
                continue
            follows = words.starts("than_after", after[:12]) or words.pattern(_THAN).search(before)
            yield number, follows is not None
