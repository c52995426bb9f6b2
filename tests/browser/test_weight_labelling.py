"""Labelling aspect weights by keys in a real browser."""

import pytest

from core.aspects import aspect_set_id
from storage.db import connections
from storage.labels import labels
from storage.runs import aspects
from storage.runs.aspects import quality_target
from storage.studies import studies
from tests.browser.conftest import start

pytestmark = pytest.mark.browser
STUDY = "Sample: DnA-Eval"
ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")
PART = aspect_set_id(ASPECTS).replace(" ", "+")
ADDRESS = f"aspect_weights?study={STUDY.replace(' ', '+')}&item=three+boxes&on=&part={PART}"


@pytest.fixture
def store(served):
    """The server's database, and the sample study in it with a higher overlap, so targets are free."""
    engine = connections.connect(served.database)
    with connections.writing(engine) as session:
        study = studies.get(session, STUDY)
        rules = study.rules.model_copy(update={"overlap": 9})
        studies.update(session, study.id, description=study.description, guidelines=study.guidelines, rules=rules)
    with connections.reading(engine) as session:
        yield engine, studies.get(session, STUDY)


def read_percents(page) -> list[float]:
    """Return the weights next to the sliders."""
    return [float(text.removesuffix(" %")) for text in page.locator(".percent").all_inner_texts()]


def open_label_page(visit, served, annotator: str):
    page = visit(f"{served.address}/{ADDRESS}", annotator=annotator)
    start(page)
    page.get_by_role("slider", name="accuracy").wait_for()
    return page


def stored_labels(store, item: str, annotator: str):
    engine, study = store
    target = weights_target(item)
    with connections.reading(engine) as session:
        return labels.current(session, study.id, target, annotator), [
            labels.current(session, study.id, quality_target(target, quality), annotator)
            for quality in ("relevance", "clarity", "comprehensiveness")
        ]


def weights_target(item: str):
    from core.labels import Target

    return Target(item=item, kind=aspects.KIND, part=aspect_set_id(ASPECTS))


def saved(page) -> None:
    page.wait_for_timeout(600)  # a draft is sent when the keyboard has been quiet for a moment
    page.locator(".saving[data-state=saved]").wait_for(state="attached")


def test_keys_set_rate_and_submit_weights(served, visit, store) -> None:
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
    saved(page)
    standing, ratings = stored_labels(store, "three boxes", "zoe")
    assert standing.blind and list(standing.value.values()) == [40, 20, 20, 20]
    assert [label.value for label in ratings] == [5, 4, 3]


def test_a_draft_survives_a_refresh_and_equal_weights_are_one_key(served, visit, store) -> None:
    page = open_label_page(visit, served, "ada")
    page.keyboard.type("55")
    saved(page)
    page.evaluate("localStorage.clear()")
    page.reload()
    start(page)
    assert read_percents(page) == [55, 15, 15, 15]
    assert stored_labels(store, "three boxes", "ada")[0] is None
    page.keyboard.press("e")
    assert read_percents(page) == [25, 25, 25, 25]
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Keep these weights").wait_for()
    saved(page)
    assert set(stored_labels(store, "three boxes", "ada")[0].value.values()) == {25}
    page.keyboard.press("u")
    saved(page)
    assert stored_labels(store, "three boxes", "ada")[0] is None
