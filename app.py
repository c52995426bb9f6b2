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
from streamlit.navigation.page import Page
from streamlit.runtime.pages_manager import PagesManager

from core.errors import TiebreakError
from pages.account import routes as account_routes
from pages.label import api
from pages.parts import chart_files, downloads, readiness
from pages.parts.account_guard import AccountGuard
from pages.parts.request_guard import RequestGuard, allowed_hosts
from pages.parts.text import escape_markdown
from storage.database_errors import DBAPIError

PAGES = Path(__file__).parent / "pages"
# Section of the sidebar -> its pages: script, title, icon, and the name in the address if it is not the script's.
# This is a comment because Streamlit draws a string that stands alone in the main script.
SECTIONS: dict[str, tuple[tuple[str, str, str, str | None], ...]] = {
    "": (("results/overview.py", "Overview", "home", None),),
    "Watch": (
        ("watch/traces.py", "Traces", "forum", None),
        ("watch/unread.py", "Unreadable replies", "help", None),
    ),
    "Label": (
        ("label/home.py", "Home", "checklist", None),
        ("label/disagreements.py", "Disagreements", "balance", None),
        ("label/aius.py", "AIUs", "rule", None),
        ("label/critiques.py", "Critiques", "rate_review", "critique_labels"),
        ("label/scores.py", "Scores", "star_half", None),
        ("label/weights.py", "Aspect weights", "tune", "aspect_weights"),
        ("label/adjudication.py", "Adjudication", "gavel", None),
        ("label/inbox.py", "Inbox", "inbox", None),
    ),
    "Results": (
        ("results/judges.py", "Judges", "verified", None),
        ("results/biases.py", "Biases", "balance", None),
        ("results/causes.py", "Causes", "help_center", None),
        ("results/systems.py", "Systems", "leaderboard", None),
        ("results/agreement.py", "Inter-annotator agreement", "monitoring", None),
        ("results/alignment.py", "Alignment", "compare_arrows", None),
        ("results/critiques.py", "Critiques", "rate_review", None),
        ("results/peer_errors.py", "Peer errors", "rule", None),
        ("results/weights.py", "Weights", "scale", None),
        ("results/laboratory.py", "Weights laboratory", "science", None),
        ("results/published.py", "Published tables", "table_chart", None),
    ),
    "Setup": (
        ("setup/studies.py", "Studies", "folder_open", None),
        ("setup/annotators.py", "Annotators", "group", None),
        ("setup/inputs.py", "Inputs", "edit_document", None),
        ("setup/runs.py", "Runs", "play_circle", None),
    ),
}


def check_address() -> None:
    """Exit if other machines can reach the server and it has no accounts: a name would be enough to sign in."""
    from pages.parts import resources

    address = config.get_option("server.address")
    if address == "localhost" or is_loopback(address or "") or resources.has_accounts():
        return
    raise SystemExit(
        f"Tiebreak serves 127.0.0.1 only, not {address or 'every address'}: it has no accounts, so people sign in by "
        "name, without a password. Add an account first: python cli.py accounts add NAME"
    )


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address; a host name can resolve to any address."""
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
        check_address()
    except TiebreakError as error:
        raise SystemExit(str(error)) from None
    worker = resources.start_worker()
    threading.Thread(target=import_slow_modules, daemon=True).start()
    try:
        yield
    finally:
        if worker is not None:
            worker.stop()


def import_slow_modules() -> None:
    """Import modules that take seconds before the first visit needs them."""
    from pages.watch.parts import debate  # noqa: F401


def make_page(script: str, title: str, icon: str, url_path: str | None) -> Page:
    """Return the page of a script in `pages`; the one without a section is the first that a visitor sees."""
    default = script == SECTIONS[""][0][0]
    return Page(PAGES / script, title=title, icon=f":material/{icon}:", url_path=url_path, default=default)


def draw_app() -> None:
    """Draw the sidebar and the requested page."""
    st.set_page_config(page_title="Tiebreak", page_icon=str(PAGES / "parts" / "icon.png"), layout="wide")
    from pages.parts import shell

    page = st.navigation(
        {section: [make_page(*entry) for entry in entries] for section, entries in SECTIONS.items()}, expanded=True
    )
    try:
        shell.draw_frame()
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
app = st.App(
    "app.py",
    lifespan=lifespan,
    routes=[
        *account_routes.routes(),
        *api.routes(),
        *readiness.routes(),
        *chart_files.routes(),
        *downloads.routes(),
    ],
    middleware=[Middleware(RequestGuard, hosts=allowed_hosts()), Middleware(AccountGuard)],
    on_script_error=show_error,
)
