"""Critiques judged by scripted models, after Section 2 of the paper."""

import itertools

import pytest
from pydantic import ValidationError

from core.critiques import Critique, numbered
from core.llm.client import Reply
from core.llm.costs import estimate
from core.protocols.metacritique.progress import judgements, parted
from core.protocols.metacritique.protocol import Judge, Replay, replayed, scores
from core.protocols.registry import PROTOCOLS
from core.trace import Ask, Spec, TraceFailed, TurnTaken
from tests.core.protocols.critiques import (
    CLAIMS,
    CRITIQUE,
    POINTS,
    REFERENCE,
    RIGHT,
    an_item,
    brought,
    judges,
    play,
    settings,
    worked,
)
from tests.golden.files import golden


def test_a_case_like_figure_1_has_precision_5_of_7_and_recall_2_of_5() -> None:
    told = play(worked, settings(), an_item())
    assert list(told.said("aiu_precision").values()) == list(CLAIMS.values())
    assert list(told.said("aiu_recall").values()) == list(POINTS.values())
    assert told.verdict and told.verdict.outcome == "agreed"
    assert told.verdict.reason == "model: P 0.71, R 0.40, F1 0.51"
    assert told.verdict.value == {"model": pytest.approx(2 * 5 / 7 * 2 / 5 / (5 / 7 + 2 / 5))}


def test_what_needs_nothing_is_asked_at_once_and_judging_comes_last() -> None:
    told = play(worked, settings(), an_item())
    assert told.steps()[:3] == ["reference_answer", "reference_critique", "extract"]
    assert told.steps()[3] == "extract"
    assert told.steps()[4:] == ["precision"] * 7 + ["recall"] * 5


def test_every_step_whose_result_is_brought_is_skipped() -> None:
    told = play(lambda ask: "Therefore, the claim is true.", settings(), brought())
    assert told.steps() == ["precision", "precision", "recall"]
    assert set(told.said("aiu_precision")) == {"c1.1", "c1.2"}
    assert set(told.said("aiu_recall")) == {"ref.1@c1"}


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"reference": None}, ["reference_answer"]),
        (
            {"critiques": (Critique(id="model", author="m", text=CRITIQUE),)},
            ["reference_critique", "extract", "extract"],
        ),
    ],
)
def test_only_what_is_missing_is_written(fields: dict, missing: list[str]) -> None:
    told = play(worked_or_true, settings(), brought(**fields))
    assert [step for step in told.steps() if step not in ("precision", "recall")] == missing


def worked_or_true(ask: Ask) -> str:
    try:
        return worked(ask)
    except KeyError:
        return "Therefore, the claim is true."


def test_each_critique_of_an_item_is_judged_against_the_same_reference() -> None:
    told = play(lambda ask: "Therefore, the claim is false.", settings(), brought(2))
    assert set(told.said("aiu_recall")) == {"ref.1@c1", "ref.1@c2"}
    assert told.verdict and told.verdict.reason == "c1: P 0.00, R 0.00, F1 0.00; c2: P 0.00, R 0.00, F1 0.00"


def test_precision_sees_question_answers_and_claim_and_recall_sees_critique_and_claim() -> None:
    told = play(worked, settings(), an_item())
    precision = next(ask.prompt for ask in told.asked if ask.step == "precision")
    recall = next(ask.prompt for ask in told.asked if ask.step == "recall")
    assert RIGHT in precision and CRITIQUE not in precision
    assert CRITIQUE in recall and RIGHT not in recall and REFERENCE not in recall


@pytest.mark.parametrize("step", ["reference_answer", "reference_critique", "extract", "precision", "recall"])
def test_prompts_are_as_they_were_looked_at(step: str) -> None:
    told = play(worked, settings(), an_item())
    golden(f"metacritique/{step}.txt", next(ask.prompt for ask in told.asked if ask.step == step))


def test_the_prompt_without_a_reference_answer_is_as_it_was_looked_at() -> None:
    told = play(worked_or_true, settings(answer="in the same step"), an_item())
    assert "reference_answer" not in told.steps()
    golden("metacritique/precision_alone.txt", next(ask.prompt for ask in told.asked if ask.step == "precision_alone"))


@pytest.mark.parametrize("step", ["extract", "precision"])
def test_what_cannot_be_read_is_asked_once_more(step: str) -> None:
    told = play(lambda ask: "" if ask.step == step else worked(ask), settings(), an_item())
    name = "again_claims" if step == "extract" else "again_truth"
    golden(f"metacritique/{name}.txt", next(ask.prompt for ask in told.asked if "once more" in ask.prompt))


def test_a_judgement_that_cannot_be_read_is_left_out_and_never_false() -> None:
    first = iter(["no idea"] * 2)
    told = play(lambda ask: next(first, worked(ask)), settings(), trimmed())
    assert told.verdict and told.verdict.outcome == "no_verdict"
    assert list(told.said("aiu_precision").values()) == [None, True]
    assert told.verdict.reason.startswith("c1: P 1.00")
    lost = next(o for o in told.verdict.opinions if o.value is None)
    assert lost.problem == "the last sentence does not say that the claim is true, or that it is false"


def trimmed() -> object:
    texts = list(CLAIMS)[:2]
    item = brought()
    own = Critique(id="c1", author="m", text=CRITIQUE, aius=numbered("c1", texts))
    held = Critique(id="ref", author="g", role="reference", text=REFERENCE, aius=numbered("ref", list(POINTS)[:1]))
    return item.model_copy(update={"critiques": (own, held)})


def test_only_unreadable_judgements_leave_the_score_undefined() -> None:
    told = play(lambda ask: Reply(text="", finish="refused"), settings(), brought())
    assert told.verdict and told.verdict.value is None
    assert told.verdict.reason == "c1: P –, R –, F1 –"
    assert {o.problem for o in told.verdict.opinions} == {"the model refused to answer"}


def test_a_critique_without_an_aiu_is_undefined_and_no_error() -> None:
    told = play(lambda ask: "none" if ask.step == "extract" else worked(ask), settings(), an_item())
    assert told.verdict and told.verdict.opinions == ()
    assert told.verdict.reason == "model: P –, R –, F1 –"


def test_what_the_writer_cannot_give_is_told_and_the_rest_is_judged() -> None:
    told = play(
        lambda ask: Reply(text="", finish="refused") if ask.step == "reference_answer" else worked(ask),
        settings(),
        an_item(),
    )
    assert "precision" not in told.steps() and told.steps().count("recall") == 5
    assert told.verdict and told.verdict.outcome == "no_verdict"
    assert told.verdict.reason == "no reference answer: the model refused to answer; model: P –, R 0.40, F1 –"


def test_judges_who_differ_on_one_aiu_leave_it_to_a_person() -> None:
    told = play(
        lambda ask: f"Therefore, the claim is {'true' if ask.speaker == 'a' else 'false'}.", settings("ab"), brought()
    )
    assert told.verdict and (told.verdict.outcome, told.verdict.value) == ("disputed", None)
    assert told.verdict.reason == "a on c1: P 1.00, R 1.00, F1 1.00; b on c1: P 0.00, R 0.00, F1 0.00"
    assert {(o.judge, o.stage) for o in told.verdict.opinions} == set(itertools.product("ab", ("last", "verdict")))


def test_one_writer_writes_for_all_judges() -> None:
    (writer,) = judges("w")
    told = play(worked, settings("ab", writer=writer), an_item())
    assert [ask.spec.model for ask in told.asked[:4]] == ["model-w"] * 4
    assert [ask.spec.model for ask in told.asked[4:]] == ["model-a"] * 12 + ["model-b"] * 12


def test_recall_can_have_a_model_of_its_own() -> None:
    judge = Judge(name="open", spec=Spec(model="large"), recall=Spec(model="small"))
    told = play(lambda ask: "True", settings().model_copy(update={"judges": (judge,)}), brought())
    assert [(ask.step, ask.spec.model) for ask in told.asked] == [
        ("precision", "large"),
        ("precision", "large"),
        ("recall", "small"),
    ]


@pytest.mark.parametrize(
    ("tasks", "steps"),
    [
        ("precision", {"reference_answer", "extract", "precision"}),
        ("recall", {"reference_critique", "extract", "recall"}),
    ],
)
def test_one_task_asks_for_nothing_that_it_does_not_need(tasks: str, steps: set[str]) -> None:
    told = play(worked, settings(tasks=tasks), an_item())
    assert set(told.steps()) == steps and told.steps().count("extract") == 1
    assert told.verdict and told.verdict.outcome == "agreed" and told.verdict.value is None


def test_the_same_words_are_the_same_aiu_in_every_run() -> None:
    first, again = (play(worked, settings(), an_item()) for _ in range(2))
    assert set(first.said("aiu_precision")) == set(again.said("aiu_precision"))
    assert all(part.startswith("model.") for part in first.said("aiu_precision"))


def test_a_run_that_stopped_goes_on_without_asking_again() -> None:
    whole = play(worked, settings(), an_item())
    for kept in range(len(whole.events)):
        again = play(worked, settings(), an_item(), stored=whole.events[:kept])
        answered = sum(isinstance(event, TurnTaken) for event in whole.events[:kept])
        assert again.verdict == whole.verdict and len(again.asked) == len(whole.asked) - answered


def test_a_trace_that_is_under_way_tells_what_is_known_and_what_is_being_asked() -> None:
    whole = play(worked, settings(), an_item())
    numbered = {e.ask: e.turn for e in whole.events if isinstance(e, TurnTaken)}

    def after(*missing: int) -> Replay:
        return replayed(an_item(), settings(), {k: turn for k, turn in numbered.items() if k not in missing})

    assert after(0, 3, 5).case.answer is None
    assert [job.step for job in after(0, 3, 5).asked] == ["reference_answer"]
    assert [job.aiu.text for job in after(4, 8).asked if job.aiu] == [next(iter(CLAIMS)), list(CLAIMS)[4]]
    assert after().asked == () and scores(after().case)["a", "model"].recall == 2 / 5
    assert sorted(after().numbers.values()) == list(range(16))


def test_a_rationale_falls_into_evidence_and_reasoning_where_it_is_written_so() -> None:
    told = play(worked, settings(), an_item())
    numbered = {e.ask: e.turn for e in told.events if isinstance(e, TurnTaken)}
    first = judgements(replayed(an_item(), settings(), numbered).case)[0]
    assert (first.evidence, first.reasoning.splitlines()[0]) == ("what the texts say.", "so it is.")
    assert parted("It follows.\nTrue") == ("", "It follows.\nTrue")
    assert parted("**Evidence:** a\n**Reasoning:** b: c") == ("a", "b: c")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"critiques": ()}, "Item ladder has no critique; MetaCritique evaluates critiques."),
        ({"responses": ()}, "Item ladder has no response 1, of which the critique model speaks."),
    ],
)
def test_an_item_that_has_nothing_to_judge_is_a_problem_in_words(fields: dict, sentence: str) -> None:
    assert play(worked, settings(), an_item(**fields)).events == [TraceFailed(problem=sentence)]


def test_text_with_dollars_and_braces_is_data() -> None:
    item = an_item(prompt="$question ${x} {claim}")
    told = play(worked_or_true, settings(), item)
    assert "$question ${x} {claim}" in told.asked[0].prompt


def test_two_judges_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="two judges are called 'a'"):
        settings("aa")


def test_an_estimate_knows_what_is_brought_and_guesses_the_rest() -> None:
    told = estimate(PROTOCOLS["metacritique"], [brought()], settings())
    assert (told.calls_at_least, told.calls_at_most) == (3, 3)
    told = estimate(PROTOCOLS["metacritique"], [an_item()], settings())
    assert (told.calls_at_least, told.calls_at_most) == (4 + 6, 4 + 16)
