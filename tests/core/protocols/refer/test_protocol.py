"""ReFeR by its paper: who is asked what, Eq. 3, what the chair is told, and replies that cannot be read."""

import re

import pytest
from pydantic import ValidationError

from core.items import Criterion, Response
from core.labels import Scale
from core.llm.client import Reply
from core.problems import Problem
from core.protocols.refer.protocol import Reviewer, shown
from core.trace import EVENT, Spec, TurnTaken
from tests.core.protocols.reviews import ENGAGING, a_flow, an_item, play, saying, settings
from tests.golden.files import golden


def test_all_peers_are_asked_at_once_and_then_the_chair_n_times() -> None:
    flow = a_flow(settings(samples=4))
    first = next(flow)
    assert [(ask.speaker, ask.step, ask.round) for ask in first] == [(name, "peer", 0) for name in "abc"]
    assert len({ask.prompt for ask in first}) == 1
    told = play(saying([2] * 4, a=1, b=2, c=3), settings(samples=4))
    assert [ask.speaker for ask in told.asked[3:]] == ["chair"] * 4
    assert len({ask.prompt for ask in told.asked[3:]}) == 1


def test_the_final_score_is_the_mean_of_the_samples() -> None:
    """Eq. 3."""
    review = play(saying([2, 3, 2, 2, 3], a=1, b=2, c=3), settings(samples=5))
    assert review.verdict is not None and review.verdict.value == pytest.approx(12 / 5)
    assert review.verdict.outcome == "agreed"
    assert review.verdict.reason == "the mean of 5 samples; the comment of sample 1 stands for them"
    assert review.opinions() == {("a", "last"): 1, ("b", "last"): 2, ("c", "last"): 3, ("chair", "verdict"): 2.4}
    assert {(one.kind, one.criterion) for one in review.verdict.opinions} == {("score", "engaging")}


def test_lite_is_one_sample() -> None:
    """Eq. 4."""
    review = play(saying([3], a=1, b=2, c=3), settings())
    assert review.verdict is not None and review.verdict.value == 3
    assert review.verdict.reason == "the area chair's decision"


def test_samples_that_cannot_be_read_are_left_out_of_the_mean_and_counted() -> None:
    refused = Reply(text="", finish="refused")
    review = play(saying([2, refused, 3, 9, 9], a=1, b=2, c=3), settings(samples=4))
    assert review.verdict is not None and review.verdict.value == 2.5
    assert review.verdict.reason.startswith("the mean of 2 samples, 2 more could not be read")


def test_without_a_readable_sample_there_is_no_verdict() -> None:
    review = play(saying([Reply(text="Ana", finish="cut off")], a=1, b=2, c=3), settings())
    assert review.verdict is not None
    assert (review.verdict.outcome, review.verdict.value) == ("no_verdict", None)
    assert "cut off" in review.verdict.opinions[-1].problem


def test_a_peer_that_cannot_be_read_is_no_opinion_and_the_chair_is_told_so() -> None:
    review = play(saying([2], a="no idea", b=2, c=3), settings())
    assert review.opinions()["a", "last"] is None
    assert "Reviewer 1:\n'''\n(rating that nobody could read)\n'''" in review.prompts["chair"]


@pytest.mark.parametrize(
    ("told", "said"),
    [("scores", "Rating: 2"), ("comments", "b thinks."), ("both", "b thinks.\nRating: 2")],
)
def test_the_chair_is_told_scores_comments_or_both(told: str, said: str) -> None:
    """Table 11."""
    review = play(saying([2], a=1, b=2, c=3), settings(told=told))
    assert f"Reviewer 2:\n'''\n{said}\n'''" in review.prompts["chair"]


def test_no_reviewer_is_named_to_the_chair() -> None:
    peers = tuple(Reviewer(name=f"Zoe {n}", spec=Spec(model="m")) for n in range(2))
    review = play(saying([2], **{"Zoe 0": 1, "Zoe 1": 2}), settings(peers="ab").model_copy(update={"peers": peers}))
    assert "Zoe" not in review.prompts["chair"]


def test_an_option_is_what_most_samples_give() -> None:
    chosen = settings(verdict="option", samples=3)
    review = play(saying(["B", "C", "B"], "Answer", a="A", b="B", c="B"), chosen, an_item(responses=()))
    assert review.verdict is not None and review.verdict.value == "B"
    assert review.verdict.reason == "2 of 3 samples; the comment of sample 1 stands for them"
    assert {one.kind for one in review.verdict.opinions} == {"answer"}


def test_tied_answers_are_left_open() -> None:
    chosen = settings(verdict="option", samples=2)
    review = play(saying(["B", "C"], "Answer", a="A", b="B", c="B"), chosen, an_item(responses=()))
    assert review.verdict is not None
    assert (review.verdict.outcome, review.verdict.value) == ("disputed", None)
    assert review.verdict.reason == "the chair's samples are tied: 1 for B, 1 for C"


def test_an_answer_can_be_a_number() -> None:
    chosen = settings(verdict="number")
    review = play(saying(["1,200"], "Answer", a="12", b="12.5", c="$1200"), chosen, an_item(responses=()))
    assert review.opinions() == {
        ("a", "last"): 12,
        ("b", "last"): 12.5,
        ("c", "last"): 1200,
        ("chair", "verdict"): 1200,
    }


def test_images_go_to_peers_and_chair_and_are_numbered_in_the_text() -> None:
    item = an_item(image="prompt.png", responses=(Response(text="", image="made.png"),))
    review = play(saying([2], a=1, b=2, c=3), settings(), item)
    assert {ask.images for ask in review.asked} == {("prompt.png", "made.png")}
    assert "attached as image 1" in review.prompts["a"] and "attached as image 2" in review.prompts["chair"]
    assert "Response:\n" not in review.prompts["a"]


def test_an_item_with_two_responses_is_refused() -> None:
    with pytest.raises(Problem, match=re.escape("has 2 responses; ReFeR scores one")):
        next(a_flow(settings(), an_item(responses=(Response(text="x"), Response(text="y")))))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"samples": 20, "chair": Reviewer(name="chair", spec=Spec(model="m"))}, "temperature 0"),
        ({"chair": Reviewer(name="a", spec=Spec(model="m"))}, "called 'a'"),
        ({"criterion": Criterion(name="tone")}, "needs a scale"),
        ({"criterion": Criterion(name="tone", scale=Scale(level="nominal", categories=("good", "bad")))}, "of numbers"),
        ({"criterion": Criterion(name="")}, "needs a criterion"),
        ({"verdict": "option", "letters": "ABA"}, "occurs twice"),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields: dict, words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        settings(**fields)


def test_the_comment_that_is_shown_is_the_nearest_to_the_mean() -> None:
    review = play(saying([1, 3, 2, 2], a=1, b=2, c=3), settings(samples=4))
    samples = [turn for turn in review.turns if turn.step == "chair"]
    assert review.verdict is not None and shown(samples, review.verdict.value) == 2


def test_a_continuous_scale_is_spoken_of_by_its_ends() -> None:
    quality = Criterion(name="quality", scale=Scale(level="interval", low=0, high=5))
    review = play(saying([3.75], a=0, b=5, c=2.5), settings(criterion=quality))
    assert "quality (a number from 0 to 5)" in review.prompts["a"]
    assert review.opinions()["chair", "verdict"] == 3.75


def test_resuming_asks_only_for_the_samples_that_are_missing() -> None:
    whole = play(saying([1, 2, 3, 3], a=1, b=2, c=3), settings(samples=4))
    kept = [EVENT.validate_json(EVENT.dump_json(event)) for event in whole.events[:5]]
    assert all(isinstance(event, TurnTaken) for event in kept)
    again = play(saying([3, 3], a=0, b=0, c=0), settings(samples=4), stored=kept)
    assert [ask.speaker for ask in again.asked] == ["chair", "chair"]
    assert again.verdict == whole.verdict


def test_the_prompts_for_scores() -> None:
    chosen = settings(guidelines="Give a 3 only where the fact is used.", told="both")
    review = play(saying([2], a=1, b=2, c="?"), chosen)
    golden("refer/peer.txt", review.prompts["a"])
    golden("refer/chair.txt", review.prompts["chair"])
    golden("refer/again.txt", [ask for ask in review.asked if ask.speaker == "c"][-1].prompt)


def test_the_prompts_for_answers() -> None:
    item = an_item(
        prompt="A train takes 2 h for 120 km. Its speed?\nA) 50 km/h\nB) 60 km/h", context=None, responses=()
    )
    review = play(saying(["B"], "Answer", a="A", b="B", c="B"), settings(verdict="option", letters="AB"), item)
    golden("refer/peer_option.txt", review.prompts["a"])
    golden("refer/chair_option.txt", review.prompts["chair"])
    number = play(saying([60], "Answer", a=60, b=60, c=60), settings(verdict="number"), item)
    golden("refer/peer_number.txt", number.prompts["a"])


def test_a_study_can_say_task_and_steps_in_its_own_words() -> None:
    review = play(saying([2], a=1, b=2, c=3), settings(task="Judge this reply.", steps="1. Read.\n2. Rate."))
    assert review.prompts["a"].startswith("Judge this reply.\n\nEvaluation Criterion:")
    assert "Evaluation Steps:\n1. Read.\n2. Rate.\n\nInput:" in review.prompts["a"]
    assert ENGAGING.rubric[2] in review.prompts["chair"]
