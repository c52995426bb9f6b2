"""What the tests of the label pages share."""

from urllib.parse import parse_qs

import pytest

from pages.label.parts import workbench


@pytest.fixture
def mounted(monkeypatch):
    """The queues of the workbench elements that a page draws."""
    queries = []

    def element(name, query):
        queries.append({field: values[0] for field, values in parse_qs(query).items()})
        return lambda key: None

    monkeypatch.setattr(workbench, "element", element)
    return queries
