"""The words of others in a reply: quotations, quoted blocks, the reasoning of cut JSON, texts that the judge was shown.

A judge may repeat the judged text, and that text may hold a line such as "Final answer: 1". It is no verdict.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from core.answers.structured import ATTEMPTS, documents
from core.answers.words import Words, readable, squash

Span = tuple[int, int]
SEARCHED = 50_000
"""Number of characters, from the end, that are searched for quoted blocks: replies are untrusted."""
BLOCKS = 40
"""Maximum number of blocks that may be the reply's own, from the end."""
FAR = 7
"""Maximum number of words between "contains" and what it contains."""

_FENCE = re.compile(r"^[ \t]*(?P<sign>```|~~~)[^\n`]*\n(?P<body>.*?)(?:^[ \t]*(?P=sign)[ \t]*$|\Z)", re.M | re.S)
_BLOCK_QUOTE = re.compile(r"(?:^[ ]{0,3}>[^\n]*(?:\n|\Z))+", re.M)
_ELEMENT = re.compile(r"<(blockquote|quote|pre|code|cite|q)>(?P<body>.{1,4000}?)</\1>", re.I | re.S)
_BRACKETED = re.compile(r"\[quote\](?P<body>.{1,4000}?)\[/quote\]", re.I | re.S)
_TRIPLE = re.compile(r"(\"{3}|'{3})(?P<body>.{1,4000}?)\1", re.S)
_ECHO = re.compile(
    r"<((?:submission|response|assistant|critique|question|prompt|answer|context|reference|claim)[\w-]{0,20})>"
    r"(?P<body>[^<>]*\n[^<>]*|[^<>]{60,})</\1>",
    re.I,
)
"""Material as the prompt has it; `<response_1>7</response_1>` is an answer."""
_ITEM = re.compile(r"^[ ]{0,3}(?:\d{1,2}[.)]|[-*•])\s+\S", re.M)
_BLOCKS = (_FENCE, _BLOCK_QUOTE, _ELEMENT, _BRACKETED, _TRIPLE, _ECHO)

_VERDICT = (
    r"(?:decide|tell|judge|say which|determine|choose|pick|select|rate|score|evaluate|assess|conclude|answer|commit|"
    r"settle|extract|list|identify any|weigh|weight|(?:give|provide|make|assign|offer|state|reach|come to|arrive at|"
    r"write|name)\s+(?:you\s+)?(?:an?|any|the|my|one)?\s*"
    r"(?:\w+\s+)?(?:verdict|decision|rating|score|scores|answer|choice|judge?ment|preference|weights?|claims?|aspects?|"
    r"list|critique|summary|text|number|letter|result))\b"
)
_UNDECIDED = re.compile(
    r"\b(?:i|we)(?:'m|\s+am|\s+are)?\s+(?:(?:really|simply|just|still|therefore|thus|honestly|also|so)\s+)*"
    r"(?:cannot|can't|can\s+not|could\s+not|couldn't|unable\s+to|not\s+able\s+to|won't|will\s+not|would\s+rather\s+not|"
    r"refuse\s+to|decline\s+to|do\s+not|don't)\s+(?:\w+ly\s+)?(?:want\s+to\s+)?" + _VERDICT + r"|"
    r"\b(?:i|we)\s+(?:must\s+|have\s+to\s+|will\s+)?(?:abstain|decline|refuse)\b|\bi(?:'m|\s+am)\s+(?:still\s+)?undecided\b|"
    r"\bi\s+(?:really\s+|honestly\s+)?(?:don't|do\s+not)\s+know\b|"
    r"\b(?:cannot|can't|can\s+not|could\s+not)\s+(?:be\s+(?:decided|judged|determined|rated|scored|chosen|answered|told)|"
    r"tell|decide|judge)\b|"
    r"\b(?:unable|impossible|not\s+possible)\s+(?:for\s+me\s+)?to\s+" + _VERDICT + r"|"
    r"\bno\s+(?:verdict|decision|rating|score|answer|choice|judge?ment|preference|opinion)\s+"
    r"(?:is\s+|can\s+be\s+|from\s+me|of\s+(?:my|mine)|here|yet|possible|given)|\bwithout\s+(?:a\s+)?verdict\b|"
    r"\bkann\s+(?:ich\s+)?(?:\w+\s+){0,5}?nicht\s+(?:\w+\s+)?(?:entscheiden|beurteilen|sagen|bewerten|bestimmen)|"
    r"\bnicht\s+entscheiden\s+kann\b|\bweiß\s+(?:ich\s+|es\s+)?nicht\b|"
    r"\bne\s+(?:peux|saurais|puis)\s+(?:pas\s+)?(?:\w+\s+)?(?:décider|trancher|juger|dire|évaluer|noter|déterminer)|"
    r"\bno\s+(?:puedo|me\s+es\s+posible|sé)\s+(?:\w+\s+)?(?:decidir|juzgar|decir|determinar|evaluar|puntuar|cuál)|"
    r"\bnão\s+(?:consigo|posso|sei)\s+(?:\w+\s+)?(?:decidir|julgar|dizer|determinar|avaliar|qual)|"
    r"\bnon\s+(?:posso|riesco\s+a|so)\s+(?:\w+\s+)?(?:decidere|giudicare|dire|determinare|valutare|quale)|"
    r"无法(?:判断|决定|确定|评|做出|选择)|不能(?:判断|决定|确定)|無法(?:判斷|決定|確定)|判断できません|決められません|判断できない|決められない|"
    r"판단할 수 없|결정할 수 없|не могу (?:\w+ )?(?:решить|сказать|определить|оценить|судить|выбрать)|"
    r"لا أستطيع|لا يمكنني|तय नहीं कर|नहीं कह सकत",
    re.I,
)
"""The judge states that it gives no verdict."""
_CONTAINS = (
    r"(?:contain|includ|embed|insert|inject|hid(?:es|den|ing)\b|instruct|tell(?:s|ing)\b|told\b|ask(?:s|ed|ing)\b|"
    r"demand|command|order(?:s|ed|ing)\b|(?<=\w )claim(?:s|ed|ing)\b|say(?:s|ing)\b|said\b|read(?:s|ing)\b|"
    r"wr(?:ote|ites?|itten|iting)\b|quot|puts?\s+it\b|cit(?:es|ed|ing)\b|copied\b|copy\b|paste|verbatim|excerpt|passage|"
    r"end(?:s|ed|ing)\b|clos(?:es|ed|ing)\b|begin|start|open(?:s|ed|ing)\b|finish|conclud(?:es|ed)\b|"
    r"stat(?:es|ed|ing)\b|append|add(?:s|ed)\b|attempt|tr(?:ies|ied|ying)\b|appear|occur|stand(?:s|ing)\b|"
    r"print|output|carr(?:ies|ied)\b|bears?\b|features?\b|has\s+(?:the|this|a|an)\b|suspicious|manipulat|"
    r"enthält|steht|endet|lautet|schreibt|behauptet|sagt|zitat|zitier|fordert|contient|dit\b|écrit|termine|"
    r"se\s+lit|affirme|cite|demande|contiene|dice|escribe|termina|afirma|pide|ordena|contém|diz\b|escreve|pede|"
    r"scrive|finisce|chiede|包含|写道|写着|声称|结尾|最后写|引用|含まれ|書かれ|書いて|とあり|포함|적혀|쓰여|содержит|написано|говорится|"
    r"заканчивается|утверждает)"
)
_FOREIGN = re.compile(_CONTAINS, re.I)
_MINE = re.compile(
    r"\b(?:my|i|mine|our|we|here(?:'s|\s+is|\s+are)|mein\w*|ich|meu|minha|mon|ma|je|mi|mio|mia|io|eu|yo|final|verdict|"
    r"output|result|conclusion)\b|我|私|제|мой|моя|мои",
    re.I,
)
_SOMEBODY = re.compile(
    r"\b(?:response|submission|assistant|answer|text|critique|author|model|question|prompt|document|it|candidate|reply|"
    r"writer|user|speaker|line|sentence|first|second|one|other|material|solution|antwort|text|réponse|respuesta|resposta|"
    r"risposta)\b|回答|文本|応答|回答|응답|ответ",
    re.I,
)
_DISOWNED = re.compile(
    r"\b(?:ignor|disregard|inject|manipulat|embedded|instruction\s+(?:in|inside|within|from)|not\s+(?:my|mine|a\s+verdict)|"
    r"quot(?:e|ed|ation|ing)\b|verbatim|excerpt|part\s+of\s+(?:the|what)|taken\s+from|from\s+(?:the\s+)?(?:\w+\s+)?(?:response|text|submission|answer|"
    r"critique|prompt)|appears?\s+in|stands?\s+in|above\s+(?:is|was|line|text|block)|prompt\s+injection|zitat|zitiert|ignorier|"
    r"ignore|citation|cita\b|citat)",
    re.I,
)
_REASONS = (
    r"reasoning|reason|reasons|explanation|rationale|analysis|thought|thoughts|thinking|justification|comment|comments|"
    r"notes?|critique|evaluation|feedback|evidence|chain_of_thought|cot"
)
_OPENED = re.compile(rf"\{{\s*(?:\"[\w -]{{1,40}}\"\s*:\s*[^{{}}\n]{{0,80}}?,\s*)?\"(?:{_REASONS})\"\s*:\s*\"", re.I)
_CLOSED = re.compile(r"(?<!\\)\"\s*(?:(?P<field>,\s*\"[\w -]{1,40}\"\s*:)|\})")


def undecided(text: str) -> bool:
    """Return whether the reply's author says that there is no verdict."""
    return _UNDECIDED.search(readable(text)) is not None


def introduces_others(line: str, words: Words) -> bool:
    """Return whether the last clause of a line announces the words of others: `Response 1 ends with:`."""
    clause = re.split(r"[.!?;,。，](?:\s+|$)|[。，]", line.rstrip(" \t:=\"'`*_([{<>|-–—")[-200:])[-1]
    verb = _FOREIGN.search(clause) or words.find("reported", clause)
    if verb is None or len(clause[verb.end() :].split()) > FAR:
        return False
    return _SOMEBODY.search(clause) is not None or not _MINE.search(clause)


def quoted_blocks(text: str, words: Words, shown: Sequence[str] = (), *, lists: bool = False) -> list[Span]:
    """Return the fenced and quoted blocks with the words of others; those in which the reply states its answer are not.

    With `lists` a block is a list that the reply was asked for: only an author who declines quotes it.
    """
    found = _found(text)
    if not found:
        return []
    own = _without(text, found)
    if not re.search(r"[^\W\d_]", own):
        return []
    refuses = undecided(own)
    if lists:  # the block holds the list, unless the list is elsewhere
        return found if refuses or _ITEM.search(own) else []
    return [
        span for span in found if refuses or span not in found[-BLOCKS:] or _is_foreign(own, span, text, words, shown)
    ]


def _found(text: str) -> list[Span]:
    if not any(sign in text for sign in ("```", "~~~", ">", '"""', "'''", "[quote]", "[QUOTE]")):
        return []
    begin = max(0, len(text) - SEARCHED)
    spans = sorted(match.span() for pattern in _BLOCKS for match in pattern.finditer(text, begin))
    merged: list[Span] = []
    for start, end in spans:
        if not merged or start >= merged[-1][1]:
            merged.append((start, end))
    return merged


def _is_foreign(own: str, span: Span, text: str, words: Words, shown: Sequence[str]) -> bool:
    before, after = own[: span[0]].rstrip(), own[span[1] :]
    line = before[before.rfind("\n") + 1 :]
    if introduces_others(line.rstrip(" ."), words) or text[span[0] : span[0] + 3] in ('"""', "'''"):
        return True
    first = next(filter(None, map(str.strip, after.split("\n"))), "")
    follows = bool(re.search(r"[^\W\d_]", first)) and not words.starts("courtesy", first)
    return follows and (_DISOWNED.search(after) is not None or is_repeated(text[span[0] : span[1]], shown))


def cut_reasoning(text: str) -> list[Span]:
    """Return the reasoning of JSON that is cut or broken: what stands in it is no field of the answer."""
    opened = list(islice(_OPENED.finditer(text), ATTEMPTS))
    decoded = documents(text) if opened else []
    spans: list[Span] = []
    for match in opened:
        inside = any(document.start <= match.start() < document.end for document in decoded)
        if not inside and not (spans and match.start() < spans[-1][1]):
            spans.append((match.end(), _end_of_string(text, match.end())))
    return spans


def _end_of_string(text: str, start: int) -> int:
    """Return where broken JSON closes a string: before its last further field, or before its closing brace."""
    depth, done, fields, braces = 0, start, -1, -1
    for end in _CLOSED.finditer(text, start):
        depth += text.count("{", done, end.start()) - text.count("}", done, end.start())
        done = end.start()
        if depth <= 0 and end["field"]:
            fields = done
        elif depth <= 0:
            braces = done
    return fields if fields >= 0 else braces if braces >= 0 else len(text)


_MARK = (
    r"\\boxed|\[\[|</?\w+>|[:：=]|\b(?:is|are|ist|est|es|é|è)\b|\d\s*/\s*\d|"
    r"\b(?:rate|score|give|deserves?|choose|prefer)\b"
)
_QUOTES = re.compile(
    r"[\"'`](?P<d>\{[^\n]{1,400}?\})[\"'`]|\"(?P<a>[^\"\n]{2,400})\"|(?<!\w)'(?P<b>[^'\n]{2,400})'(?!\w)|(?<!`)`(?P<c>[^`\n]{2,400})`(?!`)"
)
_CHOOSES = re.compile(
    r"\b(?:i|we)(?:'d|'ll|\s+would|\s+will|\s+therefore|\s+thus)*\s+(?:choose|pick|select|vote|answer|say|rate|give|go\s+with)"
    r"(?:\s+\w+){0,3}$",
    re.I,
)
"""`I would choose "Neither is better: 0"`"""
_LABELLED = re.compile(_MARK, re.I)
_EDGES = " \t-=|:+.>'\"()[],;!?。*_#`"


def quotations(plain: str, words: Words) -> Iterator[Span]:
    """Yield quotations that hold a label or a mark of an answer, unless they are the reply's own statement.

    `plain` is the reply with plain signs. Own is a quotation alone on its line, or one that the author announces.
    """
    for match in _QUOTES.finditer(plain):
        inner = match["a"] or match["b"] or match["c"] or match["d"]
        if not _LABELLED.search(inner):
            continue
        begin = plain.rfind("\n", 0, match.start()) + 1
        end = plain.find("\n", match.end())
        before = plain[begin : match.start()].strip(_EDGES)
        after = plain[match.end() : end if end >= 0 else len(plain)].strip(_EDGES)
        if not before and not after:
            continue
        if _CHOOSES.search(before):
            continue
        announced = before and re.search(r"[:=]\s*[*_]*$", plain[begin : match.start()].rstrip()) and len(before) < 60
        if announced and not after and not introduces_others(before, words):
            continue
        yield match.span()


@lru_cache(maxsize=32)
def _squashed(shown: tuple[str, ...]) -> str:
    return f" {' | '.join(map(squash, shown))} "


def is_repeated(fragment: str, shown: Sequence[str]) -> bool:
    """Return whether a fragment of a reply with at least two words, or a mark, stands literally in a shown text."""
    if not shown:
        return False
    plain = squash(fragment)
    if len(plain.split()) > 1:
        return f" {plain} " in _squashed(tuple(shown))
    return bool(re.search(r"\[\[|\\boxed|<\w", fragment)) and any(fragment.strip() in text for text in shown)


def _without(text: str, spans: Sequence[Span]) -> str:
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])
