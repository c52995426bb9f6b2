"""Every page of the sidebar: what it requests, what it is named, its small print, and what axe finds in both themes."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest

from pages.parts.sections import SECTIONS
from storage.accounts import access, logins, registry
from storage.accounts.access import Role
from storage.db.connections import connect, writing
from storage.studies import studies
from tests.browser.conftest import DRAWN, PAINTED, open_page
from tests.browser.test_label_pages import axe_source
from tests.browser.test_study_in_address import LINK, assert_kept
from tests.browser.test_study_in_address import STUDY as KEPT

pytestmark = pytest.mark.browser
STUDY = "Sample: ScaleEval"
STUDIES = {
    "results/critiques.py": "Sample: MetaCritique",
    "label/critiques.py": "Sample: MetaCritique",
    "label/aius.py": "Sample: MetaCritique",
    "label/scores.py": "Sample: ReFeR",
    "results/peer_errors.py": "Sample: ReFeR",
    "label/weights.py": "Sample: DnA-Eval",
    "results/weights.py": "Sample: DnA-Eval",
    "results/laboratory.py": "Sample: DnA-Eval",
}
"""Pages that have content in another study."""
COOKIE = "tiebreak_session"
ENTRIES, TABS = f"[data-testid=stSidebar] {LINK}", f".st-key-sections {LINK}"
SMALL_PRINT = """() => {
  const seen = (node) => node.getBoundingClientRect().height > 1;
  const chart = [...document.querySelectorAll(".js-plotly-plot")].find(seen);
  if (!chart) return [];
  const lines = [];
  for (const node of document.querySelectorAll("[data-testid=stMain] [data-testid=stCaptionContainer]")) {
    if (!seen(node) || !(node.compareDocumentPosition(chart) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) if (box.width > 1) lines.push([box.bottom, node.innerText]);
  }
  lines.sort(([a], [b]) => a - b);
  return lines.filter(([bottom], place) => !place || bottom > lines[place - 1][0] + 10).map(([, text]) => text);
}"""
"""The lines of small print above the first chart; texts beside each other are one line."""
HAS_THEME = """(theme) => {
  const { backgroundColor } = getComputedStyle(document.querySelector("[data-testid=stApp]"));
  return (backgroundColor === "rgb(255, 255, 255)") === (theme === "light");
}"""


@pytest.fixture(scope="module")
def roles(guarded):
    """A server with accounts: its address, and the cookie of an administrator and of a member of each role."""
    engine = connect(guarded.database)
    with writing(engine) as session:
        accounts = {"administrator": registry.add(session, "administrator", administrator=True).id}
    for role in Role:
        with writing(engine) as session:
            accounts[role.value] = registry.add(session, role.value).id
            for name in {STUDY, *STUDIES.values()}:
                access.set_role(session, studies.get(session, name).id, role.value, role)
    with writing(engine) as session:
        entered = {name: logins.create(session, one, address="", browser="") for name, one in accounts.items()}
    yield guarded.address, entered
    engine.dispose()


@pytest.fixture
def watched(visit):
    """A page, and what the browser reports while it is open."""
    page, reports = visit("about:blank"), []
    page.on("response", lambda reply: reply.status >= 400 and reports.append(f"{reply.status} {reply.url}"))
    page.on("console", lambda message: message.type == "error" and reports.append(message.text))
    page.on("pageerror", lambda error: reports.append(str(error)))
    return page, reports


def enter(page, roles, role: str) -> str:
    """Sign in with the role, and return the address of the server."""
    address, cookies = roles
    page.context.add_cookies([{"name": COOKIE, "value": cookies[role], "url": address}])
    return address


def open_section(page, address: str, section) -> None:
    """Open the page of a section, and wait until it and its charts are drawn."""
    path = "" if section is SECTIONS[0] else section.path
    study = STUDIES.get(section.script, STUDY)
    open_page(page, f"{address}/{path}?study={quote(study)}")
    title = "Judges" if section.path == "alignment" else section.title  # it becomes a part of Judges
    page.wait_for_function("title => document.title === title", arg=f"{title} · {study} · Tiebreak")
    page.locator(DRAWN).wait_for()
    page.wait_for_function(PAINTED)


def violations(page, rules: str) -> list[tuple[str, list[str]]]:
    """Return the serious and critical violations that axe finds, with the elements."""
    found = page.evaluate(f"axe.run(document, {{ resultTypes: ['violations']{rules} }})")["violations"]
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:4])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_every_page_is_accessible_and_requests_only_what_exists(watched, roles):
    page, reports = watched
    address = enter(page, roles, "administrator")
    source, problems, themes = axe_source(), {}, ["light", "dark"]
    for section in SECTIONS:
        open_section(page, address, section)
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)
        found = list(reports)
        if len(lines := page.evaluate(SMALL_PRINT)) > 1:
            found.append(f"small print above the chart: {lines}")
        for theme, rules in zip(themes, ("", ", runOnly: ['color-contrast']"), strict=True):
            page.emulate_media(color_scheme=theme)
            page.wait_for_function(HAS_THEME, arg=theme)
            page.wait_for_function(PAINTED)
            found += [f"{theme}: {one}" for one in violations(page, rules)]
        themes.reverse()  # the next page is opened in the theme of this one
        if found:
            problems[section.path] = found
        reports.clear()
    assert not problems


def test_every_entry_of_a_role_is_above_the_fold_keeps_the_study_and_requests_only_what_exists(watched, roles):
    """The first role that sees a page opens it; those with the fewest rights come first."""
    (page, reports), visited, tabs = watched, set(), []
    for role in reversed(Role):
        page.goto(f"{enter(page, roles, role)}/?study={quote(KEPT)}")
        assert_kept(page, "", role)
        links = page.locator(ENTRIES)
        links.first.wait_for()
        page.locator(DRAWN).wait_for()
        paths = links.evaluate_all("links => links.map((link) => new URL(link.href).pathname.slice(1))")
        assert 1 < len(paths) <= (6 if role is Role.annotator else 12)
        assert all(box["y"] + box["height"] < 900 for box in (link.bounding_box() for link in links.all()))
        for place, path in enumerate(paths):
            if path not in visited:
                links.nth(place).click()
                assert_kept(page, path, role)
                page.locator("h1, label-workbench").first.wait_for()
                tabs += page.locator(TABS).evaluate_all("links => links.map((link) => link.href)")
        visited.update(paths)
        assert not reports, role
    assert len(set(tabs)) > 10 and {one for tab in tabs for one in parse_qs(urlsplit(tab).query)["study"]} == {KEPT}
    name = page.get_by_test_id("stSidebarHeader").evaluate("node => getComputedStyle(node, '::before').content")
    assert name == '"Tiebreak"'


def test_the_workbench_is_three_tabs_away(watched, roles):
    page, _ = watched
    address = enter(page, roles, "annotator")
    section = next(section for section in SECTIONS if section.path == "disagreements")
    open_section(page, address, section)
    page.locator("label-workbench[data-phase=working], label-workbench[data-phase=guidelines]").wait_for()
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "LABEL-WORKBENCH"
