"""The released debates become traces: every submission and every speaker is found again by its words.

The figures are acceptance rows 11, 12 and 13.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa

from core import formats
from core.formats.published import scaleeval
from core.formats.records import ItemRecord, Record, RunRecord, TraceRecord
from core.items import SCENARIOS
from core.problems import FileRefused
from core.protocols.scaleeval.protocol import Settings
from core.trace import Turn, Verdict, turns
from tests.core.formats.shared import public

ONE, TWO = "Four, because two and two is four.", "Five, I think."
FOLDERS = ("gpt4_turbo_score", "claude2_score", "gpt35_turbo_score")


def speech(text: str, score: object) -> dict:
    return {"reasoning": text, "score": score}


def debate(number: int, first: str, second: str, *scores: object, later: tuple = ()) -> dict:
    record = {"id": number, "Question": f"What is 2 + {number}?", "Submission 1": first, "Submission 2": second}
    record |= {f"Speaker {n} - Initial Evaluation": speech(f"I am {n}.", score) for n, score in enumerate(scores, 1)}
    return record | {f"Speaker {n} - Discussion Round 1": speech("So.", score) for n, score in enumerate(later, 1)}


def release(root: Path, debates: dict[str, list], alone: dict[str, str] | None = None, answers: bool = True) -> Path:
    """`debates` by criterion; `alone` says which folder holds the words of which speaker."""
    for criterion, records in debates.items():
        folder = root / "results" / "a_vs_b" / criterion
        put(folder / "multiagent_score" / "math.jsonl", records)
        for name, text in (alone or {}).items():
            put(folder / name / "math.jsonl", [{"ID": r["id"], "Reasoning": text, "Score": 1} for r in records])
    for system, text in (("a-large", ONE), ("b", TWO)):
        rows = [{"prompt": f"What is 2 + {n}?", "category": "math", "response": text} for n in (1, 2)]
        if answers:
            put(root / "responses" / system / "math.jsonl", rows)
    return root


def put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=4))


def traces(records: list[Record]) -> list[TraceRecord]:
    return [record for record in records if isinstance(record, TraceRecord)]


def items(records: list[Record]) -> list:
    return [record.item for record in records if isinstance(record, ItemRecord)]


def verdict(trace: TraceRecord) -> Verdict:
    return trace.events[-1].verdict


SPOKE = dict(zip(FOLDERS, ("I am 3.", "I am 1.", "I am 2."), strict=True))


def test_a_question_debated_twice_is_one_item_in_the_order_of_the_folders_name(tmp_path: Path) -> None:
    made = {"helpfulness": [debate(1, TWO, ONE, "2", 2, "0")], "reasoning": [debate(1, ONE, TWO, "1", "1", "1")]}
    records = list(formats.read(release(tmp_path, made)))
    [item] = items(records)
    assert (item.id, item.scenario, item.group) == ("a_vs_b/math/1", "math", "math/1")
    assert [(response.system, response.text) for response in item.responses] == [("a-large", ONE), ("b", TWO)]
    swapped, straight = [turns(trace.events) for trace in traces(records)]
    assert [(turn.shown, turn.reading) for turn in swapped] == [((2, 1), 1), ((2, 1), 1), ((2, 1), 0)]
    assert [(turn.shown, turn.reading) for turn in straight] == [((1, 2), 1)] * 3
    assert [scaleeval.as_shown(turn) for turn in swapped] == [2, 2, 0]


def test_a_speaker_is_known_by_its_words_and_the_last_by_exclusion(tmp_path: Path) -> None:
    spoke = {**SPOKE, "gpt35_turbo_score": "something else"}
    made = {"reasoning": [debate(1, ONE, TWO, "1", "2", "1", later=("1", "1", "1"))]}
    records = list(formats.read(release(tmp_path, made, spoke)))
    said = turns(traces(records)[0].events)
    names = ["claude-2", "gpt-3.5-turbo", "gpt-4-turbo"]
    assert [turn.speaker for turn in said] == names * 2
    assert [turn.model for turn in said[:3]] == ["claude-2", "gpt-3.5-turbo-1106", "gpt-4-1106-preview"]
    assert [(turn.step, turn.round) for turn in said] == [("opinion", 0)] * 3 + [("reply", 1)] * 3
    opinions = verdict(traces(records)[0]).opinions
    assert [opinion.judge for opinion in opinions[:3]] == ["gpt-4-turbo", "claude-2", "gpt-3.5-turbo"]
    run = next(record for record in records if isinstance(record, RunRecord))
    assert run.name == "a_vs_b · reasoning" and run.protocol == "scaleeval" and run.source == "imported"
    settings = Settings.model_validate(run.settings)
    assert [judge.name for judge in settings.judges] == ["gpt-4-turbo", "claude-2", "gpt-3.5-turbo"]


def test_speakers_of_whom_nothing_is_known_keep_their_numbers(tmp_path: Path) -> None:
    records = list(formats.read(release(tmp_path, {"reasoning": [debate(1, ONE, TWO, "1", "2", "1")]})))
    said = turns(traces(records)[0].events)
    assert [(turn.speaker, turn.model) for turn in said] == [(f"speaker {n}", "unknown") for n in (1, 2, 3)]


def test_submissions_that_nobody_gave_stay_without_a_system(tmp_path: Path) -> None:
    made = {"helpfulness": [debate(1, "six", ONE, "1", "1", "1")], "reasoning": [debate(1, ONE, "six", "1", "1", "1")]}
    records = list(formats.read(release(tmp_path, made, answers=False)))
    [item] = items(records)
    assert item.id == "a_vs_b/math/1 · helpfulness"
    assert [(response.system, response.text) for response in item.responses] == [(None, "six"), (None, ONE)]
    assert [verdict(trace).value for trace in traces(records)] == [1, 2]


@pytest.mark.parametrize(
    ("score", "problem"),
    [
        ("4", "the recorded score is 4, which is not one of 1, 2 or 0"),
        (None, "no score was recorded"),
        (True, "the recorded score is True, which is not one of 1, 2 or 0"),
        ("", "the recorded score is , which is not one of 1, 2 or 0"),
    ],
)
def test_a_score_that_is_no_choice_is_no_verdict(tmp_path: Path, score: object, problem: str) -> None:
    records = list(formats.read(release(tmp_path, {"reasoning": [debate(1, ONE, TWO, score, "1", "1")]})))
    turn = turns(traces(records)[0].events)[0]
    assert (turn.reading, turn.problem) == (None, problem)
    assert verdict(traces(records)[0]).outcome == "no_verdict"


@pytest.mark.parametrize("inside", ["", "results", "results/a_vs_b"])
def test_the_release_is_found_from_any_of_its_levels(tmp_path: Path, inside: str) -> None:
    root = release(tmp_path, {"reasoning": [debate(1, TWO, ONE, "1", "1", "1")]})
    assert formats.detect(root / inside) == "scaleeval"
    assert items(list(formats.read(root / inside)))[0].responses[0].system == "a-large"


@pytest.mark.parametrize(
    ("change", "sentence"),
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
def test_a_debate_that_is_wrong_is_refused_with_its_file(tmp_path: Path, change: dict, sentence: str) -> None:
    root = release(tmp_path, {"reasoning": [debate(1, ONE, TWO, "1", "1", "1") | change]})
    with pytest.raises(FileRefused) as caught:
        list(formats.read(root))
    assert str(caught.value) == f"reasoning/multiagent_score/math.jsonl: {sentence}"


def test_a_folder_without_debates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="no reader recognises"):
        formats.detect(tmp_path)
    with pytest.raises(FileRefused, match="expected folders <comparison>/<criterion>/multiagent_score in"):
        list(formats.read(tmp_path, format="scaleeval"))


@pytest.fixture(scope="module")
def released() -> list[Record]:
    return list(formats.read(public("scaleeval/results/gpt3.5_vs_claude")))


def last(trace: TraceRecord) -> dict[str, Turn]:
    return {turn.speaker: turn for turn in turns(trace.events)}


def test_the_release_has_its_debates(released: list[Record]) -> None:
    them = traces(released)
    rounds = Counter(max(turn.round for turn in turns(trace.events)) for trace in them)
    assert (len(them), rounds) == (560, {0: 153, 1: 90, 2: 317})
    assert Counter(verdict(trace).outcome for trace in them) == {"agreed": 265, "disputed": 295}
    readings = [{turn.reading for turn in last(trace).values()} for trace in them]
    assert sum(one >= {0, 1, 2} for one in readings) == 47


def test_every_submission_and_every_speaker_of_the_release_is_known(released: list[Record]) -> None:
    found = items(released)
    assert len(found) == 320 and {item.scenario for item in found} == set(SCENARIOS)
    assert {tuple(response.system for response in item.responses) for item in found} == {("gpt3.5", "claude-instant")}
    speakers = Counter(turn.speaker for trace in traces(released) for turn in turns(trace.events))
    assert speakers == {"gpt-4-turbo": 1284, "claude-2": 1284, "gpt-3.5-turbo": 1284}


def test_the_scores_of_the_release_are_all_kept(released: list[Record]) -> None:
    said = [turn for trace in traces(released) for turn in turns(trace.events)]
    assert Counter(scaleeval.as_shown(turn) for turn in said) == {1: 1492, 2: 1650, 0: 690, None: 20}
    assert Counter(turn.problem.split()[4] for turn in said if turn.problem) == {"3,": 5, "4,": 15}


def kappas(released: list[Record], value) -> list[float]:
    """Fleiss' kappa of first and of last opinions, over the debates in which all six can be used."""
    first, final = [], []
    for trace in traces(released):
        said = turns(trace.events)
        six = [value(turn) for turn in (*said[:3], *last(trace).values())]
        if None not in six:
            first.append(six[:3])
            final.append(six[3:])
    assert len(first) == 543
    return [fleiss_kappa(np.array([[row.count(v) for v in (0, 1, 2)] for row in rows])) for rows in (first, final)]


def test_the_judges_agreement_is_as_published_in_the_order_that_they_were_shown(released: list[Record]) -> None:
    assert kappas(released, scaleeval.as_shown) == pytest.approx([0.1529, 0.3781], abs=5e-5)


def test_the_judges_agreement_in_the_items_own_order_is_a_little_lower(released: list[Record]) -> None:
    """Kappa's chance term counts how often each value occurs, and turning debates around changes that."""
    assert kappas(released, lambda turn: turn.reading) == pytest.approx([0.1524, 0.3754], abs=5e-5)
