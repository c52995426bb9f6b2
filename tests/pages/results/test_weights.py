"""The pages of scoring by aspect, as a visitor meets them: the view, the desk and the figures."""

import pytest
from streamlit.testing.v1 import AppTest

from core.aspects import part
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, TraceRecord
from core.items import Item
from core.labels import Label, Target
from pages.parts import resources
from storage import database, labels, studies, traces
from storage.traces import Filter
from storage.transfer import samples
from tests.core.protocols.scorings import an_item, play, saying, settings
from tests.pages.opened import APP, prepared, visit, whole

GIVEN = ("accuracy", "helpfulness", "relevance", "level of detail")


def the_sample() -> None:
    prepared(list(tiebreak.read(samples.path("dna_eval"))))


def table_11() -> list[Record]:
    """The paper's worked example as a recorded run."""
    chosen = settings()
    item = an_item()
    run = RunRecord(name="r", protocol="dna_eval", settings=chosen.model_dump(mode="json"))
    return [ItemRecord(item=item), run, TraceRecord(run="r", item=item.id, events=tuple(play(saying(), chosen).events))]


def watching(item: str, run: str, annotator: str = "") -> AppTest:
    """The trace of an item in a run, as `annotator` sees it; "" is nobody."""
    with database.reading(resources.engine()) as session:
        found = traces.find(session, Filter(studies.get(session, "s").id))
    number = next(one.id for one in found if (one.item, one.run) == (item, run))
    app = visit("watch/traces")
    app.session_state["annotator"] = annotator
    app.query_params["trace"] = str(number)
    return app.run()


def at_the_desk(annotator: str = "zoe", **parameters: str) -> AppTest:
    """The desk; its address is not that of its file, so the app has to be there before it is asked for."""
    app = visit("setup/studies")
    app.session_state["annotator"] = annotator
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.switch_page(str(APP.parent / "pages" / "label" / "weights.py")).run()


def test_table_11_says_what_it_comes_to_and_where_it_turns() -> None:
    prepared(table_11())
    app = watching("dryers", "r")
    assert not app.exception
    text = whole(app)
    assert "Response 1 is ahead, 8.05 to 7.8" in text.replace("\\", "")
    assert "**Under 14.3 %** response 2 would be ahead." in text
    assert "| **C** | relevance | 25 % | 10 | 8 |" in text


def test_the_slider_weighs_again_without_a_call() -> None:
    prepared(table_11())
    app = watching("dryers", "r")
    app.slider[0].set_value(10.0).run()
    assert not app.exception
    assert "At 10 % response 2 is ahead. The judge gave 25 %." in whole(app)


def test_what_cannot_be_read_is_told_and_scores_that_are_there_stay() -> None:
    the_sample()
    app = watching("why leaves turn", "two judges · given aspects")
    app.segmented_control[0].set_value("judge B").run()
    text = whole(app)
    assert "judge B has no verdict: no score on helpfulness" in text.replace("\\", "")
    assert "| **B** | helpfulness | 30 % |" in text and "| – | – |" in text


def test_peoples_weights_stand_beside_for_who_gave_their_own() -> None:
    the_sample()
    text = whole(watching("farewell note", "two judges · given aspects", "annotator 1"))
    assert "Distance by rank from judge A to annotator 1: 0.04" in text


def test_who_looks_before_weighing_is_not_shown_other_people_and_is_not_blind_any_more() -> None:
    the_sample()
    text = whole(watching("farewell note", "two judges · given aspects", "zoe"))
    assert "Distance by rank" not in text and "You have seen the judge's weights now" in text
    target = Target(item="farewell note", kind="aspect_weights", part=part(GIVEN))
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "s")
        given = dict.fromkeys(GIVEN, 25.0)
        assert not labels.put(session, study.id, target, "zoe", given).blind


def test_a_baseline_shows_the_judges_own_sums() -> None:
    the_sample()
    app = watching("dedupe list", "judge A · direct scores")
    assert not app.exception and "The best responses are equal, 8 to 8" in whole(app)


def test_three_responses_are_ranked_in_bars_of_their_own() -> None:
    chosen, item = settings(aspects=("x", "y")), an_item(3)
    run = RunRecord(name="r", protocol="dna_eval", settings=chosen.model_dump(mode="json"))
    events = play(saying("60 40", scores=["7 9 8", "5 6 7"]), chosen, item).events
    prepared([ItemRecord(item=item), run, TraceRecord(run="r", item=item.id, events=tuple(events))])
    app = watching("dryers", "r")
    assert not app.exception
    assert "| **A** | x | 60 % | 7 | 9 | 8 |" in whole(app) and "**Under" in whole(app)


def test_a_run_on_its_way_shows_what_is_there() -> None:
    chosen, item = settings(aspects=("x", "y")), an_item()
    run = RunRecord(name="r", protocol="dna_eval", settings=chosen.model_dump(mode="json"))
    events = play(saying("60 40", scores=["7 9", "5 6"]), chosen, item).events[:2]
    prepared([ItemRecord(item=item), run, TraceRecord(run="r", item=item.id, events=tuple(events))])
    app = watching("dryers", "r")
    assert not app.exception
    assert "| **A** | x | 60 % | 7 | 9 |" in whole(app) and "| **B** | y | 40 % | – | – |" in whole(app)


def test_replies_are_shown_when_asked_for() -> None:
    the_sample()
    app = watching("three boxes", "two judges · given aspects")
    app.toggle[0].set_value(True).run()
    assert "45% 20% 20% 15%" in [code.value for code in app.code]
    assert "scores on A accuracy" in whole(app)


def test_the_desk_shows_the_question_and_the_aspects_and_no_response() -> None:
    the_sample()
    app = at_the_desk()
    assert not app.exception
    text = whole(app)
    assert "Write a short farewell note" in text and "**A** Does the note sound warm" in text
    assert "three coffee machines" not in text and "What the judges said" not in text


def test_after_ones_own_weights_the_responses_and_the_judges_show() -> None:
    the_sample()
    text = whole(at_the_desk("annotator 1", item="farewell note", part=part(GIVEN)))
    assert "three coffee machines" in text and "What the judges said" in text


def test_an_empty_desk_says_where_aspects_come_from() -> None:
    prepared([ItemRecord(item=Item(id="i", prompt="?"))])
    assert "No aspects to weigh yet" in whole(at_the_desk())


def test_the_figures_of_the_sample() -> None:
    the_sample()
    app = visit("results/weights")
    assert not app.exception
    text = whole(app)
    assert "## 0.06" in text and "8 weightings · 3 people" in text
    pairs, averages, quality, agreement = (table.value for table in app.dataframe)
    assert pairs["Raters"].iloc[0] == "annotator 1 × annotator 2" and "people, all pairs" in list(pairs["Raters"])
    assert averages.set_index("Category").loc["math", "accuracy"] == "50.0"
    assert list(quality["Judge"]) == ["judge A"] and list(agreement["No verdict"]) == [4, 0, 0]


def test_the_heaviest_aspects_are_compared_by_fagins_distance() -> None:
    the_sample()
    app = visit("results/weights")
    app.segmented_control[0].set_value("heaviest").run()
    assert not app.exception
    assert [box.label for box in app.selectbox][:3] == ["Study", "How many aspects", "A tie counts"]


def test_without_weights_the_page_says_where_to_begin() -> None:
    prepared([ItemRecord(item=Item(id="i", prompt="?"))])
    assert "No weights yet" in whole(visit("results/weights"))


def test_one_person_alone_has_no_distance() -> None:
    target = Target(item="i", kind="aspect_weights", part=part(("x", "y")))
    label = LabelRecord(label=Label(target=target, annotator="ann", value={"x": 60, "y": 40}))
    prepared([ItemRecord(item=Item(id="i", prompt="?")), label])
    app = visit("results/weights")
    assert not app.exception
    assert "Two people have to weigh the same aspects." in whole(app) and "## –" in whole(app)


@pytest.mark.parametrize("page", ["results/agreement", "watch/traces", "label/disagreements", "setup/studies"])
def test_other_pages_take_a_study_of_weights(page: str) -> None:
    the_sample()
    app = visit(page)
    app.session_state["annotator"] = "annotator 1"
    app.run()
    assert not app.exception and not app.error
