"""Tiebreak's server: `streamlit run app.py`. It opens the database, carries runs, and serves the pages.

Streamlit reads this file twice: once as the server (`app`), and once for every visit as the frame around the pages.
"""

import ipaddress
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from streamlit import config
from streamlit.runtime.pages_manager import PagesManager

from core.problems import Problem
from pages.parts.text import plain

PAGES = Path(__file__).parent / "pages"


def refuse_strangers() -> None:
    """People sign in by name alone, so only this machine may reach the server."""
    address = config.get_option("server.address")
    if address == "localhost" or is_loopback(address or ""):
        return
    raise SystemExit(
        f"Tiebreak serves 127.0.0.1 only, not {address or 'every address'}: people sign in by name, without a "
        "password, so anybody who reached the server could label as somebody else."
    )


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address; a host's name may mean anything, so it is not."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def serving(_: st.App) -> AsyncIterator[None]:
    """Open the store and carry runs while the server is up."""
    # Without this the first visit after start-up looks for scripts in pages/ itself: it skips this file, or says
    # "Page not found" to whoever follows a link.
    PagesManager.uses_pages_directory = False
    from pages.parts import resources

    try:
        resources.prepare()
    except Problem as problem:
        raise SystemExit(str(problem)) from None
    carrier = resources.carrier()
    carrier.start()
    threading.Thread(target=warm, daemon=True).start()
    try:
        yield
    finally:
        carrier.stop()


def warm() -> None:
    """Import what takes seconds before the first visitor needs it."""
    from pages.watch.parts import debate  # noqa: F401


def frame() -> None:
    """The sidebar and the page that was asked for."""
    st.set_page_config(page_title="Tiebreak", page_icon=str(PAGES / "parts" / "icon.png"), layout="wide")
    from pages.parts import shell

    page = st.navigation(
        {
            "Watch": [
                st.Page(PAGES / "watch" / "traces.py", title="Traces", icon=":material/forum:", default=True),
            ],
            "Label": [
                st.Page(PAGES / "label" / "disagreements.py", title="Disagreements", icon=":material/balance:"),
                st.Page(PAGES / "label" / "aius.py", title="AIUs", icon=":material/rule:"),
                st.Page(PAGES / "label" / "scores.py", title="Scores", icon=":material/star_half:"),
                st.Page(
                    PAGES / "label" / "weights.py",
                    title="Aspect weights",
                    icon=":material/tune:",
                    url_path="aspect_weights",
                ),
            ],
            "Results": [
                st.Page(PAGES / "results" / "agreement.py", title="Agreement", icon=":material/monitoring:"),
                st.Page(PAGES / "results" / "alignment.py", title="Alignment", icon=":material/compare_arrows:"),
                st.Page(PAGES / "results" / "critiques.py", title="Critiques", icon=":material/rate_review:"),
                st.Page(PAGES / "results" / "peer_errors.py", title="Peer errors", icon=":material/rule:"),
                st.Page(PAGES / "results" / "weights.py", title="Weights", icon=":material/scale:"),
            ],
            "Setup": [
                st.Page(PAGES / "setup" / "studies.py", title="Studies", icon=":material/folder_open:"),
                st.Page(PAGES / "setup" / "runs.py", title="Runs", icon=":material/play_circle:"),
            ],
        }
    )
    shell.dress()
    try:
        page.run()
    except Problem as problem:
        tell(problem)


def tell(error: Exception) -> bool:
    """Trouble is one sentence, in a page as in its fragments and callbacks; what nobody foresaw goes to the log."""
    if isinstance(error, Problem):
        st.error(plain(str(error)), icon=":material/error:")
    else:
        logging.getLogger("tiebreak").error("A page broke off.", exc_info=error)
        st.error("Something went wrong here, and was written to the server's log. What you saved is kept.")
    return True


if __name__ == "__main__":
    frame()
else:
    refuse_strangers()
app = st.App("app.py", lifespan=serving, on_script_error=tell)
