"""Pages in the browser, with what their own tests cannot show: selections, keys, history, and figures that follow."""

import sqlite3
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from core.formats.records import ItemRecord, ScaleRecord
from core.items import Response
from core.labels import Scale
from storage.db.connections import connect, reading, writing
from storage.db.tables import RunRow
from storage.labels import labels
from storage.runs import runs
from storage.studies import studies
from storage.transfer import imports
from tests.browser.conftest import DRAWN, start
from tests.conftest import make_item

pytestmark = pytest.mark.browser


SAMPLE = quote("Sample: ScaleEval")
POINTS = "[...document.querySelectorAll('.st-key-alignment .scatterlayer .point')]"


def wait_until(page, condition):
    """Wait until an expression is true. The page's security policy forbids Playwright to wait for one."""
    for _ in range(300):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {condition}")


def test_a_row_of_a_table_opens_with_the_keyboard_and_with_a_click(visit, served):
    page = visit(f"{served.address}/discussions?study={SAMPLE}")
    table = page.locator("[data-testid=stDataFrame]").first
    page.locator(".js-plotly-plot .main-svg").first.wait_for()  # a chart that is drawn later moves the table
    page.get_by_test_id("data-grid-canvas").first.wait_for()
    page.locator(DRAWN).wait_for()
    table.scroll_into_view_if_needed()
    table.click(position={"x": 300, "y": 52})
    page.get_by_text("changes its opinion").wait_for()
    page.get_by_role("button", name="Close").click()
    page.get_by_text("changes its opinion").wait_for(state="hidden")
    canvas = page.get_by_test_id("data-grid-canvas").first
    canvas.focus()
    canvas.press("ArrowDown")
    page.get_by_text("changes its opinion").wait_for()


def test_the_point_of_a_judge_is_marked_until_its_targets_are_closed(visit, served):
    page = visit(f"{served.address}/alignment?study={SAMPLE}", "annotator 1")
    points = page.locator(".st-key-alignment .scatterlayer .point")
    points.first.scroll_into_view_if_needed()
    box = points.first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_text("Selected targets").wait_for()
    pale = f"{POINTS}.some((point) => +getComputedStyle(point).opacity < 1)"
    wait_until(page, pale)
    page.get_by_role("button", name="Close").click()
    page.get_by_text("Click a point, a cell").wait_for()
    wait_until(page, f"{POINTS}.length && !{pale}")
    page.wait_for_timeout(700)  # the page looks for newer labels twice a second, and draws nothing then
    assert page.evaluate(f"!{pale}")


# Pages of Traces in the browser: Back and Forward return to the pages that were opened.


def opened(page, name):
    """Wait until the page has one of its buttons as stated, and return its key in the address."""
    page.locator(f".st-key-{name} button:not([disabled])").wait_for()
    return page.evaluate("new URL(location).searchParams.get('after')")


# Adjudication with the keyboard in the real browser: a value, words, and Ctrl+Enter.


STUDY = "Sample: ScaleEval"


def decisions(served):
    with reading(connect(served.database)) as session:
        return labels.adjudications(session, studies.get(session, STUDY).id)


def test_a_case_is_decided_by_keys_and_a_digit_in_the_words_chooses_nothing(served, visit):
    before = decisions(served)
    page = visit(f"{served.address}/adjudication?study={quote(STUDY)}", "annotator 9")
    page.locator(".st-key-start button").click()
    page.locator(".st-key-decide button").wait_for()
    first = page.url
    page.keyboard.press("2")
    chosen = page.locator("[data-testid=stBaseButton-primary]").filter(has_text="Response 2 is better")
    chosen.wait_for()
    page.get_by_label("In your own words").click()
    page.keyboard.type("because 1 and s 0")
    assert page.url == first
    assert chosen.count() == 1
    page.keyboard.press("Control+Enter")
    page.get_by_text("Decision saved.").wait_for()
    (decision,) = decisions(served)[len(before) :]
    assert (decision.value, decision.adjudicator, decision.reason) == (2, "annotator 9", "because 1 and s 0")
    page.wait_for_url(lambda url: url != first)


# The page Runs in the browser: every card follows its run, whoever started, cancelled or resumed it.


def test_a_link_works_on_the_first_visit_and_an_open_page_follows_runs_that_somebody_else_starts_and_ends(
    visit, new_server
):
    page = visit(f"{new_server.address}/runs?study={STUDY}", "annotator 1")
    page.get_by_role("button", name="New run").wait_for()
    engine = connect(new_server.database)

    def change(act, *arguments):
        with writing(engine) as session:
            return act(session, *arguments)

    def start(session):
        study = studies.get(session, STUDY)
        return runs.create(session, study.id, "other", protocol="scaleeval", criterion="", settings={}, prompts={})

    def finish(session):
        session.get_one(RunRow, run).state = "finished"

    run = change(start)
    card = page.locator(f".st-key-run-{run}")
    card.get_by_text("Waiting").wait_for()
    change(runs.cancel, run)
    card.get_by_text("Cancelled").wait_for()
    card.get_by_role("button", name="Resume").wait_for()
    change(runs.resume, run)
    card.get_by_text("Waiting").wait_for()
    assert not card.get_by_role("button", name="Resume").count()
    change(finish)
    card.get_by_text("Finished").wait_for()
    engine.dispose()


# Peer reviews: scores by keys, comments, and a click on the chart of errors.


PEERS = quote("Sample: ReFeR")


def test_a_score_entered_by_keys_reveals_the_review(served, visit):
    page = visit(f"{served.address}/scores?study={PEERS}", annotator="newcomer")
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
