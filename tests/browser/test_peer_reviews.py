"""Peer reviews in a real browser: scores by keys, comments, and a click on the chart of errors."""

import sqlite3
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from core.formats.records import ItemRecord, ScaleRecord
from core.items import Response
from core.labels import Scale
from storage.db.connections import connect
from storage.transfer import imports
from tests.browser.conftest import start
from tests.conftest import make_item

pytestmark = pytest.mark.browser
STUDY = quote("Sample: ReFeR")


def test_a_score_entered_by_keys_reveals_the_review(served, visit):
    page = visit(f"{served.address}/scores?study={STUDY}", annotator="newcomer")
    start(page)
    page.get_by_text("Which score for engaging?").wait_for()
    assert page.get_by_text("chair").count() == 0
    page.keyboard.press("2")
    page.keyboard.press("Control+Enter")
    page.locator(".reveal table").wait_for()
    assert page.locator(".reveal").get_by_text("chair").count()
    page.get_by_text("1 of 3").wait_for()  # the other five already have three labels each
    page.get_by_text("Keep 2").wait_for()
    labelled = page.locator("label-workbench").get_attribute("data-task")
    page.keyboard.press("Enter")
    page.locator(f"label-workbench:not([data-task={labelled}])").wait_for()
    expect(page.locator(".reveal")).to_be_hidden()


def test_a_number_is_typed_on_a_continuous_scale(served, visit):
    scale = ScaleRecord(kind="score", criterion="quality", scale=Scale(level="interval", low=0, high=100))
    item = ItemRecord(item=make_item("boat", responses=(Response(text="a boat"),)))
    imports.import_records(connect(served.database), "boats", [scale, item])
    page = visit(f"{served.address}/scores?study=boats", annotator="newcomer")
    start(page)
    page.get_by_text("Which score for quality, 0 to 100?").wait_for()
    for key in ("1", "0", "1"):
        page.keyboard.press(key)
    assert page.get_by_text("A number from 0 to 100.").is_visible()
    page.keyboard.press("Backspace")
    page.keyboard.press("Control+Enter")
    page.get_by_text("You have labelled 1 of 1.").wait_for()  # no judge has an opinion to reveal
    page.get_by_text("saved", exact=True).wait_for()
    page.reload()
    page.get_by_text("You have labelled 1 of 1.").wait_for()
    with sqlite3.connect(served.database.removeprefix("sqlite:///")) as store:
        query = "select value from label join target on target.id = label.target_id where criterion = 'quality'"
        assert [float(value) for (value,) in store.execute(query)] == [10]


def test_buttons_step_through_comments(served, visit):
    with sqlite3.connect(served.database.removeprefix("sqlite:///")) as store:
        (trace,) = store.execute(
            "select trace.id from trace join item on item.id = trace.item_id where item.key = 'bees'"
        ).fetchone()
    page = visit(f"{served.address}/traces?trace={trace}")
    page.get_by_text("Comment 1 of 10").wait_for()
    page.get_by_role("button", name="›").click()
    page.get_by_text("Comment 2 of 10").wait_for()
    page.get_by_role("button", name="‹").click()
    page.get_by_role("button", name="‹").click()
    page.get_by_text("Comment 10 of 10").wait_for()


def test_a_click_on_a_bar_lists_its_items(served, visit):
    page = visit(f"{served.address}/peer_errors?study={STUDY}")
    page.get_by_text("Right with some peers right").wait_for()
    bar = page.locator(".st-key-errors .point").first
    bar.wait_for()
    page.wait_for_timeout(1500)  # plotly lays out the chart after the bars exist
    box = bar.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 12)
    page.wait_for_timeout(400)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 12)
    page.get_by_text("Selected traces").wait_for()
    assert "slice=" in page.url
