"""The page Policy: found from the sidebar, the risk set to 5 %, and the escalated targets sent to people."""

import pytest

from storage.db.connections import connect
from storage.transfer import imports
from tests.storage.reports import planted_policies as planted

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def judged(served):
    """A study with a sure judge and random labels, made before the browser starts."""
    imports.import_records(connect(served.database), "judged", planted.records(400, 300, error=0.1))


def test_a_person_sets_five_percent_and_sends_the_others_to_people(served, judged, visit):
    page = visit(f"{served.address}/?study=judged", "annotator 1")
    page.get_by_role("link", name="Judges", exact=True).first.click()
    page.get_by_role("link", name="Policy").click()
    slider = page.get_by_role("slider")
    slider.wait_for()
    slider.press("ArrowRight")
    page.get_by_text("At most 5.5 % of them differ").wait_for()
    slider.press("ArrowLeft")
    page.get_by_text("At most 5 % of them differ").wait_for()
    page.get_by_role("button", name="targets to people").click()
    page.get_by_text("added to the annotators' queue.").wait_for()
    page.get_by_role("button", name="Open").last.click()
    page.get_by_text("Selected targets:").wait_for()
