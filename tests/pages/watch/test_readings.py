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
    turns.marked_markdown("short", span)


def test_the_passage_is_highlighted_inside_markdown():
    reply = "It is clear.\n\n**Final answer: 2**"
    assert turns.marked_markdown(reply, span_of(reply, "Final answer: 2")) == (
        "It is clear.\n\n**:orange-background[Final answer\\: 2]**"
    )


@pytest.mark.parametrize(
    ("reply", "passage"),
    [
        ("```\nFinal answer: 2\n```", "Final answer: 2"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| 1 | 2 |"),
        ("A: 1\nB: 2", "A: 1\nB: 2"),
        ("1. One claim.", "1. One claim."),
        (r"So $\boxed{2}$", r"\boxed{2}"),
    ],
)
def test_a_highlight_that_would_break_markdown_is_left_out(reply, passage):
    assert "background" not in turns.marked_markdown(reply, span_of(reply, passage))


def test_a_highlight_contains_no_markup_of_the_reply():
    reply = ":red[x] ](javascript:alert(1)) <b>2</b>"
    marked = turns.marked_markdown(reply, (0, len(reply)))
    assert marked.startswith(":orange-background[")
    assert r"\](javascript\:alert(1))" in marked and r"\<b\>" in marked


def test_of_a_long_reply_the_start_is_drawn_with_its_passage():
    reply = "Final answer: 2" + " b" * 10**6
    marked = turns.marked_markdown(reply, (0, 15))
    assert "orange-background" in marked and len(marked) < 2_100
    assert "orange-background" not in turns.marked_markdown(reply, (10**6, 10**6 + 1)), "it is drawn below"
    assert len(turns.marked_markdown("a" * 5_000, None)) == 5_000
