"""The workbench in a real browser on the real application: every key counts, and nothing is lost."""

import signal
from collections.abc import Iterator
from itertools import count
from urllib.parse import quote

import pytest

from storage.db.connections import connect, reading, writing
from storage.labelling import training
from storage.labels import labels
from storage.studies import studies
from storage.transfer import deletions, imports
from tests.browser.conftest import Served, disputed, serve, start, stop_server
from tests.browser.test_workbench import READY, chosen, press, saved, state
from tests.conftest import make_target
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


def column_texts(page) -> list[str]:
    """Return the responses as they are on the screen, from left to right."""
    return page.locator(".columns .text").all_inner_texts()


def test_each_annotator_sees_the_other_response_first_and_the_key_1_stores_it(bench, server, study):
    expected, first_of = {}, {}
    for annotator in ("annotator 1", "annotator 2"):
        page = bench(annotator)
        for _ in range(6):
            item, first = shown(page), column_texts(page)[0]
            press(page, "1", "Enter")
            page.locator(".reveal table").wait_for()
            expected[annotator, item] = NUMBERS[first]
            first_of.setdefault(item, []).append(first)
            # All judges chose response 1 in their turns: the reveal names it by its place on this screen.
            place = "1" if first == "this" else "2"
            assert set(page.locator(".reveal .stance").all_inner_texts()) == {place}
            assert page.locator(f".reveal .stance.response-{place}").count() == page.locator(".reveal .stance").count()
            press(page, "Enter")
        saved(page)
        item = order(page)[5]
        press(page, "u")
        assert (shown(page), chosen(page), NUMBERS[column_texts(page)[0]]) == (item, "1", expected[annotator, item])
        press(page, "Shift+U")
        saved(page)
        page.reload()
        page.locator(READY).wait_for()
    with reading(connect(server[-1].database)) as session:
        found = list(labels.of_study(session, studies.get(session, study).id))
    current = {(label.annotator, label.target.item): label.value for label in found}
    assert current == expected and {1, 2} == set(expected.values())
    assert all(len(set(texts)) == len(texts) for texts in first_of.values())


NUMBERS = {"this": 1, "that": 2}
"""The text of a response -> its number in the item."""


def test_a_key_keeps_its_meaning_when_the_rule_changes_before_it_is_sent_and_after_a_reload(bench, server, study):
    page, engine = bench(), connect(server[-1].database)
    while column_texts(page)[0] != "that":
        press(page, "j")
    item = shown(page)
    page.context.set_offline(True)
    press(page, "1", "Enter")
    with writing(engine) as session:
        found = studies.get(session, study)
        rules = found.rules.model_copy(update={"response_order": "as_given", "response_order_reason": "A test."})
        studies.update(session, found.id, description="", guidelines="", rules=rules)
    page.context.set_offline(False)
    saved(page)
    page.goto(f"{server[-1].address}/disagreements?study={quote(study)}&tab=done")
    start(page)
    assert (shown(page), column_texts(page), chosen(page)) == (item, ["that", "this"], "1")
    with reading(engine) as session:
        assert [(one.value, one.shown) for one in labels.of_study(session, found.id)] == [(2, (2, 1))]
    engine.dispose()


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


def test_nothing_hidden_is_received_before_the_label(visit, server, study):
    replies, frames = [], []
    page = visit("about:blank")
    page.context.add_cookies([{"name": "tiebreak_annotator", "value": "annotator%201", "url": server[-1].address}])
    page.on("response", lambda reply: "/api/label/" in reply.url and replies.append(reply))
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(str(frame))))
    page.goto(f"{server[-1].address}/disagreements?study={quote(study)}")
    start(page)
    blind = "".join([*(reply.text() for reply in replies), *frames])
    assert '"panel":"choice"' in blind
    for hidden in ("j0", "j1", "stances", "disputed", '"item": "gpt'):
        assert hidden not in blind, blind[max(0, blind.index(hidden) - 60) : blind.index(hidden) + 60]
    replies.clear()
    press(page, "1", "Enter")
    page.locator(".reveal table").wait_for()
    assert "j0" in "".join(reply.text() for reply in replies)


def test_a_training_is_repeated_until_it_is_passed_and_then_the_queue_opens(bench, server, study, stored):
    known = {f"gpt_vs_claude/{number}" for number in range(2)}
    with writing(connect(server[-1].database)) as session:
        study_id = studies.get(session, study).id
        for item in known:
            training.add_item(session, study_id, make_target(item), 2, reason="It is shorter.")
        rules = studies.get(session, study).rules.model_copy(
            update={"response_order": "as_given", "response_order_reason": "The keys of this test."}
        )
        studies.update(session, study_id, description="", guidelines="", rules=rules)
    page = bench()
    press(page, "1", "Enter")
    page.locator(".feedback.incorrect").wait_for()
    assert "Expected: Response 2 is better" in page.locator(".feedback").inner_text()
    assert page.locator(".reveal table").count() == 0
    press(page, "Enter", "1", "Enter")
    page.get_by_text("not passed the training yet").first.wait_for()
    press(page, "Enter")
    page.get_by_role("link", name="Repeat the training").click()
    start(page)
    press(page, "2", "Enter", "Enter", "2", "Enter")
    page.get_by_text("You have passed the training.").wait_for()
    assert set(order(page)[:2]) == known
    page.wait_for_function("() => document.querySelector('label-workbench').state.ready.length > 10")
    press(page, "Enter")
    item = shown(page)
    press(page, "1", "Enter")
    saved(page)
    assert [row[:2] for row in stored()] == [(item, 1)] and item not in known
