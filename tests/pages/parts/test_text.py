"""Escaping of untrusted text, formats of values, and pages of long lists."""

import pytest
import streamlit as st

from core.labels import Value
from pages.parts import paging
from pages.parts.numbers import format_value
from pages.parts.text import escape_markdown


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (2, "2"),
        (2.0, "2"),
        (2.375, "2.38"),
        ("B", "B"),
        (True, "True"),
        ({"1": 8.0, "2": 6.5}, "8 : 6.50"),
        ({"clarity": 4.0}, "clarity 4"),
    ],
)
def test_every_type_of_value_has_a_format(value: Value | None, text: str) -> None:
    assert format_value(value) == text


def test_the_last_page_may_be_short_and_an_empty_list_has_one_page() -> None:
    assert [paging.page_count(length, 40) for length in (0, 1, 40, 41)] == [1, 1, 1, 2]
    assert list(paging.page_slice(range(41), 2, 40)) == [40]
    assert [paging.page_of(index, 40) for index in (0, 39, 40)] == [1, 1, 2]


def test_a_shorter_list_opens_its_last_page() -> None:
    st.session_state["page"] = 7
    assert paging.current_page("page", 41, 40) == 2
    assert paging.current_page("other", 41, 40) == 1


def test_a_link_opens_its_page_and_an_impossible_one_the_first(monkeypatch) -> None:
    def opened(stated: str) -> int:
        monkeypatch.setattr("streamlit.query_params", {"linked": stated})
        return paging.current_page("linked", 41, 40)

    assert [opened(stated) for stated in ("2", "1", "99999", "0", "-1", "x", "²")] == [2, 1, 1, 1, 1, 1, 1]
