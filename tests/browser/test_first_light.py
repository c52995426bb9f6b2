"""The whole way in a real browser: import, watch, decide on the keyboard, see the chart change elsewhere, gold."""

import csv
import re
import time
from pathlib import Path

import pytest

from core.formats import tiebreak
from core.formats.records import (
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    MarkRecord,
    RulingRecord,
    RunRecord,
    StudyRecord,
    TraceRecord,
)
from core.trace import VerdictReached
from storage import studies, traces
from storage.database import connect, reading
from storage.transfer import samples

pytestmark = pytest.mark.browser
WITHIN = 2.0
"""Seconds after which a label saved in one browser stands in another's chart."""
SLOW = 4.0
"""What a busy test machine may add."""


@pytest.fixture
def unlabelled(tmp_path) -> Path:
    """The sample's items and debates as a file, with one annotator's labels only and no ruling."""
    path = tmp_path / "debates.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        tiebreak.write((record for record in tiebreak.read(samples.path()) if _kept(record)), stream)
    return path


def _kept(record) -> bool:
    if isinstance(record, LabelRecord):
        return record.label.annotator == "annotator 1"
    return not isinstance(record, StudyRecord | MarkRecord | RulingRecord)


def import_by_hand(page, file: Path, study: str) -> None:
    page.get_by_role("button", name="Import").first.click()
    page.locator("input[type=file]").first.set_input_files(str(file))
    name = page.get_by_label("Its name")
    name.fill(study)
    name.press("Enter")
    page.locator(".st-key-import button").click()
    page.get_by_text("added 32 items").wait_for()


def choose(page, choice: str, *, reason: str = "") -> None:
    page.get_by_role("button", name="Submit").wait_for()
    page.keyboard.press(choice)
    page.get_by_role("radio", checked=True).wait_for()
    if reason:
        page.get_by_label("Why").focus()
        page.keyboard.type(reason)


def decide(page, choice: str) -> None:
    """One blind decision, and the judges' debate kept as it is; nothing but keys."""
    choose(page, choice)
    before = page.url
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name=f"Keep {choice}").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_function("before => location.href !== before", arg=before)
    page.get_by_role("button", name="Submit").wait_for()


def headline(page) -> str:
    """`24 items · 3 raters · 68 % of labels in`: the line that changes with every label."""
    line = page.get_by_text(re.compile("of labels in")).first
    line.wait_for()
    return line.inner_text()


def changed(page, before: str, within: float) -> bool:
    """Whether the headline changes within so many seconds."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if headline(page) != before:
            return True
        page.wait_for_timeout(50)
    return False


def test_from_import_to_gold_with_a_second_browser_watching(served, visit, unlabelled, tmp_path):
    page = visit(f"{served.address}/studies", annotator="annotator 8")
    import_by_hand(page, unlabelled, "first light")

    watcher = visit(f"{served.address}/agreement?study=first+light")
    page.goto(f"{served.address}/disagreements?study=first+light")
    for choice in "1202":
        decide(page, choice)
    before = headline(watcher)
    page.goto(f"{served.address}/disagreements?study=first+light&item=science-2&on=helpfulness")
    choose(page, "1", reason="=it keeps to the role")
    page.keyboard.press("Control+Enter")
    assert changed(watcher, before, WITHIN + SLOW)

    page.goto(f"{served.address}/studies?view=study&open=first+light")
    page.get_by_role("tab", name="Take away").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Gold labels as CSV").click()
    target = tmp_path / "gold.csv"
    download.value.save_as(target)
    rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
    assert {row["source"] for row in rows} >= {"unanimous", "judges"}
    decided = next(row for row in rows if row["item"] == "science-2" and row["criterion"] == "helpfulness")
    assert int(decided["annotators"]) >= 1


def test_a_refresh_in_the_middle_loses_nothing(served, visit):
    page = visit(f"{served.address}/disagreements", annotator="annotator 9")
    page.get_by_role("radio").first.wait_for()
    page.keyboard.press("2")
    page.get_by_label("Why").focus()
    page.keyboard.type("half a thought")
    here = page.url
    page.reload()
    page.get_by_role("radio", checked=True).wait_for()
    assert page.get_by_label("Why").input_value() == "half a thought"
    assert "Response 2" in page.get_by_role("radio", checked=True).inner_text()
    assert page.url == here


def test_a_draft_outlives_the_browser(served, visit):
    page = visit(f"{served.address}/disagreements", annotator="annotator 9")
    page.get_by_role("radio").first.wait_for()
    page.keyboard.press("0")
    page.get_by_text("draft saved").wait_for()
    elsewhere = visit(page.url, annotator="annotator 9")
    elsewhere.get_by_role("radio", checked=True).wait_for()
    assert "Neither" in elsewhere.get_by_role("radio", checked=True).inner_text()


def test_before_a_blind_label_nothing_of_the_judges_reaches_the_page(served, visit):
    page = visit(f"{served.address}/disagreements", annotator="annotator 9")
    page.get_by_role("radio").first.wait_for()
    shown = page.content()
    assert "judge A" not in shown
    assert "model A" not in shown


def test_a_link_is_followed_on_the_first_visit_after_start_up(served, visit):
    page = visit(f"{served.address}/agreement")
    page.get_by_role("heading", name="Agreement").wait_for()
    assert "Page not found" not in page.content()


def debates(served, status=None) -> list[int]:
    """The traces of the sample study that a newcomer sees first."""
    with reading(connect(served.database)) as session:
        study = studies.get(session, "Sample: ScaleEval")
        return [trace.id for trace in traces.find(session, traces.Filter(study.id, status=status))]


def test_the_next_disagreement_is_one_key_away(served, visit):
    page = visit(f"{served.address}/?trace={debates(served, 'disputed')[0]}")
    page.locator(".stance").first.wait_for()
    assert page.locator("[data-reached]").count() == 0
    page.keyboard.press("d")
    page.locator("[data-reached]").wait_for()


def test_text_of_an_item_does_nothing_but_show(served, visit):
    """The sample has items with <script> and <b> in them."""
    page = visit(served.address)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for trace in debates(served)[::4]:
        page.goto(f"{served.address}/?trace={trace}")
        page.locator(".st-key-card-question-item").wait_for()
        assert page.evaluate("document.querySelectorAll('[class*=st-key-card-] script').length") == 0
    assert all(url.startswith((served.address, "data:", "blob:")) for url in asked)


def test_with_two_debates_of_one_item_the_key_leads_to_the_one_that_has_a_disagreement(served, visit, tmp_path):
    """The newest run stands first; its judges agreed at once, so there is nothing to go to in it."""
    found = list(tiebreak.read(samples.path()))
    runs = {record.name: record for record in found if isinstance(record, RunRecord)}
    open_one, agreed = (_debate(found, runs, outcome) for outcome in ("disputed", "agreed"))
    criterion = runs[open_one.run].criterion
    path = tmp_path / "two.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        tiebreak.write((record for record in found if isinstance(record, ItemRecord | CriterionRecord)), stream)
        tiebreak.write((runs[open_one.run].model_copy(update={"name": "divided"}), _of(open_one, "divided")), stream)
        alike = runs[agreed.run].model_copy(update={"name": "of one mind", "criterion": criterion})
        tiebreak.write((alike, _of(agreed, "of one mind", open_one.item)), stream)
    page = visit(f"{served.address}/studies", annotator="annotator 7")
    import_by_hand(page, path, "two debates")
    page.goto(f"{served.address}/disagreements?study=two+debates&item={open_one.item}&on={criterion}")
    choose(page, "1")
    page.keyboard.press("Control+Enter")
    page.get_by_text("What the judges said").nth(1).wait_for()
    page.locator(".stance").nth(3).wait_for()
    page.keyboard.press("d")
    page.locator("[data-reached]").wait_for()


def _debate(found, runs, outcome: str) -> TraceRecord:
    """The first debate by helpfulness that ended so."""
    return next(
        record
        for record in found
        if isinstance(record, TraceRecord)
        and runs[record.run].criterion == "helpfulness"
        and any(isinstance(event, VerdictReached) and event.verdict.outcome == outcome for event in record.events)
    )


def _of(trace: TraceRecord, run: str, item: str = "") -> TraceRecord:
    return trace.model_copy(update={"run": run, "item": item or trace.item})
