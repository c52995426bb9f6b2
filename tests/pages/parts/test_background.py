"""Figures of large studies that are shown again for some time, and values that open pages share."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.formats.records import ItemRecord
from core.labels import Target
from pages.parts import live
from storage.labels import labels
from tests.conftest import make_item
from tests.pages.visits import prepare_study, study_session
from tests.storage.shared import store_label


@pytest.fixture(autouse=True)
def no_figures():
    live._figures.clear()
    yield
    live._figures.clear()


def test_the_newest_version_is_drawn_if_its_figures_took_a_moment_or_nothing_is_known_of_them():
    assert live.shown_version("judges", 1) == 1
    live.computed("judges", 1, live.LIMIT)
    assert live.shown_version("judges", 2) == 2


def test_figures_that_took_long_are_shown_for_some_time():
    live.computed("judges", 1, 10.0)
    live.computed("judges", 1, 0.0)  # drawn again, from a cache
    assert live.shown_version("judges", 2) == 1
    live._figures["judges"].computed_at -= 10.0 * live.PAUSE
    assert live.shown_version("judges", 2) == 2


def test_the_oldest_figures_are_forgotten(monkeypatch):
    monkeypatch.setattr(live, "MAX_ENTRIES", 2)
    for key in range(3):
        live.computed(key, 1, 10.0)
    assert list(live._figures) == [1, 2]


def save_label(value: int) -> int:
    """Save a label and return the number of stored ones."""
    with study_session() as (session, study):
        store_label(session, study.id, Target(item="item 0", kind="preference", criterion="helpfulness"), "ann", value)
        return labels.version(session, study.id)[0]


def test_visitors_share_one_reading_after_each_change():
    prepare_study([ItemRecord(item=make_item())])
    readings = []

    def load() -> int:
        return live.load_shared("test", ("study 1",), lambda: readings.append(1) or len(readings))

    for number in (1, 2):
        save_label(number)
        with ThreadPoolExecutor(4) as visitors:
            assert {visit.result(5) for visit in [visitors.submit(load) for _ in range(8)]} == {number}
