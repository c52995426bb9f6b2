"""Pages of Traces in the browser: Back and Forward return to the pages that were opened."""

import pytest

from storage.db import connections
from tests.browser.conftest import serve, stop_server
from tests.storage.shared import debates

ITEMS = 120
"""Three pages."""


@pytest.fixture
def address(tmp_path):
    """The address of a server with a study of so many traces."""
    url = f"sqlite:///{tmp_path}/traces.db"
    engine = connections.connect(url)
    connections.upgrade(engine)
    debates(engine, ITEMS)
    engine.dispose()
    server = serve(url, tmp_path / "server.log")
    yield server.address
    stop_server(server)


def opened(page, name):
    """Wait until the page has one of its buttons as stated, and return its key in the address."""
    page.locator(f".st-key-{name} button:not([disabled])").wait_for()
    return page.evaluate("new URL(location).searchParams.get('after')")


def test_back_and_forward_show_the_pages_of_traces_that_were_opened(visit, address):
    page = visit(f"{address}/traces?study=s")
    assert opened(page, "chevron_right") is None
    assert page.locator(".st-key-chevron_left button[disabled]").count() == 1
    page.locator(".st-key-chevron_right button").click()
    second = opened(page, "chevron_left")
    page.locator(".st-key-chevron_right button").click()
    page.wait_for_function("key => new URL(location).searchParams.get('after') !== key", arg=second)
    page.locator(".st-key-chevron_right button[disabled]").wait_for()
    third = opened(page, "chevron_left")
    assert None not in (second, third)
    page.go_back()
    assert (opened(page, "chevron_right"), opened(page, "chevron_left")) == (second, second)
    page.go_back()
    page.locator(".st-key-chevron_left button[disabled]").wait_for()
    assert opened(page, "chevron_right") is None
    page.go_forward()
    assert opened(page, "chevron_left") == second
    page.go_forward()
    page.locator(".st-key-chevron_right button[disabled]").wait_for()
    assert opened(page, "chevron_left") == third
