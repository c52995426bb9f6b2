"""Settings of the tests of pages."""

import pytest

from pages.parts import live


@pytest.fixture(autouse=True)
def figures_while_the_visitor_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the figures of small studies in the page, also on a slow machine."""
    monkeypatch.setattr(live, "LIMIT", 1.5)
