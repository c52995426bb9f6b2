"""A table with a judge and gold in a real browser: its columns are guessed, and the reference changes a figure."""

from pathlib import Path

import pytest

from storage.db.connections import connect, writing
from storage.studies import studies
from tests.conftest import make_target
from tests.storage.shared import store_label

pytestmark = pytest.mark.browser
HEADER = "id,question,response_a,response_b,gpt-4,gold"


@pytest.fixture
def judged_table(tmp_path: Path) -> Path:
    """Twelve pairs: gpt-4 chooses A, gold has B for three of them."""
    rows = [f"q{n},Why {n}?,Because.,So.,A,{'B' if n < 3 else 'A'}" for n in range(12)]
    path = tmp_path / "judged.csv"
    path.write_text("\n".join([HEADER, *rows]), encoding="utf-8")
    return path


def test_a_table_of_judge_and_gold_is_imported_and_compared_with_two_references(served, visit, judged_table) -> None:
    page = visit(f"{served.address}/studies?view=import")
    page.locator("input[type=file]").first.set_input_files(str(judged_table))
    page.get_by_text("A is Response 1").first.wait_for()
    name = page.get_by_label("Name", exact=True)
    name.fill("judged pairs")
    name.press("Enter")
    page.locator(".st-key-import button").click()
    page.get_by_text("added 12 items, 1 run, 12 traces, 12 adjudications").wait_for()

    engine = connect(served.database)
    with writing(engine) as session:
        study = studies.get(session, "judged pairs")
        for number in range(12):
            target = make_target(f"q{number}").model_copy(update={"criterion": ""})
            store_label(session, study.id, target, "annotator 7", 1)

    page.goto(f"{served.address}/alignment?study=judged+pairs&statistic=Accuracy+with+the+reference")
    page.get_by_text("reference gold: 12 adjudicated").wait_for()
    page.get_by_role("gridcell", name="0.75 [", include_hidden=True).first.wait_for(state="attached")

    page.goto(f"{served.address}/alignment?study=judged+pairs&reference=annotator%3Aannotator+7")
    page.get_by_role("button", name="Notes").click()
    page.get_by_text("Compared with the labels of annotator 7").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("reference annotator:annotator 7: 12 by people").wait_for()
    page.get_by_role("gridcell", name="1.00 [", include_hidden=True).first.wait_for(state="attached")
