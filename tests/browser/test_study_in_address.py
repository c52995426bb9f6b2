"""Every page keeps its study: after a direct visit, a link to a section, a reload, Back, and in a new tab."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest

from pages.parts.sections import SECTIONS
from tests.browser.conftest import DRAWN, start

pytestmark = pytest.mark.browser
STUDY = "Sample: MetaCritique"
"""Not the newest study: that one opens when the address and the window name none."""
TITLES = {"" if section is SECTIONS[0] else section.path: section.title for section in SECTIONS}
OTHER = "studies"
STARTS = ("aius", "systems")
"""A workbench and a page of results."""
LINK = "[data-testid=stPageLink-NavLink]"


def path_of(page) -> str:
    return urlsplit(page.url).path.removeprefix("/")


def assert_kept(page, path: str, way: str) -> None:
    """Wait until a page is drawn: it has the title of its section, and its address and its choice have the study."""
    page.wait_for_function("title => document.title === title", arg=f"{TITLES[path]} · {STUDY} · Tiebreak")
    page.locator(DRAWN).wait_for()
    assert (path_of(page), parse_qs(urlsplit(page.url).query).get("study")) == (path, [STUDY]), way
    choice, workbench = page.locator(".st-key-study input"), page.locator("label-workbench")
    shown = [choice.first.get_attribute("value")] if choice.count() else []
    shown += parse_qs(workbench.get_attribute("query"))["study"] if workbench.count() else []
    assert set(shown) <= {STUDY, ""}, way


def link_to(page, path: str):
    if page.get_by_test_id("stExpandSidebarButton").count():
        page.get_by_test_id("stExpandSidebarButton").click()
    return page.locator(LINK).and_(page.locator(f"[href^='{path}?'], [href$='/{path}?study={quote(STUDY)}']")).first


@pytest.mark.parametrize("path", STARTS)
def test_a_page_keeps_its_study_in_each_way(visit, served, path):
    page = visit(f"{served.address}/{path}?study={quote(STUDY)}", "annotator 1")
    assert_kept(page, path, "a direct visit")
    page.reload()
    assert_kept(page, path, "a reload")
    link = link_to(page, OTHER)
    with page.context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    assert_kept(opened.value, OTHER, "the link of the sidebar in a new tab")
    assert_kept(page, path, "while a link opens in a new tab")
    link.click()
    assert_kept(page, OTHER, "the sidebar")
    page.go_back()
    assert_kept(page, path, "Back")


def test_back_returns_from_a_trace_to_the_filtered_list(visit, served):
    address = f"{served.address}/traces?study=Sample:+ScaleEval&outcome=Disputed"
    page = visit(address)
    page.locator(".dvn-scroller").click(position={"x": 60, "y": 60})
    page.get_by_text("next disagreement").wait_for()
    assert "outcome" not in page.url
    page.go_back()
    page.locator(".dvn-scroller").wait_for()
    assert "outcome=Disputed" in page.url
    page.get_by_role("link", name="Runs").first.click()
    page.locator("[data-testid=stMain] a[href*='run=']", has_text="Traces").first.click()
    page.locator(".dvn-scroller").wait_for()
    assert "run=" in page.url and "outcome" not in page.url, "a link opens what it states"


def test_the_tour_leads_from_a_dispute_over_a_blind_label_of_another_one_to_the_figures(visit, served):
    page = visit(f"{served.address}/?study=Sample:+ScaleEval", "tourist")
    page.get_by_role("link", name="Watch a dispute").click()
    page.get_by_role("link", name="Decide one yourself").click()
    start(page)
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    page.locator(".reveal", has_text="No consensus").wait_for()
    page.get_by_role("link", name="See the figures move").click()
    page.get_by_role("heading", name="Agreement").wait_for()
    page.goto(served.address)
    page.get_by_text("Next:").wait_for()
    assert not page.get_by_role("link", name="Watch a dispute").is_visible(), "it is over"


def test_the_tour_is_not_shown_again_after_it_was_skipped(visit, served):
    page = visit(f"{served.address}/?study=Sample:+ScaleEval")
    step = page.get_by_role("link", name="Watch a dispute")
    assert "trace=" in (step.get_attribute("href") or "")
    page.get_by_role("button", name="Skip the tour").click()
    page.reload()
    page.get_by_text("Next:").wait_for()
    assert not page.get_by_role("link", name="Watch a dispute").is_visible()
