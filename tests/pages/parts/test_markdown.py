"""Untrusted Markdown can format and do nothing else, however parsers differ on it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pages.parts.text import sanitize_markdown

BEACON = "http://beacon.example/x.png"
PIECES = ["![a](", BEACON, ")", "![b][r]", "\n[r]: ", "<img src=", ">", "`", "```", "$", "$$", "\\", "\n", "    ", "- "]
PIECES += ["> ", "| ", "|-|", "1. ", "*", "**", "~~~", "#", "[", "]", "(", "<!--", "&#33;", "&lt;", ":red[", "x", " "]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("costs $30 more, or $5", r"costs \$30 more, or \$5"),
        ("the root $x^2 = 4$ is", "the root $x^2 = 4$ is"),
        ("$$\\sum_i x_i$$", "$$\n\\sum_i x_i\n$$"),
        ("$$\na\n+ b\n$$", "$$\na\n+ b\n$$"),
        ("between $5 and $10", r"between \$5 and \$10"),
        ("one\ntwo", "one  \ntwo"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("<b>bold</b>", r"\<b\>bold\</b\>"),
        ("a < b", r"a \< b"),
        (":red[alarm] :smile:", r"\:red\[alarm\] \:smile\:"),
        ("1. one\n2. two", "1. one\n2. two"),
        ("1. 1. 1. 1. x", r"1. 1\. 1. 1. x"),
        ("- - - x", r"- \- - x"),
        ("- one\n- two", "- one\n- two"),
        ("# Head\ntext", "# Head\n\ntext"),
        ("**bold** *slanted* ~~gone~~", "**bold** *slanted* ~~gone~~"),
        ("[a](https://b.example/c_d)", "[a](<https://b.example/c_d>)"),
        ("```\n<b>$1", "```\n<b>$1\n```"),
        ("| a | b |\n|---|---|\n| `c` | d |", "| a | b |\n| --- | --- |\n| `c` | d |"),
        (r"1986\. A year", r"1986\. A year"),
        ("a\n    # b", "a  \n\\# b"),
        (r"\- a", r"\- a"),
        ("&lt;img&gt;", r"\<img\>"),
    ],
)
def test_markdown_can_only_format(text, shown):
    assert sanitize_markdown(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        f"![a]({BEACON})",
        f"![a][r]\n\n[r]: {BEACON}",
        f"![r]\n\n[r]: <{BEACON}> 't'",
        f"x ```![a]({BEACON})",
        f"\\`![a]({BEACON})`",
        f"`` ` ![a]({BEACON})",
        f"$$![a]({BEACON})$$",
        f"$x^2![a]({BEACON})$",
        f"~~~\n~~~\n![a]({BEACON})",
        f"    code\n\n![a]({BEACON})",
        f"- ```\n\n![a]({BEACON})",
        f"> ```\n![a]({BEACON})",
        f"| ![a]({BEACON}) |\n|---|",
        f"&#33;[a]({BEACON})",
        f"<img src={BEACON}>",
        f"<!-- -->![a]({BEACON})",
        f"[![a]({BEACON})](https://a.example)",
    ],
)
def test_no_image_and_no_html_is_left(text):
    assert_inert(text)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_image_is_left_of_any_text(text):
    assert_inert(text)


def assert_inert(text):
    """Check with a parser that knows HTML, with and without the extensions of the browser's parser."""
    shown = sanitize_markdown(text)
    for preset in ("commonmark", "gfm-like"):
        parser = MarkdownIt(preset, {"html": True, "linkify": False})
        tokens = [token for block in parser.parse(shown) for token in [block, *(block.children or [])]]
        assert not [token for token in tokens if token.type in ("image", "html_block", "html_inline")], shown


def test_an_image_that_is_allowed_is_shown_from_this_server_and_others_as_text():
    routes = {"https://images.example.org/a.png": "/images/remote?url=1&mark=2"}
    text = f"x ![*a* ](https://images.example.org/a.png 't') ![b]({BEACON}) ![][r]\n\n[r]: https://images.example.org/a.png"
    shown = sanitize_markdown(text, image_route=routes.get)
    tokens = [child for block in MarkdownIt("commonmark").parse(shown) for child in block.children or []]
    images = [token.attrs["src"] for token in tokens if token.type == "image"]
    assert images == ["/images/remote?url=1&mark=2"] * 2
    assert "beacon" in shown.lower(), "the other one is text"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_images_have_no_address_but_those_of_this_server(text):
    shown = sanitize_markdown(text, image_route=lambda address: "/images/remote?url=1" if "beacon" in address else None)
    for preset in ("commonmark", "gfm-like"):
        parser = MarkdownIt(preset, {"html": True, "linkify": False})
        tokens = [token for block in parser.parse(shown) for token in [block, *(block.children or [])]]
        sources = {token.attrs["src"] for token in tokens if token.type == "image"}
        assert sources <= {"/images/remote?url=1"}, shown
        assert not [token for token in tokens if token.type in ("html_block", "html_inline")], shown


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "/studies", "//a.example"]
)
def test_a_link_leads_to_the_web_or_is_text(address):
    assert "](<" not in sanitize_markdown(f"[a]({address})")


def test_code_is_unchanged():
    code = "see\n\n```python\nprice = '$5 <b>' # :red[x]\nnext\n```\n\nand `a$b$c`"
    assert sanitize_markdown(code) == code


def test_a_fence_is_longer_than_those_inside_it():
    assert sanitize_markdown("~~~\n```\n![a](x)\n```\n~~~") == "````\n```\n![a](x)\n```\n````"


def test_no_text_is_lost_in_deep_quotations():
    assert "the end" in sanitize_markdown(">" * 300 + " the end")
    assert "the end" in sanitize_markdown("> " * 300 + " the end")


@pytest.mark.parametrize(
    "text", ["[" * 20_000, "*a " * 20_000, "$a " * 20_000, "`" * 20_000, "|a" * 5_000 + "\n" + "|-" * 5_000]
)
def test_a_hostile_text_takes_no_more_than_seconds(text):
    start = time.perf_counter()
    sanitize_markdown(text)
    assert time.perf_counter() - start < 20
