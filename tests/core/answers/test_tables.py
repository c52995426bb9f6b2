"""Scores in tables: the column that holds the value, if a row has several numbers."""

import pytest

from core.answers import Scores, UnreadableReply

SCORES = Scores(names=("Assistant 1", "Assistant 2"))


def table(header: str, first: str, second: str) -> str:
    return f"| Assistant | {header} |\n|---|---|\n| Assistant 1 | {first} |\n| Assistant 2 | {second} |"


@pytest.mark.parametrize(
    "reply",
    [
        table("Score", "8", "6"),
        table("Score | Comment", "8 | good", "6 | 2 errors"),
        table("Accuracy | Clarity | Overall", "9 | 7 | 8", "5 | 7 | 6"),
        table("Accuracy | Clarity | **Total**", "4 | 4 | **8**", "3 | 3 | **6**"),
        table("Accuracy | Clarity", "9 | 7", "5 | 7") + "\n\nAssistant 1: 8\nAssistant 2: 6",
        "good | Assistant 1: 8\nbad | Assistant 2: 6",
        "| Assistant 1 8\n| Assistant 2 6",
    ],
)
def test_the_column_of_the_value_is_read(reply: str) -> None:
    assert SCORES.parse(reply).value == {"Assistant 1": 8, "Assistant 2": 6}


@pytest.mark.parametrize(
    "reply",
    [
        table("Accuracy | Clarity", "9 | 7", "5 | 7"),
        table("Score for style | Score for facts", "9 | 7", "5 | 7"),
        "Assistant 1: 9, 8, 8\nAssistant 2: 5, 6, 6",
        "Assistant 1: 9 for accuracy, 8 for clarity\nAssistant 2: 5 for accuracy, 6 for clarity",
    ],
)
def test_several_numbers_are_no_score(reply: str) -> None:
    with pytest.raises(UnreadableReply):
        SCORES.parse(reply)
