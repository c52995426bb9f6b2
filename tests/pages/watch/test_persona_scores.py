"""The grid of a discussion's scores."""

import pytest

from pages.watch.parts import persona_talk
from tests.core.protocols.discussions import make_settings
from tests.core.protocols.discussions import run_scripted as play_discussion


@pytest.mark.parametrize(
    ("strategy", "first", "then"),
    [("one by one", {0, 1}, {2, 3}), ("simultaneous", {0, 1, 2, 3}, {1, 3})],
)
def test_pending_cells_are_those_of_the_next_round(strategy: str, first: set[int], then: set[int]) -> None:
    chosen = make_settings("ab", both_orders=True, strategy=strategy)
    numbered_turns = list(enumerate(play_discussion(lambda ask: "Hm.", chosen).turns))
    rows = [(persona.name, order) for persona in chosen.personas for order in chosen.orders]

    def pending(count: int) -> list[tuple[int, int]]:
        return persona_talk.pending_cells(persona_talk.stances_by_row(numbered_turns[:count], rows), rows, chosen)

    assert {place for place, _ in pending(2)} == then and {turn for _, turn in pending(2)} == {0}
    assert {place for place, _ in pending(0)} == first
    assert pending(len(numbered_turns)) == []
