"""Who looks at a page: by the session's cookie, or by the name in a cookie on a server without accounts."""

import re
from urllib.parse import unquote

import streamlit as st

from core.errors import TiebreakError
from pages.parts import resources
from pages.parts.account_guard import SESSION_COOKIE
from pages.parts.request_guard import VISITOR_COOKIE, new_visitor
from storage import annotators, database, operations
from storage.accounts import logins
from storage.accounts.identity import Actor, Identity

COOKIE = "tiebreak_annotator"


def current_identity() -> Identity:
    """Return whom the session's cookie names, as the database had it when this run of the page asked first."""
    return operations.once("identity", _read_identity)


def _read_identity() -> Identity:
    cookie = st.context.cookies.get(SESSION_COOKIE, "")
    with database.reading(resources.engine()) as session:
        return logins.identify(session, cookie if isinstance(cookie, str) else "")


def current_actor() -> Actor:
    """Return who acts; the name is empty if nobody is signed in."""
    identity = current_identity()
    return identity.actor or Actor("" if identity.accounts else _named_annotator() or "")


def current_annotator() -> str | None:
    """Return the name of the annotator who is signed in; None if nobody is, or if the cookie has no valid name."""
    return current_actor().name or None


def current_visitor() -> str:
    """Return a token of this browser, otherwise of this session, for views before signing in."""
    token = st.context.cookies.get(VISITOR_COOKIE)
    if isinstance(token, str) and re.fullmatch(r"[\w-]{16,64}", token):
        return token
    return str(st.session_state.setdefault("visitor", new_visitor()))


def _named_annotator() -> str | None:
    name = st.session_state.get("annotator")
    if name is None:
        name = st.context.cookies.get(COOKIE, "")
    if not isinstance(name, str) or not name:
        return None
    try:
        return annotators.normalize_name(unquote(name))
    except TiebreakError:
        return None
