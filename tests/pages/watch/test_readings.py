"""How a reading is drawn: the marked passage, structured output, and text that poses as markup."""

import pytest

from core.trace import Turn
from pages.watch.parts import turns


def make_turn(reply, span=None, **fields):
    defaults = {"speaker": "a", "step": "s", "round": 0, "model": "m", "reading": 2, "reading_rule": "labelled"}
    return Turn(reply=reply, reading_span=span, **defaults | fields)


def span_of(reply, passage):
    start = reply.index(passage)
    return start, start + len(passage)


def test_the_passage_is_marked_and_the_reply_is_text_only():
    reply = "<script>alert(1)</script> So <b>Final answer: 2</b>"
    html = turns.passage_html(reply, span_of(reply, "Final answer: 2"))
    assert html == "&lt;script&gt;alert(1)&lt;/script&gt; So &lt;b&gt;<mark>Final answer: 2</mark>&lt;/b&gt;"
    hostile = '</mark><img src=x onerror="alert(1)">'
    assert "<img" not in turns.marked_html(hostile, (0, len(hostile)))
    assert "<img" not in turns.passage_html(hostile, (0, 7))


def test_the_context_of_a_long_reply_is_cut():
    reply = "a" * 500 + "Final answer: 2" + "b" * 500
    html = turns.passage_html(reply, span_of(reply, "Final answer: 2"))
    assert html == f"… {'a' * 60}<mark>Final answer: 2</mark>{'b' * 60} …"


@pytest.mark.parametrize("span", [(-5, 3), (2, 1), (100, 200), (0, 10**9)])
def test_a_span_outside_of_the_reply_marks_what_is_there(span):
    assert "<mark>" in turns.passage_html("short", span)


def test_of_a_long_reply_the_passage_is_marked_if_it_is_drawn():
    reply = "Final answer: 2" + " b" * 10**6
    assert turns.shown_passage(make_turn(reply, (0, 15))) == (0, 15)
    assert turns.shown_passage(make_turn(reply, (10**6, 10**6 + 1))) is None, "it is drawn below"
    assert turns.shown_passage(make_turn("short", (-5, 10**9))) == (0, 5)
