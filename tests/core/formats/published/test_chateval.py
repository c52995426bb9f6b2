"""ChatEval's release: questions with the annotators' majority, and the final messages of discussions.

The expected figures are those of the published code.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.published.chateval import ANNOTATOR, OVERALL
from core.formats.records import Record, RunRecord, ScaleRecord, TraceRecord
from core.formats.registry import detect_format, read_records
from core.protocols.chateval.settings import Settings
from core.trace import Verdict, completed_turns
from tests.core.formats.shared import items_of, labels_of, of_kind, public_file, write_json

ANSWERS = {"gpt35": "Four.", "vicuna": "Five."}


def question(number: int, winner: str = "gpt35") -> dict[str, Any]:
    answers = {"gpt4": "4", **ANSWERS, "alpaca": "Who knows."}
    fields = {"question_id": number, "question": f"What is 2 + {number}?", "category": "math"}
    return {**fields, "response": answers, "human_results": winner}


def discussion(number: int, *messages: str | tuple[str, str]) -> dict[str, Any]:
    pairs = [m if isinstance(m, tuple) else (name, m) for name, m in zip(("A", "B", "C"), messages, strict=False)]
    evaluation = [{"role": role, "evaluation": text} for role, text in pairs]
    return {"question": f"What is 2 + {number}?", "response": ANSWERS, "evaluation": evaluation}


def summary(*messages: str) -> dict[str, Any]:
    evaluation = [{"role": name, "evaluation": text} for name, text in zip(("A", "B"), messages, strict=False)]
    return {"src": "A long article.", "outputs": "It says this.", "evaluation": evaluation}


def read(path: Path) -> list[Record]:
    assert detect_format(path) == "chateval"
    return list(read_records(path))


def verdict(trace: TraceRecord) -> Verdict:
    return trace.events[-1].verdict  # type: ignore[union-attr]


def write_discussions(folder: Path, *discussions: dict[str, Any], turns: str = "two") -> Path:
    return write_json(
        folder / f"multi_role_{turns}_turns_sequential_direct_pair_comparison_results.json", list(discussions)
    )


def test_the_majority_of_three_annotators_is_one_label(tmp_path: Path) -> None:
    questions = [question(0, "gpt35"), question(1, "vicuna"), question(2, "tie")]
    records = read(write_json(tmp_path / "faireval.json", questions))
    labels = labels_of(records)
    assert [(label.value, label.annotator) for label in labels] == [(1, ANNOTATOR), (2, ANNOTATOR), (0, ANNOTATOR)]
    assert {(label.target.kind, label.target.criterion) for label in labels} == {("preference", OVERALL.name)}
    item = items_of(records)[0]
    assert [(response.system, response.text) for response in item.responses] == list(ANSWERS.items())
    assert (item.id, item.scenario) == ("faireval 0", "math")


def test_the_final_messages_of_a_discussion_are_votes(tmp_path: Path) -> None:
    file = write_discussions(
        tmp_path,
        discussion(0, "Assistant 1", "Assistant 2", "Assistant 2"),
        discussion(1, "Same", "Same", "Assistant 1"),
    )
    records = read(file)
    (run,) = of_kind(records, RunRecord)
    settings = Settings.model_validate(run.settings)
    assert (run.name, run.protocol, settings.turns, settings.outcome) == (
        "multi role two turns sequential direct",
        "chateval",
        2,
        "vote",
    )
    assert [persona.name for persona in settings.personas] == ["A", "B", "C"]
    first, second = of_kind(records, TraceRecord)
    assert [(turn.speaker, turn.round, turn.reading) for turn in completed_turns(first.events)] == [
        ("A", 1, 1),
        ("B", 1, 2),
        ("C", 1, 2),
    ]
    assert (verdict(first).outcome, verdict(first).value, verdict(second).value) == ("agreed", 2, 0)
    assert {opinion.stage for opinion in verdict(first).opinions} == {"last", "verdict"}


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("[Silence]", "no answer ([Silence])"),
        (
            "It is close.\n\nAnswer: Assistant",
            "it does not say which one is better: Assistant 1, Assistant 2 or neither",
        ),
        ("Answer: Assistant 3", "3 is not one of 1, 2 or 0"),
        ("", "it is empty"),
    ],
)
def test_silence_and_a_cut_off_message_are_not_counted_as_ties(tmp_path: Path, message: str, problem: str) -> None:
    (trace,) = of_kind(
        read(write_json(tmp_path / "single_role_test_results.json", [discussion(0, message)])), TraceRecord
    )
    (turn,) = completed_turns(trace.events)
    assert (turn.reading, turn.problem) == (None, problem)
    assert (verdict(trace).outcome, verdict(trace).value) == ("no_verdict", None)


def test_a_silent_persona_is_identified_by_its_position(tmp_path: Path) -> None:
    file = write_discussions(tmp_path, discussion(0, "Same", "Same"), discussion(1, "Same", ("", "[Silence]")))
    silent = of_kind(read(file), TraceRecord)[1]
    assert [turn.speaker for turn in completed_turns(silent.events)] == ["A", "B"]


def test_discussions_imported_alone_have_the_items_of_the_questions_beside_them(tmp_path: Path) -> None:
    questions = write_json(tmp_path / "faireval.json", [question(7), question(8)])
    discussions = read(
        write_discussions(tmp_path / "history_outputs", discussion(8, "Same"), discussion(7, "Assistant 1"))
    )
    items = {item.id: item for item in items_of(read(questions))}
    assert items_of(discussions) == [items["faireval 8"], items["faireval 7"]]
    assert not labels_of(discussions)


def test_discussions_without_questions_have_numbered_items(tmp_path: Path) -> None:
    (item,) = items_of(read(write_discussions(tmp_path / "a" / "b", discussion(3, "Same"))))
    assert (item.id, item.scenario) == ("faireval 0", None)


def test_discussions_of_summaries_are_one_run_per_criterion(tmp_path: Path) -> None:
    full = "This is my final judgement!\nRelevance: 2\nConsistency: 1\nFluency: 4\nCoherence: 3\nThought: Hm."
    partly = "In terms of fluency, it is poor.\nRelevance: 4 - it names the row\nFluency: 9"
    file = write_json(tmp_path / "nlg_eval_multi_2Round_gpt4_results.json", [[summary(full, partly)]])
    records = read(file)
    assert [run.criterion for run in of_kind(records, RunRecord)] == [
        "relevance",
        "consistency",
        "fluency",
        "coherence",
    ]
    assert of_kind(records, RunRecord)[0].settings["personas"][0]["spec"]["model"] == "gpt4"
    relevance, consistency, fluency, _ = [verdict(trace) for trace in of_kind(records, TraceRecord)]
    assert (consistency.value, fluency.value) == (None, None), "one persona is no consensus"
    assert [opinion.problem for opinion in consistency.opinions if opinion.judge == "B"] == ['no "Consistency: …" line']
    assert [opinion.problem for opinion in fluency.opinions if opinion.judge == "B"] == [
        "9 is not one of 1, 2, 3, 4 or 5"
    ]
    assert relevance.value == 3 and len(of_kind(records, ScaleRecord)) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"human_results": "bard"}, "field '0.human_results': expected 'gpt35', 'vicuna' or 'tie', not 'bard'"),
        ({"question": 5}, "field '0.question': expected text"),
        ({"response": {"gpt35": "4"}}, "field '0.response': expected an answer of vicuna"),
    ],
)
def test_an_invalid_question_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(write_json(tmp_path / "faireval.json", [question(0) | change]))
    assert str(caught.value) == message


def test_discussions_of_other_answers_are_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "faireval.json", [question(0)])
    other = discussion(0, "Same") | {"response": {"gpt35": "Six.", "vicuna": "Five."}}
    write_discussions(tmp_path / "history_outputs", other)
    with pytest.raises(FileFormatError, match="record 1 compares other answers than the questions have"):
        read(tmp_path)


def test_other_json_is_not_recognised(tmp_path: Path) -> None:
    write_json(tmp_path / "other.json", [{"question_id": 1, "evaluation": "good"}])
    assert detect_format(tmp_path / "other.json") == "table"
    with pytest.raises(FileFormatError, match="expected questions with human_results, or recorded evaluations"):
        list(read_records(tmp_path, format="chateval"))


@pytest.fixture(scope="module")
def released() -> list[Record]:
    return read(public_file("chateval"))


def test_the_release_has_all_discussions(released: list[Record]) -> None:
    assert Counter(label.value for label in labels_of(released)) == {1: 41, 2: 25, 0: 14}
    runs = [record.name for record in of_kind(released, RunRecord)]
    assert len(items_of(released)) == 80 + 36 and len(of_kind(released, TraceRecord)) == 3 * 80 + 8 * 36
    assert [name for name in runs if not name.startswith("nlg")] == [
        "multi role three turns sequential direct",
        "multi role two turns sequential direct",
        "single role test",
    ]
    silent = [
        turn
        for trace in of_kind(released, TraceRecord)
        for turn in completed_turns(trace.events)
        if "[Silence]" in turn.problem
    ]
    assert Counter(turn.shown for turn in silent) == {(1, 2): 3 + 8 + 3, (): 4 * 3}
