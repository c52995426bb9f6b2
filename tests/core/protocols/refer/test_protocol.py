"""ReFeR as in its paper: the asks, Eq. 3, what the chair sees, and unreadable replies."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.answers.number import Rating
from core.errors import PermanentFailure, TiebreakError, UnreadableReply
from core.items import Criterion, Response
from core.labels import Scale
from core.llm.client import Reply
from core.protocols.refer.protocol import comment_text, representative_sample
from core.protocols.refer.settings import Reviewer, Settings
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_settings
from core.trace import Ask, Spec, TraceFailed, Turn
from tests.core.protocols.reviews import ENGAGING, make_flow, make_item, make_settings, reviews_script, run_scripted
from tests.golden.files import assert_golden


def test_all_peers_are_asked_in_parallel_then_the_chair_n_times() -> None:
    flow = make_flow(make_settings(samples=4))
    first = next(flow)
    assert [(ask.speaker, ask.step, ask.round) for ask in first] == [(name, "peer", 0) for name in "abc"]
    assert len({ask.prompt for ask in first}) == 1
    trace = run_scripted(reviews_script([2] * 4, a=1, b=2, c=3), make_settings(samples=4))
    assert [ask.speaker for ask in trace.asked[3:]] == ["chair"] * 4
    assert len({ask.prompt for ask in trace.asked[3:]}) == 1


def test_the_final_score_is_the_mean_of_the_samples() -> None:
    """Eq. 3."""
    review = run_scripted(reviews_script([2, 3, 2, 2, 3], a=1, b=2, c=3), make_settings(samples=5))
    assert review.verdict is not None and review.verdict.value == pytest.approx(12 / 5)
    assert review.verdict.outcome == "agreed"
    assert review.verdict.reason == "the mean of 5 samples; the comment of sample 1 stands for them"
    assert review.opinions() == {("a", "last"): 1, ("b", "last"): 2, ("c", "last"): 3, ("chair", "verdict"): 2.4}
    assert {(opinion.kind, opinion.criterion) for opinion in review.verdict.opinions} == {("score", "engaging")}


def test_unreadable_samples_are_left_out_of_the_mean_and_counted() -> None:
    refused = Reply(text="", finish="refused")
    review = run_scripted(reviews_script([2, refused, 3, 9, 9], a=1, b=2, c=3), make_settings(samples=4))
    assert review.verdict is not None and review.verdict.value == 2.5
    assert review.verdict.reason.startswith("the mean of 2 samples, 2 more could not be read")


def test_a_peers_rating_that_the_chair_repeats_is_not_the_chairs() -> None:
    repeated = [Reply(text=text) for text in ("Peer 1's rating: 1", "Rating by reviewer 1: 1", "Peer 1's rating: 1")]
    review = run_scripted(reviews_script(repeated, a=1, b=2, c=3), make_settings())
    assert review.verdict is not None and (review.verdict.outcome, review.verdict.value) == ("no_verdict", None)
    own = [Reply(text="Peer 1's rating: 1\nPeer 2's rating: 2\n\nArea chair's rating: 3")]
    review = run_scripted(reviews_script(own, a=1, b=2, c=3), make_settings())
    assert review.verdict is not None and review.verdict.value == 3


@pytest.mark.parametrize("shared", ["scores", "comments", "both"])
def test_an_unreadable_peer_has_no_opinion_and_is_not_in_the_chairs_prompt(shared: str) -> None:
    review = run_scripted(reviews_script([2], a="no idea", b=2, c=3), make_settings(shared_with_chair=shared))
    assert review.opinions()["a", "last"] is None
    assert "reviewer_1" not in review.prompts["chair"] and "no idea" not in review.prompts["chair"]
    assert "<reviewer_2>" in review.prompts["chair"] and "<reviewer_3>" in review.prompts["chair"]


def test_without_peers_the_chair_is_asked_as_a_peer_is() -> None:
    """The single-agent baseline of Table 4."""
    peer = next(make_flow(make_settings()))[0]
    asked = next(make_flow(make_settings("", samples=2)))
    assert [(ask.speaker, ask.step, ask.request()) for ask in asked] == [("chair", "chair", peer.request())] * 2
    review = run_scripted(reviews_script([2, 3]), make_settings("", samples=2))
    assert review.opinions() == {("chair", "verdict"): 2.5}


@pytest.mark.parametrize(
    ("samples", "contention", "outcome"),
    [([1, 3, 1, 3], 1.0, "disputed"), ([2, 3, 2, 2], 0.5, "agreed"), ([2, 2, 2, 2], 0.0, "agreed")],
)
def test_a_chair_whose_samples_split_is_disputed(samples: list[int], contention: float, outcome: str) -> None:
    review = run_scripted(reviews_script(samples, a=1, b=2, c=3), make_settings(samples=4))
    assert review.verdict is not None
    assert (review.verdict.contention, review.verdict.outcome) == (contention, outcome)
    assert review.verdict.value == sum(samples) / 4


@pytest.mark.parametrize(
    ("samples", "outcome", "value", "reason"),
    [
        ("BCB", "agreed", "B", "2 of 3 samples; the comment of sample 1 stands for them"),
        ("BCBAD", "disputed", "B", "2 of 5 samples; the comment of sample 1 stands for them"),
        ("BC", "disputed", None, "the chair's samples are tied: 1 for B, 1 for C"),
    ],
)
def test_an_option_is_the_most_frequent_sample_and_disputed_without_a_majority(
    samples: str, outcome: str, value: str | None, reason: str
) -> None:
    script = reviews_script([*samples], "Answer", a="A", b="B", c="B")
    settings = make_settings(verdict="option", samples=len(samples))
    review = run_scripted(script, settings, make_item(responses=()))
    assert review.verdict is not None and (review.verdict.outcome, review.verdict.value) == (outcome, value)
    assert review.verdict.reason == reason
    assert {opinion.kind for opinion in review.verdict.opinions} == {"answer"}


def test_the_chair_may_have_another_task_rubric_steps_and_guidelines() -> None:
    """Appendix N words them differently for peers and chair."""
    own = {
        "chair_task": "Decide.",
        "chair_rubric": "3 if fun.",
        "chair_steps": "1. Weigh.",
        "chair_guidelines": "Harsh.",
    }
    settings = make_settings(task="Review.", steps="1. Read.", guidelines="Mild.", **own)
    review = run_scripted(reviews_script([2], a=1, b=2, c=3), settings)
    peer, chair = review.prompts["a"], review.prompts["chair"]
    assert chair.startswith("Decide.\n") and "engaging (1, 2 or 3): 3 if fun.\n\nEvaluation steps:\n1. Weigh." in chair
    assert "Evaluation guidelines:\nHarsh." in chair and ENGAGING.rubric[2] not in chair
    assert peer.startswith("Review.\n") and "1. Read." in peer and "Mild." in peer and ENGAGING.rubric[2] in peer
    assert not any(text in peer for text in ("Decide.", "3 if fun.", "1. Weigh.", "Harsh."))


@pytest.mark.parametrize("samples", [1, 20])
def test_a_chair_has_temperature_1_unless_another_is_given(samples: int) -> None:
    fields = make_settings().model_dump(mode="json") | {"samples": samples}
    lite = Settings.model_validate(fields | {"chair": {"name": "chair", "spec": {"model": "m"}}})
    assert lite.chair.spec.temperature == 1
    own = {"name": "chair", "spec": {"model": "m", "temperature": 0.5}}
    assert Settings.model_validate(fields | {"chair": own}).chair.spec.temperature == 0.5


@pytest.mark.parametrize(
    ("shared", "text"),
    [("scores", "Rating: 2"), ("comments", "b thinks."), ("both", "b thinks.\nRating: 2")],
)
def test_the_chair_sees_scores_comments_or_both(shared: str, text: str) -> None:
    """Table 11."""
    review = run_scripted(reviews_script([2], a=1, b=2, c=3), make_settings(shared_with_chair=shared))
    assert f"<reviewer_2>\n{text}\n</reviewer_2>" in review.prompts["chair"]


def test_the_chairs_prompt_names_no_reviewer() -> None:
    peers = tuple(Reviewer(name=f"Zoe {n}", spec=Spec(model="m")) for n in range(2))
    review = run_scripted(
        reviews_script([2], **{"Zoe 0": 1, "Zoe 1": 2}), make_settings(peers="ab").model_copy(update={"peers": peers})
    )
    assert "Zoe" not in review.prompts["chair"]


def test_images_go_to_peers_and_chair_and_are_numbered_in_the_text() -> None:
    item = make_item(image="prompt.png", responses=(Response(text="", image="made.png"),))
    review = run_scripted(reviews_script([2], a=1, b=2, c=3), make_settings(), item)
    assert {ask.images for ask in review.asked} == {("prompt.png", "made.png")}
    assert "(Image 1 is attached.)\n</prompt>" in review.prompts["a"]
    assert "<response>\n(Image 2 is attached.)\n</response>" in review.prompts["chair"]


def test_an_item_with_two_responses_is_refused() -> None:
    with pytest.raises(TiebreakError, match=re.escape("has 2 responses; ReFeR scores one")):
        next(make_flow(make_settings(), make_item(responses=(Response(text="x"), Response(text="y")))))


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
def test_inconsistent_settings_are_refused(fields: dict, words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        make_settings(**fields)


def test_the_representative_sample_is_the_nearest_to_the_mean() -> None:
    review = run_scripted(reviews_script([1, 3, 2, 2], a=1, b=2, c=3), make_settings(samples=4))
    samples = [turn for turn in review.turns if turn.step == "chair"]
    assert review.verdict is not None and representative_sample(samples, review.verdict.value) == 2


def next_chair_ask(settings: Settings) -> Ask:
    flow = make_flow(settings)
    (ask,) = flow.send([turn_of(ask, 2) for ask in next(flow)])
    return ask


def turn_of(ask: Ask, value: int) -> Turn:
    reply = f"{ask.speaker} thinks.\nRating: {value}"
    return Turn(speaker=ask.speaker, step=ask.step, round=0, model="m", reply=reply, reading=value)


def test_the_prompts_for_scores() -> None:
    settings = make_settings(guidelines="Give a 3 only where the fact is used.", shared_with_chair="both")
    review = run_scripted(reviews_script([2], a=1, b=2, c="?"), settings)
    assert_golden("refer/peer.txt", review.prompts["a"])
    assert_golden("refer/chair.txt", review.prompts["chair"])
    assert_golden("refer/chair_json.txt", next_chair_ask(settings).request("json"))
    assert_golden("refer/retry.txt", [ask for ask in review.asked if ask.speaker == "c"][-1].prompt)


def test_the_prompts_for_answers() -> None:
    item = make_item(
        prompt="A train takes 2 h for 120 km. Its speed?\nA) 50 km/h\nB) 60 km/h", context=None, responses=()
    )
    review = run_scripted(
        reviews_script(["B"], "Answer", a="A", b="B", c="B"), make_settings(verdict="option", letters="AB"), item
    )
    assert_golden("refer/peer_option.txt", review.prompts["a"])
    assert_golden("refer/chair_option.txt", review.prompts["chair"])
    number = run_scripted(reviews_script([60], "Answer", a=60, b=60, c=60), make_settings(verdict="number"), item)
    assert_golden("refer/peer_number.txt", number.prompts["a"])


def test_the_rubric_can_be_the_evaluation_guidelines_of_peers_and_chair() -> None:
    trace = run_scripted(reviews_script([2], a=1, b=2, c=3), make_settings(rubric_in="guidelines"))
    guidelines = "\n\nEvaluation guidelines:\n- 1: dull, and could stand anywhere\n- 2: of some interest\n- 3: inter"
    criteria = "Evaluation criterion:\nengaging (1, 2 or 3): Is the response dull or interesting?\n\n"
    assert len(trace.asked) == 4
    assert all(guidelines in ask.prompt and criteria in ask.prompt for ask in trace.asked)
    own = run_scripted(reviews_script([2], a=1, b=2, c=3), make_settings(rubric_in="guidelines", guidelines="Be kind."))
    assert "Evaluation guidelines:\nBe kind." in own.asked[0].prompt and "- 2: of some interest" in own.asked[0].prompt


@pytest.mark.parametrize("rule", ["left out", "stops the trace"])
def test_a_peer_whose_call_fails_can_be_left_out(rule: str) -> None:
    def script(ask: Ask) -> str:
        if ask.speaker == "b":
            raise PermanentFailure("No such model")
        return "Analysis: fine.\nRating: 2"

    trace = run_scripted(script, make_settings(failing_peer=rule))
    assert (trace.verdict is None) == any(isinstance(event, TraceFailed) for event in trace.events)
    if rule == "stops the trace":
        assert trace.verdict is None
        return
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("agreed", 2)
    assert trace.problems()["b", "last"] == "The call to b failed: No such model"
    chair = trace.asked[-1].prompt
    assert "<reviewer_1>" in chair and "<reviewer_2>" not in chair and "<reviewer_3>" in chair
    resumed = run_scripted(script, make_settings(failing_peer=rule), stored=trace.events[:-2])
    assert [ask.speaker for ask in resumed.asked] == ["chair"]


# ReFeR's setting `shared_with_chair`, which was called `told` before


YAML = """
peers: [{name: a, model: m}]
chair: {name: chair, model: m, temperature: 1}
criterion: {name: engaging, scale: {level: ordinal, categories: [1, 2, 3]}}
"""


@pytest.mark.parametrize("key", ["told", "shared_with_chair"])
def test_the_old_and_the_new_key_are_accepted_in_settings_files(key: str) -> None:
    settings = parse_settings(f"{YAML}{key}: both", PROTOCOLS["refer"], [])
    assert settings == parse_settings(f"{YAML}shared_with_chair: both", PROTOCOLS["refer"], [])
    assert settings.model_dump()["shared_with_chair"] == "both" and "told" not in settings.model_dump()


# The comment of a review: nothing in it can be read as the rating or the answer


THREE = Rating(levels=(1, 2, 3), names=("engaging",))


@pytest.mark.parametrize(
    ("reply", "comment"),
    [
        ("**Analysis:** Dull.\nStill kind.\n**Rating:** 2", "Dull.\nStill kind."),
        ("Dull.\n2", "Dull."),
        ("Rating: 2", ""),
        ("It is dull. I would rate it a 2. It uses the fact.\n\nRating: 2", "It is dull. It uses the fact."),
        ("Dull. On balance 2/3 seems right.\nRating: 2", "Dull."),
        ("It lies between a rating of 1 and 2. It is dull.\nRating: 2", "It is dull."),
        ("Rating: 1\nWait, actually it is kind.\nRating: 2", "Wait, actually it is kind."),
        ("<think>A 1? A 3?</think>Dull.\nEngaging: 2", "Dull."),
        ('{"reasoning": "Dull, and short.", "rating": 2}', "Dull, and short."),
        ("It names 3 facts.\nRating: 2", "It names 3 facts."),
    ],
)
def test_a_comment_does_not_contain_the_rating(reply: str, comment: str) -> None:
    assert comment_text(reply, THREE) == comment


@given(st.text(max_size=200), st.sampled_from((1, 2, 3)))
def test_no_rating_can_be_read_in_a_comment(text: str, value: int) -> None:
    with pytest.raises(UnreadableReply):
        THREE.parse(comment_text(f"{text}\nRating: {value}", THREE))
