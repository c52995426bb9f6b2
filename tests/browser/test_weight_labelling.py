"""Labelling aspect weights by keys in a real browser, and the view of a live run."""

import re

import pytest

from core.aspects import aspect_set_id
from core.llm import local_server
from core.protocols import Judge
from core.protocols.dna_eval.settings import Settings
from core.protocols.registry import PROTOCOLS
from core.trace import Spec
from storage import aspects, database, labels, studies, traces
from storage.aspects import quality_target
from storage.traces import Filter
from storage.worker import launch

pytestmark = pytest.mark.browser
STUDY = "Sample: DnA-Eval"
ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")
PART = aspect_set_id(ASPECTS).replace(" ", "+")
ADDRESS = f"aspect_weights?study={STUDY.replace(' ', '+')}&item=three+boxes&on=&part={PART}"


@pytest.fixture
def store(served):
    """The server's database, and the sample study in it with a higher overlap, so that targets are free."""
    engine = database.connect(served.database)
    with database.writing(engine) as session:
        study = studies.get(session, STUDY)
        rules = study.rules.model_copy(update={"overlap": 9})
        studies.update(session, study.id, description=study.description, guidelines=study.guidelines, rules=rules)
    with database.reading(engine) as session:
        yield engine, studies.get(session, STUDY)


def read_percents(page) -> list[int]:
    """Return the weights beside the sliders."""
    return [int(text.removesuffix(" %")) for text in page.locator(".percent").all_inner_texts()]


def open_label_page(visit, served, annotator: str):
    page = visit(f"{served.address}/{ADDRESS}", annotator=annotator)
    page.get_by_role("slider", name="accuracy").wait_for()
    return page


def stored_labels(store, item: str, annotator: str):
    engine, study = store
    target = weights_target(item)
    with database.reading(engine) as session:
        return labels.current(session, study.id, target, annotator), [
            labels.current(session, study.id, quality_target(target, quality), annotator)
            for quality in ("relevance", "clarity", "comprehensiveness")
        ]


def weights_target(item: str):
    from core.labels import Target

    return Target(item=item, kind=aspects.KIND, part=aspect_set_id(ASPECTS))


def test_keys_set_lock_rate_and_submit_weights(served, visit, store) -> None:
    page = open_label_page(visit, served, "zoe")
    assert page.get_by_role("button", name="Submit").is_disabled() and not page.locator(".track .tick").count()
    page.keyboard.type("40")
    assert read_percents(page) == [40, 20, 20, 20]
    page.keyboard.press("l")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert read_percents(page)[:2] == [40, 30] and sum(read_percents(page)) == 100
    page.keyboard.press(".")
    assert read_percents(page)[:2] == [40, 31] and sum(read_percents(page)) == 100
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    for rating in "543":
        page.keyboard.press(rating)
    assert page.get_by_role("radio", checked=True).all_inner_texts() == ["5", "4", "3"]
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Keep these weights").wait_for()
    assert page.locator(".track .tick").count() == 8
    standing, ratings = stored_labels(store, "three boxes", "zoe")
    assert standing.blind and list(standing.value)[:2] == list(ASPECTS)[:2] and sum(standing.value.values()) == 100
    assert [label.value for label in ratings] == [5, 4, 3]


def test_a_draft_survives_a_refresh_and_equal_weights_are_one_key(served, visit, store) -> None:
    page = open_label_page(visit, served, "ada")
    page.keyboard.type("55")
    page.get_by_text(re.compile("draft saved")).wait_for()
    page.evaluate("localStorage.clear()")
    page.reload()
    page.get_by_role("slider", name="accuracy").wait_for()
    assert read_percents(page) == [55, 15, 15, 15]
    page.keyboard.press("e")
    assert read_percents(page) == [25, 25, 25, 25]
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Keep these weights").wait_for()
    assert set(stored_labels(store, "three boxes", "ada")[0].value.values()) == {25}
    page.keyboard.press("u")
    page.get_by_role("button", name="Submit").wait_for()
    assert stored_labels(store, "three boxes", "ada")[0] is None


def test_a_slider_can_be_dragged_and_a_locked_one_cannot(served, visit, store) -> None:
    page = open_label_page(visit, served, "bob")
    track = page.get_by_role("slider", name="helpfulness")
    box = track.bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2)
    assert read_percents(page) == [10, 70, 10, 10]
    page.keyboard.press("l")
    page.mouse.click(box["x"] + 0.2 * box["width"], box["y"] + box["height"] / 2)
    assert read_percents(page) == [10, 70, 10, 10]


def test_a_live_run_is_followed_to_its_scores(served, visit, store) -> None:
    if not local_server.is_installed():
        pytest.skip("the local model is not installed: make setup")
    engine, study = store
    settings = Settings(
        judges=(Judge(name="local", spec=Spec(model="local", max_tokens=200)),), aspects=("accuracy", "charm")
    )
    launch.create_run(engine, launch.RunRequest(study, PROTOCOLS["dna_eval"], settings, "live", limit=1))
    with database.reading(engine) as session:
        (trace,) = [match for match in traces.find(session, Filter(study.id)) if match.run == "live"]
    page = visit(f"{served.address}/?trace={trace.id}")
    page.get_by_text("Overall score by aspect").wait_for(timeout=90_000)
    page.get_by_text(re.compile("ahead,|are equal,")).first.wait_for()
    with database.reading(engine) as session:
        assert traces.get(session, trace.id).status == "agreed"
