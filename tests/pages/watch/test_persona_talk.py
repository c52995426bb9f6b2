"""The view of a discussion of personas."""

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord, TraceRecord
from pages.watch.parts import persona_talk
from storage.transfer import samples
from tests.core.protocols.discussions import NATURAL, make_item, make_settings, make_single_response_item
from tests.core.protocols.discussions import run_scripted as play_discussion
from tests.pages.visits import prepare_study, recorded, trace_text

SAMPLE = list(tiebreak.read(samples.path("chateval")))


def test_every_contribution_shows_what_its_persona_had_read_and_what_replaced_a_failed_summary() -> None:
    prepare_study(SAMPLE)
    shown = trace_text("sky at sunset")
    assert "**Response 2 is better** · 2.00 for response 1 and 9.00 for response 2 on average" in shown
    assert "had read no other contribution" in shown and "had read General Public in turn 1" in shown
    assert "had read all personas in turn 1; General Public in turn 2" in shown
    assert "**General Public** · **3 : 9**" in shown
    assert "**changed** from Response 1 to Response 2, as Critic held in turn 1" in shown
    assert "had read the summary of turn 1" in trace_text("pirate")
    shown = trace_text("piano tuners")
    assert "no summary: the reply was cut off at the limit of 512 tokens; the contributions were passed on" in shown
    assert "No majority of the 3 votes" in shown


def test_a_rating_is_shown_as_a_number() -> None:
    chosen = make_settings("ab", outcome="rating", criterion=NATURAL)
    discussion = play_discussion(
        lambda ask: f"Rating: {'23'['ab'.index(ask.speaker)]}", chosen, make_single_response_item()
    )
    prepare_study(recorded(make_single_response_item(), "chateval", chosen, discussion.events, "natural"))
    shown = trace_text("tides")
    assert "**2.50** · the mean of 2 ratings" in shown and "**a** · **2**" in shown


def test_a_run_with_incomplete_settings_uses_the_default_view() -> None:
    discussion = play_discussion(lambda ask: "Hm.", make_settings("ab", turns=1))
    run = RunRecord(name="r", protocol="chateval", settings={"who": "knows"})
    prepare_study(
        [ItemRecord(item=make_item()), run, TraceRecord(run="r", item="tides", events=tuple(discussion.events))]
    )
    assert "first opinion" in trace_text("tides")


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
