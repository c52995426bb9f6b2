"""The form of a new run: protocol, settings, prompts, items and limits, with an estimate of calls and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st
import yaml
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import TiebreakError
from core.formats.study_records import CriterionRecord
from core.items import Criterion, Item, Pairs
from core.llm import PARALLEL_CALLS, secrets
from core.protocols import Protocol, registry, scales_of, settings_file
from core.protocols.prompt_parts import format_note
from core.protocols.registry import PROTOCOLS
from core.trace import Spec, model_specs
from pages.parts import account_guard, colours, downloads, live, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts import default_form, judges_form, study_form
from pages.setup.parts.settings_form import Draft, SettingsForm
from storage.accounts import access
from storage.accounts.access import Permission
from storage.db import audit, connections, guards
from storage.runs import calls, inputs, runs
from storage.runs.runs import Progress, Run
from storage.studies import items, studies
from storage.studies.items import ItemSelection
from storage.studies.studies import Study
from storage.worker import RunRequest, ceiling_warning, create_run, estimate_run, receivers_sentence

# Cards of runs: state, progress, outcomes and usage, with buttons to cancel and resume.

ACTIVE = ("requested", "cancelling")
FINAL_STATES = {
    "sample": ("Sample", ":material/info:", "gray"),
    "imported": ("Imported", ":material/download_done:", "gray"),
    "cancelling": ("Stopping", ":material/pending:", "gray"),
    "cancelled": ("Cancelled", ":material/cancel:", "gray"),
    "stopped": ("Stopped", ":material/error:", "red"),
    "finished": ("Finished", ":material/check_circle:", "green"),
}
NO_WORKER = (
    "No worker is running, so requested runs wait. Start one with `make worker` or `python cli.py server worker`."
)
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
        with connections.reading(resources.engine()) as session:
            return runs.progress_by_run(session, run_ids)

    return live.load(f"progress_{key}", _topics(run_ids), read)


def redraw_on_change(study: Study) -> None:
    """Draw the page again when the study has other runs, or runs in other states: anybody may start or resume one."""

    def read() -> dict[int, str]:
        with connections.reading(resources.engine()) as session:
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
        with connections.reading(resources.engine()) as session:
            return runs.by_ids(session, active), calls.count_workers(session)

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
            count = inputs.adopt_all(session, run.study_id, annotator, run.name)
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
            extractor = Spec.model_validate(run.extractor) if run.extractor else None
            prefill(run.settings, extractor, Pairs.parse(run.pairs))
            use_in_run(run.protocol, _has_own_prompts(run))
            st.query_params["view"] = "new"
            st.rerun(scope="app")
        st.caption(f"Random seed {run.seed} · {run.parallel} parallel calls")
    if run.state not in ACTIVE:
        study_form.draw_run_deletion(run)


def _has_own_prompts(run: Run) -> dict[str, str]:
    """Return the prompts of a run that differ from the study's current ones."""
    with connections.reading(resources.engine()) as session:
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


# The prompts of a protocol, which a study can replace.

SYSTEM_HELP = (
    "A prompt can begin with a system message: a first line `=== system ===`, the message, and a line "
    "`=== prompt ===` before the rest."
)


def draw_prompts(study: Study, protocol: str) -> dict[str, str]:
    """Draw the choice of a prompt template, and its text: the default, the study's replacement, or the run's own.

    Returns the texts that the run uses instead of the study's.
    """
    installed = registry.get(protocol)
    default_templates = installed.prompts
    own = _own_prompts(protocol)
    replaced = {name: "replaced" for name in default_templates if f"{protocol}/{name}" in study.prompts}
    replaced |= dict.fromkeys(own, "this run")
    title = f"Prompts ({len(replaced)} of {len(default_templates)} replaced)" if replaced else "Prompts"
    with st.expander(title, key=f"prompts_{protocol}"):
        st.caption("Any prompt can be replaced for a study or for a single run. The prompts are stored with each run.")
        names = sorted(default_templates, key=lambda name: (name == "again", name))
        name = st.segmented_control(
            "Prompt",
            names,
            default=names[0],
            required=True,
            format_func=lambda name: f"{name} ({replaced[name]})" if name in replaced else name,
            key=f"prompt_of_{protocol}",
            label_visibility="collapsed",
        )
        _draw_editor(study, installed, str(name))
    return dict(own)


def use_in_run(protocol: str, prompts: Mapping[str, str]) -> None:
    """Use these texts in the run that the form starts, such as those of a settings file."""
    st.session_state["own_prompts"] = {protocol: dict(prompts)}
    st.session_state["own_prompts_number"] = st.session_state.get("own_prompts_number", 0) + 1


def _own_prompts(protocol: str) -> dict[str, str]:
    own: dict[str, dict[str, str]] = st.session_state.setdefault("own_prompts", {})
    return own.setdefault(protocol, {})


def _draw_editor(study: Study, installed: Protocol, name: str) -> None:
    protocol, default = installed.name, installed.prompts[name]
    replacement = study.prompts.get(f"{protocol}/{name}")
    own = _own_prompts(protocol)
    current = own.get(name) or replacement or default
    key = f"prompt_{study.id}_{protocol}_{name}"
    text = st.text_area(
        "Text",
        current,
        height="content",
        # A widget keeps its first value, so its key changes with the text that it starts with.
        key=f"{key}_{replacement is None}" + (f"_{st.session_state['own_prompts_number']}" if name in own else ""),
        label_visibility="collapsed",
    )
    listed = ", ".join(f"`${blank}`" for blank in sorted(installed.blanks_of(name)))
    st.caption(
        f"Placeholders: {listed}. A template without the material to judge is refused. Write `$$` for a dollar sign. "
        f"{SYSTEM_HELP}"
    )
    with st.container(horizontal=True):
        if st.button("Save for this study", key=f"{key}_keep", disabled=text == (replacement or default)):
            _save_checked(study, installed, name, text)
        if st.button("Use in this run only", key=f"{key}_own", disabled=text == current):
            _use_checked(installed, name, text)
        if name in own and st.button("Use the study's", key=f"{key}_drop", icon=":material/undo:"):
            use_in_run(protocol, {other: text for other, text in own.items() if other != name})
            st.rerun()
        if replacement is not None and st.button("Restore the default", key=f"{key}_back", icon=":material/undo:"):
            _save(study, {other: text for other, text in study.prompts.items() if other != f"{protocol}/{name}"})


def _use_checked(protocol: Protocol, name: str, text: str) -> None:
    """Use a valid template in this run."""
    if _is_valid(protocol, name, text):
        use_in_run(protocol.name, {**_own_prompts(protocol.name), name: text})
        st.rerun()


def _save_checked(study: Study, protocol: Protocol, name: str, text: str) -> None:
    """Save a valid template for the study."""
    if _is_valid(protocol, name, text):
        _save(study, {**study.prompts, f"{protocol.name}/{name}": text})


def _is_valid(protocol: Protocol, name: str, text: str) -> bool:
    """Return whether a template can be used; otherwise draw the problem and leave the text in the editor."""
    try:
        protocol.check_prompts({name: text})
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return False
    return True


def _save(study: Study, prompts: dict[str, str]) -> None:
    with permissions.writing(study.id, Permission.edit, "prompts") as session:
        studies.update_prompts(session, study.id, prompts)
    st.rerun()


ALL_ITEMS, FIRST_ITEMS, ONE_SCENARIO = "All", "First", "One scenario"


@dataclass(frozen=True)
class RunExtent:
    """The items of a run, its parallel calls, cost limit and random seed."""

    selection: ItemSelection
    parallel: int
    ceiling: float | None
    seed: int


def draw_form(study: Study) -> int | None:
    """Draw the form; returns the id of the run after it was started."""
    with connections.reading(resources.engine()) as session:
        criteria = studies.criteria(session, study.id)
        scenarios = items.scenarios(session, study.id)
        several = items.first_with_several_pairs(session, study.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        protocol_name = st.selectbox(
            "Protocol", list(registry.usable()), format_func=_protocol_title, key="protocol", width=260
        )
        protocol = PROTOCOLS[protocol_name]
        name = st.text_input("Name of the run", placeholder=protocol.name, key="run_name", width=320)
        _draw_load(protocol, criteria)
        actions = st.container(width="content")
    is_loaded = not _draw_load_problem()
    st.caption(f"{protocol.description} {protocol.paper}.")
    needs_scale = protocol.judges == "score" and protocol.scales is scales_of
    form = SettingsForm(protocol.settings, *_form_start(protocol), criteria, needs_scale=needs_scale)
    draft = default_form.render_protocol_form(protocol.name, form)
    own_prompts = draw_prompts(study, protocol.name)
    extractor = _draw_extractor(form)
    extent = _draw_extent(scenarios)
    request = _build_request(study, protocol, draft, form.problems, name or protocol.name, extent)
    if request is None:
        return None
    pairs = _draw_pairs(request, several, form)
    request = replace(request, own_prompts=own_prompts, extractor=extractor, pairs=pairs)
    with actions:
        _draw_save(request)
    return _draw_start(request, criteria) if _draw_estimate(request) and is_loaded else None


def prefill(settings: Draft, extractor: Spec | None = None, pairs: Pairs | None = None) -> None:
    """Start the form with other settings; widgets keep their first value, so the number in their keys changes."""
    number = st.session_state.get("run_settings", {}).get("number", 0) + 1
    spec = None if extractor is None else extractor.model_dump(mode="json")
    st.session_state["run_settings"] = {"number": number, "draft": settings, "extractor": spec, "pairs": pairs}


def _form_start(protocol: Protocol) -> tuple[Draft, str]:
    state = st.session_state.get("run_settings", {"number": 0, "draft": {}})
    return state["draft"], f"{protocol.name}{state['number']}_"


def _protocol_title(name: str) -> str:
    return PROTOCOLS[name].title


def _draw_load(protocol: Protocol, criteria: list[Criterion]) -> None:
    """Draw the upload of settings from a file, which is loaded at once, or from pasted text."""
    with st.popover("Load settings", icon=":material/upload_file:", key="load_settings"):
        target = (protocol, criteria)
        st.file_uploader(
            "Upload a file", type=["yaml", "yml", "json"], key="settings_upload", on_change=_load_upload, args=target
        )
        st.text_area("Or paste settings in YAML", height=220, key="settings_yaml", placeholder="rounds: 3\njudges: …")
        st.button("Load", type="primary", key="load_text", on_click=_load_text, args=target)


def _load_upload(protocol: Protocol, criteria: list[Criterion]) -> None:
    """Load the uploaded file; nothing if it was removed."""
    st.session_state.pop("settings_problem", None)
    file = st.session_state["settings_upload"]
    if not isinstance(file, UploadedFile):
        return
    try:
        _load(file.getvalue().decode("utf-8-sig"), protocol, criteria)
    except UnicodeDecodeError:
        st.session_state["settings_problem"] = f"{file.name} was not loaded: it is not text in UTF-8."
    except TiebreakError as error:
        st.session_state["settings_problem"] = f"{file.name} was not loaded: {error}"


def _load_text(protocol: Protocol, criteria: list[Criterion]) -> None:
    st.session_state.pop("settings_problem", None)
    text = st.session_state["settings_loaded"] = st.session_state["settings_yaml"]
    try:
        _load(text, protocol, criteria)
    except TiebreakError as error:
        st.session_state["settings_problem"] = f"The pasted settings were not loaded: {error}"


def _load(text: str, protocol: Protocol, criteria: list[Criterion]) -> None:
    """Start the form with the settings in a YAML or JSON text; raises TiebreakError."""
    loaded = settings_file.parse_run_file(text, protocol, criteria)
    prefill(loaded.settings.model_dump(mode="json"), loaded.extractor, loaded.pairs)
    use_in_run(protocol.name, loaded.prompts)


def _draw_load_problem() -> bool:
    """Draw why settings that the visitor gave are not in the form; returns whether there are any."""
    problem: str = st.session_state.get("settings_problem", "")
    text = st.session_state.get("settings_yaml", "")
    if not problem and text.strip() and text != st.session_state.get("settings_loaded"):
        problem = "The pasted settings are not loaded: press “Load” below “Load settings”, or remove the text."
    if problem:
        st.error(escape_markdown(problem), icon=":material/error:")
    return bool(problem)


def _draw_extractor(form: SettingsForm) -> Spec | None:
    """Draw the optional model that is asked about unreadable replies; returns None for none."""
    start = st.session_state.get("run_settings", {}).get("extractor")
    with st.expander("Extractor" if start is None else "Extractor (in use)", key=form.key("unread_extractor")):
        st.caption(
            "Optional: a model that is shown an unreadable reply and the instruction for the answer, nothing else, and "
            "asked which value the reply states. Its readings are marked, and its calls count in the cost."
        )
        rows = [] if start is None else [{"name": "extractor", "spec": start}]
        models = judges_form.draw_judges(form.key("unread_extractor_"), rows, form.problems, 0, 1)
    if not models:
        return None
    if not models[0]["spec"].get("model"):
        form.problems.append("Choose a model for the extractor, or remove it.")
        return None
    spec = Spec.model_validate(models[0]["spec"])
    for name, reason in secrets.describe_problems(spec):
        form.problems.append(f"The extractor's {name}: {reason}")
    return spec


def _draw_pairs(request: RunRequest, several: Item | None, form: SettingsForm) -> Pairs | None:
    """Draw which pairs are compared, if an item (`several`) has more than two responses; returns None for none."""
    comparison = request.protocol.compares(request.settings)
    start: Pairs | None = st.session_state.get("run_settings", {}).get("pairs")
    if not comparison or (several is None and start is None):
        return start if comparison else None
    systems = dict.fromkeys(response.system for response in (several.responses if several else ()) if response.system)
    options = [*([None] if comparison == "several" else []), Pairs(), *(Pairs(baseline=name) for name in systems)]
    options += [start] if start is not None and start not in options else []
    return st.selectbox(
        "Items with more than two responses",
        options,
        index=options.index(start) if start in options else 0,
        format_func=_describe_pairs,
        key=form.key("pairs"),
        width=420,
        help="Each pair is judged separately: it has its own trace and its own labels.",
    )


def _describe_pairs(pairs: Pairs | None) -> str:
    if pairs is None:
        return "Compare all responses at once"
    return "Compare all pairs" if pairs.baseline is None else f"Compare each response with that of {pairs.baseline}"


def _draw_save(request: RunRequest) -> None:
    fields = request.settings.model_dump(mode="json", exclude_defaults=True)
    if request.own_prompts:
        fields["prompts"] = dict(request.own_prompts)
    if request.pairs is not None:
        fields["pairs"] = str(request.pairs)
    if request.extractor is not None:
        fields["extractor"] = request.extractor.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)
    downloads.draw_text_link("Save settings", text, f"{request.name}.yaml", "save_settings", kind="settings")
    st.caption("Load them here again, or use them with `python cli.py runs start --settings FILE.yaml`.")


def _draw_extent(scenarios: list[str]) -> RunExtent:
    first, second, third, fourth = st.columns([5, 2, 2, 2], gap="medium", vertical_alignment="bottom")
    with first:
        selection = _draw_items(scenarios)
    parallel = second.number_input(
        "Parallel calls",
        1,
        1000,
        PARALLEL_CALLS,
        key="parallel",
        help="For each model. Providers limit the rate of calls.",
    )
    ceiling = third.number_input(
        "Cost limit, dollars",
        0.0,
        value=None,
        step=1.0,
        key="ceiling",
        placeholder="none",
        help=CEILING_HELP,
    )
    seed = fourth.number_input(
        "Random seed", 0, value=0, key="seed", help="Determines all random choices, together with the item."
    )
    return RunExtent(selection, parallel, ceiling, seed)


def _draw_items(scenarios: list[str]) -> ItemSelection:
    """Draw the choice of items."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = [ALL_ITEMS, FIRST_ITEMS, *([ONE_SCENARIO] if scenarios else [])]
        selected = st.segmented_control("Items", options, default=ALL_ITEMS, required=True, key="run_items")
        if selected == FIRST_ITEMS:
            return ItemSelection(limit=st.number_input("Number of items", 1, value=10, key="run_limit", width=140))
        if selected == ONE_SCENARIO:
            return ItemSelection(scenario=st.selectbox("Scenario", scenarios, key="run_scenario", width=240))
    return ItemSelection()


def _build_request(
    study: Study, protocol: Protocol, draft: Draft, problems: list[str], name: str, extent: RunExtent
) -> RunRequest | None:
    """Return the requested run; draw the problem and return None while the settings are invalid."""
    try:
        if problems:
            raise TiebreakError(problems[0])
        settings = settings_file.validate_settings(_check_complete(draft), protocol)
        settings_file.check_models(settings)
    except TiebreakError as error:
        st.warning(
            escape_markdown(_capitalize(str(error).removeprefix("field 'the settings': "))), icon=":material/pending:"
        )
        return None
    return RunRequest(
        study,
        protocol,
        settings,
        name,
        seed=extent.seed,
        parallel=extent.parallel,
        ceiling=extent.ceiling,
        selection=extent.selection,
    )


def _check_complete(draft: Draft) -> Draft:
    """Raise TiebreakError for missing fields that the settings class would report less clearly."""
    for judge in judges_form.iter_models(draft):
        if not judge["name"]:
            raise TiebreakError("Every model needs a name.")
        if not judge["spec"].get("model"):
            raise TiebreakError(f"Choose a model for {judge['name']}.")
    if draft.get("criterion") is not None and not draft["criterion"].get("name"):
        raise TiebreakError("The criterion needs a name.")
    return draft


def _draw_estimate(request: RunRequest) -> bool:
    """Draw the estimated calls, tokens and cost; returns False if the run cannot start."""
    try:
        estimate = estimate_run(resources.engine(), request)
    except TiebreakError as error:
        st.warning(escape_markdown(_capitalize(str(error))), icon=":material/error:")
        return False
    if not estimate.items:
        st.warning("There are no items. Import some first.", icon=":material/error:")
        return False
    cost = _format_cost(estimate.dollars)
    item_count = numbers.format_count(estimate.items, "item")
    if estimate.traces > estimate.items:
        item_count += f" in {numbers.format_count(estimate.traces, 'pair')}"
    calls = numbers.format_count(estimate.calls_at_most, "call")
    tokens = numbers.format_count(round(estimate.prompt_tokens + estimate.completion_tokens, -2), "token")
    st.markdown(
        f"**{item_count}: at most {calls}, about {tokens}, {escape_markdown(cost)}**",
        help=f"At least {estimate.calls_at_least:,} calls, if the judges agree at first. Second requests after "
        "unreadable replies and retries of failed calls are not included.",
    )
    if estimate.expected is not None:
        st.caption(f"{escape_markdown(_capitalize(estimate.expected_summary()))}.")
    st.caption(f"With unreadable replies: {escape_markdown(estimate.upper_bound_summary())}.")
    if note := format_note(request.settings):
        st.caption(escape_markdown(note))
    if estimate.stored_calls:
        st.caption(f"{escape_markdown(_capitalize(estimate.stored_summary().removeprefix('; ')))}.")
    st.markdown(f":material/send: {escape_markdown(receivers_sentence(request))}")
    if warning := ceiling_warning(request, estimate):
        st.warning(warning, icon=":material/payments:")
    return True


def _format_cost(dollars: float | None) -> str:
    if dollars is None:
        return "price unknown"
    return f"about {numbers.format_dollars(dollars)}" if dollars else "free"


def _draw_start(request: RunRequest, criteria: list[Criterion]) -> int | None:
    if not st.button("Start", type="primary", icon=":material/play_arrow:", key="start"):
        return None
    return _start(request, criteria)


@guards.operation()
def _start(request: RunRequest, criteria: list[Criterion]) -> int:
    _check_permission(request)
    for criterion in request.protocol.criteria(request.settings):
        if criterion not in criteria:
            with permissions.writing(request.study.id, Permission.run, f"criterion {criterion.name}") as session:
                studies.add_criterion(session, request.study.id, CriterionRecord(criterion=criterion))
    with audit.acting(account_guard.current_actor().name):
        return create_run(resources.engine(), request)


def _check_permission(request: RunRequest) -> None:
    """Raise Forbidden unless the visitor may start the run, with these addresses, keys and prices."""
    specs = [spec for _, spec in model_specs(request.settings)]
    specs += [request.extractor] if request.extractor is not None else []
    with connections.reading(resources.engine()) as session:
        actor = account_guard.current_actor()
        access.require(session, request.study.id, actor, Permission.run)
        access.require_models(session, request.study.id, actor, specs)


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
