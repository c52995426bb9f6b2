"""Passwords: argon2id with the parameters that argon2-cffi recommends (RFC 9106, low memory).

A hash takes 64 MiB and about a tenth of a second, so few are computed at a time.
"""

import threading
from functools import cache
from typing import TYPE_CHECKING

from core.errors import TiebreakError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 10, 1_000
"""Characters. A limit above keeps hashing of a request of megabytes out."""
_slots = threading.BoundedSemaphore(4)


def check(password: str) -> None:
    """Raise TiebreakError for a password that is too short, too long, or of one repeated character."""
    if len(password) < SHORTEST:
        raise TiebreakError(f"A password has at least {SHORTEST} characters.")
    if len(password) > LONGEST:
        raise TiebreakError(f"A password has at most {LONGEST:,} characters.")
    if len(set(password)) < 4:
        raise TiebreakError("A password has at least four different characters.")


def hash_password(password: str) -> str:
    """Return the hash of a password, with its salt and parameters."""
    check(password)
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
