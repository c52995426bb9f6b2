"""Cards of runs and experiments: state, progress and cost, with buttons to cancel, resume and see the results."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import streamlit as st
import yaml

from core import experiments as files
from core.items import Pairs
from core.protocols import registry
from core.trace import Spec, model_specs
from pages.parts import account_guard, downloads, live, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts import study_form
from storage.accounts import access
from storage.accounts.access import Permission
from storage.accounts.registry import Actor
from storage.db import audit, connections, guards
from storage.runs import experiments, inputs, runs
from storage.studies import studies
from storage.studies.studies import Study
from storage.worker import Plan, plan, start

STATES = {
    "running": ("Running", ":material/sync:", "blue"),
    "waiting": ("Waiting", ":material/schedule:", "gray"),
    "sample": ("Sample", ":material/info:", "gray"),
    "imported": ("Imported", ":material/download_done:", "gray"),
    "cancelling": ("Stopping", ":material/pending:", "gray"),
    "cancelled": ("Cancelled", ":material/cancel:", "gray"),
    "stopped": ("Stopped", ":material/error:", "red"),
    "incomplete": ("Finished with errors", ":material/error:", "orange"),
    "finished": ("Finished", ":material/check_circle:", "green"),
}
CEILING_HELP = "No call starts that could exceed the limit. Calls of unknown price are not counted."


def redraw_on_change(study: Study) -> None:
    """Draw the page again when the study has other runs, or runs in other states: anybody may start or resume one."""
    read = partial(resources.read, runs.states, study.id)
    load = partial(live.load, "run_states", (live.study_topic(study.id),), read, scope=study.id)
    drawn = load()  # before the page reads its runs: a change meanwhile draws the page again
    permissions.rerun_when(lambda: load() != drawn)


def _draw_heading(name: str, state: str, details: Sequence[str], draw_actions: Callable[[], None]) -> None:
    label, icon, colour = STATES.get(state, (escape_markdown(state), ":material/help:", "gray"))
    small = escape_markdown(" · ".join(filter(None, details)))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{escape_markdown(name)}** :{colour}-badge[{icon} {label}]  \n:small[{small}]", width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center", gap="small"):
            draw_actions()


def _draw_progress(share: float, text: str, summary: str, problem: str) -> None:
    if share < 1:
        st.progress(share, text)
    st.caption(escape_markdown(summary))
    if problem:
        st.warning(escape_markdown(problem), icon=":material/error:")


# Runs.

ACTIVE_RUNS = ("requested", "cancelling")


def draw_runs(study: Study, runs_on_page: Sequence[runs.Run]) -> None:
    """Draw the active runs, which refresh every second, then the others."""
    active = [run.id for run in runs_on_page if run.state in ACTIVE_RUNS]
    if active:  # apart from the others, which would be drawn every second too
        permissions.fragment(run_every=1.0)(partial(_draw_runs, study, "active", active))()
    if ended := [run.id for run in runs_on_page if run.id not in active]:
        _draw_runs(study, "ended", ended)


def _draw_runs(study: Study, key: str, run_ids: Sequence[int]) -> None:
    def read() -> tuple[list[runs.Run], Mapping[int, runs.Progress]]:
        with connections.reading(resources.engine()) as session:
            progress = runs.progress_by_run(session, run_ids)
            return runs.by_ids(session, run_ids), progress

    found, progress = live.load(f"runs_{key}", tuple(f"run {number}" for number in run_ids), read)
    is_waiting = any(run.state == "requested" for run in found) and not any(run.active for run in found)
    if is_waiting and (problem := resources.execution_problem()):
        st.warning(f"Runs are not being executed. {escape_markdown(problem)}", icon=":material/error:")
    for run in found:
        with st.container(border=True, key=f"run-{run.id}"):
            _draw_run(study, run, progress[run.id])


def _draw_run(study: Study, run: runs.Run, progress: runs.Progress) -> None:
    protocol = registry.PROTOCOLS[run.protocol].title if run.protocol in registry.PROTOCOLS else run.protocol
    state = run.state if run.source == "live" else run.source
    if state == "requested":
        state = "running" if run.active else "waiting"
    elif state == "finished" and progress.failed:
        state = "incomplete"
    draw_actions = partial(_draw_run_actions, study, run, progress)
    since = ""
    if run.state in ACTIVE_RUNS:
        since = f"requested {numbers.format_duration((datetime.now(UTC) - run.created_at).total_seconds())} ago"
    _draw_heading(run.name, state, (protocol, run.criterion, since), draw_actions)
    share = progress.done / progress.traces if progress.traces else float(run.state not in ACTIVE_RUNS)
    text = f"{progress.done:,} of {numbers.format_count(progress.traces, 'trace')} done"
    _draw_progress(share, text, progress.summary(), run.problem)


def _draw_run_actions(study: Study, run: runs.Run, progress: runs.Progress) -> None:
    if run.state == "requested" and st.button("Cancel", key=f"cancel_{run.id}", icon=":material/stop:"):
        _apply(runs.cancel, run)
    if run.source == "live" and run.state not in ACTIVE_RUNS and progress.done < progress.traces:
        _draw_resume(run)
    if run.state not in ACTIVE_RUNS and run.protocol in registry.with_artifact("aius"):
        _draw_adoption(run)
    shell.draw_link("watch/traces.py", "Traces", "forum", study=study.name, run=run.name)
    with st.popover("Settings", type="tertiary", icon=":material/tune:", key=f"settings_{run.id}"):
        _draw_settings(run)


def _draw_adoption(run: runs.Run) -> None:
    """Draw the button that makes the AIUs of a run the items' own."""
    annotator = shell.current_annotator()
    clicked = st.button(
        "Adopt AIUs",
        key=f"adopt_{run.id}",
        icon=":material/library_add_check:",
        disabled=annotator is None,
        help="Make the AIUs, references and answers that this run wrote the items' own, if they have none. Annotators "
        "then label and edit them, and new runs judge them."
        + ("" if annotator else " Sign in on a page of the section Label first."),
    )
    if clicked and annotator is not None:
        count = permissions.write(
            run.study_id, Permission.edit, "", inputs.adopt_all, run.study_id, annotator, run.name
        )
        st.toast(f"Adopted for {numbers.format_count(count, 'item')}.")


def _draw_resume(run: runs.Run) -> None:
    """Draw the button that resumes a run; a run with a cost limit of its own can have another one."""
    button = partial(st.button, "Resume", key=f"resume_{run.id}", icon=":material/play_arrow:")
    if run.ceiling is None or run.experiment_id is not None:
        if button():
            _apply(runs.resume, run)
        return
    with st.popover("Resume…", icon=":material/play_arrow:", key=f"resume_form_{run.id}"):
        ceiling = st.number_input(
            "Cost limit, dollars", 0.0, value=run.ceiling, step=1.0, key=f"ceiling_{run.id}", help=CEILING_HELP
        )
        if button():
            _apply(runs.resume, run, ceiling)


def _apply(operation: Any, run: runs.Run, *values: Any) -> None:
    permissions.write(run.study_id, Permission.run, f"run {run.name}: {operation.__name__}", operation, run.id, *values)
    st.rerun()


def _draw_settings(run: runs.Run) -> None:
    if run.settings:
        fields = {**run.settings, **({"extractor": run.extractor} if run.extractor else {}), "pairs": run.pairs}
        text = yaml.safe_dump(_drop_empty(fields), sort_keys=False, allow_unicode=True)
        st.code(text, language="yaml", height=320)
    else:
        st.caption("The imported file has no settings.")
    if run.protocol in registry.PROTOCOLS and run.source == "live":
        if st.button("New run with these settings", key=f"again_{run.id}", icon=":material/content_copy:"):
            extractor = Spec.model_validate(run.extractor) if run.extractor else None
            prefill(run.settings, extractor, Pairs.parse(run.pairs))
            templates = resources.read(studies.by_id, run.study_id).templates(run.protocol)
            own = {name: text for name, text in run.prompts.items() if name in templates and templates[name] != text}
            use_in_run(run.protocol, own)
            st.query_params["view"] = "new"
            st.rerun(scope="app")
        st.caption(f"Random seed {run.seed} · {run.parallel} parallel calls")
    if run.state not in ACTIVE_RUNS:
        study_form.draw_run_deletion(run)


def _drop_empty(settings: Any) -> Any:
    if isinstance(settings, list):
        return [_drop_empty(value) for value in settings]
    if not isinstance(settings, dict):
        return settings
    return {name: _drop_empty(value) for name, value in settings.items() if value not in (None, "", [], {})}


def prefill(settings: Mapping[str, Any], extractor: Spec | None = None, pairs: Pairs | None = None) -> None:
    """Start the form of a run with other settings.

    Widgets keep their first value, so the number in their keys changes.
    """
    number = st.session_state.get("run_settings", {}).get("number", 0) + 1
    spec = None if extractor is None else extractor.model_dump(mode="json")
    st.session_state["run_settings"] = {"number": number, "draft": settings, "extractor": spec, "pairs": pairs}


def use_in_run(protocol: str, prompts: Mapping[str, str]) -> None:
    """Use these texts in the run that the form starts, such as those of a settings file."""
    st.session_state["own_prompts"] = {protocol: dict(prompts)}
    st.session_state["own_prompts_number"] = st.session_state.get("own_prompts_number", 0) + 1


# Experiments.

ACTIVE = ("running", "waiting")


def draw_experiments(study: Study, listed: Sequence[experiments.Experiment]) -> None:
    """Draw the experiments; those that are executed refresh every second."""
    for experiment in listed:
        draw: Callable[[], None] = partial(_draw_experiment, study, experiment)
        if read_progress(experiment).state in ACTIVE:
            draw = permissions.fragment(run_every=1.0)(draw)
        draw()


def draw_progress(experiment: experiments.Experiment) -> None:
    """Draw the progress above the results; each finished run, and a run that anybody resumes, redraws the page."""
    drawn = read_progress(experiment)

    @permissions.fragment(run_every=1.0)
    def refresh() -> None:
        progress = read_progress(experiment)
        if (progress.state, progress.finished) != (drawn.state, drawn.finished):
            st.rerun()
        summary = f"{experiment.name}: {progress.summary()}"
        _draw_progress(1.0, "", summary, progress.problem)
        _draw_statuses(experiment, progress)

    refresh()


def _draw_statuses(experiment: experiments.Experiment, progress: experiments.Progress) -> None:
    """Draw the state of each run, failing ones first."""
    failing = f", {len(progress.failing):,} failed in whole or in part" if progress.failing else ""
    with st.expander(f"State of {numbers.format_count(progress.runs, 'run')}{failing}", icon=":material/view_list:"):
        rows = [
            {
                "Run": one.run,
                "State": STATES[one.state][0],
                "Traces": f"{one.done + one.failed:,} of {one.traces:,}",
                "Failed": one.failed,
                "No verdict": one.no_verdict,
                "Problem": one.problem,
            }
            for one in sorted(progress.statuses, key=lambda one: not one.is_failing)
        ]
        st.dataframe(rows, key=f"statuses_{experiment.id}", hide_index=True)


def read_progress(experiment: experiments.Experiment) -> experiments.Progress:
    """Return the progress of an experiment, read again after a change."""
    read = partial(resources.read, experiments.progress, experiment.id)
    return live.load(f"experiment_{experiment.id}", (live.study_topic(experiment.study_id),), read)


def _draw_experiment(study: Study, experiment: experiments.Experiment) -> None:
    progress, definition = read_progress(experiment), experiment.definition
    axes = " x ".join(f"{axis.name} ({len(axis.levels)})" for axis in definition.axes)
    draw_actions = partial(_draw_experiment_actions, study, experiment, progress)
    with st.container(border=True, key=f"experiment-{experiment.id}"):
        _draw_heading(experiment.name, progress.state, (definition.protocol, axes), draw_actions)
        share = (progress.done + progress.failed) / progress.traces if progress.traces else 0.0
        text = f"{progress.finished:,} of {numbers.format_count(progress.runs, 'run')} finished"
        _draw_progress(share, text, progress.summary(), progress.problem)
        _draw_statuses(experiment, progress)


def _draw_experiment_actions(study: Study, experiment: experiments.Experiment, progress: experiments.Progress) -> None:
    if progress.state in ACTIVE and st.button("Cancel", key=f"cancel_{experiment.id}", icon=":material/stop:"):
        permissions.write(
            study.id, Permission.run, f"experiment {experiment.name} cancelled", experiments.cancel, experiment.id
        )
        st.rerun()
    incomplete = progress.state in ("stopped", "cancelled") or progress.failed
    if incomplete and st.button("Resume", key=f"resume_{experiment.id}", icon=":material/play_arrow:"):
        start_runs(study, plan(resources.engine(), study, experiment.definition))
        st.rerun()
    if progress.done and st.button("Results", key=f"results_{experiment.id}", icon=":material/table_chart:"):
        st.query_params["experiment"] = experiment.name
        st.rerun(scope="app")
    shell.draw_link("setup/runs.py", "Runs", "play_circle", study=study.name)
    text, name = files.to_yaml(experiment.definition), f"{experiment.name}.yaml"
    downloads.draw_text_link("File", text, name, f"experiment_{experiment.id}", kind="experiment")


@guards.operation()
def start_runs(study: Study, planned: Plan) -> None:
    """Start an experiment for the visitor; raises Forbidden unless they may start runs of the study with its models."""
    with audit.acting(require_start(study, planned).name):
        start(resources.engine(), study, planned)


def require_start(study: Study, planned: Plan) -> Actor:
    """Return the visitor; raises Forbidden unless they may start these runs."""
    requests = [run.request for run in planned.runs]
    specs = [spec for request in requests for _, spec in model_specs(request.settings)]
    specs += [request.extractor for request in requests if request.extractor is not None]
    return require_models(study, specs)


def require_models(study: Study, specs: Sequence[Spec]) -> Actor:
    """Return the visitor; raises Forbidden unless they may start runs with these addresses, keys and prices."""
    actor = account_guard.current_actor()
    resources.read(access.require, study.id, actor, Permission.run)
    resources.read(access.require_models, study.id, actor, specs)
    return actor
