"""The study that the pages of a window are about. The address names it on every page, also on those of no study."""

from collections.abc import Sequence

import streamlit as st

from core.texts import _

PARAMETER = "study"
_NAME, _CHOSEN, _WIDGET = "study_name", "study_chosen", "study"


def follow_address() -> None:
    """Decide which study this run of the app is about, before anything is drawn.

    A choice that was just made counts, then the study that the page Studies opens, then the address, then the study of
    the page before: not every link of a page has parameters.
    """
    stated = st.query_params.get("open") or st.query_params.get(PARAMETER)
    name = st.session_state.pop(_CHOSEN, None) or stated or current()
    if name:
        set_current(name)


def current() -> str | None:
    """Return the name of the study as the address or a choice stated it; None before the first page with a study."""
    name: str | None = st.session_state.get(_NAME)
    return name


def set_current(name: str) -> None:
    """Set the study, and name it in the address."""
    st.session_state[_NAME] = name
    if st.query_params.get(PARAMETER) != name:
        st.query_params[PARAMETER] = name


def replace(name: str, new: str | None) -> None:
    """Follow a new name of a study, or forget a deleted one (None), if it is the current one."""
    if current() == name:
        st.session_state[_NAME] = new


def open_view(**parameters: str) -> None:
    """Write another view of this page to the address, with the study."""
    name = current()
    st.query_params.from_dict(({PARAMETER: name} if name else {}) | parameters)


def draw_choice(names: Sequence[str], present: str) -> None:
    """Draw the choice among the studies; `present` is the current one.

    The widget is not bound to the address: a bound widget omits its default value, so a link to the newest study would
    open another study after the next import. Nor does it keep the study: Streamlit forgets the value of a widget that
    the first run of a page has set.
    """
    set_current(present)
    st.session_state[_WIDGET] = present
    st.selectbox(_("Study"), names, key=_WIDGET, on_change=_choose, filter_mode="contains")


def _choose() -> None:
    st.session_state[_CHOSEN] = st.session_state[_WIDGET]
