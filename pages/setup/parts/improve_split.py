"""The split of a study's items: its form, and its counts with the rule of acceptance."""

import streamlit as st

from core.errors import TiebreakError
from core.improvement.comparison import LEVEL, AcceptanceRule
from core.improvement.split import Part
from core.wording import format_count
from pages.parts import permissions, resources, shell
from pages.parts.text import escape_markdown
from storage import database
from storage.access import Permission
from storage.improvement import evaluations, splits
from storage.improvement.evaluations import Version
from storage.improvement.splits import Split
from storage.studies import Study


def draw_form(study: Study) -> None:
    """Draw the form of the split, which is made once."""
    st.subheader("Split the items with gold")
    st.write(
        "Changes of a judge are made from development items. Held-out items are for one evaluation of each change. "
        "Items of the same group, context or prompt have the same part. The split and the rule of acceptance cannot be "
        "changed."
    )
    first, second, third, fourth = st.columns(4, gap="medium", vertical_alignment="bottom")
    share = first.slider("Held-out items, percent", 10, 90, 50, 5, key="split_share")
    evaluations = second.number_input(
        "Planned evaluations on held-out items",
        1,
        100,
        5,
        key="split_evaluations",
        help="For each criterion. p-values are corrected for this number.",
    )
    margin = third.number_input(
        "Lower bound has to be above",
        0.0,
        0.99,
        0.0,
        0.01,
        key="split_margin",
        help="Of the 95 % interval of the difference between the variant and the current judge.",
    )
    seed = fourth.number_input("Random seed", 0, value=0, key="split_seed")
    _draw_preview(study, share / 100, int(seed))
    if not st.button("Split", type="primary", icon=":material/call_split:", key="split"):
        return
    rule = AcceptanceRule(evaluations=int(evaluations), margin=float(margin))
    try:
        with permissions.writing(study.id, Permission.edit, "") as session:
            splits.create(session, study.id, share=share / 100, seed=int(seed), rule=rule)
    except TiebreakError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        shell.draw_links(
            study,
            ("label/home.py", "Label", ":material/checklist:"),
            ("label/adjudication.py", "Adjudication", ":material/gavel:"),
        )
        return
    st.rerun()


def _draw_preview(study: Study, share: float, seed: int) -> None:
    """Draw the numbers of items of the split that the form would make."""
    with database.reading(resources.engine()) as session:
        version = evaluations.version(session, study.id)
    counts = load_preview(str(resources.engine().url), study.id, version, share, seed)
    total = format_count(sum(counts.values()), "item")
    st.markdown(f"**{total} with gold: {counts['development']:,} development, {counts['held-out']:,} held-out**")


@st.cache_data(max_entries=16, show_spinner="Counting the items with gold …")
def load_preview(url: str, study_id: int, version: Version, share: float, seed: int) -> dict[Part, int]:
    """Return part -> its number of items in the split that would be made, at a version of the study."""
    with database.reading(resources.engine()) as session:
        return splits.preview(session, study_id, share=share, seed=seed)


@st.cache_data(max_entries=16, show_spinner=False)
def load_new(url: str, study_id: int, version: Version) -> int:
    """Return the number of items that can be added to the split, at a version of the study."""
    with database.reading(resources.engine()) as session:
        return splits.count_new(session, study_id)


def draw_summary(study: Study, split: Split, version: Version) -> None:
    """Draw the counts of the parts, the rule, and the addition of items with new gold."""
    name = shell.current_annotator()
    with database.reading(resources.engine()) as session:
        seen = splits.count_seen(session, study.id, name) if name else 0
    new = load_new(str(resources.engine().url), study.id, version)
    development, held_out = split.count("development"), split.count("held-out")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{development:,} development items · {held_out:,} held-out items**", width="content")
        with st.popover("Split and rule", icon=":material/call_split:"):
            _draw_details(split)
        if new and st.button(
            f"Add {format_count(new, 'item')} with new gold", icon=":material/add:", key="extend_split"
        ):
            with permissions.writing(study.id, Permission.edit, "") as session:
                splits.extend(session, study.id)
            st.rerun()
    if seen:
        st.caption(
            f":material/visibility: You have seen opinions on {seen:,} of the {held_out:,} held-out items on other "
            "pages. Do not use what you know of them in a proposal."
        )


def _draw_details(split: Split) -> None:
    st.markdown(
        f"A variant is accepted if on held-out items the lower bound of the 95 % interval of the difference is above "
        f"**{split.rule.margin:g}**, and p, corrected for **{split.rule.evaluations:,}** planned evaluations of the "
        f"criterion, is at most {LEVEL:g}."
    )
    rows = [
        {"Scenario": name or "–", **{part.capitalize(): n for part, n in counts.items()}}
        for name, counts in split.items.items()
    ]
    st.dataframe(rows, hide_index=True, key="split_counts")
    st.caption(f"Seed {split.seed}; by {escape_markdown(split.author)}, {split.at:%Y-%m-%d %H:%M} UTC")
