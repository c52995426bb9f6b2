"""The form of a new experiment: the settings of a run as its base, axes with values, repeats, items and limits."""

from typing import Any

import streamlit as st
import yaml
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core import experiments as files
from core.errors import TiebreakError
from core.experiments import AxisChoice, Definition, definition
from core.protocols.registry import PROTOCOLS
from core.trace import model_specs
from core.wording import format_count
from pages.parts import account_guard, downloads, live, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from storage.accounts import access
from storage.accounts.access import Permission
from storage.accounts.registry import Actor
from storage.db import audit, connections, guards
from storage.runs import experiments, runs
from storage.runs.experiments import Experiment, Progress
from storage.runs.runs import Run
from storage.studies import items, studies
from storage.studies.studies import Study
from storage.worker import Plan, base_of_run, estimate, plan, receivers_sentence, start

OF_A_RUN, OF_A_FILE, OF_A_PAPER = "Settings of a run", "A file", "A table of a paper"
MAX_AXES = 5
CHECKED = "experiment_checked"
"""Key of the state with the file whose estimate is shown."""


def draw_form(study: Study) -> bool:
    """Draw the form; return whether an experiment was started."""
    source = st.segmented_control(
        "Start from",
        [OF_A_RUN, OF_A_FILE, OF_A_PAPER],
        default=OF_A_RUN,
        required=True,
        key="experiment_source",
    )
    try:
        definition = _draw_source(study, str(source))
        if definition is None:
            return False
        cells = files.design(definition)
    except TiebreakError as error:
        st.warning(escape_markdown(str(error)), icon=":material/pending:")
        return False
    text = files.to_yaml(definition)
    repeats = f" x {definition.repeats} repeats" if definition.repeats > 1 else ""
    count = len(cells) * definition.repeats
    st.markdown(f"**{format_count(len(cells), 'cell')}{repeats}: {format_count(count, 'run')}**")
    with st.expander("The experiment's file", key="experiment_yaml"):
        st.code(text, language="yaml", height=320)
    name = f"{definition.name}.yaml"
    downloads.draw_text_link("Download the file", text, name, "download_experiment", kind="experiment")
    st.caption("Execute it with `python cli.py experiments run FILE --study NAME`, or load it here again.")
    return _draw_start(study, definition, text)


def draw_notes(planned: Plan) -> None:
    """Draw who receives texts of the study, and what a reader of the results should know about the design."""
    for note in planned.notes:
        st.info(escape_markdown(note), icon=":material/info:")
    for sentence in dict.fromkeys(receivers_sentence(run.request) for run in planned.runs):
        st.markdown(f":material/send: {escape_markdown(sentence)}")


def _draw_start(study: Study, definition: Definition, text: str) -> bool:
    """Draw the estimate on request, then the button that starts the experiment."""
    if st.button("Estimate", icon=":material/calculate:", key="estimate_experiment"):
        st.session_state[CHECKED] = text
    if st.session_state.get(CHECKED) != text:
        return False
    engine = resources.engine()
    try:
        planned = plan(engine, study, definition)
        if planned.existing:
            st.info(f"{len(planned.existing):,} of the runs exist; the others are added.", icon=":material/info:")
        if planned.new:
            st.markdown(escape_markdown(f"{estimate(engine, planned).summary()}."))
    except TiebreakError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        return False
    draw_notes(planned)
    if not st.button("Start", type="primary", icon=":material/play_arrow:", key="start_experiment"):
        return False
    start_runs(study, planned)
    del st.session_state[CHECKED]
    return True


@guards.operation()
def start_runs(study: Study, planned: Plan) -> None:
    """Start an experiment for the visitor; raises Forbidden unless they may start runs of the study with its models."""
    with audit.acting(require_start(study, planned).name):
        start(resources.engine(), study, planned)


def require_start(study: Study, planned: Plan) -> Actor:
    """Return the visitor; raises Forbidden unless they may start these runs."""
    specs = [spec for run in planned.runs for _, spec in model_specs(run.request.settings)]
    specs += [run.request.extractor for run in planned.runs if run.request.extractor is not None]
    with connections.reading(resources.engine()) as session:
        actor = account_guard.current_actor()
        access.require(session, study.id, actor, Permission.run)
        access.require_models(session, study.id, actor, specs)
    return actor


def _draw_source(study: Study, source: str) -> Definition | None:
    """Draw the form of a source; return the experiment, None if something is still to be chosen."""
    if source == OF_A_FILE:
        return _draw_file()
    return _draw_paper() if source == OF_A_PAPER else _draw_axes_form(study)


def _draw_paper() -> Definition | None:
    """Draw the choice of an experiment of docs/papers, with the number of items and the cost limit."""
    name = st.selectbox(
        "Table or figure",
        definition.paper_names(),
        index=None,
        format_func=_describe_paper,
        key="experiment_paper",
        placeholder="as published, or with current models",
    )
    if name is None:
        st.caption(
            "docs/papers of the project names the data of each table, its calls and its differences from the paper."
        )
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample = st.number_input(
            "Random sample of items",
            1,
            value=None,
            key="experiment_paper_sample",
            placeholder="as in the file",
            width=220,
        )
        ceiling = st.number_input(
            "Cost limit of all runs, dollars", 0.0, value=None, step=1.0, key="experiment_paper_ceiling", width=260
        )
    return files.with_run(definition.load_paper(name), {"sample": sample, "ceiling": ceiling})


def _describe_paper(name: str) -> str:
    return f"{name}: {definition.paper_title(name)}"


def _draw_file() -> Definition | None:
    file = st.file_uploader("The experiment's file", type=["yaml", "yml"], key="experiment_file")
    if not isinstance(file, UploadedFile):
        st.caption("A file in YAML, as this page writes it. Its base has the settings themselves.")
        return None
    try:
        return files.parse(file.getvalue().decode("utf-8-sig"), name=file.name.rpartition(".")[0])
    except UnicodeDecodeError:
        raise TiebreakError("The file is not text in UTF-8.") from None


def _draw_axes_form(study: Study) -> Definition | None:
    with connections.reading(resources.engine()) as session:
        candidates = [run for run in runs.of_study(session, study.id) if run.protocol in PROTOCOLS and run.settings]
        criteria = [criterion.name for criterion in studies.criteria(session, study.id)]
        scenarios = items.scenarios(session, study.id)
    if not candidates:
        st.info("An experiment varies the settings of a run: start a run first, or load an experiment's file.")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox("Base", candidates, format_func=_describe_run, key="experiment_base", width=420)
        name = st.text_input("Name", placeholder="formats", key="experiment_name", width=320).strip()
    base = base_of_run(resources.engine(), run)
    choices = {c.path: c for c in files.axis_choices(PROTOCOLS[run.protocol], base, criteria, scenarios)}
    paths = st.multiselect(
        "Axes", list(choices), max_selections=MAX_AXES, key=f"experiment_axes_{run.id}", placeholder="What varies"
    )
    axes = {path: _draw_values(choices[path], run) for path in paths}
    fields = {"name": name, "protocol": run.protocol, "base": base, "seed": run.seed, "parallel": run.parallel}
    fields |= {"axes": {path: values for path, values in axes.items() if values}} | _draw_limits(scenarios)
    if axes:
        fields |= _draw_exclusions()
    if not name:
        st.caption("Enter a name: it begins the names of the runs.")
        return None
    if not axes or not all(axes.values()):
        st.caption("Choose at least one axis, and values for each.")
        return None
    return files.from_fields(fields)


def _describe_run(run: Run) -> str:
    return f"{run.name} ({PROTOCOLS[run.protocol].title})"


def _draw_values(choice: AxisChoice, run: Run) -> list[Any]:
    """Draw the values of an axis, and return them."""
    key = f"experiment_values_{run.id}_{choice.path}"
    if choice.values:
        return st.multiselect(f"Values of {choice.path}", choice.values, default=choice.values, key=key)
    current = "" if choice.current is None else str(choice.current)
    text = st.text_input(
        f"Values of {choice.path}, separated by commas",
        current,
        key=key,
        help="Such as 0, 0.5, 1 or gpt-5.4-mini, local.",
    )
    try:
        values = yaml.safe_load(f"[{text}]")
    except yaml.YAMLError:
        raise TiebreakError(f"The values of {choice.path} should be separated by commas.") from None
    return list(dict.fromkeys(values)) if all(isinstance(value, str | int | float) for value in values) else []


def _draw_exclusions() -> dict[str, Any]:
    """Draw the combinations of levels without a run, and return them."""
    text = st.text_input(
        "Combinations without a run",
        key="experiment_exclude",
        placeholder="none",
        help="As in a file: `{format: masked, criterion: clarity}`, several separated by commas. "
        "An axis may have several levels: `{format: [masked, flipped]}`.",
    )
    try:
        combinations = yaml.safe_load(f"[{text}]")
    except yaml.YAMLError:
        raise TiebreakError("Combinations without a run should be written as {axis: level, axis: level}.") from None
    return {"exclude": combinations} if combinations else {}


def _draw_limits(scenarios: list[str]) -> dict[str, Any]:
    """Draw repeats, items and the cost limit; return those that differ from the defaults."""
    first, second, third, fourth = st.columns(4, gap="medium", vertical_alignment="bottom")
    repeats = first.number_input(
        "Repeats", 1, 1000, 1, key="experiment_repeats", help="Runs of each cell, with independent replies."
    )
    sample = second.number_input(
        "Random sample of items", 1, value=None, key="experiment_sample", placeholder="all items"
    )
    ceiling = third.number_input(
        "Cost limit of all runs, dollars", 0.0, value=None, step=1.0, key="experiment_ceiling", placeholder="none"
    )
    scenario = fourth.selectbox("Scenario", scenarios, index=None, key="experiment_scenario", placeholder="all")
    chosen = {"repeats": repeats, "sample": sample, "ceiling": ceiling, "scenario": scenario}
    return {name: value for name, value in chosen.items() if value is not None}


# Cards of experiments: state, progress over all runs, cost, and buttons to cancel, resume and see the results.

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
        with connections.reading(resources.engine()) as session:
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
