"""Cards of experiments: state, progress over all runs, cost, and buttons to cancel, resume and see the results."""

import streamlit as st

from core import experiments as files
from core.errors import TiebreakError
from pages.parts import downloads, live, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts.experiment_form import start_runs
from storage import database, experiments
from storage.access import Permission
from storage.experiments import Experiment, Progress
from storage.studies import Study
from storage.worker import plan

STATES = {
    "running": ("Running", ":material/sync:", "blue"),
    "waiting": ("Waiting", ":material/schedule:", "gray"),
    "stopped": ("Stopped", ":material/error:", "red"),
    "cancelled": ("Cancelled", ":material/cancel:", "gray"),
    "finished": ("Finished", ":material/check_circle:", "green"),
}
ACTIVE = ("running", "waiting")


def draw_cards(study: Study, listed: list[Experiment]) -> None:
    """Draw the experiments; those that are executed refresh every second."""
    for experiment in listed:
        if read_progress(experiment).state in ACTIVE:
            _draw_active(study, experiment)
        else:
            _draw_card(study, experiment, read_progress(experiment))


def draw_progress(experiment: Experiment) -> None:
    """Draw the progress above the results; each finished run, and a run that anybody resumes, redraws the page."""
    drawn = read_progress(experiment)

    @permissions.fragment(run_every=1.0)
    def refresh() -> None:
        progress = read_progress(experiment)
        if (progress.state, progress.finished) != (drawn.state, drawn.finished):
            st.rerun()
        st.markdown(f"**{escape_markdown(experiment.name)}**: {escape_markdown(progress.summary())}")
        _draw_wait(progress)
        if progress.problem:
            st.warning(escape_markdown(progress.problem), icon=":material/error:")

    refresh()


def read_progress(experiment: Experiment) -> Progress:
    """Return the progress of an experiment, read again after a change."""

    def read() -> Progress:
        with database.reading(resources.engine()) as session:
            return experiments.progress(session, experiment.id)

    return live.load(f"experiment_{experiment.id}", (live.study_topic(experiment.study_id),), read)


def _draw_active(study: Study, experiment: Experiment) -> None:
    @permissions.fragment(run_every=1.0)
    def refresh() -> None:
        progress = read_progress(experiment)
        if progress.state not in ACTIVE:
            st.rerun()
        _draw_card(study, experiment, progress)

    refresh()


def _draw_card(study: Study, experiment: Experiment, progress: Progress) -> None:
    name, icon, colour = STATES[progress.state]
    with st.container(border=True, key=f"experiment-{experiment.id}"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            axes = " x ".join(f"{axis.name} ({len(axis.levels)})" for axis in experiment.definition.axes)
            st.markdown(
                f"**{escape_markdown(experiment.name)}** :{colour}-badge[{icon} {name}]  \n"
                f":small[{escape_markdown(experiment.definition.protocol)} · {escape_markdown(axes)}]",
                width="content",
            )
            _draw_actions(study, experiment, progress)
        share = (progress.done + progress.failed) / progress.traces if progress.traces else 0.0
        if progress.state != "finished":
            st.progress(share, f"{progress.finished:,} of {numbers.format_count(progress.runs, 'run')} finished")
        st.caption(escape_markdown(progress.summary()))
        _draw_wait(progress)
        if progress.problem:
            st.warning(escape_markdown(progress.problem), icon=":material/error:")


def _draw_wait(progress: Progress) -> None:
    if progress.wait:
        st.caption(f":material/hourglass_empty: {escape_markdown(progress.wait)}")


def _draw_actions(study: Study, experiment: Experiment, progress: Progress) -> None:
    with st.container(horizontal=True, width="content", vertical_alignment="center", gap="small"):
        if progress.state in ACTIVE and st.button("Cancel", key=f"cancel_{experiment.id}", icon=":material/stop:"):
            with permissions.writing(study.id, Permission.run, f"experiment {experiment.name} cancelled") as session:
                experiments.cancel(session, experiment.id)
            st.rerun()
        incomplete = progress.state in ("stopped", "cancelled") or progress.failed
        if incomplete and st.button("Resume", key=f"resume_{experiment.id}", icon=":material/play_arrow:"):
            _resume(study, experiment)
        if progress.done and st.button("Results", key=f"results_{experiment.id}", icon=":material/table_chart:"):
            st.query_params["experiment"] = experiment.name
            st.rerun(scope="app")
        st.page_link(
            shell.page_path("setup/runs.py"),
            label="Runs",
            icon=":material/play_circle:",
            query_params={"study": study.name},
        )
        text, name = files.to_yaml(experiment.definition), f"{experiment.name}.yaml"
        downloads.draw_text_link("File", text, name, f"experiment_{experiment.id}", kind="experiment")


def _resume(study: Study, experiment: Experiment) -> None:
    try:
        start_runs(study, plan(resources.engine(), study, experiment.definition))
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return
    st.rerun()
