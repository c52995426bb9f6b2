"""Every page of the sidebar: what it requests, what it is named, its small print, and what axe finds in both themes."""

from urllib.parse import quote

import pytest

from pages.parts.sections import SECTIONS
from storage.accounts import access
from storage.accounts.access import Role
from storage.db.connections import connect, writing
from storage.studies import studies
from tests.accounts import add_account, enter
from tests.browser.conftest import DRAWN, open_page
from tests.browser.test_label_pages import axe_source

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
ENTRIES = "[data-testid=stSidebar] [data-testid=stPageLink-NavLink]"
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


@pytest.fixture(scope="module")
def roles(guarded):
    """A server with accounts: its address, and the cookie of an administrator and of a member of each role."""
    engine = connect(guarded.database)
    add_account(engine, "administrator", administrator=True)
    for role in Role:
        add_account(engine, role.value)
        with writing(engine) as session:
            for name in {STUDY, *STUDIES.values()}:
                access.set_role(session, studies.get(session, name).id, role.value, role)
    yield guarded.address, {name: enter(engine, name) for name in ("administrator", *Role)}
    engine.dispose()


@pytest.fixture
def watched(visit, roles):
    """`watched(role, **options)` opens a page, and lists what the browser reports while it is open."""

    def open_page(role: str, **options):
        address, cookies = roles
        page = visit("about:blank", bypass_csp=True, **options)
        page.context.add_cookies([{"name": COOKIE, "value": cookies[role], "url": address}])
        reports = []
        page.on("response", lambda reply: reply.status >= 400 and reports.append(f"{reply.status} {reply.url}"))
        page.on("console", lambda message: message.type == "error" and reports.append(message.text))
        page.on("pageerror", lambda error: reports.append(str(error)))
        return page, reports

    return open_page


def open_section(page, address: str, section, study: str = "") -> None:
    """Open the page of a section, and wait until it and its charts are drawn."""
    path = "" if section is SECTIONS[0] else section.path
    url = f"{address}/{path}?study={quote(study or STUDIES.get(section.script, STUDY))}"
    open_page(page, url)
    title = "" if section.path == "alignment" else f"{section.title} · "  # it becomes a part of Judges
    page.wait_for_function(
        "(title) => document.title.startsWith(title) && / · Tiebreak$/.test(document.title)", arg=title
    )
    page.locator(DRAWN).wait_for()
    page.wait_for_timeout(300)


def violations(page, theme: str) -> list[tuple[str, list[str]]]:
    """Return the serious and critical violations that axe finds, with the elements; themes differ in colours alone."""
    rules = "" if theme == "light" else ", runOnly: ['color-contrast']"
    found = page.evaluate(f"axe.run(document, {{ resultTypes: ['violations']{rules} }})")["violations"]
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:4])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_every_page_is_accessible_and_requests_only_what_exists(watched, roles):
    page, reports = watched("administrator")
    source, problems = axe_source(), {}
    for section in SECTIONS:
        page.emulate_media(color_scheme="light")
        open_section(page, roles[0], section)
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)
        found = list(reports)
        if len(lines := page.evaluate(SMALL_PRINT)) > 1:
            found.append(f"small print above the chart: {lines}")
        found += [f"light: {one}" for one in violations(page, "light")]
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(200)
        found += [f"dark: {one}" for one in violations(page, "dark")]
        if found:
            problems[section.path] = found
        reports.clear()
    assert not problems


def test_every_entry_of_a_role_is_above_the_fold_and_requests_only_what_exists(watched, roles):
    """The first role that sees a page opens it; those with the fewest rights come first."""
    visited = set()
    for role in reversed(Role):
        page, reports = watched(role)
        open_section(page, roles[0], SECTIONS[0])
        links = page.locator(ENTRIES)
        addresses = links.evaluate_all("links => links.map((link) => link.href)")
        assert 1 < len(addresses) <= (6 if role is Role.annotator else 12)
        assert all(box["y"] + box["height"] < 900 for box in (link.bounding_box() for link in links.all()))
        for address in set(addresses) - visited:
            open_page(page, address)
            page.locator("h1, label-workbench").first.wait_for()
        visited.update(addresses)
        assert not reports, role
    name = page.get_by_test_id("stSidebarHeader").evaluate("node => getComputedStyle(node, '::before').content")
    assert name == '"Tiebreak"'


def test_the_workbench_is_three_tabs_away(watched, roles):
    page, _ = watched("annotator")
    section = next(section for section in SECTIONS if section.path == "disagreements")
    open_section(page, roles[0], section)
    page.locator("label-workbench[data-phase=working], label-workbench[data-phase=guidelines]").wait_for()
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "LABEL-WORKBENCH"
