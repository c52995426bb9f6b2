"""ScaleEval's released debates: every submission and every speaker is identified by its text.

The expected figures are those of the published data.
"""

from collections import Counter
from pathlib import Path

import pytest

from core.errors import FileFormatError
from core.formats.records import ItemRecord, Record, RunRecord, TraceRecord
from core.formats.registry import detect_format, read_records
from core.labels import Value
from core.protocols.scaleeval.settings import Settings
from core.trace import Turn, Verdict, completed_turns
from tests.core.formats.shared import items_of, of_kind, public_file, write_json

ONE, TWO = "Four, because two and two is four.", "Five, I think."
FOLDERS = ("gpt4_turbo_score", "claude2_score", "gpt35_turbo_score")


def speech(text: str, score: object) -> dict:
    return {"reasoning": text, "score": score}


def debate(number: int, first: str, second: str, *scores: object, later: tuple = ()) -> dict:
    record = {"id": number, "Question": f"What is 2 + {number}?", "Submission 1": first, "Submission 2": second}
    record |= {f"Speaker {n} - Initial Evaluation": speech(f"I am {n}.", score) for n, score in enumerate(scores, 1)}
    return record | {f"Speaker {n} - Discussion Round 1": speech("So.", score) for n, score in enumerate(later, 1)}


def write_release(
    root: Path, debates: dict[str, list], opinions: dict[str, str] | None = None, answers: bool = True
) -> Path:
    """Write a release and return its folder; `debates` are by criterion, `opinions` are folder -> first opinion."""
    for criterion, records in debates.items():
        folder = root / "results" / "a_vs_b" / criterion
        write_json(folder / "multiagent_score" / "math.jsonl", records)
        for name, text in (opinions or {}).items():
            write_json(folder / name / "math.jsonl", [{"ID": r["id"], "Reasoning": text, "Score": 1} for r in records])
    for system, text in (("a-large", ONE), ("b", TWO)):
        rows = [{"prompt": f"What is 2 + {n}?", "category": "math", "response": text} for n in (1, 2)]
        if answers:
            write_json(root / "responses" / system / "math.jsonl", rows)
    return root


def verdict(trace: TraceRecord) -> Verdict:
    return trace.events[-1].verdict


OPINIONS = dict(zip(FOLDERS, ("I am 3.", "I am 1.", "I am 2."), strict=True))


def value_as_shown(turn: Turn) -> Value | None:
    """Return the number of the preferred submission in the order shown, as it is recorded in the file."""
    return turn.shown.index(turn.reading) + 1 if turn.reading in turn.shown else turn.reading


def test_a_question_debated_twice_is_one_item_in_the_order_of_the_folder_name(tmp_path: Path) -> None:
    debates = {"helpfulness": [debate(1, TWO, ONE, "2", 2, "0")], "reasoning": [debate(1, ONE, TWO, "1", "1", "1")]}
    records = list(read_records(write_release(tmp_path, debates)))
    [item] = items_of(records)
    assert (item.id, item.scenario, item.group) == ("a_vs_b/math/1", "math", "math/1")
    assert [(response.system, response.text) for response in item.responses] == [("a-large", ONE), ("b", TWO)]
    swapped, unswapped = [completed_turns(trace.events) for trace in of_kind(records, TraceRecord)]
    assert [(turn.shown, turn.reading) for turn in swapped] == [((2, 1), 1), ((2, 1), 1), ((2, 1), 0)]
    assert [(turn.shown, turn.reading) for turn in unswapped] == [((1, 2), 1)] * 3
    assert [value_as_shown(turn) for turn in swapped] == [2, 2, 0]


def test_a_speaker_is_identified_by_its_text_and_the_last_by_elimination(tmp_path: Path) -> None:
    opinions = {**OPINIONS, "gpt35_turbo_score": "something else"}
    debates = {"reasoning": [debate(1, ONE, TWO, "1", "2", "1", later=("1", "1", "1"))]}
    records = list(read_records(write_release(tmp_path, debates, opinions)))
    turns = completed_turns(of_kind(records, TraceRecord)[0].events)
    names = ["claude-2", "gpt-3.5-turbo", "gpt-4-turbo"]
    assert [turn.speaker for turn in turns] == names * 2
    assert [turn.model for turn in turns[:3]] == ["claude-2", "gpt-3.5-turbo-1106", "gpt-4-1106-preview"]
    assert [(turn.step, turn.round) for turn in turns] == [("opinion", 0)] * 3 + [("reply", 1)] * 3
    verdict_opinions = verdict(of_kind(records, TraceRecord)[0]).opinions
    assert [opinion.judge for opinion in verdict_opinions[:3]] == ["gpt-4-turbo", "claude-2", "gpt-3.5-turbo"]
    run = of_kind(records, RunRecord)[0]
    assert run.name == "a_vs_b · reasoning" and run.protocol == "scaleeval" and run.source == "imported"
    settings = Settings.model_validate(run.settings)
    assert [judge.name for judge in settings.judges] == ["gpt-4-turbo", "claude-2", "gpt-3.5-turbo"]


def test_unidentified_speakers_have_numbers_and_submissions_without_a_matching_answer_no_system(tmp_path: Path) -> None:
    debates = {
        "helpfulness": [debate(1, "six", ONE, "1", "1", "1")],
        "reasoning": [debate(1, ONE, "six", "1", "1", "1")],
    }
    records = list(read_records(write_release(tmp_path, debates, answers=False)))
    [item] = items_of(records)
    turns = completed_turns(of_kind(records, TraceRecord)[0].events)
    assert [(turn.speaker, turn.model) for turn in turns] == [(f"speaker {n}", "unknown") for n in (1, 2, 3)]
    assert item.id == "a_vs_b/math/1 · helpfulness"
    assert [(response.system, response.text) for response in item.responses] == [(None, "six"), (None, ONE)]
    assert [verdict(trace).value for trace in of_kind(records, TraceRecord)] == [1, 2]


@pytest.mark.parametrize(
    ("score", "problem"),
    [
        ("4", "the recorded score is 4, which is not one of 1, 2 or 0"),
        (None, "no score was recorded"),
        (True, "the recorded score is True, which is not one of 1, 2 or 0"),
        ("", "the recorded score is , which is not one of 1, 2 or 0"),
    ],
)
def test_an_invalid_score_is_not_a_verdict(tmp_path: Path, score: object, problem: str) -> None:
    records = list(read_records(write_release(tmp_path, {"reasoning": [debate(1, ONE, TWO, score, "1", "1")]})))
    turn = completed_turns(of_kind(records, TraceRecord)[0].events)[0]
    assert (turn.reading, turn.problem) == (None, problem)
    assert verdict(of_kind(records, TraceRecord)[0]).outcome == "no_verdict"


@pytest.mark.parametrize("inside", ["", "results", "results/a_vs_b"])
def test_the_release_is_recognised_at_each_of_its_levels(tmp_path: Path, inside: str) -> None:
    root = write_release(tmp_path, {"reasoning": [debate(1, TWO, ONE, "1", "1", "1")]})
    assert detect_format(root / inside) == "scaleeval"
    assert of_kind(read_records(root / inside), ItemRecord)[0].item.responses[0].system == "a-large"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "1"}, "line 2, field 'id': expected a whole number"),
        ({"Question": None}, "line 2, field 'Question': expected text"),
        ({"Submission 2": 5}, "line 2, field 'Submission 2': expected text"),
        (
            {"Speaker 2 - Initial Evaluation": "1"},
            "line 2, field 'Speaker 2 - Initial Evaluation': expected a reasoning and a score",
        ),
    ],
)
def test_an_invalid_debate_is_refused_with_its_file(tmp_path: Path, change: dict, message: str) -> None:
    root = write_release(tmp_path, {"reasoning": [debate(1, ONE, TWO, "1", "1", "1") | change]})
    with pytest.raises(FileFormatError) as caught:
        list(read_records(root))
    assert str(caught.value) == f"reasoning/multiagent_score/math.jsonl: {message}"


@pytest.fixture(scope="module")
def released() -> list[Record]:
    return list(read_records(public_file("scaleeval/results/gpt3.5_vs_claude")))


def last_turns(trace: TraceRecord) -> dict[str, Turn]:
    return {turn.speaker: turn for turn in completed_turns(trace.events)}


def test_the_release_has_the_published_number_of_debates(released: list[Record]) -> None:
    traces = of_kind(released, TraceRecord)
    rounds = Counter(max(turn.round for turn in completed_turns(trace.events)) for trace in traces)
    assert (len(traces), rounds) == (560, {0: 153, 1: 90, 2: 317})
    assert Counter(verdict(trace).outcome for trace in traces) == {"agreed": 265, "disputed": 295}
    readings = [{turn.reading for turn in last_turns(trace).values()} for trace in traces]
    assert sum(values >= {0, 1, 2} for values in readings) == 47


def test_every_submission_and_every_speaker_of_the_release_is_identified(released: list[Record]) -> None:
    items = items_of(released)
    assert len(items) == 320 and len({item.scenario for item in items}) == 8  # the paper's Table 2
    assert {tuple(response.system for response in item.responses) for item in items} == {("gpt3.5", "claude-instant")}
    speakers = Counter(
        turn.speaker for trace in of_kind(released, TraceRecord) for turn in completed_turns(trace.events)
    )
    assert speakers == {"gpt-4-turbo": 1284, "claude-2": 1284, "gpt-3.5-turbo": 1284}


def test_every_score_of_the_release_is_imported(released: list[Record]) -> None:
    turns = [turn for trace in of_kind(released, TraceRecord) for turn in completed_turns(trace.events)]
    assert Counter(value_as_shown(turn) for turn in turns) == {1: 1492, 2: 1650, 0: 690, None: 20}
    assert Counter(turn.problem.split()[4] for turn in turns if turn.problem) == {"3,": 5, "4,": 15}
