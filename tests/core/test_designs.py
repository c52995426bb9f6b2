"""The rule by which targets are drawn."""

import pytest

from core import designs
from core.designs import (
    AGREED,
    CONTENTION,
    DISPUTED,
    SCENARIO,
    UNJUDGED,
    WHOLE,
    Design,
    Form,
    State,
    composed,
    default_design,
    disputes_only,
    further_round,
    permanent_number,
)
from core.errors import TiebreakError
from storage.studies.items import rank

KEYS = [f"item {number}:1-2" for number in range(400)]
STATES = [State(number % 4 == 0, number % 5 > 0) for number in range(400)]


def drawn(design):
    pairs = zip(KEYS, STATES, strict=True)
    return {key for key, state in pairs if permanent_number(design.seed, key) < design.draw(state).cut}


def shares(agreed, unjudged=0.0):
    return {DISPUTED: 1.0, AGREED: agreed, UNJUDGED: unjudged}


def test_numbers_follow_from_the_seed_in_the_order_of_ranks():
    numbers = [permanent_number(3, key) for key in KEYS]
    assert numbers == [permanent_number(3, key) for key in KEYS] and all(0 < number < 1 for number in numbers)
    assert sorted(KEYS, key=lambda key: permanent_number(3, key)) == sorted(KEYS, key=lambda key: rank(3, key))
    assert permanent_number(4, KEYS[0]) != numbers[0]
    assert 0 < permanent_number(0, "\ud800") < 1


def test_strata_follow_from_the_present_state():
    design = default_design(0.1, 5)
    found = [design.draw(state)[:2] for state in (State(True, True), State(False, True), State(False, False))]
    assert found == [(DISPUTED, 1.0), (AGREED, 0.1), (UNJUDGED, 0.0)]
    by_scenario = Design(Form.stratified, 0, {"math": 0.5, "law": 0.2}, SCENARIO)
    assert by_scenario.draw(State(True, True, "math"))[:2] == ("math", 0.5)
    assert by_scenario.draw(State(True, True, "new"))[:2] == ("new", 0.2)
    assert Design(Form.stratified, 0, {WHOLE: 0.3}, SCENARIO).draw(State(True, True, "x"))[:2] == ("x", 0.3)
    assert Design(Form.everything).draw(State(False, False)) == (WHOLE, 1.0, 1.0)
    assert not Design(Form.stratified, 0, {DISPUTED: 1.0}, CONTENTION).draws_unjudged


def test_without_a_share_the_default_is_disputes_alone():
    assert default_design(0, 5).form == Form.disputed
    assert drawn(default_design(0, 5)) == {key for key, state in zip(KEYS, STATES, strict=True) if state.disputed}


@pytest.mark.parametrize("agreed", [0.1, 0.5, 1.0])
def test_a_further_round_contains_the_first(agreed):
    first = Design(Form.stratified, 1, shares(0.1), CONTENTION)
    second = further_round(first, Design(Form.stratified, 1, shares(agreed, 0.3), CONTENTION), STATES)
    assert second.round == 2 and drawn(second) >= drawn(first)


def test_a_fixed_number_after_a_share_keeps_what_is_drawn():
    first = Design(Form.random, 1, {WHOLE: 0.2})
    members = {WHOLE: [permanent_number(1, key) for key in KEYS]}
    for size in range(80, 100):
        second = further_round(first, designs.with_sizes(first, {WHOLE: size}, members), STATES)
        assert len(drawn(second)) == max(size, len(drawn(first))) and drawn(second) >= drawn(first)
        assert second.shares[WHOLE] == size / 400


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (Design(Form.stratified, 1, shares(0.2), CONTENTION), "agreed targets is 0.3 and labels exist"),
        (Design(Form.random, 1, {WHOLE: 0.5}), "disputed targets is 1 and labels exist, so it cannot shrink to 0.5"),
        (Design(Form.stratified, 2, shares(0.4), CONTENTION), "drawn with the seed 1"),
    ],
)
def test_probabilities_do_not_shrink(new, message):
    with pytest.raises(TiebreakError, match=message):
        further_round(Design(Form.stratified, 1, shares(0.3), CONTENTION), new, STATES)


def test_a_design_without_chance_may_be_followed_by_any_seed():
    assert further_round(disputes_only(), Design(Form.stratified, 9, shares(0.2), CONTENTION), STATES).seed == 9
    assert further_round(Design(Form.random, 4, {WHOLE: 0.5}), Design(Form.everything), STATES).seed == 4


def test_what_is_not_given_stays_as_it_is():
    first = composed(None, None, "", {AGREED: 0.2}, None)
    assert (first.form, first.by, first.seed, first.shares) == (Form.stratified, CONTENTION, 0, shares(0.2))
    second = composed(first, None, "", {UNJUDGED: 0.1}, 6)
    assert (second.seed, second.shares) == (6, shares(0.2, 0.1))
    assert composed(disputes_only(), None, "", {AGREED: 0.2}, None) == first
    assert composed(first, Form.disputed, "", {}, None) == disputes_only()
    assert composed(first, Form.everything, "", {}, None) == Design(Form.everything)
    assert composed(first, None, SCENARIO, {WHOLE: 0.4}, None) == Design(Form.stratified, 0, {WHOLE: 0.4}, SCENARIO)
    with pytest.raises(TiebreakError, match="needs the share of each stratum"):
        designs.check(composed(first, Form.random, "", {}, None))


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(Form.random, 2**63, {WHOLE: 0.1}), "The seed of a design"),
        (Design(Form.random, 0, {WHOLE: 0.1}, SCENARIO), "'random' has no strata"),
        (Design(Form.weighted, 0, {WHOLE: 1.0}, floor=0), "The least probability"),
        (Design(Form.weighted, 0, {WHOLE: 1.0}, floor=1.01), "The least probability"),
        (Design(Form.stratified, 0, {"x": 0.1}, CONTENTION), "no stratum 'x'; there are: disputed, agreed, unjudged"),
        (Design(Form.disputed, 0, shares(0.1), CONTENTION), "disputes alone has the share 1"),
        (Design(Form.stratified, 0, {AGREED: -0.1}, CONTENTION), "The share of agreed is -0.1"),
    ],
)
def test_a_design_is_checked_in_one_sentence(design, message):
    with pytest.raises(TiebreakError, match=message):
        designs.check(design)


def test_uncertainty_has_a_floor():
    design = Design(Form.weighted, 0, {WHOLE: 0.5}, floor=0.05)
    found = [design.draw(State(False, True, uncertainty=value)).probability for value in (0, 0.5, 1)]
    assert found == [0.05, 0.25, 0.5]
    assert [designs.grown(design, 7, share, 0.9).floor for share in (0.01, 0.2)] == [0.05, 0.2]


def test_a_design_grows_where_its_share_is_smaller():
    for design in (default_design(0.1, 5), disputes_only()):
        grown = designs.grown(design, 7, 0.2, 0.25)
        assert (grown.form, grown.seed, grown.shares) == (Form.stratified, 7, shares(0.2, 0.2))
        assert grown.cuts == {AGREED: 0.25, UNJUDGED: 0.25}


def test_a_stratum_without_targets_may_not_shrink_unless_the_strata_are_others():
    first = Design(Form.stratified, 1, {"math": 0.5, "law": 0.5}, SCENARIO)
    of_math = [State(True, True, "math")]
    with pytest.raises(TiebreakError, match="share of law is"):
        further_round(first, Design(Form.stratified, 1, {"math": 0.5, "law": 0.2}, SCENARIO), of_math)
    other = Design(Form.stratified, 1, {DISPUTED: 1.0, "law": 0.2}, CONTENTION)
    assert further_round(first, other, of_math).by == CONTENTION
