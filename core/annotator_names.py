"""The names of annotators as they are stored."""

import unicodedata

from core.errors import TiebreakError

MAX_NAME_LENGTH = 80


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
