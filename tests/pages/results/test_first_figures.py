"""Pages of results have their figures, and one fragment that looks for changes."""

import pytest

from pages.parts import permissions
from pages.results.parts import alignment_data
from tests.pages.visits import page_text, prepare_copy, visit
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_run_comparison import planted

# A page -> a text that it has with its figures.
FIGURES = {
    "overview": "Fleiss' kappa 0.63",
    "agreement": "## 0.",
    "compare_runs": "Verdicts that changed",
    "judges": "common to all judges",
    "causes": "Judge error:",
    "biases": "tests found a bias",
    "systems": "is not clearly ahead",
    "discussions": "No judge of this study speaks twice",
    "weights": "This study has no weights yet",
    "published": ": highest ",
    "critiques": "",
    "peer_errors": "",
}


@pytest.mark.parametrize("page", FIGURES)
def test_a_page_has_its_figures_and_one_fragment(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second fragment would leave removed elements on the screen if it began before the messages of the page."""
    declared = []
    decorate = permissions.fragment

    def count(*, run_every: float | None = None) -> object:
        declared.append(run_every)
        return decorate(run_every=run_every)

    monkeypatch.setattr(permissions, "fragment", count)
    prepare_copy(planted if page == "compare_runs" else planted_records)
    app = visit(f"results/{page}", study="s")
    assert FIGURES[page] in page_text(app)
    assert declared == [alignment_data.INTERVAL]
