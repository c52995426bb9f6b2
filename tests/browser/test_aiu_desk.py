"""The desk for AIUs in a real browser, nothing but keys; and a live run watched as it happens."""

import re

import pytest

from core.critiques import Critique, covered, factual, numbered
from core.formats.records import ItemRecord
from core.items import Item, Response
from core.llm import local_server
from core.protocols.metacritique.protocol import Judge, Settings
from core.protocols.registry import PROTOCOLS
from core.trace import Spec
from storage import aius, database, labels, studies, traces
from storage.labelling import critique_workbench
from storage.labelling.critique_queue import Unit
from storage.traces import Filter
from storage.transfer import imports
from storage.worker import launch

pytestmark = pytest.mark.browser
STUDY = "Sample: MetaCritique"


@pytest.fixture
def store(served):
    """The served database, and the sample study in it."""
    engine = database.connect(served.database)
    with database.reading(engine) as session:
        study = studies.get(session, STUDY)
    return engine, study


def at_the_desk(visit, served, item: str, critique: str, annotator: str = "zoe"):
    page = visit(f"{served.address}/aius?study=Sample:+MetaCritique&item={item}&of={critique}", annotator=annotator)
    page.locator(".desk").wait_for()
    return page


def own(store, target, annotator: str = "zoe"):
    engine, study = store
    with database.reading(engine) as session:
        return [(one.value, one.blind) for one in labels.history(session, study.id, target, annotator)]


def claim(page) -> str:
    return page.locator(".claim").inner_text()


def test_keys_answer_and_a_judge_who_differs_is_heard(served, visit, store) -> None:
    page = at_the_desk(visit, served, "train", "llm")
    assert "determines the interval" in claim(page) and not page.locator(".rationale").count()
    page.keyboard.press("1")
    page.locator(".claim", has_text="treats the stop").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("1")
    page.locator(".rationale").first.wait_for()
    assert "reasonable reading" in claim(page)
    assert page.locator(".rationale .said").all_inner_texts() == ["judge A: not factual", "judge B: factual"]
    page.keyboard.press("2")
    page.locator(".claim", has_text="should consider").wait_for()
    page.locator(".item .chip.false:not(.judge)").wait_for()
    page.reload()
    page.locator(".item .chip.false:not(.judge)").wait_for()
    assert own(store, factual("train", "llm.1")) == [(True, True)]
    assert own(store, factual("train", "llm.3")) == [(True, True), (False, False)]


def test_a_burst_of_keys_loses_nothing(served, visit, store) -> None:
    page = at_the_desk(visit, served, "kite", "llm")
    for _ in range(4):
        page.keyboard.press("1")
        page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    page.get_by_text("5 of 9 AIUs of this one").wait_for()
    assert [own(store, factual("kite", f"llm.{n}")) for n in range(1, 5)] == [[(True, True)]] * 4
    assert own(store, covered("kite", "reference.1", "llm")) == [(False, True)]


def test_an_aiu_is_split_merged_marked_and_all_of_it_taken_back(served, visit, store) -> None:
    engine, study = store
    page = at_the_desk(visit, served, "bread", "llm")
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
        told = aius.history(session, study.id, "bread")
    assert [one.change.type for one in told] == ["split", "not_atomic", "merge"]
    for text in ("It explains.", "not atomic", ""):
        page.keyboard.press("u")
        if text:
            page.get_by_text(text, exact=True).first.wait_for()
    page.locator(".item .words", has_text=before[0]).wait_for()
    assert page.locator(".item .words").all_inner_texts() == before


def test_a_selection_in_the_text_becomes_the_place_of_a_new_aiu(served, visit, store) -> None:
    engine, study = store
    page = at_the_desk(visit, served, "ferry", "human")
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
        now = aius.now_standing(session, study.id, "ferry")
    added = now.critiques[0].aius[-1]
    assert added.text == "Lind matters."
    if added.at is not None:  # some browsers do not tell what is selected inside of a component
        assert now.critiques[0].text[slice(*added.at)] == "Lind"


def test_ratings_take_seven_steps_and_ctrl_enter_goes_on(served, visit, store) -> None:
    page = at_the_desk(visit, served, "moon", "human")
    page.locator(".item", has_text="Rate the AIU extraction").click()
    assert page.locator(".option").count() == 7
    page.keyboard.press("6")
    page.locator(".chip.rated", has_text="6").wait_for()
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"of=llm"))
    engine, study = store
    with database.writing(engine) as session:
        sheet = critique_workbench.sheet(session, study, Unit("moon", "human"), "zoe")
    assert [one.own for one in sheet.questions if one.criterion] == [6, None, None]


@pytest.mark.skipif(not local_server.installed(), reason="the local model is not installed")
def test_a_live_run_is_watched_aiu_by_aiu(served, visit, store) -> None:
    engine, _ = store
    critique = Critique(
        id="c", author="somebody", text="Two is wrong. Four is right.", aius=numbered("c", ["Two is wrong."])
    )
    held = Critique(id="r", author="g", role="reference", text="It is four.", aius=numbered("r", ["It is four."]))
    item = Item(id="sum", prompt="2 + 2?", responses=(Response(text="2"),), reference="4", critiques=(critique, held))
    imports.load(engine, "live", [ItemRecord(item=item)])
    with database.reading(engine) as session:
        study = studies.get(session, "live")
    chosen = Settings(judges=(Judge(name="local", spec=Spec(model="local", max_tokens=220)),), words=20)
    launch.make(engine, launch.Order(study, PROTOCOLS["metacritique"], chosen, "live"))
    with database.reading(engine) as session:
        (trace,) = traces.find(session, Filter(study.id))
    page = visit(f"{served.address}/?study=live&trace={trace.id}")
    page.locator(".entry", has_text="Two is wrong.").wait_for(timeout=60_000)
    page.locator(".entry .chip.true, .entry .chip.false").nth(1).wait_for(timeout=120_000)
    page.locator(".entry .line").first.click()
    page.locator(".rationale .label", has_text="Reasoning").first.wait_for()
