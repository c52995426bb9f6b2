"""The names of annotators as they are stored, and characters of a name that nobody sees."""

import re
import unicodedata
from functools import lru_cache

from core.errors import TiebreakError

MAX_NAME_LENGTH = 80
# Cyrillic and Greek letters that look like Latin ones.
LATIN = str.maketrans(
    "авекмнорстухіјѕԁһԛԝαβεικνορτυχ",
    "abekmhopctyxijsdhqwabeikvoptux",
)
# Characters without a shape that `str.isprintable` counts as printable: fillers and variation selectors.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@lru_cache(maxsize=4096)  # a large file has few names, and each of them many times
def normalize_name(text: str) -> str:
    """Return a name as it is stored: one line, no whitespace around it, composed characters (NFC).

    The two Unicode forms of "é" are one name. Raises TiebreakError for an invalid name.
    """
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not name:
        raise TiebreakError("Please enter a name.")
    if len(name) > MAX_NAME_LENGTH:
        raise TiebreakError(f"A name has at most {MAX_NAME_LENGTH} characters.")
    if not name.isprintable():
        raise TiebreakError("A name has printable characters only.")
    return name


def name_key(name: str) -> str:
    """Return a key that names share which differ in case only: they are one annotator."""
    return unicodedata.normalize("NFC", normalize_name(name).casefold())


def invisible_character(name: str) -> str:
    """Return the first control, direction or invisible character of a name as "U+200B"; an empty text for none."""
    found = next((c for c in name if not c.isprintable() or INVISIBLE.match(c)), "")
    return f"U+{ord(found):04X}" if found else ""


def similarity_key(name: str) -> str:
    """Return a key that names which look alike share: without case, accents, spaces and punctuation.

    Full-width, Cyrillic and Greek letters count as the Latin ones that they resemble.
    """
    folded = unicodedata.normalize("NFKD", name).casefold().translate(LATIN)
    key = "".join(c for c in unicodedata.normalize("NFKD", folded) if unicodedata.category(c)[0] in "LN")
    return key or name


# The names of judges of released debates that cannot be identified: the same number is another judge elsewhere.

UNKNOWN_NAME = re.compile(r"speaker \d+")


def unknown_name(speaker: int) -> str:
    """Return the name of an unidentified speaker."""
    return f"speaker {speaker}"


def is_unknown(name: str) -> bool:
    """Return whether a name does not identify a speaker."""
    return UNKNOWN_NAME.fullmatch(name) is not None
