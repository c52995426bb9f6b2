"""Cards of runs: state, progress, outcomes and usage, with buttons to cancel and resume."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st
import yaml

from core.pairs import Pairs
from core.protocols import registry
from core.protocols.registry import PROTOCOLS
from core.trace import Spec
from pages.parts import colours, live, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts import study_actions
from storage import adoption, database, runs, studies, workers
from storage.access import Permission
from storage.runs import Progress, Run
from storage.studies import Study

ACTIVE = ("requested", "cancelling")
FINAL_STATES = {
    "sample": ("Sample", ":material/info:", "gray"),
    "imported": ("Imported", ":material/download_done:", "gray"),
    "cancelling": ("Stopping", ":material/pending:", "gray"),
    "cancelled": ("Cancelled", ":material/cancel:", "gray"),
    "stopped": ("Stopped", ":material/error:", "red"),
    "finished": ("Finished", ":material/check_circle:", "green"),
}
NO_WORKER = "No worker is running, so requested runs wait. Start one with `make worker` or `python cli.py worker`."
CEILING_HELP = "No call starts that could exceed the limit. Calls of unknown price are not counted."
OUTCOME_NAMES = {"agreed": "agreed", "disputed": "disputed", "no_verdict": "no verdict", "failed": "failed"}


def draw_cards(study: Study, runs_on_page: Sequence[Run]) -> None:
    """Draw the active runs, which refresh every second, then the others; a change of any run redraws the page."""
    active = [run.id for run in runs_on_page if run.state in ACTIVE]
    if active:
        _draw_active(study, active)
    ended = [run for run in runs_on_page if run.id not in active]
    progress = _load_progress("ended", [run.id for run in ended]) if ended else {}
    for run in ended:
        _draw_card(study, run, progress[run.id])


def _load_progress(key: str, run_ids: Sequence[int]) -> dict[int, Progress]:
    def read() -> dict[int, Progress]:
        with database.reading(resources.engine()) as session:
            return runs.progress_by_run(session, run_ids)

    return live.load(f"progress_{key}", _topics(run_ids), read)


def redraw_on_change(study: Study) -> None:
    """Draw the page again when the study has other runs, or runs in other states: anybody may start or resume one."""

    def read() -> dict[int, str]:
        with database.reading(resources.engine()) as session:
            return runs.states(session, study.id)

    def load() -> dict[int, str]:
        return live.load("run_states", (live.study_topic(study.id),), read, scope=study.id)

    drawn = load()

    @permissions.fragment(run_every=1.0)
    def watch() -> None:
        if load() != drawn:
            st.rerun()

    watch()


def _topics(run_ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"run {number}" for number in run_ids)


def _draw_active(study: Study, active: Sequence[int]) -> None:
    def read() -> tuple[list[Run], int]:
        with database.reading(resources.engine()) as session:
            return runs.by_ids(session, active), workers.count(session)

    @permissions.fragment(run_every=1.0)
    def refresh() -> None:
        current_runs, living_workers = live.load("runs", _topics(active), read)
        if len(current_runs) < len(active) or any(run.state not in ACTIVE for run in current_runs):
            st.rerun()
        if not (resources.has_own_worker() or living_workers or any(run.active for run in current_runs)):
            st.warning(NO_WORKER, icon=":material/hourglass_empty:")
        progress = _load_progress("active", active)
        for run in current_runs:
            _draw_card(study, run, progress[run.id])

    refresh()


def _draw_card(study: Study, run: Run, progress: Progress) -> None:
    with st.container(border=True, key=f"run-{run.id}"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            _draw_heading(run, progress)
            _draw_actions(study, run, progress)
        if run.state in ACTIVE or _done_share(progress) < 1:
            st.progress(_done_share(progress), _describe_progress(progress))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(" ".join(_outcome_badges(progress)), width="content")
            st.caption(" · ".join(_usage_parts(progress)), width="content")
        if progress.pause:
            st.caption(f":material/hourglass_empty: Paused: {escape_markdown(progress.pause)}.")
        if run.problem:
            st.warning(escape_markdown(run.problem), icon=":material/error:")


def _draw_heading(run: Run, progress: Progress) -> None:
    name, icon, colour = describe_state(run, progress)
    protocol = PROTOCOLS[run.protocol].title if run.protocol in PROTOCOLS else escape_markdown(run.protocol)
    details = " · ".join(part for part in (protocol, escape_markdown(run.criterion)) if part)
    st.markdown(f"**{escape_markdown(run.name)}** :{colour}-badge[{icon} {name}]  \n:small[{details}]", width="content")


def describe_state(run: Run, progress: Progress) -> tuple[str, str, str]:
    """Return the display name, icon and colour of a run's state."""
    if run.state == "requested" and run.active:
        return "Running", ":material/sync:", "blue"
    if run.state == "requested":
        return "Resuming…" if progress.done else "Starting…", ":material/schedule:", "gray"
    if run.state == "finished" and progress.failed:
        return "Finished with errors", ":material/error:", "orange"
    unknown = (escape_markdown(run.state), ":material/help:", "gray")
    return FINAL_STATES.get(run.source) or FINAL_STATES.get(run.state) or unknown


def _draw_actions(study: Study, run: Run, progress: Progress) -> None:
    """Draw the buttons and links of a run."""
    with st.container(horizontal=True, width="content", vertical_alignment="center", gap="small"):
        if run.state == "requested" and st.button("Cancel", key=f"cancel_{run.id}", icon=":material/stop:"):
            _apply(runs.cancel, run)
        if can_resume(run, progress):
            _draw_resume(run)
        if run.state not in ACTIVE and run.protocol in registry.with_artifact("aius"):
            _draw_adoption(run)
        st.page_link(
            shell.page_path("watch/traces.py"),
            label="Traces",
            icon=":material/forum:",
            query_params={"study": study.name, "run": run.name},
        )
        with st.popover("Settings", type="tertiary", icon=":material/tune:", key=f"settings_{run.id}"):
            _draw_settings(run)


def _draw_adoption(run: Run) -> None:
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
        with permissions.writing(run.study_id, Permission.edit, "") as session:
            count = adoption.adopt_all(session, run.study_id, annotator, run.name)
        st.toast(f"Adopted for {numbers.format_count(count, 'item')}.")


def can_resume(run: Run, progress: Progress) -> bool:
    """Return whether the run has unfinished traces and can be executed here."""
    return run.source == "live" and run.state not in ACTIVE and progress.done < progress.traces


def _draw_resume(run: Run) -> None:
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


def _apply(operation: Any, run: Run, *values: Any) -> None:
    with permissions.writing(run.study_id, Permission.run, f"run {run.name}: {operation.__name__}") as session:
        operation(session, run.id, *values)
    st.rerun()


def _draw_settings(run: Run) -> None:
    if run.settings:
        fields = {**run.settings, **({"extractor": run.extractor} if run.extractor else {}), "pairs": run.pairs}
        text = yaml.safe_dump(_drop_empty(fields), sort_keys=False, allow_unicode=True)
        st.code(text, language="yaml", height=320)
    else:
        st.caption("The imported file has no settings.")
    if run.protocol in PROTOCOLS and run.source == "live":
        if st.button("New run with these settings", key=f"again_{run.id}", icon=":material/content_copy:"):
            from pages.setup.parts import prompts_form, run_form

            extractor = Spec.model_validate(run.extractor) if run.extractor else None
            run_form.prefill(run.settings, extractor, Pairs.parse(run.pairs))
            prompts_form.use_in_run(run.protocol, _own_prompts(run))
            st.query_params["view"] = "new"
            st.rerun(scope="app")
        st.caption(f"Random seed {run.seed} · {run.parallel} parallel calls")
    if run.state not in ACTIVE:
        study_actions.draw_run_deletion(run)


def _own_prompts(run: Run) -> dict[str, str]:
    """Return the prompts of a run that differ from the study's current ones."""
    with database.reading(resources.engine()) as session:
        templates = studies.by_id(session, run.study_id).templates(run.protocol)
    return {name: text for name, text in run.prompts.items() if name in templates and templates[name] != text}


def _drop_empty(settings: Any) -> Any:
    """Return settings without empty values."""
    if isinstance(settings, list):
        return [_drop_empty(value) for value in settings]
    if not isinstance(settings, dict):
        return settings
    return {name: _drop_empty(value) for name, value in settings.items() if value not in (None, "", [], {})}


def _done_share(progress: Progress) -> float:
    return progress.done / progress.traces if progress.traces else 0.0


def _describe_progress(progress: Progress) -> str:
    return f"{progress.done:,} of {numbers.format_count(progress.traces, 'trace')} done"


def _outcome_badges(progress: Progress) -> list[str]:
    """Return a badge with the number of traces for each outcome, zeros included so that positions are stable."""
    counts = {"agreed": progress.agreed, "disputed": progress.disputed, "no_verdict": progress.no_verdict}
    if progress.failed:
        counts["failed"] = progress.failed
    return [
        f":{colours.STATUS[status][2]}-badge[{colours.STATUS[status][1]} {count:,} {OUTCOME_NAMES[status]}]"
        for status, count in counts.items()
    ]


def _usage_parts(progress: Progress) -> list[str]:
    totals = progress.totals
    if not totals.calls and not totals.errors:
        return ["no calls yet" if progress.done < progress.traces else "no calls recorded"]
    parts = [totals.describe_calls()]
    if totals.prompt_tokens + totals.completion_tokens or totals.uncounted:
        parts += [
            totals.describe_tokens(),
            numbers.format_dollars(totals.dollars, totals.unpriced).replace("$", r"\$"),
        ]
    if totals.saved_dollars:
        parts.append(f"saved {numbers.format_dollars(totals.saved_dollars)}".replace("$", r"\$"))
    if totals.errors:
        parts.append(numbers.format_count(totals.errors, "failed attempt"))
    if totals.refused_schemas:
        parts.append("asked for text, since JSON was refused")
    return parts
