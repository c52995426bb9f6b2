"""The page of the weights laboratory."""

import pytest
from sqlalchemy import select

from core.formats import tiebreak
from core.labels import Target
from pages.parts import live, resources
from storage.db import connections
from storage.db.tables import OpinionViewRow
from storage.studies import items
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, study_session, visit
from tests.storage.shared import store_label


@pytest.mark.parametrize("page", ["laboratory", "published"])
def test_a_newer_label_is_computed_in_the_background(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LIMIT", -1.0)
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))
    app = visit(f"results/{page}")
    with study_session() as (session, study):
        item = next(iter(items.by_key(session, study.id)))
        store_label(session, study.id, Target(item=item, kind="preference", criterion="helpfulness"), "dan", 0)
    (entry,) = live._entries.values()
    entry.ended = 0.0  # a computation waits for half of the time of the one before
    app.run()
    assert entry.job is not None
    entry.job.result(20)
    assert entry.seconds and entry.ready == entry.wanted


def test_the_answer_is_shown_and_a_listed_item_is_recorded_as_seen() -> None:
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))
    app = visit("results/laboratory", annotator="zoe")
    assert "equal weights" in list(app.dataframe[0].value["Weights"])
    assert "too few for a conclusion" in page_text(app) and not blindness_lost()
    app.toggle[0].set_value(True).run()
    assert "Reference" in app.dataframe[-1].value.columns
    assert blindness_lost()


def blindness_lost() -> bool:
    """Whether a view of an opinion is recorded for zoe."""
    with connections.reading(resources.engine()) as session:
        return bool(session.scalars(select(OpinionViewRow)).all())
