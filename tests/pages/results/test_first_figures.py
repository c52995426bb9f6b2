"""Pages of a large study are drawn before their first figures, which are computed in the background."""

import pytest

from pages.parts import background
from pages.results.parts import alignment_data
from tests.pages.visits import page_text, prepare_study, visit
from tests.storage.reports.planted_judges import planted_records

FIGURES = {
    "alignment": "Disagreement with people",
    "judges": "common to all judges",
    "causes": "Judge error:",
    "biases": "tests found a bias",
    "systems": "is not clearly ahead",
    "discussions": "No judge of this study speaks twice",
    "weights": "Agreement with people's preferences",
    "published": ": highest ",
}
"""Page -> a text that it has with its figures."""


@pytest.mark.parametrize("page", FIGURES)
def test_a_large_study_is_drawn_before_its_first_figures(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_study(planted_records())
    monkeypatch.setattr(alignment_data, "LARGE", 1)
    app = visit(f"results/{page}")
    assert alignment_data.COMPUTING in [info.value for info in app.info] and not app.exception
    assert FIGURES[page] not in page_text(app)
    (entry,) = background._entries.values()
    assert entry.job is not None
    entry.job.result(60)
    app.run()
    assert alignment_data.COMPUTING not in [info.value for info in app.info] and not app.exception
    assert FIGURES[page] in page_text(app)


@pytest.mark.parametrize("page", FIGURES)
def test_a_small_study_is_drawn_with_its_figures(page: str) -> None:
    prepare_study(planted_records())
    assert FIGURES[page] in page_text(visit(f"results/{page}"))
