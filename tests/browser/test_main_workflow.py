"""The main workflow in a real browser: import, watch, label by keys, live agreement in another browser, gold export."""

import csv
import re
import time
from pathlib import Path

import pytest

from core.formats import tiebreak
from core.formats.records import (
    AdjudicationRecord,
    LabelRecord,
    MarkRecord,
    StudyRecord,
)
from storage.db.connections import connect, reading
from storage.runs import traces
from storage.studies import studies
from storage.transfer import samples
from tests.browser.conftest import open_page, start
from tests.storage.shared import find_traces

pytestmark = pytest.mark.browser
MAX_DELAY = 2.0
"""Seconds within which a label saved in one browser changes the figures in another."""
TEST_MARGIN = 4.0
"""Additional seconds on a busy test machine."""


@pytest.fixture
def one_annotator_file(tmp_path) -> Path:
    """A file with the sample's items, debates and the labels of one annotator, without adjudications."""
    path = tmp_path / "debates.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        tiebreak.write((record for record in tiebreak.read(samples.path()) if _is_included(record)), stream)
    return path


def _is_included(record) -> bool:
    if isinstance(record, LabelRecord):
        return record.label.annotator == "annotator 1"
    return not isinstance(record, StudyRecord | MarkRecord | AdjudicationRecord)


def import_file(page, file: Path, study: str) -> None:
    page.get_by_role("button", name="Import").first.click()
    page.locator("input[type=file]").first.set_input_files(str(file))
    name = page.get_by_label("Name", exact=True)
    name.fill(study)
    name.press("Enter")
    page.locator(".st-key-import button").click()
    page.get_by_text("added 32 items").first.wait_for()


def choose_answer(page, choice: str, *, reason: str = "") -> None:
    start(page)
    page.keyboard.press(choice)
    page.get_by_role("radio", checked=True).wait_for()
    if reason:
        page.get_by_label("Why").focus()
        page.keyboard.type(reason)


def submit_blind_decision(page, choice: str) -> None:
    """Submit a blind label and confirm it after the debate is revealed, by keys only."""
    choose_answer(page, choice)
    page.keyboard.press("Control+Enter")
    confirm_revealed(page)


def confirm_revealed(page) -> None:
    page.locator(".reveal table").wait_for()
    before = page.locator("label-workbench").get_attribute("data-task")
    page.keyboard.press("Enter")
    page.locator(f"label-workbench:not([data-task={before}])").wait_for()


def read_headline(page) -> str:
    """Return `24 items · 3 annotators` with the value and its interval, which change with every label."""
    line = page.get_by_text(re.compile(r"^[\d,]+ (item|target)s? · ")).first
    line.wait_for()
    return line.locator("xpath=ancestor::*[@data-testid='stVerticalBlock'][1]").inner_text()


def headline_changes(page, before: str, within: float) -> bool:
    """Whether the headline changes within `within` seconds."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if read_headline(page) != before:
            return True
        page.wait_for_timeout(50)
    return False


def test_from_import_to_gold_with_a_second_browser_watching(served, visit, one_annotator_file, tmp_path):
    page = visit(f"{served.address}/studies", annotator="annotator 8")
    study = tmp_path.name  # another one when the test is repeated
    import_file(page, one_annotator_file, study)

    watcher = visit(f"{served.address}/agreement?study={study}")
    before = read_headline(watcher)
    open_page(page, f"{served.address}/disagreements?study={study}&item=science-2&on=helpfulness")
    choose_answer(page, "1", reason="=it stays in the role")  # the target's second label: the headline counts it
    page.keyboard.press("Control+Enter")
    assert headline_changes(watcher, before, MAX_DELAY + TEST_MARGIN)
    confirm_revealed(page)
    page.goto(f"{served.address}/disagreements?study={study}")
    for choice in "1202":
        submit_blind_decision(page, choice)

    open_page(page, f"{served.address}/studies?view=study&open={study}")
    page.get_by_role("tab", name="Export").click()
    page.get_by_role("button", name="Show the downloads").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Gold labels as CSV").click()
    target = tmp_path / "gold.csv"
    download.value.save_as(target)
    rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
    assert {row["source"] for row in rows} >= {"single"} and "judges" not in {row["source"] for row in rows}
    decided = next(row for row in rows if row["item"] == "science-2" and row["criterion"] == "helpfulness")
    assert int(decided["annotators"]) == 2


def trace_ids(served, status=None, **wanted) -> list[int]:
    """Return the ids of the sample study's traces, in the order of the page."""
    with reading(connect(served.database)) as session:
        study = studies.get(session, "Sample: ScaleEval")
        return [trace.id for trace in find_traces(session, traces.Filter(study.id, status=status, **wanted))]


def test_a_key_scrolls_to_the_next_disagreement(served, visit):
    page = visit(f"{served.address}/traces?trace={trace_ids(served, 'disputed')[0]}")
    page.locator(".stance").first.wait_for()
    assert page.locator("[data-reached]").count() == 0
    page.keyboard.press("d")
    page.locator("[data-reached]").wait_for()


def test_on_a_phone_the_controls_of_a_replay_stay_in_view_and_a_turn_as_long_as_it_takes_to_read(served, visit):
    page = visit("about:blank", viewport={"width": 390, "height": 844})
    page.add_init_script("""window.delays = []; const start = window.setTimeout;
      window.setTimeout = (what, delay, ...rest) => (window.delays.push(delay), start(what, delay, ...rest));""")
    page.goto(f"{served.address}/traces?trace={trace_ids(served, 'disputed', changed=True)[0]}")
    pause = page.get_by_role("button", name="Pause")
    page.get_by_role("button", name="Play").click()
    words = len(page.locator("[class*=st-key-card-turn-]").first.inner_text().split())
    assert min(max(2_000, words * 240), 20_000) in page.evaluate("window.delays")
    for number in (2, 3, 4):
        page.keyboard.press("ArrowRight")
        page.get_by_text(f"turn {number} of").wait_for()
        page.wait_for_timeout(800)  # the scrolling is smooth
        assert 0 <= pause.bounding_box()["y"] < 44
        assert 44 <= page.locator(".stance.here").bounding_box()["y"] < 844 * 0.4
    pause.click()
    star, outcome = page.locator(".changed"), page.locator("[class*=st-key-outcome-] p").first
    assert (star.is_visible(), outcome.is_visible()) == (False, False), "of a turn that is not yet played"
    page.locator(".tools button", has_text="Show all").click()
    assert (star.is_visible(), outcome.is_visible()) == (True, True)
    page.get_by_role("button", name="changed from Response 2 to Response 1, as judge A held in round 1").wait_for()
    page.get_by_role("button", name="Play").wait_for()
