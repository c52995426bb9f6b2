"""Escaping of untrusted text."""

import pytest

from pages.parts.text import escape_markdown, sanitize_markdown, truncate


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
def test_untrusted_markdown_can_only_format(text, shown):
    assert sanitize_markdown(text) == shown


def test_code_is_unchanged():
    code = "see\n\n```python\nprice = '$5 <b>' # :red[x]\nnext\n```\n\nand `a$b$c`"
    assert "price = '$5 <b>' # :red[x]\nnext" in sanitize_markdown(code)
    assert "`a$b$c`" in sanitize_markdown(code)


def test_an_unclosed_fence_is_code():
    assert sanitize_markdown("```\n<b>$1") == "```\n<b>$1"


def test_an_escaped_name_is_one_line_without_formatting():
    assert escape_markdown("a *b*\n[c](d)") == r"a \*b\* \[c\]\(d\)"


def test_a_long_text_is_truncated():
    assert truncate("word " * 40, 20) == "word word word word…"
