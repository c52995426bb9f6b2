"""The language of a visitor: the one that a cookie has after a choice, otherwise the one that the browser prefers."""

from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import texts
from core.own_addresses import own_address

COOKIE = "tiebreak_language"
CHOICE = "/account/language"


def of_request(headers: Mapping[str, str], cookies: Mapping[str, str]) -> str:
    """Return the language of a request."""
    return texts.preferred(headers.get("accept-language", ""), cookies.get(COOKIE, ""))


def of_script_run() -> str:
    """Return the language of the visitor whose page Streamlit draws in this thread; English in other threads."""
    is_drawing = get_script_run_ctx(suppress_warning=True) is not None
    return of_request(st.context.headers, st.context.cookies) if is_drawing else texts.SOURCE


def links(following: str = "") -> str:
    """Return links to the other languages as HTML; each leads to a page of this server, by default the one it is on."""
    return " · ".join(
        f'<a href="{escape(own_address(CHOICE))}?{escape(urlencode({"language": code, "next": following}))}" '
        f'target="_self" lang="{code}">{name}</a>'
        for code, (name, _) in texts.LANGUAGES.items()
        if code != texts.language()
    )
