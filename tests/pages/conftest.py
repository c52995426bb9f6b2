"""Settings of the tests of pages."""

from typing import Any

import pytest
from streamlit.runtime import context
from streamlit.testing.v1 import AppTest

from pages.parts import live


@pytest.fixture(autouse=True)
def figures_while_the_visitor_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the figures of small studies in the page, also on a slow machine."""
    monkeypatch.setattr(live, "LIMIT", 1.5)


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give pages no cookies instead of mocks, which a page would call for the language of each of its texts."""
    monkeypatch.setattr(context, "_get_client_context", lambda: None)


@pytest.fixture(autouse=True)
def no_exception_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test fail where a run of a page draws an exception, after a visit and after each choice."""
    run = AppTest._run

    def checked(app: AppTest, *arguments: Any, **options: Any) -> AppTest:
        run(app, *arguments, **options)
        assert not app.exception, app.exception
        return app

    monkeypatch.setattr(AppTest, "_run", checked)
