"""The workbench of every kind of label on the sample studies: nothing is cut off, and axe finds no violation."""

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from storage.db import connections
from storage.studies import studies
from tests.browser.conftest import ROOT, start
from tests.browser.test_workbench import press

pytestmark = pytest.mark.browser
KINDS = {
    "disagreements": ("disagreements", "Sample: ScaleEval"),
    "aius": ("aius", "Sample: MetaCritique"),
    "critiques": ("critique_labels", "Sample: MetaCritique"),
    "weights": ("aspect_weights", "Sample: DnA-Eval"),
    "scores": ("scores", "Sample: ReFeR"),
}
"""Kind -> the address of its page, and its study."""
STATES = {
    "blind": ("disagreements", []),
    "reveal": ("disagreements", ["1", "Enter", "d"]),
    "keys": ("disagreements", ["h"]),
    "guidelines": ("disagreements", ["g"]),
    "differences": ("disagreements", ["x"]),
    "aius": ("aius", ["1", "2", "1"]),
    "weights": ("weights", ["4", "l", "Enter"]),
    "scores": ("scores", ["2", "Enter"]),
    "critiques": ("critiques", []),
}
READERS = (f"reader {number}" for number in count(1))


@pytest.fixture(scope="module")
def free_targets(served: Any) -> Iterator[None]:
    """The targets of the sample studies can be labelled by everybody."""
    engine = connections.connect(served.database)
    with connections.writing(engine) as session:
        for name in {study for _, study in KINDS.values()}:
            study = studies.get(session, name)
            rules = study.rules.model_copy(update={"overlap": 99})
            studies.update(session, study.id, description="", guidelines="Prefer what **helps**.", rules=rules)
    yield
    engine.dispose()


@pytest.fixture
def opened(served: Any, free_targets: None, visit: Any) -> Callable[..., Any]:
    """`opened("aius", width=390)`: the page of a kind, for somebody who has labelled nothing yet."""

    def page_of(kind: str, width: int = 1440) -> Any:
        path, study = KINDS[kind]
        address = f"{served.address}/{path}?study={quote(study)}"
        page = visit(address, next(READERS), viewport={"width": width, "height": 860})
        start(page)
        return page

    return page_of


@pytest.mark.parametrize("kind", list(KINDS))
def test_nothing_of_the_answer_is_cut_off(opened: Callable[..., Any], kind: str) -> None:
    page = opened(kind, 1280)
    press(page, "2" if kind in ("weights", "scores") else "1", "Enter")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 860})
        page.wait_for_timeout(200)
        assert_nothing_is_cut_off(page, width)


def assert_nothing_is_cut_off(page: Any, width: int) -> None:
    for part in (".answer", ".lower", ".tools", ".line"):
        over = page.locator(part).evaluate("node => node.scrollWidth - node.clientWidth")
        assert over <= 1, part
    if width == 390:
        buttons = page.locator("label-workbench button:visible").evaluate_all(
            "nodes => nodes.map((node) => [node.className, node.innerText.trim()])"
        )
        letters = [(name, words) for name, words in buttons if not words[1:] and "option" not in name and words]
        assert not [one for one in letters if "stance" not in one[0]]
        long = page.locator(".panel.scores .option:not(.bare) .long, .panel.choice .option .long")
        assert all(one.is_visible() for one in long.all())
    submit = page.locator(".submit:visible").first.bounding_box()
    assert submit["y"] + submit["height"] <= 860


def axe_source() -> str:
    places = [os.environ.get("AXE_CORE", ""), str(ROOT / "node_modules" / "axe-core" / "axe.min.js")]
    found = next((Path(place) for place in places if place and Path(place).is_file()), None)
    if found is None:
        pytest.skip("axe-core is not installed: npm install axe-core, or set AXE_CORE to its axe.min.js")
    return found.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(STATES))
def test_axe_finds_no_serious_violation(opened: Callable[..., Any], name: str) -> None:
    source = axe_source()
    kind, keys = STATES[name]
    page = opened(kind)
    press(page, *keys)
    page.evaluate(source)
    for width, theme in ((1440, "light"), (1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 860})
        page.emulate_media(color_scheme=theme)
        page.wait_for_timeout(300)
        found = page.evaluate("axe.run('label-workbench', { resultTypes: ['violations'] })")["violations"]
        serious = [
            (one["id"], [(node["target"], node["failureSummary"]) for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, f"{width} {theme}: {serious}"
