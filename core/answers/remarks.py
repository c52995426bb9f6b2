"""Lines of a reply to a request for a list that are no items: reasons, framing, errors of a provider, cut JSON."""

import re

from core.answers.lists import Item, marked, plain
from core.answers.text import Text

_ABOUT = (
    r"(?:reason(?:ing|s)?|explanation|rationale|why|evidence|source|justification|support(?:ing text)?|"
    r"basis|quote|quotation|"
    r"comment|remark|note|begründung|grund|erklärung|quelle|beleg|raison|explication|justification|razón|explicación|"
    r"justificación|motivo|razão|explicação|justificativa|ragione|motivazione|spiegazione|理由|原因|解释|依据|説明|根拠|이유|설명|"
    r"причина|обоснование|объяснение)"
)
_REASON = re.compile(rf"\W*(?P<label>{_ABOUT})(?:\W{{0,3}}[:：]|\s[-–—]\s)", re.I)
_ASIDE = re.compile(rf"\s*[(\[]\s*{_ABOUT}\s*[:：][^()\[\]]*[)\]]\s*[.。]?\s*$", re.I)
_LISTED = (
    r"(?:claims?|statements?|aius?|units?|aussagen?|behauptungen|affirmations?|afirmaciones|afirmações|affermazioni)"
)
_FRAME = re.compile(
    rf"\W*(?:(?:okay|ok|sure|certainly|of course|alright|well)[,.!]?\s+)?(?:"
    rf"(?:here|below|these|those|the following|following)(?:'s|\s+(?:is|are|"
    rf"were))\b[^\n]{{0,60}}?\b{_LISTED}\b|here is what\b|"
    rf"(?:the )?following (?:\w+ )?{_LISTED}\b[^\n]{{0,40}}\b(?:can|could|found|extracted|identified|listed|"
    rf"made|follow)\b|"
    rf"there (?:is|are) (?:\w+ )?{_LISTED}(?: in (?:the|this) critique)?\W*$|"
    rf"(?:a )?list of (?:all )?(?:the )?{_LISTED}\b|"
    rf"(?:the )?extracted {_LISTED}\W*$|all (?:the )?{_LISTED}\b[^\n]{{0,40}}\b(?:listed|extracted|covered|"
    rf"above|included)\W*$|"
    rf"(?:in )?total\b[^\n]{{0,20}}(?:\d|\b{_LISTED})\W*$|that makes \w+ {_LISTED}\b|\d+ {_LISTED}(?: in total)?\W*$|"
    rf"(?:the )?(?:only|single) {_LISTED}\b[^\n]{{0,40}}(?:following\W*|:\s*)$|{_LISTED}\s*[:：]?\s*\d*\W*$|"
    rf"(?:the|this|die|diese|la|esta|cette|il|a) (?:critique|comment|kritik|critica|crítica)\b[^\n]{{0,30}}"
    rf"\b(?:makes?|contains?|has|includes?|states?|consists? of|enthält|macht|contient|contiene|"
    rf"contém)\b[^\n]{{0,30}}\b{_LISTED}\W*$|"
    rf"(?:hier sind|die folgenden|voici|estas? son|estos son|aqui estão|ecco)\b[^\n]{{0,40}}\b{_LISTED}\b|"
    rf"(?:i|we)(?:'ve| have)?\s+(?:found|split|extracted|identified|listed|see|counted|divided)\b|let me\b|let's\b|"
    rf"(?:from|based on|in) (?:the|this) (?:critique|comment)\b[^\n]{{0,60}}\b(?:claims?|following|"
    rf"extract\w*|found)\b|"
    rf"{_LISTED}\s+(?:extracted |found |made )?(?:from|in|of|by) (?:the|this) (?:critique|comment)\W*$)",
    re.I,
)
"""A line that introduces or closes a list: `The critique makes two claims.`, `Total: 2 claims`."""
_ERROR = re.compile(
    r"\W*(?:(?:fatal |unexpected |internal |server |api |http |model |runtime )?error\b(?!s?\s+(?:of|in|bars?))|"
    r"\d{3}[:\s-]+(?:[A-Z]\w+|error)|internal server error|service (?:temporarily )?unavailable|"
    r"bad (?:gateway|request)|"
    r"gateway time-?out|too many requests|(?:the )?request (?:timed out|timeout|failed)|time-?out\b|upstream\b|"
    r"rate[- ]?limit|traceback\b|an? (?:\w+ )?error (?:has )?occurred(?:\W*$| while| when| during|:)|"
    r"something went wrong|"
    r"connection (?:reset|refused|error|aborted|closed)|(?:your |the |invalid )?api key|invalid (?:request|"
    r"api|model)|"
    r"no response (?:from|was)|(?:empty|null) response|\d{3} (?:bad|gateway)|<!?(?:html|doctype)|"
    r"this model's maximum|(?:maximum )?context length|(?:\w+\.)*\w*(?:Error|Exception)\b\s*[:(]|"
    r"the (?:server|model|service|request|engine) (?:is|was|had|has|could|did|cannot)\s+(?:currently |not |"
    r"an? )?(?:overloaded|"
    r"loading|unavailable|busy|blocked|complete|completed|be completed|be processed|error|internal|not found|failed)|"
    r"your (?:request|prompt|account) (?:was|has|is|could)|(?:you )?exceeded your|quota\b|"
    r"insufficient (?:quota|credits)|"
    r"not (?:found|authenticated|authorized)\W*$|unauthorized\b|forbidden\W*$|model not found)",
    re.I,
)
_SERVER = re.compile(
    r"\bhttp(?:/\d\S*)?\s+\d{3}\b|\bstatus code\b|\binternal (?:server )?error\b|"
    r"\breturned (?:an? )?error\b|\brate[- ]limit|"
    r"\btoken (?:rate )?limit\b|\btoo many requests\b|\b(?:try|retry) (?:again|later|in)\b|"
    r"\bcontact support\b|\brequest id\b|"
    r"\bdo(?:es)? not exist or\b|\bhave access to (?:it|this model)\b|\bcontext (?:length|window) (?:is )?exceeded\b",
    re.I,
)
_OPENED = re.compile(r"^[ \t]*(?:```\w*[ \t]*\n\s*)?(?:\{\s*(?:[\"'][\w -]{1,40}[\"']\s*:|$)|\[\s*(?:[\"'{]|$))", re.M)


def is_error(lines: list[Item]) -> bool:
    """Return whether a reply is the message of a provider or a server instead of a list."""
    if not 0 < len(lines) <= 4 or marked(lines):
        return False
    first = plain(lines[0].text)
    return _ERROR.match(first) is not None or (len(lines) == 1 and _SERVER.search(first) is not None)


def is_cut(text: Text) -> bool:
    """Return whether a reply ends within JSON that is no document."""
    opened = _OPENED.search(text.raw)
    return opened is not None and not any(document.end > opened.start() for document in text.documents)


def without_remarks(lines: list[Item]) -> list[Item]:
    """Return the lines without reasons below items, and without a frame around lines that are no marked list."""
    kept: list[Item] = []
    labels = [match["label"].lower() if (match := _REASON.match(plain(item.text))) else "" for item in lines]
    for place, (item, label) in enumerate(zip(lines, labels, strict=True)):
        is_marked = item.kind in ("numbered", "cell")
        repeated = item.kind != "bulleted" or labels.count(label) > 1 or item.indent > lines[place - 1].indent
        if not (label and kept and repeated and not is_marked):
            kept.append(item)
    if marked(kept):
        return kept
    while len(kept) > 1 and _FRAME.match(plain(kept[0].text)):
        kept.pop(0)
    while len(kept) > 1 and _FRAME.match(plain(kept[-1].text)):
        kept.pop()
    return kept


def without_reason(claim: str) -> str:
    """Return a claim without the reason in brackets at its end."""
    return _ASIDE.sub("", claim)
