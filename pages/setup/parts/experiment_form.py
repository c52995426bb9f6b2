"""The form of a new experiment: the settings of a run as its base, axes with values, repeats, items and limits."""

from typing import Any

import streamlit as st
import yaml
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core import experiments as files
from core.errors import TiebreakError
from core.protocols.registry import PROTOCOLS
from core.wording import format_count
from pages.parts import downloads, resources
from pages.parts.text import escape_markdown
from pages.setup.parts import upload
from pages.setup.parts.cards import start_runs
from storage.runs import runs
from storage.studies import items, studies
from storage.worker import Plan, base_of_run, estimate, plan, receivers_sentence

MAX_AXES = 5
CHECKED = "experiment_checked"  # key of the state with the file whose estimate is shown


def draw_form(study: studies.Study) -> bool:
    """Draw the form; return whether an experiment was started."""
    forms = {"Settings of a run": _draw_axes_form, "A file": _draw_file, "A table of a paper": _draw_paper}
    source = st.segmented_control(
        "Start from", list(forms), default=next(iter(forms)), required=True, key="experiment_source"
    )
    try:
        definition = forms[str(source)](study)
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


def _draw_start(study: studies.Study, definition: files.Definition, text: str) -> bool:
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
            st.markdown(escape_markdown(f"{estimate(engine, planned)}."))
    except TiebreakError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        return False
    draw_notes(planned)
    if not st.button("Start", type="primary", icon=":material/play_arrow:", key="start_experiment"):
        return False
    start_runs(study, planned)
    del st.session_state[CHECKED]
    return True


def _draw_paper(_: studies.Study) -> files.Definition | None:
    """Draw the choice of an experiment of docs/papers, with the number of items and the cost limit."""
    name = st.selectbox(
        "Table or figure",
        [f"{file.parent.name}/{file.stem}" for file in files.files()],
        index=None,
        format_func=lambda name: f"{name}: {files.paper_title(name)}",
        key="experiment_paper",
        placeholder="as published, or with current models",
    )
    if name is None:
        st.caption(
            "docs/papers of the project names the data of each table, its calls and its differences from the paper."
        )
        return None
    left, right = st.columns(2, gap="medium")
    changes = _draw_sample(left, right, "experiment_paper", "as in the file")
    return files.with_run(files.load_paper(name), changes)


def _draw_file(_: studies.Study) -> files.Definition | None:
    file = st.file_uploader("The experiment's file", type=["yaml", "yml"], key="experiment_file")
    if not isinstance(file, UploadedFile):
        st.caption("A file in YAML, as this page writes it. Its base has the settings themselves.")
        return None
    return files.parse(upload.read_text(file), name=file.name.rpartition(".")[0])


def _draw_axes_form(study: studies.Study) -> files.Definition | None:
    study_runs = resources.read(runs.of_study, study.id)
    candidates = [run for run in study_runs if run.protocol in PROTOCOLS and run.settings]
    criteria = [criterion.name for criterion in resources.read(studies.criteria, study.id)]
    scenarios = resources.read(items.scenarios, study.id)
    if not candidates:
        st.info("An experiment varies the settings of a run: start a run first, or load an experiment's file.")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox(
            "Base",
            candidates,
            format_func=lambda run: f"{run.name} ({PROTOCOLS[run.protocol].title})",
            key="experiment_base",
            width=420,
        )
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


def _draw_values(choice: files.AxisChoice, run: runs.Run) -> list[Any]:
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
    values = _parse_list(text, f"The values of {choice.path} should be separated by commas.")
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
    combinations = _parse_list(text, "Combinations without a run should be written as {axis: level, axis: level}.")
    return {"exclude": combinations} if combinations else {}


def _parse_list(text: str, problem: str) -> list[Any]:
    try:
        values: list[Any] = yaml.safe_load(f"[{text}]")
    except yaml.YAMLError:
        raise TiebreakError(problem) from None
    return values


def _draw_limits(scenarios: list[str]) -> dict[str, Any]:
    """Draw repeats, items and the cost limit; return those that differ from the defaults."""
    first, second, third, fourth = st.columns(4, gap="medium", vertical_alignment="bottom")
    repeats = first.number_input(
        "Repeats", 1, 1000, 1, key="experiment_repeats", help="Runs of each cell, with independent replies."
    )
    chosen = {"repeats": repeats, **_draw_sample(second, third, "experiment", "all items")}
    chosen["scenario"] = fourth.selectbox(
        "Scenario", scenarios, index=None, key="experiment_scenario", placeholder="all"
    )
    return {name: value for name, value in chosen.items() if value is not None}


def _draw_sample(left: Any, right: Any, key: str, all_items: str) -> dict[str, Any]:
    sample = left.number_input("Random sample of items", 1, value=None, key=f"{key}_sample", placeholder=all_items)
    ceiling = right.number_input("Cost limit of all runs, dollars", 0.0, value=None, step=1.0, key=f"{key}_ceiling")
    return {"sample": sample, "ceiling": ceiling}
