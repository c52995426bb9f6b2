"""The frame of every page: styles, header, study selection and sign-in."""

import difflib
from collections.abc import Collection, Sequence
from datetime import UTC, tzinfo
from html import escape
from pathlib import Path
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import texts
from core.errors import TiebreakError
from core.labels import Target
from core.own_addresses import cookie_path, own_address
from core.texts import _, mark
from pages.parts import account_guard, languages, live, paging, permissions, resources, sections
from pages.parts.account_guard import current_annotator as current_annotator
from pages.parts.text import escape_markdown
from storage.accounts import logins
from storage.accounts.access import Permission
from storage.db import audit, connections, guards
from storage.labels import views
from storage.reports import contents
from storage.runs import traces
from storage.studies import annotators, studies
from storage.transfer import deletions, samples

# Style sheets and scripts, which are in the folders of the pages that use them.

PAGES = Path(__file__).parents[1]


def read_asset(*names: str) -> str:
    """Return the joined text of files, each named by its path below `pages`."""
    return "\n".join((PAGES / name).read_text(encoding="utf-8") for name in names)


_remember = st.components.v2.component(
    "remember",
    js="""
    export default function ({ data }) {
      const year = 365 * 24 * 3600;
      const name = encodeURIComponent(data.name);
      document.cookie = `${data.cookie}=${name}; path=${data.path}; max-age=${name ? year : 0}; SameSite=Lax`;
    }
    """,
)
_focus_name = st.components.v2.component(
    "focus_name",
    js="""
    export default function () {
      // Streamlit draws the field once more when the page is complete.
      setTimeout(() => document.querySelector(".st-key-your_name input")?.focus(), 200);
    }
    """,
)
_to_top = st.components.v2.component(
    "to_top", js="export default () => {\ndocument.querySelector('[data-testid=stMain]').scrollTo(0, 0) }"
)
_collapsible = st.components.v2.component("collapsible", js=read_asset("parts/collapsible.js"))
_reading = st.components.v2.component("reading", js=read_asset("parts/reading.js"))
_unsent = st.components.v2.component("unsent", js=read_asset("parts/unsent.js"))
_study_links = st.components.v2.component("study_links", js=read_asset("parts/study_links.js"))


def draw_frame(section: sections.Section) -> None:
    """Add the style sheet, the scripts of every page, the sidebar with the annotator, and the tabs of the section.

    Stops the page without a session.
    """
    if st.session_state.get("section_path") != section.path:
        st.session_state["section_path"] = section.path
        paging.follow_link()
    st.html(PAGES / "parts" / "style.css")
    _collapsible(key="collapsible")
    _study_links(key="study_links")
    _reading(key="reading", data={"base": own_address("/assets/workbench"), "language": section.language})
    script, api = own_address("/assets/workbench/unsent.js"), own_address("/api/label")
    _unsent(key="unsent", data={"script": script, "api": api})
    identity = account_guard.current_identity()
    if identity.accounts and identity.actor is None:
        st.subheader(_("You are signed out"))
        here = escape(urlencode(st.query_params.to_dict(), doseq=True))
        st.html(f'<a href="?{here}" target="_self">{escape(_("Sign in"))}</a>')
        st.stop()
    _draw_navigation(section)
    with st.sidebar.container(key="account"):
        name = current_annotator()
        if name is None:
            st.html(languages.links())
        else:
            with st.popover(f":material/person: {escape_markdown(name)}", width="stretch", key="account_menu"):
                st.caption(_("Your labels are saved under this name."))
                if identity.accounts:
                    st.page_link(page_path("setup/account.py"), label=_("Account"), icon=":material/manage_accounts:")
                st.html(languages.links())
                if st.button(_("Sign out"), key="sign_out"):
                    _sign_out()


def _draw_navigation(section: sections.Section) -> None:
    """Draw the entries of the sidebar, and above the page the tabs of its entry; name the page in the browser.

    The page that is drawn checks its permission itself: this only decides which links are offered.
    """
    names = permissions.study_names()
    requested = _current_study()
    if requested is not None and requested not in names and (former := _former(requested)) is not None:
        requested = former.name
    name = requested or next(iter(names), None)
    study = resources.read(studies.get, name) if name in names and name is not None else None
    granted, found = _granted(study)
    parameters = {} if study is None else {STUDY_PARAMETER: study.name}
    title = (_(section.title), *parameters.values(), "Tiebreak")
    st.set_page_config(page_title=" · ".join(title))
    for entry in sections.ENTRIES:
        offered = sections.offered(entry, granted, found)
        if not offered:
            continue
        opened = section if section in offered else offered[0]  # Streamlit marks the link to the present page
        label, icon = sections.title_of(entry, offered), f":material/{entry.icon}:"
        st.sidebar.page_link(page_path(opened.script), label=label, icon=icon, query_params=parameters)
        if section in offered and len(offered) > 1:
            with texts.speaking(section.language), st.container(horizontal=True, key="sections"):
                for other in offered:
                    st.page_link(page_path(other.script), label=_(other.title), query_params=parameters)


def _former(name: str) -> deletions.Found | None:
    """Return the study that once had a name, if the visitor may know of it."""
    return resources.read(deletions.find_former, account_guard.current_actor(), name)


def _granted(study: studies.Study | None) -> tuple[Collection[Permission], contents.StudyContents]:
    """Return the visitor's permissions in a study and what it has; without one, the permissions in any study."""
    if study is None:
        return permissions.permissions_anywhere(), contents.StudyContents()

    def read() -> contents.StudyContents:
        return resources.read(contents.of_study, study.id)

    topics = (live.study_topic(study.id),)
    return permissions.allowed(study.id, set(Permission)), live.load_shared(f"contents {study.id}", topics, read)


def require_annotator() -> str:
    """Return the annotator's name; if nobody is signed in, draw the sign-in form and stop the page."""
    name = current_annotator()
    if name is not None:
        if st.session_state.get("annotator_new"):
            _remember(key="remember", data={"cookie": account_guard.COOKIE, "path": cookie_path(), "name": name})
        return name
    st.subheader(_("Sign in to Tiebreak"), anchor=False)
    st.write(
        _(
            "Your labels are saved under this name. Only this machine can connect to the server, so no password is "
            "needed."
        )
    )
    with st.form("sign_in", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        entered_name = st.text_input(_("Your name"), key="your_name", max_chars=annotators.MAX_NAME_LENGTH, width=320)
        if st.form_submit_button(_("Continue"), type="primary"):
            st.session_state["entered_name"] = annotators.normalize_name(entered_name)
    st.html(languages.links())  # the sidebar, which has them too, can be closed
    _focus_name(key="focus_name")
    if entered := st.session_state.get("entered_name"):
        _check_similar(entered)
        _sign_in(entered)
    st.stop()


def _check_similar(name: str) -> None:
    """Ask before a new name that looks like another annotator's: one person could become two annotators."""
    similar = resources.read(annotators.similar_names, name)
    if not similar:
        return
    st.warning(_("“{name}” is new, and looks like the name of an annotator. Who are you?", name=escape_markdown(name)))
    with st.container(horizontal=True):
        for place, other in enumerate(similar):
            if st.button(_("I am “{name}”", name=escape_markdown(other)), key=f"similar_{place}", type="primary"):
                _sign_in(other)
        if st.button(_("I am new: “{name}”", name=escape_markdown(name)), key="not_similar"):
            return
    st.stop()


def _sign_out() -> None:
    identity = account_guard.current_identity()
    if identity.login_id is not None:
        with audit.acting(current_annotator() or ""), connections.writing(resources.engine()) as session:
            logins.revoke(session, identity.login_id)
        st.rerun()
    st.session_state["annotator"], st.session_state["annotator_new"] = "", True
    _remember(key="forget", data={"cookie": account_guard.COOKIE, "path": cookie_path(), "name": ""})


def record_views(study_id: int, viewed: Collection[Target]) -> bool:
    """Record that opinions about these targets are shown; return whether later labels are no longer blind."""
    annotator = current_annotator()
    with connections.writing(resources.engine()) as session:
        if annotator is not None:
            return views.record(session, study_id, viewed, annotator)
        views.record_visitor(session, study_id, viewed, account_guard.current_visitor())
    return False


def record_watching(trace_id: int) -> None:
    """Record that a visitor watches a trace, whose open calls a worker then states."""
    with connections.writing(resources.engine()) as session:
        traces.watch(session, trace_id)


def _sign_in(name: str) -> None:
    st.session_state.pop("entered_name", None)
    with connections.writing(resources.engine()) as session:
        name = annotators.stored_name(session, name)
        annotators.get_or_create_id(session, name)
        views.assign_to_annotator(session, account_guard.current_visitor(), name)
    st.session_state["annotator"], st.session_state["annotator_new"] = name, True
    st.rerun()


def draw_header(title: str, sentence: str) -> studies.Study:
    """Draw title, purpose and study selection; returns the selected study, and stops the page if there is none."""
    left, right = st.columns([3, 1], vertical_alignment="bottom", gap="medium")
    with left.container(horizontal=True, vertical_alignment="bottom"):
        st.title(title, anchor=False, width="content")
        _place_of_notes()
    left.markdown(sentence)
    names = permissions.study_names()
    if not names:
        draw_no_study()
    name = study_name(names)
    with right:
        draw_study_choice(names, name)
    study = resources.read(studies.get, name)
    permissions.require_page(study.id)
    if study.sample:
        _place_of_notes().badge(_("Sample study: written or simulated"), color="gray")
        draw_note(_("Sample study: its debates and labels were written or simulated for demonstration."))
    return study


def draw_back(label: str, *parameters: str) -> None:
    """Draw the button that returns to the list of a page: its address has none of these parameters."""
    if st.button(label, icon=":material/arrow_back:", key="back", type="tertiary"):
        for parameter in parameters:
            st.query_params.pop(parameter, None)
        st.rerun()


def scroll_to_top() -> None:
    """Show the beginning of the page: where the button was that led here, it may be above the window."""
    _to_top(key="to_top")


def draw_note(text: str) -> None:
    """Draw small print of the page, as Markdown: all of it is in one popover beside the title of the page."""

    def open_notes() -> DeltaGenerator:
        return _place_of_notes().popover(_("Notes"), icon=":material/info:", type="tertiary")

    guards.once("notes", open_notes).caption(text)


def _place_of_notes() -> DeltaGenerator:
    """Return the container of the notes, drawn here if this run of the page has none yet."""

    def draw() -> DeltaGenerator:
        return st.container(horizontal=True, vertical_alignment="center", width="content")

    return guards.once("place of notes", draw)


def draw_no_study() -> None:
    """Draw the empty state of a visitor without any study, and stop the page."""
    may_create = permissions.is_administrator()
    if permissions.deleted_studies():
        st.info(_("There is no study now. Those that were deleted can be restored on the page Studies."))
        st.page_link(page_path(STUDIES), label=_("Restore a study"), icon=":material/restore_from_trash:")
    else:
        st.info(_("There are no studies yet.") if may_create else _(NOT_A_MEMBER))
        if may_create:
            st.page_link(page_path(STUDIES), label=_("Import a study"), icon=":material/upload_file:")
    st.stop()


def study_name(names: Sequence[str]) -> str:
    """Return the present name of the current study, or the newest study.

    If it was deleted or is unknown, a sentence and links to others are drawn, and the page is stopped.
    """
    requested = _current_study()
    if requested is None or requested in names:
        return requested or names[0]
    found = _former(requested)
    if found is None or found.problem or found.name not in names:
        problem = found.problem if found is not None else ""
        unknown = _("There is no study named {name!r}.", name=requested[:80])
        st.error(escape_markdown(problem or unknown), icon=":material/error:")
        if problem:
            st.page_link(page_path(STUDIES), label=_("Studies"), icon=":material/folder_open:")
        for name in [] if problem else difflib.get_close_matches(requested, names, n=3, cutoff=0.5) or names[:3]:
            label = _("Open “{name}”", name=escape_markdown(name))
            st.page_link(page_path("results/overview.py"), label=label, query_params={"study": name})
        st.stop()
    former, new = escape_markdown(requested), escape_markdown(found.name)
    st.toast(_("The study “{name}” is now named “{new}”.", name=former, new=new))
    return found.name


def time_zone() -> tzinfo:
    """Return the visitor's time zone; UTC if the browser does not say."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def page_path(script: str) -> str:
    """Return the path of a page's script, as `st.page_link` expects it."""
    return str(PAGES / script)


NOT_A_MEMBER = mark("You are not a member of any study. Ask the owner of a study to add you.")
STUDIES = "setup/studies.py"
# The script of a page, and the text and the icon of a link to it.
Link = tuple[str, str, str]
IMPORT: Link = (STUDIES, mark("Import"), ":material/upload_file:")
RUN: Link = ("setup/runs.py", mark("Start a run"), ":material/play_circle:")


def draw_links(study: studies.Study, *links: Link, horizontal: bool = True) -> None:
    """Draw links to pages with a study, without those that the visitor's role does not allow."""
    granted = permissions.allowed(study.id, {_needed(script) for script, _, _ in links})
    shown = [link for link in links if _needed(link[0]) in granted]
    if not shown:
        return
    with st.container(horizontal=horizontal):
        for script, label, icon in shown:
            st.page_link(page_path(script), label=_(label), icon=icon, query_params={"study": study.name})


def draw_link(script: str, label: str, icon: str, **address: str) -> None:
    """Draw the link to a page with these parameters."""
    st.page_link(page_path(script), label=label, icon=f":material/{icon}:", query_params=address)


# Tabs of the page of a study that others link to.
STUDY_TABS = RULES_TAB, CRITERIA_TAB, DESIGN_TAB = "Guidelines and rules", "Criteria", "What people label"


def draw_setting(study: studies.Study, tab: str, label: str) -> None:
    """Draw the link to a tab of the study's settings, if the visitor's role allows it."""
    if permissions.allows(study.id, Permission.edit):
        draw_link(STUDIES, label, "settings", study=study.name, view="study", open=study.name, tab=tab)


def draw_missing(
    study: studies.Study, fact: str, advice: str, *links: Link, script: str = "", protocol: str = ""
) -> None:
    """Draw what a study lacks, links, and what to do about it if the visitor's role allows the pages of all links.

    The page of `script` is also linked with the sample study of a protocol, unless that was deleted.
    """
    needed = {_needed(script) for script, _, _ in links}
    st.info(f"{_(fact)} {_(advice) if advice else ''}" if needed == permissions.allowed(study.id, needed) else _(fact))
    for name, of_protocol in samples.studies().items():
        if of_protocol == protocol and name in permissions.study_names():
            draw_link(script, _("Open “{name}”", name=name), "tour", study=name)
    draw_links(study, *links)


def _needed(script: str) -> Permission:
    """Return the permission for a link: everybody may see the list of studies, but links lead to its import."""
    permissions_of = {section.script: section.permission for section in sections.SECTIONS}
    return Permission.edit if script == STUDIES else permissions_of[script]


def number_parameter(parameter: str) -> int | None:
    """Return a number from the URL; None if the parameter is missing."""
    text = st.query_params.get(parameter)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 12:
        raise TiebreakError(f"The parameter {parameter} in the URL should be a number, not {text[:20]!r}.")
    return int(text)


def draw_first_account() -> None:
    """State what a server without accounts is, and how to add the first one."""
    st.info("This server has no accounts: people sign in by name, on this machine only, and may do everything.")
    st.markdown(
        "With accounts, everybody has a password, sessions that can be ended and API tokens, and each study has "
        "members with roles. The first account is added on the server; from then on everybody needs one:"
    )
    st.code('python cli.py accounts add "YOUR NAME"', language=None)


# The study that the pages of a window are about. The address names it on every page, also on those of no study.

STUDY_PARAMETER = "study"
_NAME, _CHOSEN, _WIDGET = "study_name", "study_chosen", "study"


def follow_address() -> None:
    """Decide which study this run of the app is about, before anything is drawn.

    A choice that was just made counts, then the study that the page Studies opens, then the address, then the study of
    the page before: not every link of a page has parameters.
    """
    stated = st.query_params.get("open") or st.query_params.get(STUDY_PARAMETER)
    name = st.session_state.pop(_CHOSEN, None) or stated or _current_study()
    if name:
        set_current_study(name)


def _current_study() -> str | None:
    """Return the name of the study as the address or a choice stated it; None before the first page with a study."""
    name: str | None = st.session_state.get(_NAME)
    return name


def set_current_study(name: str) -> None:
    """Set the study, and name it in the address."""
    st.session_state[_NAME] = name
    if st.query_params.get(STUDY_PARAMETER) != name:
        st.query_params[STUDY_PARAMETER] = name


def replace_study(name: str, new: str | None) -> None:
    """Follow a new name of a study, or forget a deleted one (None), if it is the current one."""
    if _current_study() == name:
        st.session_state[_NAME] = new


def open_view(**parameters: str) -> None:
    """Write another view of this page to the address, with the study."""
    name = _current_study()
    st.query_params.from_dict(({STUDY_PARAMETER: name} if name else {}) | parameters)


def draw_study_choice(names: Sequence[str], present: str) -> None:
    """Draw the choice among the studies; `present` is the current one.

    The widget is not bound to the address: a bound widget omits its default value, so a link to the newest study would
    open another study after the next import. Nor does it keep the study: Streamlit forgets the value of a widget that
    the first run of a page has set.
    """
    set_current_study(present)
    st.session_state[_WIDGET] = present
    st.selectbox(_("Study"), names, key=_WIDGET, on_change=_choose, filter_mode="contains")


def _choose() -> None:
    st.session_state[_CHOSEN] = st.session_state[_WIDGET]
