"""Studies: what is here, import, export, guidelines and criteria."""

import streamlit as st

from pages.parts import numbers, resources, shell
from pages.parts.text import plain, safe, short
from pages.setup.parts import import_steps, study_form
from storage import database, studies
from storage.studies import Progress, Study

SENTENCE = "Items, criteria and rules of labelling under one name: bring them in, watch them grow, take them away."


def overview() -> None:
    """Every study as a card."""
    with database.reading(resources.engine()) as session:
        every = [studies.get(session, name) for name in studies.names(session)]
        progress = studies.progress(session)
    left, right = st.columns([4, 1], vertical_alignment="bottom", gap="medium")
    left.title("Studies", anchor=False)
    left.caption(SENTENCE)
    if right.button("Import", type="primary", icon=":material/upload_file:", width="stretch", key="open_import"):
        go(view="import")
    arrived()
    if not every:
        return nothing()
    grid = st.grid(3, min_column_width=320)
    for study in every:
        with grid.container(border=True, key=f"study-{study.id}"):
            card(study, progress[study.id])


def arrived() -> None:
    """What an import has just brought."""
    found = st.session_state.pop("imported", None)
    if found is None:
        return
    study, sentence = found
    st.success(f"{plain(study)}: {sentence}.", icon=":material/check_circle:")


def nothing() -> None:
    """What to do where there is no study."""
    st.info(
        "There is no study yet. Import a table of items and responses, recorded debates, or a study from elsewhere."
    )


def card(study: Study, progress: Progress) -> None:
    """How far a study is, and the ways into it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{plain(study.name)}**")
        if study.sample:
            st.badge("sample", color="gray", help="Its items, debates and labels were written for the tour.")
    if study.description:
        st.caption(safe(short(study.description, 140)))
    st.markdown(f"{numbers.count(progress.items, 'item')} · {numbers.count(progress.runs, 'run')}")
    if progress.targets:
        people = f"{numbers.count(progress.labels, 'label')} by {numbers.count(progress.annotators, 'annotator')}"
        st.progress(
            progress.labelled / progress.targets,
            f"{progress.labelled:,} of {numbers.count(progress.targets, 'target')} labelled"
            + (f" · {people}" if progress.labels else ""),
        )
    else:
        st.caption("Nobody has judged anything yet.")
    ways(study, progress)


def ways(study: Study, progress: Progress) -> None:
    """Links to the study's pages; the one that is next stands first."""
    here = {"study": study.name}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if progress.runs:
            st.page_link(shell.page("watch/traces.py"), label="Watch", icon=":material/forum:", query_params=here)
        else:
            st.page_link(shell.page("setup/runs.py"), label="Run", icon=":material/play_circle:", query_params=here)
        st.page_link(shell.page("label/disagreements.py"), label="Label", icon=":material/balance:", query_params=here)
        st.page_link(
            shell.page("results/agreement.py"), label="Results", icon=":material/monitoring:", query_params=here
        )
        if st.button("Open", key=f"open_{study.id}", icon=":material/settings:", type="tertiary"):
            go(view="study", open=study.name)


def go(**parameters: str) -> None:
    """Another view of this page, with an address of its own."""
    st.query_params.from_dict(parameters)
    st.rerun()


def back() -> None:
    """To the cards."""
    if st.button("Studies", icon=":material/arrow_back:", key="back", type="tertiary"):
        go()


match st.query_params.get("view"):
    case "import":
        back()
        st.title("Import", anchor=False)
        st.caption("A file that is wrong is refused whole, and the same file twice adds nothing.")
        import_steps.show()
        shell.folds()
    case "study":
        back()
        with database.reading(resources.engine()) as reading:
            chosen = studies.get(reading, st.query_params.get("open", ""))
        st.title(plain(chosen.name), anchor=False)
        study_form.show(chosen)
    case _:
        overview()
