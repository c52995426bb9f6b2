"""Figures that are computed in the background, and values that open pages share."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context

import pytest

from core.formats.records import ItemRecord
from core.labels import Target
from pages.parts import live
from storage.db import guards
from storage.labels import labels
from tests.conftest import make_item
from tests.pages.visits import prepare_study, study_session
from tests.storage.shared import store_label

SLOW = 10.0
place_on_page = ContextVar("place_on_page", default="")


@pytest.fixture(autouse=True)
def no_figures():
    live._entries.clear()
    yield
    live._entries.clear()


def finish(key):
    """Wait for the figures that are being computed."""
    live._entries[key].job.result(5)


def test_the_newest_version_is_drawn_if_its_figures_took_a_moment_or_nothing_is_known_of_them():
    assert live.shown_version("judges", 1) == 1
    assert live.shown_version("judges", 2) == 2
    live.computed("judges", 1, 0.1, lambda version: None)
    assert live.shown_version("judges", 2) == 2


def test_the_earlier_version_is_drawn_until_the_newest_is_complete(monkeypatch):
    computed, has_begun, may_end = [], threading.Event(), threading.Event()

    def compute(version):
        has_begun.set()
        may_end.wait(5)
        computed.append(version)

    live.computed("judges", 1, SLOW, compute)
    live._entries["judges"].ended -= SLOW
    assert live.shown_version("judges", 2) == 1
    assert has_begun.wait(5)
    assert live.shown_version("judges", 3) == 1  # one computation at a time
    may_end.set()
    finish("judges")
    assert computed == [2]
    monkeypatch.setattr(live, "LIMIT", -1.0)
    assert live.shown_version("judges", 2) == 2


def test_the_next_figures_are_computed_after_a_pause():
    live.computed("judges", 1, SLOW, lambda version: None)
    assert live.shown_version("judges", 2) == 1
    assert live._entries["judges"].job is None


def test_a_computation_that_fails_is_left_to_the_page(caplog):
    def fail(version):
        raise ValueError("no figures")

    live.computed("judges", 1, SLOW, fail)
    live._entries["judges"].ended -= SLOW
    assert live.shown_version("judges", 2) == 1
    finish("judges")
    assert live.shown_version("judges", 2) == 2
    assert "could not be computed" in caplog.text


def test_the_oldest_entries_are_forgotten(monkeypatch):
    monkeypatch.setattr(live, "MAX_ENTRIES", 2)
    for key in range(3):
        live.computed(key, 1, SLOW, lambda version: None)
    assert list(live._entries) == [1, 2]


def test_a_newer_version_is_computed_with_the_permissions_of_the_page_and_nothing_else_of_it():
    """A fragment asks for it, which has not checked as much; a thread cannot draw where the page was."""
    computed = []

    def compute(version):
        computed.append((version, guards.granted_reads(), guards.reads_are_enforced(), place_on_page.get()))

    def draw():
        guards.enforce()
        place_on_page.set("in a fragment")
        with guards.reading_operation():
            guards.grant(1, "view")
            live.computed("overview", 1, SLOW, compute)

    copy_context().run(draw)
    live._entries["overview"].ended -= SLOW
    assert live.shown_version("overview", 2) == 1
    finish("overview")
    assert computed == [(2, {(1, "view")}, True, "")]


def test_a_computation_that_waits_for_another_one_is_of_the_newest_version():
    computed, may_end = [], threading.Event()

    def compute(version):
        may_end.wait(5)
        computed.append(version)

    for key in ("judges", "causes"):
        live.computed(key, 1, 2.0, compute)
        live._entries[key].ended -= SLOW
        assert live.shown_version(key, 2) == 1
    assert live.shown_version("causes", 3) == 1
    may_end.set()
    finish("judges")
    finish("causes")
    assert computed == [2, 3]


def test_figures_that_take_long_do_not_delay_others():
    may_end = threading.Event()
    live.computed("alignment", 1, SLOW, lambda version: may_end.wait(5))
    live.computed("judges", 1, 2.0, lambda version: None)
    for key in ("alignment", "judges"):
        live._entries[key].ended -= SLOW
        assert live.shown_version(key, 2) == 1
    finish("judges")
    assert not live._entries["alignment"].job.done()
    may_end.set()
    finish("alignment")


def test_the_first_figures_are_computed_once_while_pages_are_drawn():
    computed, may_end = [], threading.Event()

    def compute(version):
        may_end.wait(5)
        computed.append(version)

    assert not live.has_figures("overview", 1, compute)
    assert not live.has_figures("overview", 1, compute)
    assert live.is_first_pending("overview")
    may_end.set()
    finish("overview")
    assert computed == [1] and not live.is_first_pending("overview")
    assert live.has_figures("overview", 1, compute)


def test_first_figures_that_fail_are_left_to_the_page():
    assert not live.has_figures("overview", 1, lambda version: 1 / 0)
    finish("overview")
    assert live.has_figures("overview", 1, lambda version: None)
    assert live.shown_version("overview", 1) == 1


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
