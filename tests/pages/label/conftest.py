"""What the tests of the label pages share."""

from urllib.parse import parse_qs

import pytest

from pages.label.parts import workbench


@pytest.fixture
def mounted(monkeypatch):
    """The queues of the workbench elements that a page draws, without the id of their study."""
    queries = []

    def element(name, query):
        queue = {field: values[0] for field, values in parse_qs(query).items()}
        assert queue.pop("study_id").isdecimal()
        queries.append(queue)
        return lambda key: None

    monkeypatch.setattr(workbench, "element", element)
    return queries
