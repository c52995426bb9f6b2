"""The steps of a transcript on the page of a trace and in the workbench: by keys, by citations, and on a phone."""

import sqlite3

import pytest
from playwright.sync_api import expect

from storage.db import connections
from tests.browser import transcripts
from tests.browser.conftest import start

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def planted(served):
    """A server with the study, and the id of its trace."""
    engine = connections.connect(served.database)
    trace = transcripts.plant(engine)
    transcripts.plant_pair(engine)
    engine.dispose()
    return served, trace


def here(page):
    return page.locator(".transcript .step[aria-selected=true] .place")


def test_steps_of_a_trace_are_read_by_keys_and_reached_from_citations(planted, visit):
    server, trace = planted
    page = visit(f"{server.address}/traces?trace={trace}", annotator="annotator 1")
    page.get_by_text("40 steps · 9 errors").wait_for()
    call = page.locator(".transcript summary").first
    expect(call).to_have_text("weather(city=Rome, days=3) → 31 degrees at station 3")
    page.locator(".transcript .step").first.click()
    for key, number in (("j", "2"), ("j", "3"), ("k", "2"), ("e", "4"), ("t", "6")):
        page.keyboard.press(key)
        expect(here(page)).to_have_text(number)
    first = page.locator(".transcript .part").first
    expect(first.locator("strong")).to_have_text("weather")
    expect(first).to_contain_text("<b>Now</b>")
    page.keyboard.press("r")
    expect(first).to_contain_text("**weather**")
    page.keyboard.press("r")
    page.keyboard.press("/")
    page.keyboard.type("station 1")
    expect(here(page)).to_have_text("11")
    page.keyboard.press("Enter")
    expect(here(page)).to_have_text("15")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="[4]").click()
    expect(here(page)).to_have_text("4")
    page.get_by_text("[99] (no such step)").wait_for()
    assert page.get_by_role("link", name="[99]").count() == 0
    assert "#" not in page.url
    page.keyboard.press("k")  # the keys are those of the transcript only while it has the focus
    page.locator(".transcript .spine").evaluate("spine => (spine.scrollTop = spine.scrollHeight)")
    page.locator(".transcript .step").last.click()
    assert page.locator(".transcript .part img").count() == 1
    page.get_by_text("data:image/png;base64,PHN2Zz4=").wait_for()


def test_d_shows_the_steps_that_only_some_judges_name_on_the_page_of_their_trace_alone(planted, visit):
    server, trace = planted
    page = visit("about:blank")
    for number, steps in ((trace + 1, ("4", "8", "4")), (trace, ("1",))):
        page.goto(f"{server.address}/traces?trace={number}")
        page.get_by_text("40 steps · 9 errors").wait_for()
        page.locator(".transcript .step").first.click()
        for step in steps:
            page.keyboard.press("d")
            expect(here(page)).to_have_text(step)
    assert "only some judges" not in page.locator(".transcript .keys").get_attribute("title")


@pytest.mark.parametrize("width", [1440, 390])
def test_the_first_wrong_step_is_labelled_from_the_transcript(planted, visit, width):
    server, _ = planted
    address = f"{server.address}/scores?study={transcripts.STUDY}&criterion=first wrong step"
    page = visit(address, annotator=f"annotator {width}", viewport={"width": width, "height": 844})
    start(page)
    page.get_by_text("Which step went wrong first?").wait_for()
    page.get_by_text("40 steps · 9 errors").wait_for()
    task = page.locator("label-workbench").get_attribute("data-task")
    for key, number in (("Shift+J", "2"), ("Shift+K", "1"), ("e", "4"), ("t", "6"), ("e", "8"), ("Shift+K", "7")):
        page.keyboard.press(key)
        expect(here(page)).to_have_text(number)
    page.keyboard.press("e")
    page.keyboard.press("h")
    expect(page.locator(".sheet")).to_contain_text("next tool call of the transcript")
    page.keyboard.press("h")
    assert page.locator("label-workbench").get_attribute("data-task") == task
    spine, content = (page.locator(f".transcript .{name}").bounding_box() for name in ("spine", "content"))
    assert (spine["x"] + spine["width"] <= content["x"]) == (width == 1440)
    assert content["x"] + content["width"] <= width and content["height"] > 100
    page.locator("input.number").fill("41")
    page.keyboard.press("Enter")
    expect(page.locator(".wrong")).to_have_text("A whole number from 0 to 40.")
    page.keyboard.press("Escape")
    assert page.locator("label-workbench").get_attribute("data-task") == task
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.get_by_text("saved", exact=True).wait_for(state="attached")
    page.wait_for_timeout(300)
    with sqlite3.connect(server.database.removeprefix("sqlite:///")) as store:
        query = "select value from label join annotator on annotator.id = annotator_id where name = ?"
        assert [float(value) for (value,) in store.execute(query, [f"annotator {width}"])] == [8]
    page.locator("button.stance").first.click()
    assert page.locator(".citation").all_inner_texts() == ["4", "3", "99 (no such step)"]
    page.locator("button.citation").first.click()
    expect(here(page)).to_have_text("4")


@pytest.mark.parametrize(("address", "key"), [("traces?trace={}", ""), ("disagreements?study=pairs", "Shift+")])
def test_two_transcripts_are_shown_at_the_step_in_which_they_part(planted, visit, address, key):
    server, trace = planted
    page = visit(f"{server.address}/{address.format(trace + 2)}", annotator="annotator 1")
    if key:
        start(page)
    expect(page.get_by_role("button", name="they part at step 6")).to_have_count(2)
    expect(here(page)).to_have_text(["6", "6"])
    second = page.locator(".transcript").last
    second.locator(".step").first.click()
    expect(here(page)).to_have_text(["1", "1"])
    page.keyboard.press(f"{key}j")
    expect(here(page)).to_have_text(["2", "2"])
    page.keyboard.press(f"{key}p")
    expect(here(page)).to_have_text(["6", "6"])
    page.keyboard.press(f"{key}j")
    expect(here(page)).to_have_text(["6", "7"])
