"""The pages of peer reviews, as a visitor meets them: the view, the desk, the errors and the form."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.formats import tiebreak
from core.formats.records import CriterionRecord, ItemRecord, Record, RunRecord, TraceRecord
from core.items import Item, Response
from core.labels import Target
from core.llm.client import Reply, ScriptedModel
from core.protocols.refer.auto_prompt import Drafted
from pages.parts import resources
from storage import database, labels, studies, traces
from storage.traces import Filter
from storage.transfer import samples
from tests.conftest import an_item as an_ordinary_item
from tests.core.protocols.reviews import ENGAGING, an_item, play, saying, settings
from tests.pages.opened import prepared, visit, whole


def the_sample() -> None:
    prepared(list(tiebreak.read(samples.path("refer"))))


def reasoning(answers: str = "BAB", reference: str = "B") -> list[Record]:
    """One recorded run that answers a question, peers a, b and c, and the chair B."""
    chosen = settings(verdict="option")
    item = an_item(id="sum", reference=reference, responses=())
    review = play(saying(["B"], "Answer", **dict(zip("abc", answers, strict=True))), chosen, item)
    run = RunRecord(name="r", protocol="refer", settings=chosen.model_dump(mode="json"))
    return [ItemRecord(item=item), run, TraceRecord(run="r", item="sum", events=tuple(review.events))]


def page_of(page: str, annotator: str = "", **parameters: str) -> AppTest:
    app = visit(page, **parameters)
    app.session_state["annotator"] = annotator
    return app.run()


def watching(item: str, annotator: str = "") -> AppTest:
    with database.reading(resources.engine()) as session:
        (found,) = traces.find(session, Filter(studies.get(session, "s").id, item=item))
    return page_of("watch/traces", annotator, trace=str(found.id))


def test_peers_the_chair_and_what_went_wrong_are_told() -> None:
    the_sample()
    app = watching("bees")
    assert not app.exception
    text = whole(app)
    assert "**peer 1** · **2**" in text and "**peer 3** · **1**" in text
    assert "Area chair, 10 samples" in text and "Comment 1 of 10 · **2**" in text
    assert "The mean of 9 samples, 1 more could not be read" in text
    assert any("could not be read" in expander.label for expander in app.expander)


def test_people_s_scores_wait_for_one_s_own() -> None:
    the_sample()
    assert "shows once you have labelled" in whole(watching("bees", "annotator 1"))
    assert "shows once you have labelled" not in whole(watching("bees", "annotator 2"))


def test_who_looks_before_scoring_scores_not_blind() -> None:
    the_sample()
    assert "kept as not blind" in whole(watching("bees", "annotator 1"))
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "s").id
        label = labels.put(session, study, Target(item="bees", kind="score", criterion="engaging"), "annotator 1", 2)
    assert not label.blind


def test_a_peer_that_said_nothing_readable_says_why() -> None:
    the_sample()
    assert "no verdict: the reply was cut off at the limit of 128 tokens" in whole(watching("chess"))


def test_the_desk_asks_for_a_score_and_tells_nothing_before() -> None:
    the_sample()
    app = page_of("label/scores", "newcomer")
    assert not app.exception
    text = whole(app)
    assert "marathon · dialog · engaging" in text and "Area chair" not in text and "peer 1" not in text


def test_without_a_scale_the_desk_says_what_to_do() -> None:
    prepared([ItemRecord(item=an_ordinary_item())])
    assert "no criterion with a scale yet" in whole(page_of("label/scores", "newcomer"))


def test_an_answer_is_asked_without_showing_the_reference() -> None:
    prepared(reasoning())
    app = page_of("label/scores", "newcomer")
    assert not app.exception and "sum" in whole(app)
    assert not any("Reference" in expander.label for expander in app.expander)


def test_the_errors_of_a_run_in_figures() -> None:
    prepared(reasoning())
    app = page_of("results/peer_errors")
    assert not app.exception
    text = whole(app)
    assert "Right where peers differed" in text and "100 %" in text and "1 of 1 trace" in text


def test_the_threshold_can_be_set_for_scores_and_not_for_answers() -> None:
    the_sample()
    app = page_of("results/peer_errors")
    assert "A score is right at most 0.5 from people's mean" in whole(app)
    app.slider(key="within").set_value(100).run()
    assert "at most 2 from" in whole(app)


def test_what_was_clicked_is_in_the_address() -> None:
    prepared(reasoning(answers="ABC"))
    app = page_of("results/peer_errors", slice="1 of 3, chair right")
    assert "Items behind what you clicked: 1" in whole(app)
    row = app.dataframe[0].value.to_dict("records")[0]
    assert row == {"Item": "sum", "Truth": "B", "a": "A ✗", "b": "B ✓", "c": "C ✗", "Chair": "B ✓"}


@pytest.mark.parametrize("records", [[ItemRecord(item=an_ordinary_item())], reasoning(reference="it depends")])
def test_without_anything_to_compare_the_page_says_what_to_do(records: list[Record]) -> None:
    prepared(records)
    app = page_of("results/peer_errors")
    assert not app.exception and len(app.info) == 1


def test_a_chair_that_is_asked_often_is_asked_at_temperature_1() -> None:
    the_sample()
    app = visit("setup/runs", view="new")
    app.selectbox(key="protocol").set_value("refer").run()
    chosen = next(one for one in app.button_group if "Once (Lite)" in one.options)
    chosen.set_value("20 times (Turbo)").run()
    assert not app.exception
    assert "8 items: at most 184 calls" in whole(app)


def test_a_draft_goes_into_the_field_and_says_where_it_is_from(monkeypatch: pytest.MonkeyPatch) -> None:
    the_sample()
    drafter = ScriptedModel([Reply(text="- A score of 1: dull.\n- A score of 3: fun.")])
    monkeypatch.setattr(resources, "model", lambda: drafter)
    app = visit("setup/runs", view="new")
    app.selectbox(key="protocol").set_value("refer").run()
    model = next(one for one in app.selectbox if str(one.key).endswith("guidelines_model"))
    model.set_value("local").run()
    next(one for one in app.button if one.label == "Draft").click().run()
    assert not app.exception
    field = next(one for one in app.text_area if str(one.key).endswith("_guidelines"))
    assert field.value == Drafted("- A score of 1: dull.\n- A score of 3: fun.", True).text
    assert "Drafted by local from 6 examples" in whole(app)
    assert "People's score: 1" in drafter.asked[0].prompt


def test_an_image_is_shown_or_it_is_said_why_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIEBREAK_MEDIA", str(tmp_path))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "fake.png").write_bytes(b"<svg/>")
    item = Item(id="i", prompt="Draw.", image="fake.png", responses=(Response(text="", image="../x.png"),))
    prepared([CriterionRecord(criterion=ENGAGING), ItemRecord(item=item)])
    text = whole(page_of("label/scores", "newcomer"))
    assert "is not PNG, JPEG, GIF or WebP" in text and "should be a path inside" in text
