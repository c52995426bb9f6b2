"""Labelling AIUs by keys in a real browser, and the view of a live run."""

import re

import pytest

from core.critiques import Critique, aius_with_numbers, precision_target, recall_target
from core.formats.records import ItemRecord
from core.items import Item, Response
from core.llm import local_server
from core.protocols.metacritique.settings import CritiqueJudge, Settings
from core.protocols.registry import PROTOCOLS
from core.trace import Spec
from storage import aius, database, labels, studies, traces
from storage.labelling import critique_workbench
from storage.labelling.critique_queue import CritiqueKey
from storage.traces import Filter
from storage.transfer import imports
from storage.worker import launch

pytestmark = pytest.mark.browser
STUDY = "Sample: MetaCritique"


@pytest.fixture
def store(served):
    """The server's database, and the sample study in it."""
    engine = database.connect(served.database)
    with database.reading(engine) as session:
        study = studies.get(session, STUDY)
    return engine, study


def open_label_page(visit, served, item: str, critique: str, annotator: str = "zoe"):
    page = visit(f"{served.address}/aius?study=Sample:+MetaCritique&item={item}&of={critique}", annotator=annotator)
    page.locator(".desk").wait_for()
    return page


def stored_values(store, target, annotator: str = "zoe"):
    engine, study = store
    with database.reading(engine) as session:
        return [(label.value, label.blind) for label in labels.history(session, study.id, target, annotator)]


def current_claim(page) -> str:
    return page.locator(".claim").inner_text()


def test_keys_answer_and_differing_judges_are_shown(served, visit, store) -> None:
    page = open_label_page(visit, served, "train", "llm")
    assert "determines the interval" in current_claim(page) and not page.locator(".rationale").count()
    page.keyboard.press("1")
    page.locator(".claim", has_text="treats the stop").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("1")
    page.locator(".rationale").first.wait_for()
    assert "reasonable reading" in current_claim(page)
    assert page.locator(".rationale .judgement").all_inner_texts() == ["judge A: not factual", "judge B: factual"]
    page.keyboard.press("2")
    page.locator(".claim", has_text="should consider").wait_for()
    page.locator(".item .chip.false:not(.judge)").wait_for()
    page.reload()
    page.locator(".item .chip.false:not(.judge)").wait_for()
    assert stored_values(store, precision_target("train", "llm.1")) == [(True, True)]
    assert stored_values(store, precision_target("train", "llm.3")) == [(True, True), (False, False)]


def test_a_burst_of_keys_loses_nothing(served, visit, store) -> None:
    page = open_label_page(visit, served, "kite", "llm")
    for _ in range(4):
        page.keyboard.press("1")
        page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    page.get_by_text("5 of 9 AIUs of this one").wait_for()
    assert [stored_values(store, precision_target("kite", f"llm.{n}")) for n in range(1, 5)] == [[(True, True)]] * 4
    assert stored_values(store, recall_target("kite", "reference.1", "llm")) == [(False, True)]


def test_splitting_merging_and_marking_aius_can_be_undone(served, visit, store) -> None:
    engine, study = store
    page = open_label_page(visit, served, "bread", "llm")
    before = page.locator(".item .words").all_inner_texts()
    page.keyboard.press("p")
    editor = page.get_by_role("textbox")
    editor.fill("It is well put.\nIt explains.")
    editor.press("Control+Enter")
    page.locator(".item .words", has_text="It explains.").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    page.locator(".badge", has_text="not atomic").first.wait_for()
    page.keyboard.press("m")
    page.get_by_role("textbox").press("Control+Enter")
    page.locator(".item .words", has_text="It explains. The model-generated answer is easy to follow.").wait_for()
    with database.reading(engine) as session:
        edits = aius.history(session, study.id, "bread")
    assert [edit.change.type for edit in edits] == ["split", "not_atomic", "merge"]
    for text in ("It explains.", "not atomic", ""):
        page.keyboard.press("u")
        if text:
            page.get_by_text(text, exact=True).first.wait_for()
    page.locator(".item .words", has_text=before[0]).wait_for()
    assert page.locator(".item .words").all_inner_texts() == before


def test_selected_text_becomes_the_span_of_a_new_aiu(served, visit, store) -> None:
    engine, study = store
    page = open_label_page(visit, served, "ferry", "human")
    page.evaluate(
        """() => {
          const find = (root) => root.querySelector(".text") ?? [...root.querySelectorAll("*")]
            .map((one) => one.shadowRoot && find(one.shadowRoot)).find(Boolean);
          const text = find(document);
          const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
          let node = walk.nextNode();
          while (!node.data.includes("Lind")) node = walk.nextNode();
          const range = document.createRange();
          range.setStart(node, node.data.indexOf("Lind"));
          range.setEnd(node, node.data.indexOf("Lind") + 4);
          const selection = document.getSelection();
          selection.removeAllRanges();
          selection.addRange(range);
        }"""
    )
    page.keyboard.press("a")
    page.get_by_role("textbox").fill("Lind matters.")
    page.get_by_role("textbox").press("Control+Enter")
    page.locator(".item .words", has_text="Lind matters.").wait_for()
    with database.reading(engine) as session:
        now = aius.current_state(session, study.id, "ferry")
    added = now.critiques[0].aius[-1]
    assert added.text == "Lind matters."
    if added.at is not None:  # some browsers do not expose selections inside a shadow root
        assert now.critiques[0].text[slice(*added.at)] == "Lind"


def test_ratings_have_seven_levels_and_ctrl_enter_opens_the_next_critique(served, visit, store) -> None:
    page = open_label_page(visit, served, "moon", "human")
    page.locator(".item", has_text="Rate the AIU extraction").click()
    assert page.locator(".option").count() == 7
    page.keyboard.press("6")
    page.locator(".chip.rated", has_text="6").wait_for()
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"of=llm"))
    engine, study = store
    with database.writing(engine) as session:
        task = critique_workbench.load_task(session, study, CritiqueKey("moon", "human"), "zoe")
    assert [question.value for question in task.questions if question.criterion] == [6, None, None]


@pytest.mark.skipif(not local_server.is_installed(), reason="the local model is not installed")
def test_a_live_run_shows_each_aiu(served, visit, store) -> None:
    engine, _ = store
    critique = Critique(
        id="c",
        author="annotator 2",
        text="Two is wrong. Four is right.",
        aius=aius_with_numbers("c", ["Two is wrong."]),
    )
    reference = Critique(
        id="r", author="g", role="reference", text="It is four.", aius=aius_with_numbers("r", ["It is four."])
    )
    item = Item(
        id="sum", prompt="2 + 2?", responses=(Response(text="2"),), reference="4", critiques=(critique, reference)
    )
    imports.import_records(engine, "live", [ItemRecord(item=item)])
    with database.reading(engine) as session:
        study = studies.get(session, "live")
    chosen = Settings(judges=(CritiqueJudge(name="local", spec=Spec(model="local", max_tokens=220)),), words=20)
    launch.create_run(engine, launch.RunRequest(study, PROTOCOLS["metacritique"], chosen, "live"))
    with database.reading(engine) as session:
        (trace,) = traces.find(session, Filter(study.id))
    page = visit(f"{served.address}/?study=live&trace={trace.id}")
    page.locator(".entry", has_text="Two is wrong.").wait_for(timeout=60_000)
    page.locator(".entry .chip.true, .entry .chip.false").nth(1).wait_for(timeout=120_000)
    page.locator(".entry .line").first.click()
    page.locator(".rationale .label", has_text="Reasoning").first.wait_for()
