"""The names of speakers of released debates that cannot be identified."""

import re

UNKNOWN_NAME = re.compile(r"speaker \d+")


def unknown_name(speaker: int) -> str:
    """Return the name of an unidentified speaker."""
    return f"speaker {speaker}"


def is_unknown(name: str) -> bool:
    """Return whether a name does not identify a speaker: the same number is another judge elsewhere."""
    return UNKNOWN_NAME.fullmatch(name) is not None
