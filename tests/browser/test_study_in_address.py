"""Every page keeps its study: after a direct visit, a reload, Back, in a new tab, and from the sidebar."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest

from pages.parts.sections import SECTIONS

pytestmark = pytest.mark.browser
STUDY = "Sample: MetaCritique"
"""Not the newest study: that one opens when the address and the window name none."""
PATHS = [
    "" if script == "results/overview.py" else path or script.rpartition("/")[2].removesuffix(".py")
    for entries in SECTIONS.values()
    for script, _, _, path, _ in entries
]
LINK = "[data-testid=stSidebarNavLink]"


def settle(page):
    """Wait until the page is drawn: its address names a study, and no run of it is open."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(250)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def study_of(page) -> tuple[str, str | None, list[str]]:
    """Return the path of a page, the study that it shows, if it shows one, and those that its address names."""
    parts = urlsplit(page.url)
    choice = page.locator(".st-key-study")
    shown = choice.locator("input").first.get_attribute("value") if choice.count() else None
    workbench = page.locator("label-workbench")
    if workbench.count():
        shown = parse_qs(workbench.get_attribute("query"))["study"][0]
    return parts.path.removeprefix("/"), shown or None, parse_qs(parts.query).get("study", [])


def assert_kept(page, path: str, way: str) -> None:
    settle(page)
    found, shown, named = study_of(page)
    assert (found, named) == (path, [STUDY]), way
    assert shown in (STUDY, None), way


def link_to(page, path: str):
    collapsed = page.get_by_test_id("stExpandSidebarButton")
    if collapsed.count():
        collapsed.click()
        page.wait_for_timeout(500)  # it slides in
    return page.locator(LINK).nth(PATHS.index(path))


@pytest.mark.parametrize("path", PATHS)
def test_a_page_keeps_its_study(visit, served, path):
    other = "home" if path != "home" else "aius"
    page = visit(f"{served.address}/{path}?study={quote(STUDY)}", "annotator 1")
    assert_kept(page, path, "a direct visit")
    page.reload()
    assert_kept(page, path, "a reload")
    link = link_to(page, other)
    link.hover()
    address = link.evaluate("link => link.href")
    link.click()
    page.wait_for_url(f"**/{other}?*")
    assert_kept(page, other, "the sidebar")
    page.go_back()
    page.wait_for_url(f"**/{path}?*")
    assert_kept(page, path, "Back")
    page.goto(address)
    assert_kept(page, other, "the link of the sidebar in a new tab")
