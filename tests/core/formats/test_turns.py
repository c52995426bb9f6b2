"""Rows of the export of turns."""

import pytest

from core.formats.turns import turn_row
from core.trace import Turn

TRACE = {
    "run": "r",
    "protocol": "p",
    "item": "i",
    "part": "",
    "scenario": "",
    "criterion": "depth",
    "outcome": "agreed",
}


@pytest.mark.parametrize(("own", "exported"), [("", "depth"), ("tone", "tone")])
def test_a_turn_has_its_own_criterion_or_that_of_its_trace(own, exported):
    turn = Turn(speaker="a", step="opinion", round=0, model="m", prompt="?", reply="1", criterion=own)
    assert turn_row(turn, 0, "first", False, **TRACE, contention=None).criterion == exported
