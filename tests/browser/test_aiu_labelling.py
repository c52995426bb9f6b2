"""AIUs, ratings, critiques and weights in the workbench of the real application, and the view of a live run."""

from itertools import count

import pytest

from core.aspects import aspect_set_id
from core.critiques import Critique, aius_with_numbers, precision_target
from core.formats.records import ItemRecord
from core.items import Item, Response
from core.labels import Target
from core.protocols.metacritique.settings import CritiqueJudge, Settings
from core.protocols.registry import PROTOCOLS
from core.trace import Spec
from storage.db import connections
from storage.labels import labels
from storage.runs import aius, aspects
from storage.runs.aspects import quality_target
from storage.runs.traces import Filter
from storage.studies import studies
from storage.transfer import imports
from storage.worker import _launch
from tests.browser.conftest import start
from tests.browser.test_workbench import READY, press, saved, state
from tests.openai_server import run_server
from tests.sessions import read
from tests.storage.shared import find_traces

pytestmark = pytest.mark.browser
STUDY = "Sample: MetaCritique"
ANNOTATORS = (f"annotator {number}" for number in count(11))


@pytest.fixture
def store(served):
    """The server's database, and the sample study in it."""
    engine = connections.connect(served.database)
    study = read(engine, studies.get, STUDY)
    return engine, study


@pytest.fixture
def annotator() -> str:
    """Somebody who has labelled nothing yet."""
    return next(ANNOTATORS)


@pytest.fixture
def bench(visit, served, annotator):
    """`bench("aius", item="train")`: a page of the workbench, signed in, with its first item on the screen."""

    def opened(page_name: str = "aius", study: str = STUDY, viewport=None, **query):
        address = "&".join(f"{name}={value.replace(' ', '+')}" for name, value in ({"study": study} | query).items())
        options = {"viewport": viewport, "has_touch": True} if viewport else {}
        page = visit(f"{served.address}/{page_name}?{address}", annotator=annotator, **options)
        start(page)
        return page

    return opened


def values_of(store, target, annotator):
    """Return (value, blind) of an annotator's labels of a target, oldest first."""
    engine, study = store
    return [(label.value, label.blind) for label in read(engine, labels.history, study.id, target, annotator)]


def labels_of(engine, study_name, annotator):
    """Return (kind, part, value) of an annotator's labels in a study, oldest first."""
    with connections.reading(engine) as session:
        found = list(labels.of_study(session, studies.get(session, study_name).id))
    return [(one.target.kind, one.target.part, one.value) for one in found if one.annotator == annotator]


def aiu(page) -> str:
    return page.locator(".claim").inner_text()


def test_a_key_answers_and_the_judges_answers_follow(bench, store, annotator) -> None:
    page = bench(item="train", of="llm")
    assert "determines the interval" in aiu(page) and not page.locator(".opinions").count()
    assert page.locator("mark.aiu.here").inner_text()
    press(page, "1", "ArrowDown", "1")
    page.locator(".last h3", has_text="AIU 3 · you: factual").wait_for()
    page.locator(".opinions").wait_for()
    assert [line.split("\n")[0] for line in page.locator(".opinions li > p:first-child").all_inner_texts()] == [
        "✗ judge A: not factual",
        "✓ judge B: factual",
    ]
    press(page, "d", "2")
    saved(page)
    page.reload()
    page.locator(READY).wait_for()
    assert values_of(store, precision_target("train", "llm.1"), annotator) == [(True, True)]
    assert values_of(store, precision_target("train", "llm.3"), annotator) == [(True, True), (False, False)]


def test_selected_text_becomes_the_span_of_a_new_aiu(bench, store) -> None:
    engine, study = store
    page = bench(item="ferry", of="human")
    page.evaluate(
        """() => {
          const root = document.querySelector("label-workbench").shadowRoot;
          const text = root.querySelector("[data-block=critique] .text");
          const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
          let node = walk.nextNode();
          while (!node.data.includes("Lind")) node = walk.nextNode();
          const at = node.data.indexOf("Lind");
          document.getSelection().setBaseAndExtent(node, at, node, at + 4);
        }"""
    )
    press(page, "a", every=0.2)
    page.get_by_role("textbox").fill("Lind matters.")
    page.get_by_role("textbox").press("Control+Enter")
    page.locator(".claimline .words", has_text="Lind matters.").wait_for()
    now = read(engine, aius.current_state, study.id, "ferry")
    added = now.critiques[0].aius[-1]
    assert added.text == "Lind matters." and added.at is not None
    assert now.critiques[0].text[slice(*added.at)] == "Lind"


def test_ratings_have_seven_levels_and_ctrl_enter_opens_the_next_critique(bench, store, annotator) -> None:
    page = bench(item="moon", of="human")
    page.locator(".claimline", has_text="Rate the AIU extraction").click()
    assert page.locator("[role=radio]").count() == 7
    first = state(page, "bench.taskId()")
    press(page, "6", "f", "Control+Enter", every=0.1)
    saved(page)
    assert state(page, "bench.taskId()") != first
    rating = Target(item="moon", kind="likert", criterion="AIU extraction", part="human")
    assert values_of(store, rating, annotator) == [(6, True)]


def test_on_a_phone_an_answer_needs_no_scrolling_and_shows_the_text_of_the_next_aiu(bench, store, annotator) -> None:
    page = bench(item="moon", of="llm", viewport={"width": 390, "height": 844})
    for _ in range(3):
        page.locator("[role=radio]").first.tap()
        page.wait_for_timeout(150)
        assert page.evaluate("[scrollX, scrollY, document.documentElement.scrollWidth <= innerWidth]") == [0, 0, True]
    saved(page)
    assert len(labels_of(store[0], STUDY, annotator)) == 3
    mark = page.locator("mark.aiu.here").first.bounding_box()
    side = page.locator(".side").bounding_box()
    assert mark and side and 44 <= mark["y"] < side["y"]
    before = page.locator(".claimline").count()
    page.get_by_role("button", name="Edit AIU").tap()
    buttons = page.locator(".edits .tool:visible")
    assert buttons.count() >= 7
    assert all(box["height"] >= 44 and box["width"] >= 44 for box in (one.bounding_box() for one in buttons.all()))
    page.get_by_role("button", name="remove").tap()
    saved(page)
    assert page.locator(".claimline").count() == before - 1
    page.get_by_role("button", name="undo").tap()
    saved(page)
    assert page.locator(".claimline").count() == before


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
    study = read(engine, studies.get, "live")
    with run_server() as model:
        judge = CritiqueJudge(name="judge", spec=Spec(model="judge-1", address=model.address))
        chosen = Settings(judges=(judge,), words=20)
        _launch.create_run(engine, _launch.RunRequest(study, PROTOCOLS["metacritique"], chosen, "live"))
        (trace,) = read(engine, find_traces, Filter(study.id))
        page = visit(f"{served.address}/traces?study=live&trace={trace.id}")
        page.locator(".entry", has_text="Two is wrong.").wait_for(timeout=60_000)
        page.locator(".entry .chip.true, .entry .chip.false").nth(1).wait_for(timeout=120_000)
    page.locator(".entry .line").first.click()
    page.locator(".rationale .label", has_text="Reasoning").first.wait_for()


# Weights of aspects by keys.


WEIGHED = "Sample: DnA-Eval"
ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")
PART = aspect_set_id(ASPECTS).replace(" ", "+")
ADDRESS = f"aspect_weights?study={WEIGHED.replace(' ', '+')}&item=three+boxes&on=&part={PART}"


@pytest.fixture
def weighed(served):
    """The server's database, and the sample study in it with a higher overlap, so targets are free."""
    engine = connections.connect(served.database)
    with connections.writing(engine) as session:
        study = studies.get(session, WEIGHED)
        rules = study.rules.model_copy(update={"overlap": 9})
        studies.update(session, study.id, description=study.description, guidelines=study.guidelines, rules=rules)
    return engine, read(engine, studies.get, WEIGHED)


def read_percents(page) -> list[float]:
    """Return the weights next to the sliders."""
    return [float(text.removesuffix(" %")) for text in page.locator(".percent").all_inner_texts()]


def open_label_page(visit, served, annotator: str):
    page = visit(f"{served.address}/{ADDRESS}", annotator=annotator)
    start(page)
    page.get_by_role("slider", name="accuracy").wait_for()
    return page


def stored_labels(weighed, item: str, annotator: str):
    engine, study = weighed
    target = weights_target(item)
    with connections.reading(engine) as session:
        return labels.current(session, study.id, target, annotator), [
            labels.current(session, study.id, quality_target(target, quality), annotator)
            for quality in ("relevance", "clarity", "comprehensiveness")
        ]


def weights_target(item: str):
    return Target(item=item, kind=aspects.KIND, part=aspect_set_id(ASPECTS))


def quiet(page) -> None:
    page.wait_for_timeout(600)  # a draft is sent when the keyboard has been quiet for a moment
    page.locator(".saving[data-state=saved]").wait_for(state="attached")


def test_keys_set_rate_and_submit_weights(served, visit, weighed) -> None:
    page = open_label_page(visit, served, "zoe")
    assert page.locator(".reveal").is_hidden() and page.locator(".judgemark").count() == 0
    page.keyboard.type("40")
    assert read_percents(page) == [40, 20, 20, 20]
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    for rating in "543":
        page.keyboard.press(rating)
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Keep these weights").wait_for()
    page.locator(".judgemark").first.wait_for()
    quiet(page)
    standing, ratings = stored_labels(weighed, "three boxes", "zoe")
    assert standing.blind and list(standing.value.values()) == [40, 20, 20, 20]
    assert [label.value for label in ratings] == [5, 4, 3]
