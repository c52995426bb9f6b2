"""The pages about critiques, as a visitor meets them: the view, the desk and the leaderboard."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.critiques import factual
from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.protocols.critique_baselines.protocol import PAIRWISE, REFINEMENT, SINGLE, Pairwise, Refinement, Single
from core.trace import TurnTaken
from pages.parts import resources
from storage import database, labels, studies, traces
from storage.traces import Filter
from storage.transfer import samples
from tests.core.protocols.critiques import an_item, brought, judges, play
from tests.pages.opened import APP, prepared, visit, whole
from tests.storage.test_aius import judged


@pytest.fixture
def tour() -> None:
    prepared(list(tiebreak.read(samples.path("metacritique"))))


def watching(item: str, annotator: str = "", **parameters: str) -> AppTest:
    """The newest trace of an item, as `annotator` sees it; "" is nobody."""
    with database.reading(resources.engine()) as session:
        found = traces.find(session, Filter(studies.get(session, "s").id))
    number = next(one.id for one in found if one.item == item)
    app = visit("watch/traces")
    app.session_state["annotator"] = annotator
    for name, value in (parameters | {"trace": str(number)}).items():
        app.query_params[name] = value
    return app.run()


def page(script: str, annotator: str = "zoe", **parameters: str) -> AppTest:
    """A page whose address is not that of its file."""
    app = visit("setup/studies")
    app.session_state["annotator"] = annotator
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.switch_page(str(APP.parent / "pages" / f"{script}.py")).run()


def test_a_trace_shows_the_scores_of_each_judge(tour: None) -> None:
    app = watching("train")
    assert not app.exception
    assert "P 1.00 · R 0.75 · F1 0.86" in whole(app)
    assert [link.proto.label for link in app.get("page_link")] == ["Judge its AIUs"]


def test_what_was_written_in_the_trace_is_there_to_read(tour: None) -> None:
    app = watching("regex")
    assert [one.label for one in app.expander if one.label.startswith("Written")] == ["Written by writer: 5 texts"]
    assert "The hours from 20 to 23 need an alternative of their own." in whole(app)


def test_whoever_looks_at_the_judges_is_told_and_kept_as_not_blind(tour: None) -> None:
    assert "not blind" in whole(watching("bread", "zoe"))
    assert "not blind" not in whole(watching("bread", "zoe"))
    with database.reading(resources.engine()) as session:
        study = studies.get(session, "s")
    with database.writing(resources.engine()) as session:
        assert not labels.put(session, study.id, factual("bread", "human.1"), "zoe", True).blind


def test_a_trace_that_stopped_half_way_shows_what_is_known() -> None:
    run, trace = judged(an_item(), lambda ask: "none" if ask.step == "extract" else "x")
    half = tuple(event for event in trace.events if isinstance(event, TurnTaken))[:2]
    prepared([ItemRecord(item=an_item()), run, trace.model_copy(update={"events": half})])
    app = watching("ladder")
    assert not app.exception and "P – · R – · F1 –" in whole(app)


def test_the_desk_begins_with_the_first_critique_that_is_free(tour: None) -> None:
    app = page("label/aius", study="s")
    assert not app.exception
    assert "**0 of 12 critiques** · 0 of 8 AIUs of this one" in [p.proto.text for p in app.get("progress")]
    assert "A train leaves at 9:40" in whole(app)


def test_the_desk_names_no_author(tour: None) -> None:
    text = whole(page("label/aius", study="s", item="train", of="llm"))
    assert "model K" not in text and "colleague" not in text


def test_a_study_without_critiques_says_what_to_do() -> None:
    prepared([ItemRecord(item=an_item(critiques=()))])
    assert "No item of this study has a critique." in whole(page("label/aius", study="s"))
    app = page("results/critiques", study="s")
    assert "No critique has been judged in this study yet." in whole(app) and not app.exception


def test_the_leaderboard_shows_authors_and_judges(tour: None) -> None:
    app = page("results/critiques", study="s")
    assert not app.exception
    board, accuracies = app.dataframe
    assert list(board.value["Author"]) == ["all people", "all models", "a colleague", "model K"]
    assert list(accuracies.value["Judge"]) == ["judge A", "judge A", "judge B", "judge B"]
    assert "Two critiques by models" not in whole(app)


def test_an_author_in_the_address_opens_the_critiques_behind_the_figure(tour: None) -> None:
    app = page("results/critiques", study="s", author="model K", source="judge B")
    assert "Critiques behind it: 6 critiques by model K" in whole(app)
    assert set(app.dataframe[1].value["Author"]) == {"model K"}


@pytest.mark.parametrize(
    ("name", "settings", "shown"),
    [
        (SINGLE, Single(judges=judges("ab")), "**6 of 7**"),
        (PAIRWISE, Pairwise(judges=judges("ab"), shuffle=False), "the second**"),
        (REFINEMENT, Refinement(judges=judges("ab"), shuffle=False), "Second: answer refined by the critique of"),
    ],
)
def test_ratings_and_comparisons_show_the_critiques_and_what_was_said(name: str, settings: Any, shown: str) -> None:
    item = brought(2)
    events = play(lambda ask: "[[6]]" if ask.step == "rate" else "[[B]]", settings, item, name).events
    run = RunRecord(name="r", protocol=name, settings=settings.model_dump(mode="json"))
    prepared([ItemRecord(item=item), run, TraceRecord(run="r", item=item.id, events=tuple(events))])
    app = watching("ladder")
    assert not app.exception and shown in whole(app) and "Critique 2." in whole(app)
