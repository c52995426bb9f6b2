"""The workbench in a real browser on the real application: every key counts, and nothing is lost."""

import signal
from collections.abc import Iterator
from itertools import count
from urllib.parse import quote

import pytest

from storage.db.connections import connect, reading, writing
from storage.labels import labels
from storage.studies import studies
from storage.transfer import deletions, imports
from tests.browser.conftest import Served, disputed, serve, start, stop_server
from tests.browser.test_workbench import READY, press, saved, state
from tests.databases import create_sample_database

pytestmark = pytest.mark.browser
STUDY_NUMBERS = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[list[Served]]:
    """A server on its own database; the last one of the list is running."""
    folder = tmp_path_factory.mktemp("server")
    running = [serve(create_sample_database(folder / "tiebreak.db"), folder / "server.log")]
    yield running
    stop_server(running[-1])


@pytest.fixture
def study(server) -> str:
    """A new study with 80 disputed debates."""
    name = f"s{next(STUDY_NUMBERS)}"
    engine = connect(server[-1].database)
    imports.import_records(engine, name, disputed(80))
    engine.dispose()
    return name


@pytest.fixture
def bench(visit, server, study):
    def opened(annotator: str = "annotator 1", **options):
        address = f"{server[-1].address}/disagreements?study={quote(study)}"
        page = visit(address, annotator=annotator, **options)
        start(page)
        return page

    return opened


@pytest.fixture
def stored(server, study):
    """`stored()`: (item, key, blind, reason) of every label of the study, oldest first.

    The key is that of the value in the order in which the annotator saw the responses.
    """

    def read() -> list[tuple[str, object, bool, str]]:
        with reading(connect(server[-1].database)) as session:
            found = list(labels.of_study(session, studies.get(session, study).id))
        return [(label.target.item, key_of(label.value, label.shown), label.blind, label.reason) for label in found]

    return read


def key_of(value, shown) -> int | None:
    """Return the key of a value under an order."""
    return shown.index(value) + 1 if value in (1, 2) else value


def order(page) -> list[str]:
    """Return the items in the browser in their order, by the text of their questions."""
    text = "[...bench.state.trail, ...bench.state.ready].map((id) => bench.state.tasks[id].above.at(-1).text)"
    return [question.removeprefix("Which is better for ").removesuffix("?") for question in state(page, text)]


def shown(page) -> str:
    """Return the item on the screen."""
    question = state(page, "bench.state.tasks[bench.taskId()].above.at(-1).text")
    return question.removeprefix("Which is better for ").removesuffix("?")


"""The text of a response -> its number in the item."""


def test_a_server_killed_in_mid_item_loses_nothing(bench, server, stored, tmp_path):
    page = bench()
    items = order(page)[:3]
    press(page, "1", "Enter", "Enter")
    press(page, "2", "w")
    page.keyboard.type("half a reason")
    saved(page)
    killed = server[-1]
    killed.process.send_signal(signal.SIGKILL)
    killed.process.wait(10)
    press(page, "Escape", "Enter", "Enter", "0", "Enter")
    page.locator(".saving[data-state=trouble]").wait_for()
    port = killed.address.rpartition(":")[2]
    server.append(serve(killed.database, tmp_path / "again.log", port=int(port)))
    saved(page, timeout=60_000)
    assert [(row[0], row[1], row[3]) for row in stored()] == [
        (items[0], 1, ""),
        (items[1], 2, "half a reason"),
        (items[2], 0, ""),
    ]


def test_a_window_outlives_the_rename_and_the_deletion_of_its_study(bench, server, study, stored):
    page, engine = bench(), connect(server[-1].database)
    with writing(engine) as session:
        study_id = studies.get(session, study).id
        studies.rename(session, study_id, f"{study} renamed")
    item = shown(page)
    press(page, "1", "Enter", "Enter")
    saved(page)
    with writing(engine) as session:
        deletions.delete_study(session, study_id)
    later = shown(page)
    press(page, "2", "Enter")
    message = page.locator(".message")
    message.get_by_text("This study was deleted").wait_for()
    assert "unsent action" in message.inner_text()
    assert "when the study is restored and you open it again" in message.inner_text()
    assert message.get_by_role("link", name="Other studies").is_visible()
    with writing(engine) as session:
        deletions.restore_study(session, study_id)
        studies.rename(session, study_id, study)
    page.reload()
    page.locator(READY).wait_for()
    saved(page)
    assert [row[:2] for row in stored()] == [(item, 1), (later, 2)]
    engine.dispose()
