"""Sign-in at an OpenID Connect provider through Streamlit's own login, configured in .streamlit/secrets.toml.

Streamlit's routes (/auth/login, /oauth2callback) talk to the provider and put its verified claims into a signed cookie.
Here the cookie is exchanged for a session of Tiebreak, which the server can end.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from core.errors import TiebreakError
from core.own_addresses import own_address
from pages.parts import resources
from pages.parts.account_guard import OIDC_COOKIE
from storage.accounts import sign_in as stored_sign_in

FAILED = "The sign-in at the provider has failed; try again."


def links() -> list[tuple[str, str]]:
    """Return (label, address) of every provider that is configured."""
    from streamlit.auth_util import encode_provider_token

    login = own_address("/auth/login")
    return [
        ("Sign in with " + ("OpenID Connect" if name == "default" else name), f"{login}?provider={quote(token)}")
        for name, token in ((name, encode_provider_token(name)) for name in providers())
    ]


def providers() -> list[str]:
    """Return the names of the providers in the section "auth" of the secrets; "default" is the one without a name."""
    from streamlit.auth_util import get_secrets_auth_section

    section = get_secrets_auth_section()
    if not section or "redirect_uri" not in section or "cookie_secret" not in section:
        return []
    named = [name for name, value in section.items() if isinstance(value, Mapping) and "client_id" in value]
    return (["default"] if "client_id" in section else []) + named


def sign_in(request: Request, address: str) -> str:
    """Return the cookie of a new session for the claims that Streamlit stored; raises TiebreakError."""
    claims = read_claims(request)
    return stored_sign_in.sign_in_by_claims(
        resources.engine(), claims, address=address, browser=request.headers.get("user-agent", "")
    )


def read_claims(request: Request) -> dict[str, Any]:
    """Return the claims in Streamlit's cookie; raises TiebreakError unless Streamlit has signed it."""
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

    if not providers():  # without a secret of its own, Streamlit signs with a key that is not meant for this
        raise TiebreakError(FAILED)
    secret = get_cookie_secret()

    def decode(name: str) -> bytes | None:
        value = request.cookies.get(name)
        return None if value is None else decode_signed_value(secret, name, value)

    content = get_cookie_with_chunks(decode, OIDC_COOKIE)
    try:
        claims = json.loads(content or b"")
    except ValueError:
        raise TiebreakError(FAILED) from None
    if not isinstance(claims, dict) or not claims.get("is_logged_in"):
        raise TiebreakError(FAILED)
    return claims
