"""The view of a single judge."""

from core.items import Criterion
from core.labels import Scale
from core.protocols import Judge
from core.protocols.single_judge.settings import PairSettings, ScoreSettings
from core.trace import Spec
from tests.core.protocols.discussions import make_item, make_single_response_item
from tests.core.protocols.single_judge.test_protocol import run_scripted
from tests.pages.visits import prepare_study, recorded, trace_text


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


def test_samples_of_a_single_judge_show_how_many_could_be_read() -> None:
    waiting = iter(["Rating: 3", "Rating: 2", "Hm.", "Hm."])
    _, events, _ = run_scripted(lambda ask: next(waiting), SAMPLED)
    prepare_study(recorded(make_single_response_item(), "single-score", SAMPLED, events, "natural"))
    shown = trace_text("tides")
    assert "2 of 3 samples could be read." in shown and "**ann** · sample 1 · **3**" in shown


def test_samples_on_several_criteria_have_a_histogram_each() -> None:
    chosen = SAMPLED.model_copy(update={"criteria": (Criterion(name="brief", scale=SCALE),), "samples": 2})
    replies = {"natural": iter(["Rating: 3", "Rating: 2"]), "brief": iter(["Rating: 1", "Hm.", "Hm."])}
    _, events, _ = run_scripted(lambda ask: next(replies[ask.criterion]), chosen)
    prepare_study(recorded(make_single_response_item(), "single-score", chosen, events, "natural"))
    shown = trace_text("tides")
    assert "2 of 2 samples could be read." in shown and "1 of 2 samples could be read." in shown
