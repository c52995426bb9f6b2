"""Escaping of untrusted text."""

from hypothesis import given
from hypothesis.strategies import integers, lists, text

from pages.parts.text import escape_markdown, shorten_names, truncate


def test_an_escaped_name_is_one_line_without_formatting():
    assert escape_markdown("a *b*\n[c](d)") == r"a \*b\* \[c\]\(d\)"


def test_a_name_reverses_nothing_after_it():
    assert escape_markdown("judge\u202e 4") == "judge\ufffd 4"


def test_an_address_in_a_name_is_no_link():
    assert escape_markdown("http://e.x") == r"http:small[\:]//e.x"
    assert escape_markdown("WWW.e.x of a@b.c") == "WWW:small[.]e.x of a:small[@]b.c"
    assert escape_markdown("claude@2024, 3:1") == r"claude@2024, 3\:1"


def test_a_code_in_a_name_is_no_icon():
    assert escape_markdown(":material/arrow_back: :streamlit:") == (
        r":small[\:]material/arrow\_back\: :small[\:]streamlit\:"
    )


def test_a_long_text_is_truncated():
    assert truncate("word " * 40, 20) == "word word word word…"


def test_shortened_names_stay_different():
    names = ["short", "a model with a rubric, seed 1", "a model with a rubric, seed 2"]
    assert shorten_names(names, 16) == {"short": "short", names[1]: "a model…seed 1", names[2]: "a model…seed 2"}


@given(lists(text("ab", max_size=40), unique=True), integers(4, 30))
def test_names_are_different_after_they_are_shortened(names, length):
    short = shorten_names(names, length)
    assert list(short) == names and len(set(short.values())) == len(names)
    assert all(len(text) <= length or text == name for name, text in short.items())
