"""What a label page shows when nothing is left for the annotator."""

import streamlit as st

from pages.parts import numbers


def draw_completion(labelled: int, total: int, noun: str, plural: str | None = None) -> None:
    """Draw how many targets the annotator has labelled, or that other annotators have labelled all of them."""
    if labelled:
        count = numbers.format_count(total, noun, plural)
        st.success(f"Completed: you have labelled {labelled:,} of {count}.", icon=":material/check:")
    else:
        st.info("Nothing left to label: other annotators have completed this queue.", icon=":material/group:")
