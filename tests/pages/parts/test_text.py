"""Escaping of untrusted text."""

from itertools import product

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


def test_shortened_names_show_where_they_differ():
    assert list(shorten_names(["first words and 1 last words", "first words and 2 last words"], 16).values()) == [
        "first…d 1 last …",
        "first…d 2 last …",
    ]
    names = [f"evaluator {n:02d} · {model}, a long rubric" for n, model in enumerate(("gpt-4o", "claude", "llama"))]
    assert list(shorten_names(names, 20).values())[1] == "evaluator 01 · clau…"
    name = "gpt-4o-2024-08-06, temperature 0.{}, pairwise v3 with a long rubric, sampled {}"
    names = [name.format(*values) for values in product("07", "AB")]
    short = shorten_names(names, 26)
    assert len(set(short.values())) == 4 and max(map(len, short.values())) <= 26
    assert all(f"0.{full.partition('0.')[2][0]}" in text and text[-1] == full[-1] for full, text in short.items())


@given(lists(text("ab", max_size=40), unique=True), integers(4, 30))
def test_names_are_different_after_they_are_shortened(names, length):
    short = shorten_names(names, length)
    assert list(short) == names and len(set(short.values())) == len(names)
    assert all(len(text) <= length or text == name for name, text in short.items())
