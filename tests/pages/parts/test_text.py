"""Escaping of untrusted text."""

from pages.parts.text import escape_markdown, truncate


def test_an_escaped_name_is_one_line_without_formatting():
    assert escape_markdown("a *b*\n[c](d)") == r"a \*b\* \[c\]\(d\)"
    assert escape_markdown("judge\u202e 4") == "judge\ufffd 4"


def test_an_address_in_a_name_is_no_link_and_a_code_no_icon():
    assert escape_markdown("http://e.x") == r"http:small[\:]//e.x"
    assert escape_markdown("WWW.e.x of a@b.c") == "WWW:small[.]e.x of a:small[@]b.c"
    assert escape_markdown("claude@2024, 3:1") == r"claude@2024, 3\:1"
    assert escape_markdown(":material/arrow_back: :streamlit:") == (
        r":small[\:]material/arrow\_back\: :small[\:]streamlit\:"
    )


def test_a_long_text_is_truncated():
    assert truncate("word " * 40, 20) == "word word word word…"
