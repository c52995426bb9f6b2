"""Result pages in the browser: rows of tables and points of charts that are selected."""

from urllib.parse import quote

import pytest

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
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
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
