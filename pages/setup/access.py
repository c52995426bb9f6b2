"""The members of a study and their roles, and invitations of new ones."""

from urllib.parse import urlsplit

import streamlit as st

from core.errors import TiebreakError
from core.own_addresses import own_address
from pages.parts import account_guard, permissions, resources, shell
from pages.parts.text import escape_markdown
from storage.accounts import access, registry, tokens
from storage.accounts.access import Permission, Role
from storage.db import connections
from storage.studies import annotators
from storage.studies.studies import Study

ROLES: dict[Role | None, str] = {
    Role.owner: "Owner: everything, also members, addresses and prices of models",
    Role.researcher: "Researcher: runs, results, exports, rules and adjudication",
    Role.adjudicator: "Adjudicator: labels, and decides cases",
    Role.annotator: "Annotator: labels",
    Role.viewer: "Viewer: traces and results",
    None: "No role: not a member",
}


def draw_page(study: Study) -> None:
    """Draw the members, the form that changes a role, and the form of an invitation."""
    if not resources.has_accounts():
        return shell.draw_first_account()
    members = resources.read(access.members, study.id)
    everybody = resources.read(registry.everybody)
    administrators = [account.name for account in everybody if account.administrator]
    if members:
        rows = [{"Name": name, "Role": role.value} for name, role in members.items()]
        st.dataframe(rows, hide_index=True, key="members", width=560)
    else:
        st.info("This study has no members yet.")
    st.caption(f"Administrators are owners of every study: {escape_markdown(', '.join(administrators))}.")
    left, right = st.columns(2, gap="large")
    with left:
        draw_role_form(study, [account.name for account in everybody if not account.disabled_at])
    with right:
        draw_invitation_form(study)


def draw_role_form(study: Study, names: list[str]) -> None:
    """Draw the form that gives an account a role, or removes it from the study."""
    st.subheader("Change a role", anchor=False)
    with st.form("role", border=False):
        name = st.selectbox("Account", names, index=None, key="member", filter_mode="contains")
        options = list(ROLES)
        chosen = options.index(Role.annotator)
        role = st.selectbox("Role", options, format_func=ROLES.__getitem__, index=chosen, key="role")
        if not st.form_submit_button("Save", type="primary"):
            return
    if name is None:
        raise TiebreakError("Choose an account.")
    permissions.write(study.id, Permission.manage, "", access.set_role, study.id, name, role)
    st.rerun()


def draw_invitation_form(study: Study) -> None:
    """Draw the form that creates an account with a role, and the link with which the person chooses a password."""
    st.subheader("Invite", anchor=False)
    with st.form("invitation", border=False):
        name = st.text_input("Name", key="invited", max_chars=annotators.MAX_NAME_LENGTH)
        options = list(Role)
        chosen = options.index(Role.annotator)
        role = st.selectbox("Role", options, format_func=ROLES.__getitem__, index=chosen, key="invited_role")
        clicked = st.form_submit_button("Create a link")
    if clicked:
        normal = annotators.normalize_name(name)
        st.session_state["invited_similar"] = resources.read(annotators.similar_names, normal)
    if similar := st.session_state.get("invited_similar"):
        others = ", ".join(f"“{escape_markdown(other)}”" for other in similar)
        st.warning(f"“{escape_markdown(name)}” is new, and looks like {others}. For the same person, enter that name.")
        clicked = st.button(f"Create an account of another person: “{escape_markdown(name)}”", key="another_person")
    if clicked:
        st.session_state.pop("invited_similar", None)
        token = permissions.write(study.id, Permission.manage, "", invite, study.id, name, role)
        parts = urlsplit(st.context.url or "http://127.0.0.1:8501")
        st.session_state["invitation_link"] = tokens.link(f"{parts.scheme}://{parts.netloc}{own_address('')}", token)
        st.rerun()
    if link := st.session_state.pop("invitation_link", None):
        st.success("Send this link to the person. It works once, within 7 days, and is not shown again.")
        st.code(link, language=None, wrap_lines=True)


def invite(session: connections.Session, study_id: int, name: str, role: Role) -> str:
    """Return the token of an invitation; raises TiebreakError for an account that exists, except by an administrator.

    The link replaces a password, so it would otherwise open the account's other studies to the owner of this one.
    """
    account = registry.find(session, name)
    if account is not None and not access.is_unrestricted(session, account_guard.current_actor()):
        raise TiebreakError(f"{account.name} has an account: give it a role. Administrators can send a new link.")
    account = account or registry.add(session, name)
    access.set_role(session, study_id, account.name, role)
    return tokens.invite(session, account)


draw_page(shell.draw_header("Access", "Who may do what in this study."))
