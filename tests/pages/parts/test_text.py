"""Text from models, files and people is shown, and does nothing else."""

import pytest

from pages.parts.text import plain, safe, short


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("costs $30 more, or $5", r"costs \$30 more, or \$5"),
        ("the root $x^2 = 4$ is", "the root $x^2 = 4$ is"),
        ("$$\\sum_i x_i$$", "$$\\sum_i x_i$$"),
        ("between $5 and $10", r"between \$5 and \$10"),
        ("one\ntwo", "one  \ntwo"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("<b>bold</b>", r"\<b>bold\</b>"),
        ("a < b", "a < b"),
        ("![spy](http://example.org/x.png)", r"!\[spy](http://example.org/x.png)"),
        (":red[alarm] :smile:", r"\:red[alarm] \:smile:"),
        ("at 12:30 sharp", "at 12:30 sharp"),
        ("1. one\n2. two", "1. one  \n2. two"),
        ("1. 1. 1. 1. x", r"1. 1\. 1\. 1\. x"),
        ("- - - x", r"- \- \- x"),
        ("- one\n- two", "- one  \n- two"),
    ],
)
def test_markdown_from_elsewhere_can_format_and_do_nothing_else(text, shown):
    assert safe(text) == shown


def test_code_is_left_as_it_is():
    code = "see\n\n```python\nprice = '$5 <b>' # :red[x]\nnext\n```\n\nand `a$b$c`"
    assert "price = '$5 <b>' # :red[x]\nnext" in safe(code)
    assert "`a$b$c`" in safe(code)


def test_a_fence_that_is_never_closed_stays_code():
    assert safe("```\n<b>$1") == "```\n<b>$1"


def test_a_name_is_one_line_without_format():
    assert plain("a *b*\n[c](d)") == r"a \*b\* \[c\]\(d\)"


def test_a_long_text_is_cut_at_its_length():
    assert short("word " * 40, 20) == "word word word word…"
