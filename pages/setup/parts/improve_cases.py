"""The disagreements of a judge on development items: people's decision with its reason, the verdict, and the texts."""

import streamlit as st

from core.improvement.suggestion import Case, value_text
from core.llm import images
from core.pairs import target_item, target_name
from pages.parts import items, paging, resources, shell
from pages.parts.text import escape_markdown
from storage.studies import Study

CASES_PER_PAGE = 5


def draw_cases(study: Study, cases: list[Case]) -> None:
    """Draw a page of disagreements, and record that their opinions are seen."""
    page = paging.current_page("cases_page", len(cases), CASES_PER_PAGE)
    shown = paging.page_slice(cases, page, CASES_PER_PAGE)
    shell.record_views(study.id, [case.target for case in shown])
    for place, case in enumerate(shown):
        _draw_case(study, case, f"case-{page}-{place}")
    paging.draw_pagination("cases_page", len(cases), CASES_PER_PAGE)


def _draw_case(study: Study, case: Case, key: str) -> None:
    verdict = "no verdict" if case.verdict is None else value_text(case.target, case.verdict)
    with st.container(border=True, key=key):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{escape_markdown(target_name(case.target))}** :gray-badge[{case.source}]", width="content")
            st.page_link(
                shell.page_path("watch/traces.py"),
                label="Trace",
                icon=":material/forum:",
                query_params={"study": study.name, "trace": str(case.trace)},
            )
        decision = escape_markdown(value_text(case.target, case.gold))
        st.markdown(f"People: **{decision}** · Judge: **{escape_markdown(verdict)}**")
        if case.source == "adjudicated":
            st.caption(escape_markdown(case.reason))
        with st.expander("Question and responses", key=f"{key}-texts"):
            items.draw_item(
                target_item(case.item, case.target),
                key,
                images.media_folder(study.name),
                markdown=study.rules.markdown,
                image_route=resources.image_route(study),
            )
        with st.expander("Replies of the judges", key=f"{key}-replies"):
            if not case.replies:
                st.caption("The run has no stored replies.")
            for speaker, reply in case.replies:
                st.caption(f"**{escape_markdown(speaker)}**")
                st.code(reply, language=None, wrap_lines=True)
