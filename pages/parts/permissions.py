"""What the visitor of a page may do: the checks of `storage.accounts.access` with the actor of the page.

The permission of each page is declared in `pages.parts.sections`. A page checks it for its study with `require_page`,
and each change in the transaction that stores it with `writing`.
"""

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import streamlit as st

from core.texts import _
from pages.parts import account_guard, resources
from storage.accounts import access
from storage.db import audit, connections, guards
from storage.transfer import deletions

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")
# The name of the page's permission in the state of the session.
PAGE_KEY = "page_permission"
# The name of the id of the page's study in the state of the session; the state has none on a page without a study.
STUDY_KEY = "page_study"


def enter_page(permission: access.Permission | None) -> None:
    """Declare the permission of the page that is drawn; None if it has no study.

    Raises Forbidden if the visitor has it in no study at all.
    """
    st.session_state[PAGE_KEY] = permission
    st.session_state.pop(STUDY_KEY, None)
    if permission in (None, access.Permission.open):
        return
    found = permissions_anywhere()
    if permission not in found and not (permission is access.Permission.view and access.Permission.label in found):
        raise access.Forbidden(_("You have no role in a study that allows this page."))


def require_page(study_id: int, permission: access.Permission | None = None) -> None:
    """Raise Forbidden unless the visitor has the page's permission, or the one of this view of the page, in a study."""
    needed = permission or st.session_state.get(PAGE_KEY)
    assert isinstance(needed, access.Permission), "every page has a permission in pages.parts.sections"
    require(study_id, needed)
    st.session_state[PAGE_KEY], st.session_state[STUDY_KEY] = needed, study_id


def require(study_id: int, permission: access.Permission) -> None:
    """Raise Forbidden unless the visitor has the permission in a study."""
    resources.read(access.require, study_id, account_guard.current_actor(), permission)


def permit(study_id: int, permission: access.Permission) -> bool:
    """Return whether the visitor has the permission in a study; reads that need it are then permitted."""
    allowed = allows(study_id, permission)
    if allowed:
        require(study_id, permission)
    return allowed


def fragment(*, run_every: float | None = None) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Return `st.fragment` for a function that reads a study: the page's permission is checked each time it runs.

    A fragment runs without its page, also after the visitor has lost the role. It is drawn in a container of its own:
    if it runs before the messages of the page are sent, Streamlit sends those of the fragment with this run only. A
    browser then removes the fragment at the end of the page's run, and draws it again in the place where it was: what
    follows it in the same container would have moved there, and be overwritten.
    """

    def decorate(draw: Callable[[], None]) -> Callable[[], None]:
        @wraps(draw)
        def draw_checked() -> None:
            if guards.in_reading_operation():  # the page is drawn
                return draw()
            study_id, needed = st.session_state.get(STUDY_KEY), st.session_state.get(PAGE_KEY)
            with guards.reading_operation():
                if study_id is not None and needed is not None:
                    require(study_id, needed)
                draw()

        def draw_in_container() -> None:
            with st.container():
                st.fragment(draw_checked, run_every=run_every)()

        return draw_in_container

    return decorate


def rerun_when(is_due: Callable[[], bool], seconds: float = 1.0) -> None:
    """Run the page again when something is due; a fragment looks for it every so many seconds."""

    @fragment(run_every=seconds)
    def watch() -> None:
        if is_due():
            st.rerun()

    watch()


def allows(study_id: int, permission: access.Permission) -> bool:
    """Return whether the visitor has the permission in a study."""
    return resources.read(access.allows, study_id, account_guard.current_actor(), permission)


def allowed(study_id: int, wanted: Set[access.Permission]) -> Set[access.Permission]:
    """Return those of the permissions that the visitor has in a study."""
    return resources.read(access.allowed, study_id, account_guard.current_actor(), wanted)


def is_administrator() -> bool:
    """Return whether the visitor may manage accounts and create studies."""
    return resources.read(access.is_unrestricted, account_guard.current_actor())


def require_administrator() -> None:
    """Raise Forbidden unless the visitor may manage accounts and create studies."""
    resources.read(access.require_administrator, account_guard.current_actor())


def study_names(permission: access.Permission = access.Permission.open) -> list[str]:
    """Return the names of the studies in which the visitor has a permission by role, newest first."""
    return resources.read(access.study_names, account_guard.current_actor(), permission)


def deleted_studies() -> list[deletions.Deleted]:
    """Return the deleted studies that the visitor may restore, the newest deletion first."""
    deleted = resources.read(deletions.deleted_studies)
    return [one for one in deleted if allows(one.id, access.Permission.manage)]


def permissions_anywhere() -> frozenset[access.Permission]:
    """Return the permissions that the visitor has in any study."""
    return resources.read(access.permissions_anywhere, account_guard.current_actor())


def allows_anywhere(permission: access.Permission) -> bool:
    """Return whether the visitor has a permission in any study."""
    return permission in permissions_anywhere()


def may_ask_models() -> bool:
    """Return whether the visitor may ask a model about a file that is in no study."""
    return is_administrator() or allows_anywhere(access.Permission.run)


def record_request(model: str, change: str) -> None:
    """Record that a model is asked about a file that is in no study; raises Forbidden."""
    if not may_ask_models():
        raise access.Forbidden("Only those who may start runs may ask models.")
    with audit.acting(account_guard.current_actor().name), connections.writing(resources.engine()) as session:
        audit.record(session, audit.Action.run, change=change, models=[model])


def export_check(permission: access.Permission | None = None) -> Callable[[str], None]:
    """Return a function that raises Forbidden unless the visitor may have a file of the page, and records its export.

    The permission is that of the page unless another one is given; on a page without a study nothing is checked. The
    function is called when the file is requested: that is a request of its own, without the page's session. A file
    without a kind, such as an image, is not recorded.
    """
    actor, study_id = account_guard.current_actor(), st.session_state.get(STUDY_KEY)
    needed = permission or st.session_state.get(PAGE_KEY)
    assert permission is None or study_id is not None, "a file that needs a permission is offered on a page of a study"

    def check(kind: str) -> None:
        if study_id is None or needed is None:
            return
        if not kind:
            return resources.read(access.require, study_id, actor, needed)
        with audit.acting(actor.name), connections.writing(resources.engine()) as session:
            access.require(session, study_id, actor, needed)
            audit.record(session, audit.Action.export, study_id=study_id, file=kind)

    return check


@contextmanager
def writing(study_id: int, permission: access.Permission, change: str) -> Iterator[connections.Session]:
    """Open a session that changes a study, as `storage.db.connections.writing`; raises Forbidden.

    `change` is the text of its entry in the audit log; empty if it has none, or if storage adds another one.
    """
    with guards.operation():
        actor = account_guard.current_actor()
        with audit.acting(actor.name), connections.writing(resources.engine()) as session:
            access.require(session, study_id, actor, permission)
            if change:
                audit.record(session, audit.Action.settings, study_id=study_id, change=change)
            yield session


def write(
    study_id: int,
    permission: access.Permission,
    change: str,
    function: Callable[Concatenate[connections.Session, Parameters], Value],
    *arguments: Parameters.args,
    **options: Parameters.kwargs,
) -> Value:
    """Return `function(session, ...)` with a session as `writing` opens it."""
    with writing(study_id, permission, change) as session:
        return function(session, *arguments, **options)
