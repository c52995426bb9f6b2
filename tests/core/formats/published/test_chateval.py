"""ChatEval's release: questions with people's majority, and talks of which the last words were saved.

The figures are acceptance rows 14 and 15.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core import formats
from core.formats.published.chateval import ANNOTATOR, OVERALL
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, ScaleRecord, TraceRecord
from core.problems import FileRefused
from core.protocols.chateval.protocol import Settings
from core.trace import Verdict, turns
from tests.core.formats.shared import public

ANSWERS = {"gpt35": "Four.", "vicuna": "Five."}


def question(number: int, winner: str = "gpt35") -> dict[str, Any]:
    answers = {"gpt4": "4", **ANSWERS, "alpaca": "Who knows."}
    fields = {"question_id": number, "question": f"What is 2 + {number}?", "category": "math"}
    return {**fields, "response": answers, "human_results": winner}


def talk(number: int, *said: str | tuple[str, str]) -> dict[str, Any]:
    spoken = [one if isinstance(one, tuple) else (name, one) for name, one in zip(("A", "B", "C"), said, strict=False)]
    evaluation = [{"role": role, "evaluation": text} for role, text in spoken]
    return {"question": f"What is 2 + {number}?", "response": ANSWERS, "evaluation": evaluation}


def summary(*said: str) -> dict[str, Any]:
    evaluation = [{"role": name, "evaluation": text} for name, text in zip(("A", "B"), said, strict=False)]
    return {"src": "A long article.", "outputs": "It says this.", "evaluation": evaluation}


def put(folder: Path, name: str, value: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(value, indent=4), encoding="utf-8")
    return folder / name


def read(path: Path) -> list[Record]:
    assert formats.detect(path) == "chateval"
    return list(formats.read(path))


def of(records: list[Record], sort: Any) -> list[Any]:
    return [record for record in records if isinstance(record, sort)]


def verdict(trace: TraceRecord) -> Verdict:
    return trace.events[-1].verdict  # type: ignore[union-attr]


def pairs(folder: Path, *talks: dict[str, Any], turns: str = "two") -> Path:
    return put(folder, f"multi_role_{turns}_turns_sequential_direct_pair_comparison_results.json", list(talks))


def test_what_two_of_three_people_prefer_is_the_label_of_the_majority(tmp_path: Path) -> None:
    asked = [question(0, "gpt35"), question(1, "vicuna"), question(2, "tie")]
    records = read(put(tmp_path, "faireval.json", asked))
    labels = [record.label for record in of(records, LabelRecord)]
    assert [(label.value, label.annotator) for label in labels] == [(1, ANNOTATOR), (2, ANNOTATOR), (0, ANNOTATOR)]
    assert {(label.target.kind, label.target.criterion) for label in labels} == {("preference", OVERALL.name)}
    item = of(records, ItemRecord)[0].item
    assert [(one.system, one.text) for one in item.responses] == list(ANSWERS.items())
    assert (item.id, item.scenario) == ("faireval 0", "math")


def test_the_last_words_of_a_talk_are_votes_by_majority(tmp_path: Path) -> None:
    file = pairs(tmp_path, talk(0, "Assistant 1", "Assistant 2", "Assistant 2"), talk(1, "Same", "Same", "Assistant 1"))
    records = read(file)
    (run,) = of(records, RunRecord)
    settings = Settings.model_validate(run.settings)
    assert (run.name, run.protocol, settings.turns, settings.outcome) == (
        "multi role two turns sequential direct",
        "chateval",
        2,
        "vote",
    )
    assert [persona.name for persona in settings.personas] == ["A", "B", "C"]
    first, second = of(records, TraceRecord)
    assert [(turn.speaker, turn.round, turn.reading) for turn in turns(first.events)] == [
        ("A", 1, 1),
        ("B", 1, 2),
        ("C", 1, 2),
    ]
    assert (verdict(first).outcome, verdict(first).value, verdict(second).value) == ("agreed", 2, 0)
    assert {one.stage for one in verdict(first).opinions} == {"last", "verdict"}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("[Silence]", "it kept silent"),
        ("It is close.\n\nAnswer: Assistant", "the last line is not one of 1, 2 or 0"),
        ("Answer: Assistant 3", "it ends with 3, which is not one of 1, 2 or 0"),
        ("", "the reply is empty"),
    ],
)
def test_silence_and_a_cut_off_are_no_votes_and_no_ties(tmp_path: Path, said: str, problem: str) -> None:
    (trace,) = of(read(put(tmp_path, "single_role_test_results.json", [talk(0, said)])), TraceRecord)
    (turn,) = turns(trace.events)
    assert (turn.reading, turn.problem) == (None, problem)
    assert (verdict(trace).outcome, verdict(trace).value) == ("no_verdict", None)


def test_a_silent_persona_has_the_name_of_its_place(tmp_path: Path) -> None:
    file = pairs(tmp_path, talk(0, "Same", "Same"), talk(1, "Same", ("", "[Silence]")))
    silent = of(read(file), TraceRecord)[1]
    assert [turn.speaker for turn in turns(silent.events)] == ["A", "B"]


def test_an_answer_at_the_end_of_an_explanation_is_read(tmp_path: Path) -> None:
    file = put(tmp_path, "single_role_test_results.json", [talk(0, "Assistant 1 is longer.\n\nAnswer: Assistant 2")])
    (trace,) = of(read(file), TraceRecord)
    assert turns(trace.events)[0].reading == 2
    assert Settings.model_validate(of(read(file), RunRecord)[0].settings).strategy == "alone"


def test_a_folder_joins_talks_with_the_questions_that_they_are_about(tmp_path: Path) -> None:
    put(tmp_path, "faireval.json", [question(7), question(8)])
    pairs(tmp_path / "history_outputs", talk(8, "Same"), talk(7, "Assistant 1"))
    records = read(tmp_path)
    assert [record.item.id for record in of(records, ItemRecord)] == ["faireval 7", "faireval 8"]
    assert [trace.item for trace in of(records, TraceRecord)] == ["faireval 8", "faireval 7"]


def test_talks_alone_find_the_questions_beside_them_so_that_both_can_be_imported_one_by_one(tmp_path: Path) -> None:
    asked = put(tmp_path, "faireval.json", [question(7), question(8)])
    alone = read(pairs(tmp_path / "history_outputs", talk(8, "Same"), talk(7, "Assistant 1")))
    there = {record.item.id: record.item for record in of(read(asked), ItemRecord)}
    assert [record.item for record in of(alone, ItemRecord)] == [there["faireval 8"], there["faireval 7"]]
    assert not of(alone, LabelRecord)


def test_talks_without_their_questions_are_items_by_their_place(tmp_path: Path) -> None:
    (item,) = [record.item for record in of(read(pairs(tmp_path / "a" / "b", talk(3, "Same"))), ItemRecord)]
    assert (item.id, item.scenario) == ("faireval 0", None)


def test_talks_on_summaries_are_a_run_for_each_thing_they_score(tmp_path: Path) -> None:
    full = "This is my final judgement!\nRelevance: 2\nConsistency: 1\nFluency: 4\nCoherence: 3\nThought: Hm."
    partly = "In terms of fluency, it is poor.\nRelevance: 4 - it names the row\nFluency: 9"
    file = put(tmp_path, "nlg_eval_multi_2Round_gpt4_results.json", [[summary(full, partly)]])
    records = read(file)
    assert [run.criterion for run in of(records, RunRecord)] == ["relevance", "consistency", "fluency", "coherence"]
    assert of(records, RunRecord)[0].settings["personas"][0]["spec"]["model"] == "gpt4"
    relevance, consistency, fluency, _ = [verdict(trace) for trace in of(records, TraceRecord)]
    assert (consistency.value, fluency.value) == (1, 4)
    assert [one.problem for one in consistency.opinions if one.judge == "B"] == ['no "Consistency: …" line']
    assert [one.problem for one in fluency.opinions if one.judge == "B"] == ["9 is not on the scale: 1, 2, 3, 4 or 5"]
    assert relevance.value == 2 and len(of(records, ScaleRecord)) == 4


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"human_results": "bard"}, "field '0.human_results': expected 'gpt35', 'vicuna' or 'tie', not 'bard'"),
        ({"question": 5}, "field '0.question': expected text"),
        ({"response": {"gpt35": "4"}}, "field '0.response': expected an answer of vicuna"),
    ],
)
def test_a_question_that_is_wrong_is_refused(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FileRefused) as caught:
        read(put(tmp_path, "faireval.json", [question(0) | change]))
    assert str(caught.value) == sentence


def test_talks_on_other_answers_are_refused(tmp_path: Path) -> None:
    put(tmp_path, "faireval.json", [question(0)])
    other = talk(0, "Same") | {"response": {"gpt35": "Six.", "vicuna": "Five."}}
    pairs(tmp_path / "history_outputs", other)
    with pytest.raises(FileRefused, match="record 1 compares other answers than the questions have"):
        read(tmp_path)


def test_other_json_is_left_to_other_readers(tmp_path: Path) -> None:
    put(tmp_path, "other.json", [{"question_id": 1, "evaluation": "good"}])
    assert formats.detect(tmp_path / "other.json") == "table"
    with pytest.raises(FileRefused, match="expected questions with human_results, or recorded evaluations"):
        list(formats.read(tmp_path, format="chateval"))


@pytest.fixture(scope="module")
def released() -> list[Record]:
    return read(public("chateval"))


def test_the_majority_of_the_release(released: list[Record]) -> None:
    values = Counter(record.label.value for record in of(released, LabelRecord))
    assert values == {1: 41, 2: 25, 0: 14}


def test_the_talks_of_the_release(released: list[Record]) -> None:
    runs = [record.name for record in of(released, RunRecord)]
    assert len(of(released, ItemRecord)) == 80 + 36 and len(of(released, TraceRecord)) == 3 * 80 + 8 * 36
    assert [name for name in runs if not name.startswith("nlg")] == [
        "multi role three turns sequential direct",
        "multi role two turns sequential direct",
        "single role test",
    ]
    silent = [turn for trace in of(released, TraceRecord) for turn in turns(trace.events) if "silent" in turn.problem]
    assert Counter(turn.shown for turn in silent) == {(1, 2): 3 + 8 + 3, (): 4 * 3}


PUBLISHED = {
    "multi role two turns sequential direct": (0.5375, 0.170),
    "multi role three turns sequential direct": (0.5500, 0.187),
    "single role test": (0.4750, 0.131),
}


@pytest.mark.parametrize("run", PUBLISHED)
def test_with_every_unreadable_vote_as_a_tie_the_published_figures_come_out(released: list[Record], run: str) -> None:
    """What ChatEval's code does, and this project does not: a persona that cannot be read votes for a tie."""
    people = {record.label.target.item: record.label.value for record in of(released, LabelRecord)}
    said = [trace for trace in of(released, TraceRecord) if trace.run == run]
    both = [(_majority([turn.reading or 0 for turn in turns(one.events)]), people[one.item]) for one in said]
    accuracy = sum(mine == theirs for mine, theirs in both) / len(both)
    chance = sum(
        sum(mine == value for mine, _ in both) * sum(theirs == value for _, theirs in both) for value in (0, 1, 2)
    )
    kappa = (accuracy - chance / len(both) ** 2) / (1 - chance / len(both) ** 2)
    assert (accuracy, kappa) == (pytest.approx(PUBLISHED[run][0]), pytest.approx(PUBLISHED[run][1], abs=6e-4))


def _majority(votes: list[Any]) -> Any:
    value, most = Counter(votes).most_common(1)[0]
    return value if most * 2 > len(votes) else 0
