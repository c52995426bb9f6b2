"""Pages of long lists."""

import streamlit as st

from pages.parts import paging


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
