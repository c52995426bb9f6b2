from contextlib import closing

import pytest

from core.formats.mapping.judges import VerdictFile
from core.labels import Opinion
from core.trace import Turn, Usage


def test_verdicts_are_read_as_they_were_added():
    opinions = [Opinion(kind="score", judge=f"j{n}", stage="verdict", value=n or None, problem="?") for n in range(3)]
    turn = Turn(speaker="j0", step="rating", round=0, model="m", reply="4", shown=(2, 1), usage=Usage(dollars=0.5))
    turns = [[], [turn], [turn, turn.model_copy(update={"reading": {"a": 0.5}, "usage": Usage()})]]
    with closing(VerdictFile()) as file:
        first = file.add(opinions[0], turns[0])
        second = file.add(opinions[1], turns[1])
        assert file.read(first) == (opinions[0], turns[0])  # then the next one is appended nevertheless
        third = file.add(opinions[2], turns[2])
        read = [file.read(place) for place in (first, second, third)]
    assert read == list(zip(opinions, turns, strict=True))
    assert [turn.model_dump_json() for turn in read[2][1]] == [turn.model_dump_json() for turn in turns[2]]


def test_a_place_without_a_verdict_is_an_error():
    with pytest.raises(LookupError):
        VerdictFile().read(0)
