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
from storage.transfer import imports
from tests.browser.conftest import PAINTED, ROOT, start
from tests.browser.test_workbench import press
from tests.databases import sample_records

pytestmark = pytest.mark.browser
KINDS = {
    "disagreements": ("disagreements", "scaleeval"),
    "aius": ("aius", "metacritique"),
    "critiques": ("critique_labels", "metacritique"),
    "weights": ("aspect_weights", "dna_eval"),
    "scores": ("scores", "refer"),
}
"""Kind -> the address of its page, and the protocol of its study."""
STATES = {
    "disagreements": ([], ["h"], ["h", "g"], ["g", "x"], ["x", "1", "Enter", "d"]),
    "aius": (["1", "2", "1"],),
    "critiques": ([], ["1", "Enter"]),
    "weights": (["4", "l", "Enter"],),
    "scores": (["2", "Enter"],),
}
"""Kind -> the keys to each state from the one before: blind, the keys, guidelines, differences, the reveal."""
READERS = (f"reader {number}" for number in count(1))


@pytest.fixture(scope="module")
def free_targets(served: Any) -> Iterator[None]:
    """Copies of the sample studies, whose targets can be labelled by everybody."""
    engine = connections.connect(served.database)
    for protocol in {protocol for _, protocol in KINDS.values()}:
        imports.import_records(engine, f"free {protocol}", sample_records(protocol))
        with connections.writing(engine) as session:
            study = studies.get(session, f"free {protocol}")
            rules = study.rules.model_copy(update={"overlap": 99})
            studies.update(session, study.id, description="", guidelines="Prefer what **helps**.", rules=rules)
    yield
    engine.dispose()


@pytest.fixture
def opened(served: Any, free_targets: None, visit: Any) -> Callable[..., Any]:
    """`opened("aius", width=390)`: the page of a kind, for somebody who has labelled nothing yet."""

    def page_of(kind: str, width: int = 1440) -> Any:
        path, protocol = KINDS[kind]
        address = f"{served.address}/{path}?study={quote(f'free {protocol}')}"
        page = visit(address, next(READERS), viewport={"width": width, "height": 860})
        start(page)
        return page

    return page_of


@pytest.mark.parametrize("kind", list(KINDS))
def test_axe_finds_no_serious_violation_and_nothing_of_the_answer_is_cut_off(
    opened: Callable[..., Any], kind: str
) -> None:
    page, source = opened(kind), axe_file()
    for keys in STATES[kind]:
        page.set_viewport_size({"width": 1440, "height": 860})
        press(page, *keys)
        for width, theme in ((1440, "light"), (390, "dark")) if source else ():
            page.set_viewport_size({"width": width, "height": 860})
            page.emulate_media(color_scheme=theme)
            page.wait_for_function(PAINTED)
            assert not serious_violations(page), f"{keys} {width} {theme}"
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 860})
        page.wait_for_function(PAINTED)
        assert_nothing_is_cut_off(page, width)
    axe_source()


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


def axe_file() -> Path | None:
    places = [os.environ.get("AXE_CORE", ""), str(ROOT / "node_modules" / "axe-core" / "axe.min.js")]
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


def axe_source() -> str:
    if (found := axe_file()) is None:
        pytest.skip("axe-core is not installed: npm install axe-core, or set AXE_CORE to its axe.min.js")
    return found.read_text(encoding="utf-8")


def serious_violations(page: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the violations that axe finds in the workbench, with the elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    found = page.evaluate("axe.run('label-workbench', { resultTypes: ['violations'] })")["violations"]
    return [
        (one["id"], [(node["target"], node["failureSummary"]) for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
