"""The page that labels AIUs."""

import pytest

from core.formats import tiebreak
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, switch_to


@pytest.fixture
def sample() -> None:
    prepare_study(list(tiebreak.read(samples.path("metacritique"))))


def test_the_label_page_opens_the_first_free_critique(sample: None) -> None:
    app = switch_to("label/aius", study="s")
    assert not app.exception
    assert "**0 of 12 critiques** · 0 of 8 AIUs of this one" in [p.proto.text for p in app.get("progress")]
    assert "A train leaves at 9:40" in page_text(app)


def test_the_label_page_hides_the_author(sample: None) -> None:
    text = page_text(switch_to("label/aius", study="s", item="train", of="llm"))
    assert "model K" not in text and "colleague" not in text
