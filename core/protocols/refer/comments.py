"""The comment of a review: its text without the rating or answer."""

import re
from typing import Any

from core.answers import WORDS, Answer, Rating
from core.answers.answer import spoken_text
from core.errors import UnreadableReply

_HEADING = re.compile(r"^\W*analysis\W*?:[\s*_]*", re.I)
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?][\"'”’)*_]*(?=\s)|(?=\n)|$)[^\S\n]*\n*", re.S)
_OUT_OF = re.compile(r"\d\s*(?:/|out\s+of|von|sur|de)\s*\d", re.I)


def comment_text(reply: str, answer: Answer[Any]) -> str:
    """Return the reply without the parts that state the answer, so no part of it can be read as one; may be empty.

    Of a rating, every sentence that speaks of a rating and has a number is left out too.
    """
    text = spoken_text(reply)
    while text:
        try:
            shorter = _without_span(text, answer.parse(text).span)
        except UnreadableReply:
            break
        if shorter == text:
            return ""
        text = shorter
    if isinstance(answer, Rating):
        text = "".join(sentence for sentence in _SENTENCE.findall(text) if not _mentions_rating(sentence, answer))
    return _HEADING.sub("", text.strip()).strip()


def _without_span(text: str, span: tuple[int, int]) -> str:
    """Return the text without the sentences that the span touches."""
    remaining, position = [], 0
    for sentence in _SENTENCE.findall(text):
        end = position + len(sentence)
        if end <= span[0] or position >= span[1]:
            remaining.append(sentence)
        position = end
    return "".join(remaining)


def _mentions_rating(sentence: str, answer: Rating) -> bool:
    if _OUT_OF.search(sentence):
        return True
    if any(character.isdigit() for character in sentence) and WORDS.find("rating", sentence):
        return True
    try:
        answer.parse(sentence)
    except UnreadableReply:
        return False
    return True
