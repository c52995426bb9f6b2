"""The range of a figure with unreadable replies, against every way in which they could have been read."""

from itertools import product
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from core.critiques import score_critique
from core.statistics.measures.shares import possible_range

Truths = st.lists(st.sampled_from([True, False, None]), max_size=4)


def filled(values, replacements):
    """Return the values with each None replaced by the next replacement."""
    return [next(replacements) if value is None else value for value in values]


def assigned(lists, value):
    return [[value if truth is None else truth for truth in truths] for truths in lists]


def every_assignment(lists):
    unread = sum(truths.count(None) for truths in lists)
    for assignment in product((True, False), repeat=unread):
        replacements = iter(assignment)
        yield [filled(truths, replacements) for truths in lists]


def check(statistic, lists):
    """The range is exactly that of all assignments."""
    values = [statistic(complete) for complete in every_assignment(lists)]
    found = possible_range(lambda value: statistic(assigned(lists, value)))
    if any(value is None for value in values):
        assert found is None
    else:
        assert found == (min(values), max(values))


def share(lists):
    (truths,) = lists
    return fmean(truths) if truths else None


def f1(lists):
    return score_critique(*lists).f1


def macro_f1(lists):
    scores = [score_critique(*lists[index : index + 2]).f1 for index in range(0, len(lists), 2)]
    defined = [score for score in scores if score is not None]
    return fmean(defined) if defined else None


def test_a_share():
    assert possible_range(lambda value: share(assigned([[True, True, False, None]], value))) == (0.5, 0.75)


def test_everything_unreadable_can_be_anything():
    assert possible_range(lambda value: share(assigned([[None, None]], value))) == (0.0, 1.0)


def test_an_undefined_figure_has_no_range():
    assert possible_range(lambda value: share([[]])) is None


def test_without_unreadable_replies_the_range_is_the_value():
    assert possible_range(lambda value: share(assigned([[True, False]], value))) == (0.5, 0.5)


@given(Truths)
def test_a_share_against_every_assignment(truths):
    check(share, [truths])


@given(Truths, Truths)
def test_f1_against_every_assignment(factual, covered):
    check(f1, [factual, covered])


@given(st.lists(st.sampled_from([True, False, None]), max_size=3), Truths, Truths, Truths)
def test_macro_f1_against_every_assignment(factual, covered, other_factual, other_covered):
    check(macro_f1, [factual, covered, other_factual, other_covered])
