"""Passwords: argon2id with the parameters that argon2-cffi recommends (RFC 9106, low memory).

A hash takes 64 MiB and about a tenth of a second, so few are computed at a time.
"""

import re
import threading
from functools import cache
from typing import TYPE_CHECKING

from core.errors import TiebreakError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 10, 1_000
"""Characters. A limit above keeps hashing of a request of megabytes out."""
LEAST_UNPREDICTABLE = 8
"""Characters that remain if each predictable part counts as one."""
_WORDS = """
password passwort passphrase passcode passw pass welcome letmein login admin administrator root user guest master
secret iloveyou love princess prince sunshine monkey dragon football baseball basketball soccer hockey superman batman
spiderman shadow michael jennifer jessica charlie jordan killer trustno starwars computer internet google facebook
youtube freedom whatever cheese summer winter spring autumn january february march april june july august september
october november december monday tuesday wednesday thursday friday saturday sunday hello test testing default change
changeme chelsea liverpool arsenal barcelona flower butterfly angel lovely mustang corvette ferrari mercedes yamaha
harley pokemon naruto samsung iphone nothing forever family friend friends jesus heaven blessed happy purple orange
yellow tiebreak label labels annotator judge judges study research university global telecom telekom tianya pakistan
india world
"""
WORDS = frozenset(_WORDS.split())
"""Words that the most frequent passwords consist of, and those of this product."""
ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "qwertzuiop",
    "azertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "yxcvbnm",
    "!@#$%^&*()",
    "qazwsxedcrfvtgbyhnujm",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
)
"""Sequences of the alphabet, of digits and of keyboards; three characters in a row, or backwards, are predictable."""
LONGEST_PART = max(map(len, ROWS))
LETTERS = str.maketrans("013457@$!", "oleastasi")
"""Characters that replace letters."""
_slots = threading.BoundedSemaphore(4)


def check(password: str) -> None:
    """Raise TiebreakError for a password that is too short, too long or predictable."""
    if len(password) < SHORTEST:
        raise TiebreakError(f"A password has at least {SHORTEST} characters.")
    if len(password) > LONGEST:
        raise TiebreakError(f"A password has at most {LONGEST:,} characters.")
    if _unpredictable_length(password) < LEAST_UNPREDICTABLE:
        raise TiebreakError(
            f"This password is easy to guess: besides common words, years, sequences and repetitions it has fewer than "
            f"{LEAST_UNPREDICTABLE} characters."
        )


def _unpredictable_length(password: str) -> int:
    """Return the number of characters, where a common word, a year, a sequence or a repetition counts as one."""
    lower = password.lower()
    once = re.sub(r"(.+?)\1+", r"\1", lower)  # "abcabcabc" is "abc"
    return min(_shortest(lower), _shortest(once))


def _shortest(text: str) -> int:
    """Return the smallest number of characters and predictable parts that make up a text."""
    plain = text.translate(LETTERS)
    lengths = [0]
    for end in range(1, len(text) + 1):
        words = (
            start
            for start in range(max(0, end - LONGEST_PART), end)
            if _is_predictable(text[start:end]) or plain[start:end] in WORDS
        )
        lengths.append(min([lengths[-1], *(lengths[start] for start in words)]) + 1)
    return lengths[-1]


def _is_predictable(part: str) -> bool:
    """Return whether a part is a year or three or more characters of a sequence or of the same one."""
    if len(part) < 3:
        return False
    if re.fullmatch(r"(19|20)\d\d", part) or part == part[0] * len(part):
        return True
    return any(part in row or part[::-1] in row for row in ROWS)


def hash_password(password: str) -> str:
    """Return the hash of a new password, with its salt and parameters."""
    check(password)
    return hash_again(password)


def hash_again(password: str) -> str:
    """Return the hash of a password that is stored already; one of an earlier version may be predictable."""
    with _slots:
        return _hasher().hash(password)


def verify(stored: str | None, password: str) -> bool:
    """Return whether a password has the stored hash; without one, the same work is done and the result is False."""
    from argon2.exceptions import InvalidHashError, VerificationError

    with _slots:
        try:
            matches = _hasher().verify(stored or _unused_hash(), password[:LONGEST])
        except (VerificationError, InvalidHashError):
            return False
    return matches and stored is not None and len(password) <= LONGEST


def is_outdated(stored: str) -> bool:
    """Return whether a hash has other parameters than new ones."""
    return _hasher().check_needs_rehash(stored)


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _unused_hash() -> str:
    """Return a hash to compare with if there is no account, so that the time reveals no name."""
    return _hasher().hash("no account has this password")
