"""The frame of every page: its title, the study it is about, and who is here."""

from collections.abc import Sequence
from urllib.parse import unquote

import streamlit as st

from core.problems import Problem
from pages.parts import assets, resources
from pages.parts.text import plain
from storage import annotators, database, studies
from storage.studies import Study
from storage.transfer import samples

COOKIE = "tiebreak_annotator"
_remember = st.components.v2.component(
    "remember",
    js="""
    export default function ({ data }) {
      const year = 365 * 24 * 3600;
      const name = encodeURIComponent(data.name);
      document.cookie = `${data.cookie}=${name}; path=/; max-age=${name ? year : 0}; SameSite=Lax`;
    }
    """,
)
_folds = st.components.v2.component("folds", js=assets.read("parts/folds.js"))


def dress() -> None:
    """The looks that the theme cannot say, and who is signed in."""
    st.html(assets.PAGES / "parts" / "style.css")
    with st.sidebar.container(key="who"):
        name = annotator()
        if name is not None:
            with st.popover(f":material/person: {plain(name)}", width="stretch", key="who_is_here"):
                st.caption("Labels are kept under this name.")
                if st.button("Sign out", key="sign_out"):
                    _sign("")


def folds() -> None:
    """Fold long texts on this page to twelve lines, each with a button that shows all of it."""
    _folds(key="folds")


def annotator() -> str | None:
    """Who is here, if they said so; a cookie that holds no name is no name."""
    name = st.session_state.get("annotator")
    if name is None:
        name = st.context.cookies.get(COOKIE, "")
    if not isinstance(name, str) or not name:
        return None
    try:
        return annotators.name_of(unquote(name))
    except Problem:
        return None


def signed_in() -> str:
    """Who is here; asks for a name first, and goes on with the page once it is given."""
    name = annotator()
    if name is not None:
        if st.session_state.get("annotator_new"):
            _remember(key="remember", data={"cookie": COOKIE, "name": name})
        return name
    st.subheader("Who is labelling?")
    st.write("Labels are kept under a name. The server can only be reached from this machine, so a name is enough.")
    with st.form("sign_in", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        given = st.text_input("Your name", key="your_name", max_chars=annotators.LONGEST_NAME, width=320)
        if st.form_submit_button("Go on", type="primary"):
            _sign(annotators.name_of(given))
    st.stop()


def _sign(name: str) -> None:
    st.session_state["annotator"], st.session_state["annotator_new"] = name, True
    if not name:
        _remember(key="forget", data={"cookie": COOKIE, "name": ""})
        return
    with database.writing(resources.engine()) as session:
        annotators.annotator_id(session, name)
    st.rerun()


def opened(title: str, sentence: str) -> Study:
    """Title and purpose, and the study that is chosen at the top right; stops the page where there is none."""
    left, right = st.columns([3, 1], vertical_alignment="bottom", gap="medium")
    left.title(title, anchor=False)
    left.caption(sentence)
    with database.reading(resources.engine()) as session:
        names = studies.names(session)
    if not names:
        st.info("There is no study yet.")
        st.page_link(page("setup/studies.py"), label="Import one", icon=":material/upload_file:")
        st.stop()
    follow_address(names)
    with right:
        name = st.selectbox("Study", names, key="study", persist_state="session", filter_mode="contains")
    st.query_params["study"] = st.session_state["study_told"] = name
    with database.reading(resources.engine()) as session:
        study = studies.get(session, name)
    if study.sample:
        st.caption(":material/info: A sample: its items, debates and labels were written for the tour.")
    return study


def offer_sample(script: str, protocol: str) -> None:
    """A way to the sample study that has something to show on this page, where it is still there."""
    name = next(name for name, shown in samples.studies().items() if shown == protocol)
    with database.reading(resources.engine()) as session:
        there = name in studies.names(session)
    if there:
        st.page_link(page(script), label=f"See it with “{name}”", icon=":material/tour:", query_params={"study": name})


def follow_address(names: Sequence[str]) -> None:
    """Take the study from the address where a link brought somebody here.

    The widget is not bound to the address: a bound one leaves its default out, and then a link to the newest study
    means another study after the next import.
    """
    asked, told = st.query_params.get("study"), st.session_state.get("study_told")
    if asked is not None and asked != told:
        if asked not in names:
            raise Problem(f"There is no study called {asked[:80]!r}.")
        st.session_state["study"] = asked
    elif st.session_state.get("study") not in names:
        st.session_state["study"] = names[0]


def page(script: str) -> str:
    """A page's script, as links want it."""
    return str(assets.PAGES / script)


def asked(parameter: str) -> int | None:
    """A number in the address, if there is one."""
    text = st.query_params.get(parameter)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 12:
        raise Problem(f"The address asks for {parameter} {text[:20]!r}, which is not a number.")
    return int(text)
