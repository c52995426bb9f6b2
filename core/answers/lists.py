"""The items of a list in a reply, without numbers, markup, announcements and courtesies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from core.answers.finals import is_confidence
from core.answers.text import LONGEST, Text, without_markup
from core.answers.words import Words
from core.errors import UnreadableReply

ITEMS = 300
"""Maximum number of items: a longer list is degenerate output."""
Kind = Literal["numbered", "bulleted", "heading", "cell", "plain"]

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_RULE = re.compile(r"^[\s\-=*_|:+.#`~…]*$")
_NUMBERED = re.compile(
    r"^[\s>]*[#*_\"'`]*\s*(?:\[\d{1,3}\]|\(?\d{1,3}\\?(?:[.)\]:、]|,(?=\S))(?!\d)|[一二三四五六七八九十]{1,2}[,、.]|\(?[a-zA-Z][.)](?=\s)|[IVXivx]{1,5}[.)](?=\s))\s*(?=\S)"
)
_BULLETED = re.compile(r"^[\s>]*[-*+•·●▪◦–—・→➤▶✓✔✅][ \t]*(?:\[[ xX]?\][ \t]*)?(?<=[\s・•\]→])(?=\S)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+\S.*|\*\*[^*\n]{1,120}\*\*:?|__[^_\n]{1,120}__:?)\s*$")
_CELLS = re.compile(r"^\s*\|(.+?)\|?\s*$")


@dataclass(frozen=True)
class Item:
    """One line of a list, with its markup and its position in the reply's last part."""

    text: str
    kind: Kind
    indent: int
    start: int
    end: int
    cells: tuple[str, ...] = ()


def items(text: Text, noun: str) -> list[Item]:
    """Return the lines of a reply that may be items; `noun` is their name ("claim")."""
    lines: list[Item] = []
    start = 0
    for raw, clean in zip(text.raw.split("\n"), _clean_lines(text), strict=True):
        if clean.strip() and not _FENCE.match(clean) and not _RULE.match(clean):
            lines.append(_item(text.words, raw[:LONGEST], clean[:LONGEST], start, noun))
        elif (
            lines
            and lines[-1].kind == "cell"
            and "-" in clean
            and "|" in clean
            and len(lines) < 2 + sum(i.kind == "cell" for i in lines[-2:])
        ):
            lines.pop()  # the header above the rule of a table
        start += len(raw) + 1
        if len(lines) > ITEMS:
            raise UnreadableReply(f"it lists more than {ITEMS} lines")
    return lines


def without_frame(text: Text, lines: list[Item]) -> list[Item]:
    """Return the items without an introduction, and without the courtesies, notes and confidence lines after them."""
    remaining = list(lines)
    while remaining and _closes(text, remaining, lines):
        remaining.pop()
    titles = sum(item.kind == "heading" for item in remaining) > 1 and not marked(remaining)
    while remaining and _announces(text, remaining[0], len(remaining), titles):
        remaining.pop(0)
    return remaining


def marked(lines: list[Item]) -> list[Item]:
    """Return the numbered items, otherwise the bulleted ones, otherwise the rows of a table, if there are any."""
    for kind in ("numbered", "bulleted", "cell"):
        if any(item.kind == kind for item in lines):
            return [item for item in lines if item.kind == kind]
    return []


def plain(text: str) -> str:
    """Return an item without markup, and without quotes around all of it."""
    bare = (
        without_markup(text).strip().rstrip(",").strip()
        if re.fullmatch(r"\s*[\"'“‘].*[\"'”’],?\s*", text)
        else without_markup(text)
    )
    match = re.fullmatch(r"\"([^\"]*)\"|'([^']*)'|“([^”]*)”|‘([^’]*)’", bare)
    return next((group for group in match.groups() if group is not None), "").strip() if match else bare.strip()


def declines(text: Text, lines: list[Item]) -> bool:
    """Return whether the reply begins with a refusal, and marks no item."""
    first = next((unit.text for unit in text.units), "")
    match = text.words.find("refusal", first[:120])
    return match is not None and not marked(lines)


def joined(lines: list[Item]) -> Iterator[Item]:
    """Yield the marked items, each with the indented lines that continue it."""
    current: Item | None = None
    for item in lines:
        if item.kind != "plain":
            if current:
                yield current
            current = item
        elif current and item.indent > current.indent and current.kind != "cell":
            current = replace(current, text=f"{current.text.rstrip()} {item.text.strip()}", end=item.end)
    if current:
        yield current


def _clean_lines(text: Text) -> list[str]:
    """Return the plain lines, cut where the reply's own lines are."""
    lines, start = [], 0
    for raw in text.raw.split("\n"):
        lines.append(text.clean[start : start + len(raw)])
        start += len(raw) + 1
    return lines


def _item(words: Words, raw: str, clean: str, start: int, noun: str) -> Item:
    indent = len(clean) - len(clean.lstrip())
    place = start + indent
    if row := _CELLS.match(clean):
        cells = tuple(cell.strip() for cell in raw.strip().strip("|").split("|"))
        if len(cells) > 1 or clean.strip().endswith("|"):
            return Item(row[1], "cell", indent, place, start + len(clean), cells)
    match = _called(words, noun).match(clean) or _NUMBERED.match(clean)
    if match:
        opened = re.search(r"[*_]{2}", match[0])
        body = raw[match.end() :]
        body = f"{opened[0]}{body}" if opened and opened[0] in body and body.count(opened[0]) % 2 else body
        return Item(body, "numbered", indent, place, start + len(clean))
    if match := _BULLETED.match(clean):
        body = raw[match.end() :]
        if inner := _called(words, noun).match(clean[match.end() :]):
            body = body[inner.end() :]
        return Item(body, "bulleted", indent, place, start + len(clean))
    kind: Kind = "heading" if _HEADING.match(clean) else "plain"
    return Item(raw.strip(), kind, indent, place, start + len(clean))


@lru_cache(maxsize=64)
def _called(words: Words, noun: str) -> re.Pattern[str]:
    """Read `**Claim 3:**`, `AIU 3.`"""
    nouns = words.any("claim") if noun == "claim" else rf"(?<!\w){re.escape(noun)}(?!\w)"
    return re.compile(rf"^[\s>#*_\"'-]*(?:{nouns}|#)\s*#?\d{{1,3}}\s*[*_]*\s*[:.)\-–][*_]*\s*(?=\S)", re.I)


def _closes(text: Text, remaining: list[Item], lines: list[Item]) -> bool:
    """Return whether the last line is a courtesy, a note or the like; between plain lines, only after a blank one."""
    item, before = remaining[-1], remaining[-2] if len(remaining) > 1 else None
    if item.kind in ("numbered", "bulleted", "cell"):
        return False
    line = plain(item.text)
    if text.words.starts("courtesy", line) or text.words.starts("total", line):
        apart = before is None or text.raw[before.end : item.start].count("\n") > 1
        return apart or bool(marked(lines))
    aside = before is not None and line.startswith("(") and line.endswith(")")
    return is_confidence(text, line) or aside or not re.search(r"\w", line)


def _announces(text: Text, item: Item, left: int, titles: bool) -> bool:
    """Return whether a line introduces the list: `Sure! Here are the claims:`, `**Claims**`."""
    if item.kind in ("numbered", "bulleted", "cell"):
        return False
    line = plain(item.text)
    if line.endswith((":", "：")) and not (titles and item.kind == "heading"):
        return True
    if item.kind == "heading" and item.text.lstrip().startswith("#"):
        return not titles
    start = text.words.starts("preamble", line)
    rest = line[start.end() :].split() if start else []
    return (
        start is not None
        and left > 1
        and (
            (len(rest) < 3 and len(line.split()) < 4)
            or bool(text.words.find("preamble", line[start.end() :]))
            or line.endswith("!")
        )
    )
