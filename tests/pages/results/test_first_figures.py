"""Pages of a large study are drawn before their first figures, which are computed in the background."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts import live, permissions
from pages.results.parts import alignment_data
from tests.pages.visits import page_text, prepare_copy, visit
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_run_comparison import planted

FIGURES = {
    "overview": "Fleiss' kappa 0.63",
    "agreement": "## 0.",
    "compare_runs": "Verdicts that changed",
    "judges": "common to all judges",
    "causes": "Judge error:",
    "biases": "tests found a bias",
    "systems": "is not clearly ahead",
    "discussions": "No judge of this study speaks twice",
    "weights": "Agreement with people's preferences",
    "published": ": highest ",
}
"""Page -> a text that it has with its figures."""


def states_computing(app: AppTest) -> bool:
    sentence = re.compile(
        r"Computing the figures of \d+ items and \d runs? in the background; they appear here when .*"
    )
    return sentence.search(page_text(app)) is not None


def prepare(page: str) -> None:
    prepare_copy(planted if page == "compare_runs" else planted_records)


@pytest.fixture
def fragments(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The seconds between two executions of each fragment that a page declares."""
    declared = []
    decorate = permissions.fragment

    def count(*, run_every: float | None = None) -> object:
        declared.append(run_every)
        return decorate(run_every=run_every)

    monkeypatch.setattr(permissions, "fragment", count)
    return declared


# A fragment that a click runs again would leave removed elements on the screen: Streamlit forgets that they are to be
# removed if the fragment that looks for changes begins before its messages are sent.
ONLY_FRAGMENT = [alignment_data.INTERVAL]


@pytest.mark.parametrize("page", FIGURES)
def test_a_large_study_is_drawn_before_its_first_figures(
    page: str, fragments: list[float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(page)
    monkeypatch.setattr(alignment_data, "LARGE", 1)
    app = visit(f"results/{page}", study="s")
    assert states_computing(app)
    assert fragments == ONLY_FRAGMENT
    assert FIGURES[page] not in page_text(app)
    (entry,) = live._entries.values()
    assert entry.job is not None
    entry.job.result(60)
    app.run()
    assert not states_computing(app)
    assert FIGURES[page] in page_text(app)


@pytest.mark.parametrize("page", ["critiques", "peer_errors"])
def test_a_page_has_one_fragment(page: str, fragments: list[float | None]) -> None:
    prepare(page)
    visit(f"results/{page}", study="s")
    assert fragments == ONLY_FRAGMENT


def test_other_runs_of_a_large_study_are_compared_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare("compare_runs")
    monkeypatch.setattr(alignment_data, "LARGE", 1)
    for runs in (["first", "second"], ["second", "first"]):
        app = visit("results/compare_runs", runs=runs)
        assert states_computing(app)
        for entry in live._entries.values():
            assert entry.job is not None
            entry.job.result(60)
