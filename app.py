"""Tiebreak's server: `streamlit run app.py`. It opens the database, executes runs, and serves the pages.

Streamlit executes this file twice: once as the server (`app`), and once for every visit as the main script.
"""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route
from streamlit import config
from streamlit.navigation.page import Page
from streamlit.runtime.pages_manager import PagesManager

from core import logs, texts
from core.errors import TiebreakError
from core.own_addresses import own_address, set_base_path
from core.texts import _
from pages.account import routes as account_routes
from pages.label import api
from pages.parts import downloads, languages, routes, sockets
from pages.parts.account_guard import AccountGuard
from pages.parts.request_guard import RequestGuard, allowed_hosts, is_loopback
from pages.parts.routes import RequestTimer
from pages.parts.sections import SECTIONS
from pages.parts.sockets import PeriodicRequestFilter
from pages.parts.text import escape_markdown
from storage.db import guards
from storage.db.errors import DBAPIError

PAGES = Path(__file__).parent / "pages"


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


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Prepare the database, and execute runs while the server is running."""
    # Otherwise the first visit after start-up looks for scripts in pages/ itself: it skips this file, or a link ends
    # with "Page not found".
    PagesManager.uses_pages_directory = False
    from pages.parts import resources

    logs.configure()
    sockets.raise_limit()
    multiply_in_one_thread()
    try:
        is_new = resources.prepare_database()
        check_address()
    except TiebreakError as error:
        raise SystemExit(str(error)) from None
    guards.enforce_in_process()
    worker = resources.start_worker()
    if is_new:
        threading.Thread(target=resources.add_showcase, daemon=True).start()
    threading.Thread(target=import_slow_modules, daemon=True).start()
    expiry = asyncio.create_task(resources.remove_expired_daily())
    try:
        yield
    finally:
        expiry.cancel()
        if worker is not None:
            worker.stop()


def multiply_in_one_thread() -> None:
    """Let NumPy's matrix products use one thread each, unless the environment states another number.

    The server computes in several threads already. Products of statistics are so small that others of the library
    gain no time; they wait actively for work, which takes 40 % of the processor time of Alignment after a saved label.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported


def import_slow_modules() -> None:
    """Import modules that take seconds before the first visit needs them."""
    from pages.watch.parts import debate  # noqa: F401


def draw_app() -> None:
    """Draw the sidebar and the requested page."""
    st.set_page_config(page_title="Tiebreak", page_icon=str(PAGES / "parts" / "icon.png"), layout="wide")
    guards.enforce()
    texts.elsewhere = languages.of_script_run
    with guards.reading_operation():
        draw_allowed_page()


def draw_allowed_page() -> None:
    """Draw the requested page, if the visitor may see it."""
    from pages.parts import permissions, shell

    try:
        shell.follow_address()
        pages = [
            Page(PAGES / one.script, title=_(one.title), url_path=one.path, default=one is SECTIONS[0])
            for one in SECTIONS
        ]
        page = st.navigation(pages, position="hidden")
        section = SECTIONS[pages.index(page)]
        shell.draw_frame(section)
        permissions.enter_page(section.permission)
        with texts.speaking(section.language):
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
        st.error(
            _("The database reported an error; its details are in the server's log. The last change was not saved.")
        )
    else:
        logging.getLogger("tiebreak").error("A page raised an exception.", exc_info=error)
        st.error(
            _("An unexpected error occurred; its details are in the server's log. Nothing that you saved is lost.")
        )
    return True


def own_routes() -> list[BaseRoute]:
    """Return the routes that Streamlit does not have, at the path of the server."""
    groups = (account_routes, api, routes, downloads)
    return [at_own_address(route) for group in groups for route in group.routes()]


def at_own_address(route: BaseRoute) -> BaseRoute:
    """Return a route at the path of the server."""
    if isinstance(route, Mount):
        return Mount(own_address(route.path), route.app)
    assert isinstance(route, Route)
    return Route(own_address(route.path), route.endpoint, methods=route.methods)


if __name__ == "__main__":
    draw_app()
try:
    set_base_path(config.get_option("server.baseUrlPath") or "")
except TiebreakError as error:
    raise SystemExit(str(error)) from None
app = st.App(
    "app.py",
    lifespan=lifespan,
    routes=own_routes(),
    middleware=[
        Middleware(RequestGuard, hosts=allowed_hosts()),
        Middleware(AccountGuard),
        Middleware(RequestTimer),
        Middleware(PeriodicRequestFilter),
    ],
    on_script_error=show_error,
)
