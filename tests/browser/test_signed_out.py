"""A session that ends while labelling: the sign-in leads back to the target, and every page sends what is unsent."""

import re
from urllib.parse import quote

import pytest
from sqlalchemy import text

from storage.db.connections import connect, reading, writing
from storage.labels import labels
from storage.studies import studies
from storage.transfer import imports
from tests.accounts import PASSWORD
from tests.browser.conftest import disputed, start
from tests.browser.test_label_path import shown
from tests.browser.test_workbench import READY, press

pytestmark = pytest.mark.browser
LABELLED = "labelled"


@pytest.fixture(scope="module")
def engine(guarded):
    """The engine of the server's database; the study LABELLED has targets and is not the newest one."""
    opened = connect(guarded.database)
    for study in (LABELLED, "newer"):
        imports.import_records(opened, study, disputed(8))
    yield opened
    opened.dispose()


def sign_in(page):
    page.get_by_label("Name").fill("annotator 1")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def stored(engine) -> list[str]:
    with reading(engine) as session:
        return [label.target.item for label in labels.of_study(session, studies.get(session, LABELLED).id)]


@pytest.fixture
def unsent(visit, guarded, engine):
    """The page of a workbench whose session has ended, and the item of its label that is not sent."""
    page = visit(f"{guarded.address}/disagreements?study={LABELLED}")
    sign_in(page)
    start(page)
    press(page, "j")
    with writing(engine) as session:
        session.execute(text("DELETE FROM login"))
    item = shown(page)
    press(page, "1", "Enter")
    page.locator("label-workbench[data-phase=stopped]").wait_for()
    assert "unsent" in page.locator(".message").inner_text()
    return page, item


def test_the_sign_in_leads_back_to_the_target_and_sends_its_label(engine, unsent):
    page, item = unsent
    page.get_by_role("link", name="Sign in").click()
    sign_in(page)
    page.locator(READY).wait_for()
    assert f"study={quote(LABELLED)}" in page.url
    assert shown(page) == item and item in stored(engine)


def test_any_page_sends_and_states_the_unsent_actions_of_another_study(guarded, engine, unsent):
    page, item = unsent
    page.goto(f"{guarded.address}/home?study=newer")
    sign_in(page)
    notice = page.locator(".unsent-notice")
    notice.wait_for()
    assert f"of the study “{LABELLED}”" in notice.inner_text() and "sent" in notice.inner_text()
    assert item in stored(engine)
    assert "study=newer" in page.url


ENGLISH = (
    r"\b(the|your|you|labels?|response|answer|better|neither|next|previous|saved?|guidelines|keys|done|drafts|submit"
    r"|search|skip(ped)?|flag(ged)?|note|question|criterion|study|inbox|work|sign|opinion|round)\b"
)
# The page without the texts of the study and the link to its contents, which is Streamlit's.
WORDS = """() => {
    const own = document.querySelector("label-workbench")?.shadowRoot.querySelector(".workbench").cloneNode(true);
    own?.querySelectorAll(".study, .reading .text, .reveal .words").forEach((one) => one.remove());
    return [document.title, document.body.innerText, own?.textContent].join(" ").replace("Skip to main content", "");
}"""


def test_an_annotator_who_reads_german_sees_no_english_from_the_sign_in_to_the_reveal(guarded, engine, visit):
    page = visit(f"{guarded.address}/home?study={LABELLED}")
    page.get_by_role("link", name="Deutsch").click()
    page.get_by_role("button", name="Anmelden").wait_for()

    def assert_german(expected: str) -> None:
        page.wait_for_function(f"(expected) => ({WORDS})().includes(expected)", arg=expected)
        words = page.evaluate(WORDS).replace(LABELLED, "")
        assert re.findall(ENGLISH, words, re.IGNORECASE) == [], words

    assert_german("Anmelden")
    page.get_by_label("Name").fill("annotator 1")
    page.get_by_label("Passwort").fill(PASSWORD)
    page.get_by_role("button", name="Anmelden").click()
    page.get_by_text("Erledigt", exact=True).last.click()
    page.wait_for_url("**list=Done**")
    page.locator("[data-test-script-state=notRunning]").wait_for()
    assert_german("Meine Arbeit")
    page.get_by_role("button", name="Weiter:").click()
    start(page)
    press(page, "h")
    assert_german("rückgängig (mehrmals möglich)")
    press(page, "h", "1", "Enter")
    page.locator(".reveal table").wait_for()
    assert_german("1 behalten")
    page.evaluate("document.documentElement.dir = 'rtl'")
    count = page.locator(".count").evaluate("(node) => getComputedStyle(node).unicodeBidi")
    label = page.locator("[data-testid=stSidebar] [data-testid=stWidgetLabel]").first
    assert count == "plaintext" and not label.is_visible()
    page.goto(f"{guarded.address}/home?study={LABELLED}")
    page.locator(".st-key-account_menu button").click()
    page.get_by_role("link", name="English").click()
    page.get_by_role("heading", name="My work").wait_for()
    assert page.locator("html").get_attribute("lang") == "en"
