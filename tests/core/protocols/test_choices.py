"""The reader of choices: ends of replies as models wrote them, and the released debates of ScaleEval."""

import json
import time
from collections import Counter

import pytest

from core.problems import Unreadable
from core.protocols.choices import read_choice
from tests.paths import DATA

RESULTS = DATA / "scaleeval" / "results"

READ = [
    ("1", 1),
    ("…and added insights, Submission 2 goes further.\n\n2\n\n2", 2),
    ('Neither submission appears to be superior.\n\nNeither is better: "0"\n\n0', 0),
    ('I would choose:\n\n"0"', 0),
    ("**1**", 1),
    ("### 2", 2),
    ("`1`", 1),
    ("2.", 2),
    ("“1”", 1),
    ("(2)", 2),
    ("[1]", 1),
    ("- 2", 2),
    ("１", 1),
    ("Submission 1", 1),
    ("**Submission 2**", 2),
    ("Submission 1 is better", 1),
    ("Neither", 0),
    ("Neither is better.", 0),
    ("1\n---\n", 1),
    ('I would choose "1".\n\n```\n1\n```', 1),
    ('Final evaluation:\nSubmission 1 is better: "1"', 1),
    ('Based on the evaluation, Submission 1 is better.\n\nTherefore, the choice is "1".', 1),
    ('Based on the evaluation, I would choose: "2"', 2),
    ("Final evaluation: 1", 1),
    ("Chosen Option: 2", 2),
    ('Therefore, "1"', 1),
    ('The response lacks depth. Therefore, the better submission is: "1"', 1),
    ('Given this, I would choose "Neither is better: 0" as neither submission fully meets the criteria.', 0),
    ('I would choose "0" as neither submission is significantly better than the other.', 0),
    ('Given the similarity in the quality of both, I would choose "0" for "Neither is better."', 0),
    ('Therefore, the choice is "0" - Neither is better.', 0),
    ("Therefore, based on the evaluation, Submission 2 is better.", 2),
    ("I rated Submission 1 as 4 and Submission 2 as 3.\n\n1", 1),
    ("<think>1 or 2? Say 2.</think>\n\n1", 1),
]

REFUSED = [
    ("", "the reply is empty"),
    (" \n```\n\n", "the reply is empty"),
    ("I cannot decide between the two.", "the last line is not one of 1, 2 or 0"),
    ('I would rate them as "4" - Helpful.\n\n4\n\n', "it ends with 4, which is not one of 1, 2 or 0"),
    ("Therefore, Submission 1 is better.\n\n2", "it ends with both 1 and 2"),
    ("1\n2", "it ends with both 1 and 2"),
    (
        "I am open to adjusting my evaluation.\n\n1\n\nNow, please choose one of the following options:\n"
        'Submission 1 is better: "1"\nSubmission 2 is better: "2"\nNeither is better: "0"',
        "it ends with the list of options instead of a choice",
    ),
    ("1\n2\n0", "it ends with the list of options instead of a choice"),
    ('"1" or "2"', "it ends with both 1 and 2"),
    ("1 or 2", "the last line is not one of 1, 2 or 0"),
    ("1/2", "the last line is not one of 1, 2 or 0"),
    ("-1", "the last line is not one of 1, 2 or 0"),
    ("1.5", "the last line is not one of 1, 2 or 0"),
    ("12", "it ends with 12, which is not one of 1, 2 or 0"),
    ("Submission 1 is not better.", "the last line is not one of 1, 2 or 0"),
    ("I do not agree that Submission 2 is better.", "the last line is not one of 1, 2 or 0"),
    ('I would rate both submissions as "2".', "the last line is not one of 1, 2 or 0"),
    ("so the slope is x = 1", "the last line is not one of 1, 2 or 0"),
    ("There are 3 apples and 2", "the last line is not one of 1, 2 or 0"),
    ("1\n\nWait, I have not looked at the second part yet", "the last line is not one of 1, 2 or 0"),
]


@pytest.mark.parametrize(("reply", "value"), READ)
def test_a_choice_is_read(reply: str, value: int) -> None:
    assert read_choice(reply) == value


@pytest.mark.parametrize(("reply", "reason"), REFUSED)
def test_an_unreadable_choice_is_refused_with_a_reason(reply: str, reason: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read_choice(reply)
    assert str(refused.value) == reason


@pytest.mark.parametrize("part", ["1", "1 ", "submission ", "neither ", '"', ". A", "answer: ", "*"])
def test_a_very_long_line_is_refused_within_half_a_second(part: str) -> None:
    start = time.perf_counter()
    with pytest.raises(Unreadable) as refused:
        read_choice(part * 200_000 + "x")
    assert time.perf_counter() - start < 0.5
    assert len(str(refused.value)) < 100


def test_the_options_of_a_choice_can_be_set() -> None:
    assert read_choice("3", (1, 2, 3)) == 3


@pytest.mark.skipif(not RESULTS.exists(), reason="the released debates are not beside the checkout")
def test_the_released_debates_read_as_recorded() -> None:
    """Of 3,852 replies 3,832 have a usable recorded score: 3,815 are readable, and 3,814 are read as recorded.

    The 17 others contradict themselves ("Submission 1 is better.\\n\\n2"), repeat the list of options, or end with a
    rating of the rubric. The one that differs argues for 2 and ends with 2, while 1 was recorded.
    """
    counts: Counter[str] = Counter()
    for reply, score in _released():
        try:
            counts["as recorded" if str(read_choice(reply)) == score else "otherwise"] += 1
        except Unreadable:
            counts["unread" if score in ("0", "1", "2") else "unread, no usable score"] += 1
    assert counts == {"as recorded": 3814, "otherwise": 1, "unread": 17, "unread, no usable score": 20}


def _released() -> list[tuple[str, str]]:
    files = sorted(RESULTS.glob("*/*/multiagent_score/*.jsonl"))
    debates = [debate for file in files for debate in json.loads(file.read_text(encoding="utf-8"))]
    turns = [value for debate in debates for value in debate.values() if isinstance(value, dict)]
    return [(turn["reasoning"], str(turn["score"])) for turn in turns]
