"""The page that labels scores."""

from pathlib import Path

import pytest

from core.formats.records import CriterionRecord, ItemRecord, RunRecord, TraceRecord
from core.items import Criterion, Item, Response
from core.labels import Opinion, Scale, Target
from core.trace import Verdict, VerdictReached
from pages.parts import resources
from storage import database, labels, studies
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


TWO_CRITERIA = [
    RunRecord(name="both", protocol="several-criteria", source="imported"),
    *(
        CriterionRecord(criterion=Criterion(name=name, scale=Scale(level="ordinal", categories=(1, 2, 3))))
        for name in ("accuracy", "politeness")
    ),
    *(ItemRecord(item=Item(id=f"a{number}", prompt="?", responses=(Response(text="yes"),))) for number in (1, 2)),
    *(
        TraceRecord(
            run="both",
            item=f"a{number}",
            events=(
                VerdictReached(
                    verdict=Verdict(
                        outcome="agreed",
                        opinions=tuple(
                            Opinion(kind="score", judge="j", stage="verdict", value=2, criterion=name)
                            for name in ("accuracy", "politeness")
                        ),
                    )
                ),
            ),
        )
        for number in (1, 2)
    ),
]
"""Two items whose trace judges two criteria."""


def test_a_link_opens_the_item_on_the_criterion_that_it_names() -> None:
    prepare_study(TWO_CRITERIA)
    app = visit("label/scores", "annotator 1", item="a2", on="politeness")
    assert not app.exception
    assert "a2 · politeness" in page_text(app)


def test_a_reveal_shows_every_criterion_so_later_labels_of_the_item_are_not_blind() -> None:
    prepare_study(TWO_CRITERIA)
    engine = resources.engine()
    target = Target(item="a1", kind="score", criterion="accuracy")
    with database.writing(engine) as session:
        stored = studies.get(session, "s")
        labels.save(session, stored.id, target, "annotator 1", 2)
    visit("label/scores", "annotator 1", item="a1", on="accuracy")
    with database.writing(engine) as session:
        other = labels.save(session, stored.id, target.model_copy(update={"criterion": "politeness"}), "annotator 1", 2)
    assert not other.blind
