"""The language of a visitor: English, until a link has set a cookie with another one."""

from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import texts
from core.own_addresses import own_address

COOKIE = "tiebreak_language"
CHOICE = "/account/language"


def chosen(cookies: Mapping[str, str]) -> str:
    """Return the chosen language; English without a choice, and for one without a catalogue."""
    stated = cookies.get(COOKIE, "")
    return stated if stated in texts.LANGUAGES else texts.SOURCE


def of_script_run() -> str:
    """Return the language of the visitor whose page Streamlit draws in this thread; English in other threads."""
    is_drawing = get_script_run_ctx(suppress_warning=True) is not None
    return chosen(st.context.cookies) if is_drawing else texts.SOURCE


def links(following: str = "") -> str:
    """Return links to the other languages as HTML; each leads to a page of this server, by default the one it is on."""
    return " · ".join(
        f'<a href="{escape(own_address(CHOICE))}?{escape(urlencode({"language": code, "next": following}))}" '
        f'target="_self" lang="{code}">{name}</a>'
        for code, (name, _) in texts.LANGUAGES.items()
        if code != texts.language()
    )
