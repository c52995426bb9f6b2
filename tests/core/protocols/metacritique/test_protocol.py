"""Critiques judged by scripted models, after Section 2 of the paper."""

import pytest

from core.critiques import Critique, aius_with_numbers
from core.llm.client import Reply
from core.protocols import Judge
from core.protocols.metacritique.protocol import (
    Replay,
    collect_judgements,
    critique_scores,
    replay_turns,
    split_rationale,
)
from core.protocols.metacritique.settings import CritiqueJudge
from core.trace import Ask, Spec, TraceFailed, TurnCompleted
from tests.core.protocols.critiques import (
    ANSWER,
    CLAIMS,
    CRITIQUE,
    POINTS,
    QUESTION,
    REFERENCE,
    make_complete_item,
    make_item,
    make_settings,
    run_scripted,
    worked_example_reply,
)
from tests.core.protocols.scripted_runs import start_flow
from tests.golden.files import assert_golden


def test_an_example_like_figure_1_has_precision_5_of_7_and_recall_2_of_5() -> None:
    trace = run_scripted(worked_example_reply, make_settings(), make_item())
    assert list(trace.values_by_part("aiu_precision").values()) == list(CLAIMS.values())
    assert list(trace.values_by_part("aiu_recall").values()) == list(POINTS.values())
    assert trace.verdict and trace.verdict.outcome == "agreed"
    assert trace.verdict.reason == "model: P 0.71, R 0.40, F1 0.51"
    assert trace.verdict.value == {"model": pytest.approx(2 * 5 / 7 * 2 / 5 / (5 / 7 + 2 / 5))}


def critic_reply(ask: Ask) -> str:
    return CRITIQUE if ask.step == "hypothesis_critique" else worked_example_reply(ask)


def test_critics_write_critiques_that_are_evaluated_with_those_of_the_item() -> None:
    """Table 8: the hypothesis critiques of models."""
    critics = (Judge(name="critic", spec=Spec(model="model-c")), Judge(name="a model", spec=Spec(model="unused")))
    item = make_item(critiques=(Critique(author="a model", text=CRITIQUE),))
    trace = run_scripted(critic_reply, make_settings(critics=critics), item)
    written = [ask for ask in trace.asked if ask.step == "hypothesis_critique"]
    assert [(ask.speaker, ask.spec.model) for ask in written] == [("critic", "model-c")]
    assert written[0].prompt == next(ask.prompt for ask in trace.asked if ask.step == "reference_critique")
    assert trace.verdict and isinstance(trace.verdict.value, dict)
    assert trace.verdict.value["critic"] == trace.verdict.value["a model"] == pytest.approx(20 / 39)


def test_an_item_without_critiques_needs_a_critic() -> None:
    critics = (Judge(name="critic", spec=Spec(model="model-c")),)
    trace = run_scripted(critic_reply, make_settings(critics=critics), make_item(critiques=()))
    assert trace.verdict and list(trace.verdict.value or {}) == ["critic"]

    def refuse(ask: Ask) -> str | Reply:
        return Reply(text="", finish="refused") if ask.step == "hypothesis_critique" else worked_example_reply(ask)

    unwritten = run_scripted(refuse, make_settings(critics=critics), make_item(critiques=()))
    assert unwritten.verdict and unwritten.verdict.outcome == "no_verdict"
    assert unwritten.verdict.reason.startswith("no critique by critic: ")


def worked_example_or_true(ask: Ask) -> str:
    try:
        return worked_example_reply(ask)
    except KeyError:
        return "Therefore, the claim is true."


def test_each_critique_of_an_item_is_judged_against_the_same_reference() -> None:
    trace = run_scripted(lambda ask: "Therefore, the claim is false.", make_settings(), make_complete_item(2))
    assert set(trace.values_by_part("aiu_recall")) == {"ref.1@c1", "ref.1@c2"}
    assert trace.verdict and trace.verdict.reason == "c1: P 0.00, R 0.00, F1 0.00; c2: P 0.00, R 0.00, F1 0.00"


@pytest.mark.parametrize("step", ["reference_answer", "reference_critique", "extract", "precision", "recall"])
def test_the_prompts_match_their_golden_files(step: str) -> None:
    trace = run_scripted(worked_example_reply, make_settings(), make_item())
    assert_golden(f"metacritique/{step}.txt", next(ask.prompt for ask in trace.asked if ask.step == step))


def test_the_prompt_without_a_reference_answer_matches_its_golden_file() -> None:
    trace = run_scripted(worked_example_or_true, make_settings(answer="in the same step"), make_item())
    assert "reference_answer" not in trace.steps()
    assert_golden(
        "metacritique/precision_alone.txt", next(ask.prompt for ask in trace.asked if ask.step == "precision_alone")
    )


def test_the_requests_as_json_match_their_golden_files() -> None:
    first = next(start_flow("metacritique", make_settings(), make_item()))
    extract = next(ask for ask in first if ask.step == "extract")
    precision, *_ = next(start_flow("metacritique", make_settings(), make_complete_item()))
    assert_golden("metacritique/extract_json.txt", extract.request("json"))
    assert_golden("metacritique/precision_json.txt", precision.request("json"))
    answer = next(ask for ask in first if ask.step == "reference_answer")
    assert answer.answer is not None and not answer.answer.structured


def test_extraction_sees_question_and_answer_where_the_settings_say_so() -> None:
    def prompt(**fields: str) -> str:
        first = next(start_flow("metacritique", make_settings(**fields), make_item()))
        return next(ask.prompt for ask in first if ask.step == "extract")

    assert QUESTION not in prompt() and ANSWER not in prompt()
    with_context = prompt(extraction="with question and answer")
    assert f"<question>\n{QUESTION}\n</question>" in with_context
    assert f"<model_generated_answer>\n{ANSWER}\n</model_generated_answer>" in with_context


@pytest.mark.parametrize("step", ["extract", "precision"])
def test_an_unreadable_reply_is_requested_again_with_the_reason(step: str) -> None:
    trace = run_scripted(
        lambda ask: "" if ask.step == step else worked_example_reply(ask), make_settings(), make_item()
    )
    second = next(ask for ask in trace.asked if ask.history)
    assert second.step == step
    assert_golden(f"metacritique/retry_{step}.txt", second.prompt)


def test_every_stage_can_have_a_model_of_its_own() -> None:
    judge = CritiqueJudge(name="j", spec=Spec(model="m-precision"), recall=Spec(model="m-recall"))
    stages = {
        name: Judge(name=name, spec=Spec(model=f"m-{name}"))
        for name in ("answer_writer", "critique_writer", "extractor")
    }
    settings = make_settings(**stages).model_copy(update={"judges": (judge,)})
    trace = run_scripted(worked_example_reply, settings, make_item())
    assert {ask.step: ask.spec.model for ask in trace.asked} == {
        "reference_answer": "m-answer_writer",
        "reference_critique": "m-critique_writer",
        "extract": "m-extractor",
        "precision": "m-precision",
        "recall": "m-recall",
    }
    assert trace.verdict and trace.verdict.reason == "model: P 0.71, R 0.40, F1 0.51"


@pytest.mark.parametrize(
    ("true", "false", "outcome", "contention"),
    [
        ("ab", "", "agreed", 0.0),
        ("a", "b", "disputed", 1.0),
        ("ab", "c", "agreed", 0.5),
        ("ab", "cd", "disputed", pytest.approx(2 / 3)),
        ("abcd", "e", "agreed", 0.25),
    ],
)
def test_contention_decides_whether_judges_are_disputed(true, false, outcome, contention) -> None:
    trace = run_scripted(
        lambda ask: str(ask.speaker in true).lower(), make_settings(true + false), make_complete_item()
    )
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.contention) == (outcome, contention)


def test_scores_have_the_range_that_unreadable_judgements_leave_open() -> None:
    replies = iter(["true", "no idea", "no idea", "true"])
    trace = run_scripted(lambda ask: next(replies), make_settings(), make_complete_item())
    assert trace.verdict and trace.verdict.reason == (
        "c1: P 1.00 (0.50 to 1.00), R 1.00, F1 1.00 (0.67 to 1.00); 1 of 3 judgements were unreadable"
    )


def test_an_unreadable_judgement_is_left_out_and_not_counted_as_false() -> None:
    first = iter(["no idea"] * 2)
    trace = run_scripted(lambda ask: next(first, worked_example_reply(ask)), make_settings(), make_item_with_two_aius())
    assert trace.verdict and trace.verdict.outcome == "no_verdict"
    assert list(trace.values_by_part("aiu_precision").values()) == [None, True]
    assert trace.verdict.reason.startswith("c1: P 1.00")
    unread = next(o for o in trace.verdict.opinions if o.value is None)
    assert unread.problem == "it does not say that the claim is true, or that it is false"


def make_item_with_two_aius() -> object:
    texts = list(CLAIMS)[:2]
    item = make_complete_item()
    critique = Critique(id="c1", author="m", text=CRITIQUE, aius=aius_with_numbers("c1", texts))
    reference = Critique(
        id="ref", author="g", role="reference", text=REFERENCE, aius=aius_with_numbers("ref", list(POINTS)[:1])
    )
    return item.model_copy(update={"critiques": (critique, reference)})


def test_without_a_readable_judgement_the_scores_are_undefined() -> None:
    trace = run_scripted(lambda ask: Reply(text="", finish="refused"), make_settings(), make_complete_item())
    assert trace.verdict and trace.verdict.value is None and trace.verdict.contention is None
    assert trace.verdict.reason == (
        "c1: P – (0.00 to 1.00), R – (0.00 to 1.00), F1 – (0.00 to 1.00); 3 of 3 judgements were unreadable"
    )
    assert {o.problem for o in trace.verdict.opinions} == {"the model refused to answer"}


def test_a_missing_reference_is_reported_and_the_rest_is_judged() -> None:
    trace = run_scripted(
        lambda ask: Reply(text="", finish="refused") if ask.step == "reference_answer" else worked_example_reply(ask),
        make_settings(),
        make_item(),
    )
    assert "precision" not in trace.steps() and trace.steps().count("recall") == 5
    assert trace.verdict and trace.verdict.outcome == "no_verdict"
    assert trace.verdict.reason == "no reference answer: the model refused to answer; model: P –, R 0.40, F1 –"


@pytest.mark.parametrize(
    ("tasks", "steps"),
    [
        ("precision", {"reference_answer", "extract", "precision"}),
        ("recall", {"reference_critique", "extract", "recall"}),
    ],
)
def test_a_single_task_asks_only_for_what_it_needs(tasks: str, steps: set[str]) -> None:
    trace = run_scripted(worked_example_reply, make_settings(tasks=tasks), make_item())
    assert set(trace.steps()) == steps and trace.steps().count("extract") == 1
    assert trace.verdict and trace.verdict.outcome == "agreed" and trace.verdict.value is None


def test_equal_texts_have_equal_aiu_ids_in_every_run() -> None:
    first, second = (run_scripted(worked_example_reply, make_settings(), make_item()) for _ in range(2))
    assert set(first.values_by_part("aiu_precision")) == set(second.values_by_part("aiu_precision"))
    assert all(part.startswith("model.") for part in first.values_by_part("aiu_precision"))


def test_a_replay_of_an_unfinished_trace_lists_the_pending_jobs() -> None:
    complete = run_scripted(worked_example_reply, make_settings(), make_item())
    numbered = {e.ask: e.turn for e in complete.events if isinstance(e, TurnCompleted)}

    def after(*missing: int) -> Replay:
        return replay_turns(make_item(), make_settings(), {k: turn for k, turn in numbered.items() if k not in missing})

    assert after(0, 3, 5).evaluation.answer is None
    assert [job.step for job in after(0, 3, 5).pending] == ["reference_answer"]
    assert [job.aiu.text for job in after(4, 8).pending if job.aiu] == [next(iter(CLAIMS)), list(CLAIMS)[4]]
    assert after().pending == () and critique_scores(after().evaluation)["a", "model"].score.recall == 2 / 5
    assert sorted(after().ask_numbers.values()) == list(range(16))


def test_a_rationale_is_split_into_evidence_and_reasoning() -> None:
    trace = run_scripted(worked_example_reply, make_settings(), make_item())
    numbered = {e.ask: e.turn for e in trace.events if isinstance(e, TurnCompleted)}
    first = collect_judgements(replay_turns(make_item(), make_settings(), numbered).evaluation)[0]
    assert (first.evidence, first.reasoning) == ("what the texts say.", "so it is.")
    assert split_rationale("It follows.\nTrue") == ("", "It follows.\nTrue")
    assert split_rationale("Evidence: a\nReasoning: b\n\nIs true: false") == ("a", "b")
    assert split_rationale("**Evidence:** a\n**Reasoning:** b: c") == ("a", "b: c")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"critiques": ()}, "Item ladder has no critique; MetaCritique evaluates critiques."),
        ({"responses": ()}, "Item ladder has no response 1, which the critique 'model' refers to."),
    ],
)
def test_an_item_without_a_valid_critique_fails_the_trace(fields: dict, sentence: str) -> None:
    assert run_scripted(worked_example_reply, make_settings(), make_item(**fields)).events == [
        TraceFailed(problem=sentence)
    ]
