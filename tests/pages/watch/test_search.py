"""The page Search: matches with their place, and views that are recorded."""

from core.formats.records import ItemRecord
from tests.conftest import make_item, make_target
from tests.pages.visits import label_is_blind, page_text, prepare_study, visit
from tests.storage.reports.test_alignment import make_trace
from tests.storage.shared import RUN


def test_a_match_in_a_turn_is_drawn_as_text_and_recorded_as_a_view() -> None:
    trace = make_trace("a", ("j", "verdict", 1)).model_dump()
    trace["events"][0]["turn"]["reply"] = "the <b>better</b> one"
    records = [
        RUN.model_copy(update={"name": "r"}),
        ItemRecord(item=make_item("a")),
        make_trace("a").model_validate(trace),
    ]
    prepare_study(records)
    app = visit("watch/search", "zoe", study="s", text="better<", area="Turns of judges")
    bodies = [element.proto.body for element in app.get("html")]
    assert any("the &lt;b&gt;<mark>better&lt;</mark>/b&gt; one" in body for body in bodies)
    assert not label_is_blind(make_target("a"), "zoe")


def test_questions_are_searched_without_a_view() -> None:
    prepare_study([ItemRecord(item=make_item("a"))])
    app = visit("watch/search", "zoe", study="s", text=make_item("a").prompt[:8])
    assert "<mark>" in page_text(app)
    assert "No match." in page_text(visit("watch/search", "zoe", study="s", text="no such text"))
    assert "2 to 200 characters" in page_text(visit("watch/search", "zoe", study="s", text="x"))
