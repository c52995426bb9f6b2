"""The view of a peer review."""

from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.items import Criterion
from core.labels import Scale, Target
from core.protocols import Judge
from core.protocols.single_judge.settings import PairSettings, ScoreSettings
from core.trace import Spec
from tests.core.protocols import reviews
from tests.core.protocols.discussions import NATURAL, make_item, make_settings, make_single_response_item
from tests.core.protocols.discussions import run_scripted as play_discussion
from tests.core.protocols.single_judge.test_protocol import run_scripted
from tests.pages.visits import (
    label_is_blind,
    page_text,
    prepare_sample,
    prepare_study,
    recorded,
    trace_text,
    visit_trace,
)


def test_peers_chair_and_problems_are_shown() -> None:
    prepare_sample("refer")
    app = visit_trace("bees")
    text = page_text(app)
    assert "**peer 1** · **2**" in text and "**peer 3** · **1**" in text
    assert "Area chair, 10 samples" in text and "Comment 1 of 10 · **2**" in text
    assert "The mean of 9 samples, 1 more could not be read" in text
    assert any("could not be read" in expander.label for expander in app.expander)
    assert "no verdict: the reply was cut off at the limit of 128 tokens" in page_text(visit_trace("chess"))


def test_peoples_scores_are_hidden_until_the_annotators_label_which_is_not_blind_then() -> None:
    prepare_sample("refer")
    text = page_text(visit_trace("bees", annotator="annotator 1"))
    assert "are shown after you have labelled" in text and "recorded as not blind" in text
    assert "are shown after you have labelled" not in page_text(visit_trace("bees", annotator="annotator 2"))
    assert not label_is_blind(Target(item="bees", kind="score", criterion="engaging"), "annotator 1", 2)


def test_a_review_on_several_criteria_shows_the_part_on_the_selected_one() -> None:
    fluent = reviews.ENGAGING.model_copy(update={"name": "fluent"})
    chosen = reviews.make_settings("ab", criteria=(fluent,), samples=2)
    played = reviews.run_scripted(lambda ask: f"Analysis: hm.\nRating: {3 if ask.criterion == 'fluent' else 1}", chosen)
    prepare_study(recorded(reviews.make_item(), "refer", chosen, played.events))
    app = visit_trace("flamingos")
    assert "**a** · **1**" in page_text(app) and "**3**" not in page_text(app)
    app.segmented_control[0].set_value("fluent").run()
    assert "**a** · **3**" in page_text(app) and "of 2 · **3**" in page_text(app)


# The view of a single judge


def test_a_single_judge_shows_its_choice_in_each_order() -> None:
    judge = Judge(name="ann", spec=Spec(model="m"))
    chosen = PairSettings(judge=judge, criterion=Criterion(name="clarity", definition="?"), both_orders=True)
    _, events, _ = run_scripted(lambda ask: "1", chosen)
    prepare_study(recorded(make_item(), "single-judge", chosen, events, "clarity"))
    shown = trace_text("tides")
    assert "**ann** · Response 1 read first · **Response 1**" in shown
    assert "**ann** · Response 2 read first · **Response 2**" in shown


SCALE = Scale(level="ordinal", categories=(1, 2, 3))
SAMPLED = ScoreSettings(
    judge=Judge(name="ann", spec=Spec(model="m", temperature=1)),
    criterion=Criterion(name="natural", scale=SCALE),
    samples=3,
)


def test_samples_on_several_criteria_have_a_histogram_each() -> None:
    chosen = SAMPLED.model_copy(update={"criteria": (Criterion(name="brief", scale=SCALE),), "samples": 2})
    replies = {"natural": iter(["Rating: 3", "Rating: 2"]), "brief": iter(["Rating: 1", "Hm.", "Hm."])}
    _, events, _ = run_scripted(lambda ask: next(replies[ask.criterion]), chosen)
    prepare_study(recorded(make_single_response_item(), "single-score", chosen, events, "natural"))
    shown = trace_text("tides")
    assert "2 of 2 samples could be read." in shown and "1 of 2 samples could be read." in shown


# The view of a discussion of personas


def test_a_discussion_shows_its_personas_scores_and_changes() -> None:
    prepare_sample("chateval")
    shown = trace_text("sky at sunset")
    assert "2.00 for response 1 and 9.00 for response 2 on average" in shown
    assert r"**General Public** · round 1 · **3 \: 9**" in shown
    assert "**changed** from :blue-badge[1] to :orange-badge[2], as Critic held at first" in shown
    assert "the reply was cut off at the limit of 512 tokens" in trace_text("piano tuners")


def test_a_rating_is_shown_as_a_number() -> None:
    chosen = make_settings("ab", outcome="rating", criterion=NATURAL)
    discussion = play_discussion(
        lambda ask: f"Rating: {'23'['ab'.index(ask.speaker)]}", chosen, make_single_response_item()
    )
    prepare_study(recorded(make_single_response_item(), "chateval", chosen, discussion.events, "natural"))
    shown = trace_text("tides")
    assert "2.50 the mean of 2 ratings" in shown and "**a** · round 1 · **2**" in shown


def test_a_run_with_incomplete_settings_uses_the_default_view() -> None:
    discussion = play_discussion(lambda ask: "Hm.", make_settings("ab", turns=1))
    run = RunRecord(name="r", protocol="chateval", settings={"who": "knows"})
    prepare_study(
        [ItemRecord(item=make_item()), run, TraceRecord(run="r", item="tides", events=tuple(discussion.events))]
    )
    assert "first opinion" in trace_text("tides")
