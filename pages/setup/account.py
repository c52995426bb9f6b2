"""The visitor's own account: password, sessions and API tokens."""

from datetime import datetime, timedelta

import streamlit as st

from core.errors import TiebreakError
from core.texts import _
from pages.parts import account_guard, languages, resources, shell
from pages.parts.text import escape_markdown
from storage.accounts import logins, registry, sign_in, tokens
from storage.db import audit, connections

DEFAULT_DAYS = 90


def draw_page(identity: registry.Identity) -> None:
    """Draw the sections of the account."""
    st.title(_("Account"), anchor=False)
    st.html(languages.links())
    if identity.actor is None or identity.actor.account_id is None:
        return shell.draw_first_account()
    account = resources.read(registry.by_id, identity.actor.account_id)
    kind = _("administrator") if account.administrator else _("account")
    st.caption(f"{escape_markdown(account.name)} · {kind}")
    passwords, sessions, tokens = st.tabs([_("Password"), _("Sessions"), _("API tokens")])
    with passwords:
        draw_password(account)
    with sessions:
        draw_sessions(account, identity.login_id)
    with tokens:
        draw_tokens(account)


def draw_password(account: registry.Account) -> None:
    """Draw the form that changes the password."""
    if not account.has_password:
        st.caption(_("You sign in at an OpenID Connect provider; this account has no password."))
        return
    st.caption(_("A new password ends all sessions and API tokens of the account."))
    with st.form("password", border=False, clear_on_submit=True):
        current = st.text_input(_("Current password"), type="password", key="current", autocomplete="current-password")
        new = st.text_input(_("New password"), type="password", key="new", autocomplete="new-password")
        again = st.text_input(_("The same again"), type="password", key="again", autocomplete="new-password")
        if not st.form_submit_button(_("Change password"), type="primary"):
            return
    if new != again:
        raise TiebreakError(_("The two passwords differ."))
    with audit.acting(account.name):
        sign_in.change_password(resources.engine(), account.name, current, new)
    st.rerun()  # all sessions of the account have ended


def draw_sessions(account: registry.Account, own: int | None) -> None:
    """Draw the open sessions, each with a button that ends it."""
    for login, _name in resources.read(logins.active, account):
        with st.container(horizontal=True, vertical_alignment="center", key=f"login-{login.id}"):
            here = " · " + _("this one") if login.id == own else ""
            times = {"signed_in": _time(login.created_at), "used": _time(login.used_at)}
            used = _("signed in {signed_in} · used {used}", **times) + f" · {login.address}{here}"
            browser = login.browser or _("unknown browser")
            st.markdown(f"{escape_markdown(browser)}  \n:small[{escape_markdown(used)}]")
            if st.button(_("End"), key=f"end_{login.id}"):
                with audit.acting(account.name), connections.writing(resources.engine()) as session:
                    logins.revoke(session, login.id, account.id)
                st.rerun()


def draw_tokens(account: registry.Account) -> None:
    """Draw the API tokens, and the form of a new one."""
    for token in resources.read(tokens.active, account):
        with st.container(horizontal=True, vertical_alignment="center", key=f"token-{token.id}"):
            used = _("used {time}", time=_time(token.used_at)) if token.used_at else _("never used")
            expires = _("expires {time}", time=_time(token.expires_at)) if token.expires_at else _("does not expire")
            st.markdown(f"**{escape_markdown(token.name)}**  \n:small[{used} · {expires}]")
            if st.button(_("Revoke"), key=f"revoke_{token.id}"):
                with audit.acting(account.name), connections.writing(resources.engine()) as session:
                    tokens.revoke(session, account, token.name)
                st.rerun()
    with (
        st.form("token", border=False, clear_on_submit=True),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        name = st.text_input(_("Name of a new token"), key="token_name", max_chars=tokens.LONGEST_NAME, width=280)
        days = st.number_input(_("Days"), 1, 3650, DEFAULT_DAYS, key="token_days", width=120)
        clicked = st.form_submit_button(_("Create a token"))
    if clicked:
        with audit.acting(account.name), connections.writing(resources.engine()) as session:
            text = tokens.create_token(session, account, name, timedelta(days=days))
        st.session_state["new_token"] = text
        st.rerun()
    if text := st.session_state.pop("new_token", None):
        st.success(_("Copy the token now: it is not shown again."))
        st.code(text, language=None, wrap_lines=True)


def _time(at: datetime) -> str:
    return f"{at.astimezone(shell.time_zone()):%Y-%m-%d %H:%M}"


draw_page(account_guard.current_identity())
