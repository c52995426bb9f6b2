"""Tiebreak's server: `streamlit run app.py`. It opens the database, executes runs, and serves the pages.

Streamlit executes this file twice: once as the server (`app`), and once for every visit as the main script.
"""

import ipaddress
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config
from streamlit.runtime.pages_manager import PagesManager

from core.errors import TiebreakError
from pages.label import api
from pages.parts import readiness
from pages.parts.request_guard import RequestGuard, allowed_hosts
from pages.parts.text import escape_markdown
from storage.database_errors import DBAPIError

PAGES = Path(__file__).parent / "pages"


def check_address() -> None:
    """Exit unless only this machine can reach the server: people sign in by name, without a password."""
    address = config.get_option("server.address")
    if address == "localhost" or is_loopback(address or ""):
        return
    raise SystemExit(
        f"Tiebreak serves 127.0.0.1 only, not {address or 'every address'}: people sign in by name, without a "
        "password, so any visitor could label under another name."
    )


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address; a host name can resolve to any address, and is not."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Prepare the database, and execute runs while the server is running."""
    # Otherwise the first visit after start-up looks for scripts in pages/ itself: it skips this file, or a link ends
    # with "Page not found".
    PagesManager.uses_pages_directory = False
    from pages.parts import resources

    try:
        resources.prepare_database()
    except TiebreakError as error:
        raise SystemExit(str(error)) from None
    worker = resources.start_worker()
    threading.Thread(target=import_slow_modules, daemon=True).start()
    try:
        yield
    finally:
        worker.stop()


def import_slow_modules() -> None:
    """Import modules that take seconds before the first visit needs them."""
    from pages.watch.parts import debate  # noqa: F401


def draw_app() -> None:
    """Draw the sidebar and the requested page."""
    st.set_page_config(page_title="Tiebreak", page_icon=str(PAGES / "parts" / "icon.png"), layout="wide")
    from pages.parts import shell

    page = st.navigation(
        {
            "Watch": [
                st.Page(PAGES / "watch" / "traces.py", title="Traces", icon=":material/forum:", default=True),
                st.Page(PAGES / "watch" / "unread.py", title="Unreadable replies", icon=":material/help:"),
            ],
            "Label": [
                st.Page(PAGES / "label" / "home.py", title="Home", icon=":material/home:"),
                st.Page(PAGES / "label" / "disagreements.py", title="Disagreements", icon=":material/balance:"),
                st.Page(PAGES / "label" / "aius.py", title="AIUs", icon=":material/rule:"),
                st.Page(
                    PAGES / "label" / "critiques.py",
                    title="Critiques",
                    icon=":material/rate_review:",
                    url_path="critique_labels",
                ),
                st.Page(PAGES / "label" / "scores.py", title="Scores", icon=":material/star_half:"),
                st.Page(
                    PAGES / "label" / "weights.py",
                    title="Aspect weights",
                    icon=":material/tune:",
                    url_path="aspect_weights",
                ),
                st.Page(PAGES / "label" / "adjudication.py", title="Adjudication", icon=":material/gavel:"),
                st.Page(PAGES / "label" / "inbox.py", title="Inbox", icon=":material/inbox:"),
            ],
            "Results": [
                st.Page(PAGES / "results" / "judges.py", title="Judges", icon=":material/verified:"),
                st.Page(PAGES / "results" / "systems.py", title="Systems", icon=":material/leaderboard:"),
                st.Page(
                    PAGES / "results" / "agreement.py", title="Inter-annotator agreement", icon=":material/monitoring:"
                ),
                st.Page(PAGES / "results" / "alignment.py", title="Alignment", icon=":material/compare_arrows:"),
                st.Page(PAGES / "results" / "critiques.py", title="Critiques", icon=":material/rate_review:"),
                st.Page(PAGES / "results" / "peer_errors.py", title="Peer errors", icon=":material/rule:"),
                st.Page(PAGES / "results" / "weights.py", title="Weights", icon=":material/scale:"),
                st.Page(PAGES / "results" / "laboratory.py", title="Weights laboratory", icon=":material/science:"),
                st.Page(PAGES / "results" / "published.py", title="Published tables", icon=":material/table_chart:"),
            ],
            "Setup": [
                st.Page(PAGES / "setup" / "studies.py", title="Studies", icon=":material/folder_open:"),
                st.Page(PAGES / "setup" / "annotators.py", title="Annotators", icon=":material/group:"),
                st.Page(PAGES / "setup" / "runs.py", title="Runs", icon=":material/play_circle:"),
            ],
        },
        expanded=True,
    )
    shell.draw_frame()
    try:
        page.run()
    except (TiebreakError, DBAPIError) as error:
        show_error(error)


def show_error(error: Exception) -> bool:
    """Show an expected error as one sentence; the details of an unexpected one go to the log only.

    Streamlit calls it for exceptions in fragments and callbacks. Returns True: the error is handled.
    """
    if isinstance(error, TiebreakError):
        st.error(escape_markdown(str(error)), icon=":material/error:")
    elif isinstance(error, DBAPIError):
        logging.getLogger("tiebreak").error("The database reported an error to a page.", exc_info=error)
        st.error("The database reported an error; its details are in the server's log. The last change was not saved.")
    else:
        logging.getLogger("tiebreak").error("A page raised an exception.", exc_info=error)
        st.error("An unexpected error occurred; its details are in the server's log. Nothing that you saved is lost.")
    return True


if __name__ == "__main__":
    draw_app()
else:
    check_address()
app = st.App(
    "app.py",
    lifespan=lifespan,
    routes=[*api.routes(), *readiness.routes()],
    middleware=[Middleware(RequestGuard, hosts=allowed_hosts())],
    on_script_error=show_error,
)
