"""Adjudication with the keyboard in the real browser: a value, words, and Ctrl+Enter."""

from urllib.parse import quote

import pytest

from storage.db.connections import connect, reading
from storage.labels import labels
from storage.studies import studies

pytestmark = pytest.mark.browser
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
