"""The section of the page Inter-annotator agreement about tags in reasons."""

from collections.abc import Sequence
from urllib.parse import quote

import streamlit as st

from core.formats.tables import rows_csv
from core.own_addresses import own_address
from core.statistics.data.frames import ALL
from pages.parts import downloads, numbers
from storage.reports import reason_tags
from storage.reports.reason_tags import TagRow
from storage.studies.studies import Study


def draw_section(study: Study, rows: Sequence[TagRow]) -> None:
    """Draw the tags with the agreement on each; nothing without a tag."""
    if not rows:
        return
    st.subheader("Tags in reasons", anchor=False)
    st.caption(
        "A word after # in the reason of a label is a tag. Fleiss' kappa of using it or not, on targets for which two "
        "annotators gave a reason."
    )
    st.dataframe(
        [table_line(study, row) for row in rows],
        key="tags_table",
        hide_index=True,
        column_config={"Reasons": st.column_config.LinkColumn(display_text="search ›")},
    )
    downloads.draw_csv_download(lambda: rows_csv(reason_tags.table(rows)), "reason_tags.csv", key="tags_download")


def table_line(study: Study, row: TagRow) -> dict[str, str | None]:
    """Return the table row of a tag."""
    query = f"study={quote(study.name)}&area=Reasons%20and%20notes&text=%23{quote(row.tag)}"
    return {
        "Tag": "all tags" if row.tag == ALL else f"#{row.tag}",
        "Labels": f"{row.labels:,}",
        "Targets": f"{row.targets:,}",
        "Annotators": f"{row.annotators:,}",
        "Fleiss' kappa": numbers.format_estimate(row.kappa, row.low, row.high),
        "n": f"{row.compared:,}",
        "Note": row.reason,
        "Reasons": None if row.tag == ALL else f"{own_address('/search')}?{query}",
    }
