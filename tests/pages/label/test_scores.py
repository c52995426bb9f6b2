"""The page that labels scores."""

from pathlib import Path

import pytest

from core.formats.records import CriterionRecord, ItemRecord
from core.items import Item, Response
from tests.conftest import make_item as an_ordinary_item
from tests.core.protocols.reviews import ENGAGING
from tests.pages.reviews import option_review, prepare_sample
from tests.pages.visits import page_text, prepare_study, visit


def test_the_label_page_hides_the_judges_before_a_score() -> None:
    prepare_sample()
    app = visit("label/scores", "newcomer")
    assert not app.exception
    text = page_text(app)
    assert "marathon · dialog · engaging" in text and "Area chair" not in text and "peer 1" not in text


def test_without_a_scale_the_page_says_what_to_do() -> None:
    prepare_study([ItemRecord(item=an_ordinary_item())])
    assert "no criterion with a scale yet" in page_text(visit("label/scores", "newcomer"))


def test_an_answer_is_requested_without_the_reference() -> None:
    prepare_study(option_review())
    app = visit("label/scores", "newcomer")
    assert not app.exception and "sum" in page_text(app)
    assert not any("Reference" in expander.label for expander in app.expander)


def test_an_invalid_image_has_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIEBREAK_MEDIA", str(tmp_path))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "fake.png").write_bytes(b"<svg/>")
    item = Item(id="i", prompt="Draw.", image="fake.png", responses=(Response(text="", image="../x.png"),))
    prepare_study([CriterionRecord(criterion=ENGAGING), ItemRecord(item=item)])
    text = page_text(visit("label/scores", "newcomer"))
    assert "is not PNG, JPEG, GIF or WebP" in text and "should be a path inside" in text
