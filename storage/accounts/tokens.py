"""Random tokens, of which only hashes are stored, and the signature of the session's cookie."""

import hashlib
import hmac
import os
import secrets

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.database import insert_missing
from storage.tables import ServerSecretRow

SECRET_VARIABLE = "TIEBREAK_SECRET"
"""The key with which cookies are signed; without it a random key is stored in the database."""
SHORTEST_SECRET = 32
TOKEN_BYTES = 32
PURPOSE = "cookies"


def new_token() -> str:
    """Return a random token: 256 bits in 43 characters, safe in URLs and cookies."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    """Return what is stored of a token. A token is random, so its hash needs neither a salt nor work."""
    return hashlib.sha256(token.encode()).hexdigest()


def sign(token: str, secret: str) -> str:
    """Return a token with its signature, as it is in the cookie."""
    return f"{token}.{_signature(token, secret)}"


def verify(signed: str, secret: str) -> str | None:
    """Return the token of a cookie; None unless the signature is of this secret."""
    token, _, signature = signed.partition(".")
    return token if hmac.compare_digest(signature.encode(), _signature(token, secret).encode()) else None


def find_secret(session: Session) -> str | None:
    """Return the server's secret; None if the database has none yet.

    Raises TiebreakError for a secret in the environment that is too short.
    """
    given = os.environ.get(SECRET_VARIABLE)
    if given:
        if len(given) < SHORTEST_SECRET:
            raise TiebreakError(f"{SECRET_VARIABLE} should have at least {SHORTEST_SECRET} characters.")
        return given
    query = select(col(ServerSecretRow.value)).where(col(ServerSecretRow.purpose) == PURPOSE)
    return session.scalar(query)


def get_or_create_secret(session: Session) -> str:
    """Return the server's secret, which is created at the first sign-in."""
    found = find_secret(session)
    if found is None:
        row = {"purpose": PURPOSE, "value": secrets.token_urlsafe(TOKEN_BYTES)}
        insert_missing(session, ServerSecretRow, [row])
        found = find_secret(session)
    assert found is not None, "it was inserted above"
    return found


def _signature(token: str, secret: str) -> str:
    return hmac.new(secret.encode(), f"tiebreak session {token}".encode(), hashlib.sha256).hexdigest()
