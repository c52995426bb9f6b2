"""The form of a new run: protocol, settings, prompts, items and limits, with an estimate of calls and cost."""

from dataclasses import replace
from functools import partial
from pkgutil import resolve_name

import streamlit as st
import yaml
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import TiebreakError
from core.formats.study_records import CriterionRecord
from core.items import Criterion, Item, Pairs
from core.llm import PARALLEL_CALLS, secrets
from core.protocols import Protocol, registry, scales_of, settings_file
from core.protocols.prompt_parts import format_note
from core.trace import Spec, model_specs
from pages.parts import downloads, permissions, resources
from pages.parts.text import escape_markdown
from pages.setup.parts import settings_form, upload
from pages.setup.parts.cards import CEILING_HELP, prefill, require_models, use_in_run
from pages.setup.parts.settings_form import Draft, SettingsForm
from storage.accounts.access import Permission
from storage.db import audit, guards
from storage.studies import items, studies
from storage.studies.items import ItemSelection
from storage.worker import RunRequest, ceiling_warning, create_run, estimate_run, receivers_sentence

# The prompts of a protocol, which a study can replace.

SYSTEM_HELP = (
    "A prompt can begin with a system message: a first line `=== system ===`, the message, and a line "
    "`=== prompt ===` before the rest. A first line such as `raw: line` has it sent to the letter: no tags, nothing "
    "appended, and replies are read by the parser's rule that it names."
)


def draw_prompts(study: studies.Study, protocol: str) -> dict[str, str]:
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


def _own_prompts(protocol: str) -> dict[str, str]:
    own: dict[str, dict[str, str]] = st.session_state.setdefault("own_prompts", {})
    return own.setdefault(protocol, {})


def _draw_editor(study: studies.Study, installed: Protocol, name: str) -> None:
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
        keep = st.button("Save for this study", key=f"{key}_keep", disabled=text == (replacement or default))
        use = st.button("Use in this run only", key=f"{key}_own", disabled=text == current)
        if name in own and st.button("Use the study's", key=f"{key}_drop", icon=":material/undo:"):
            use_in_run(protocol, {other: text for other, text in own.items() if other != name})
            st.rerun()
        if replacement is not None and st.button("Restore the default", key=f"{key}_back", icon=":material/undo:"):
            _save(study, {other: text for other, text in study.prompts.items() if other != f"{protocol}/{name}"})
    if not (keep or use):
        return
    try:
        installed.check_prompts({name: text})
    except TiebreakError as error:  # the rest of the form is drawn, so its widgets keep what was entered
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return
    if keep:
        _save(study, {**study.prompts, f"{protocol}/{name}": text})
    use_in_run(protocol, {**own, name: text})
    st.rerun()


def _save(study: studies.Study, prompts: dict[str, str]) -> None:
    permissions.write(study.id, Permission.edit, "prompts", studies.update_prompts, study.id, prompts)
    st.rerun()


ALL_ITEMS, FIRST_ITEMS, ONE_SCENARIO = "All", "First", "One scenario"


def draw_form(study: studies.Study) -> int | None:
    """Draw the form; returns the id of the run after it was started."""
    criteria = resources.read(studies.criteria, study.id)
    scenarios = resources.read(items.scenarios, study.id)
    several = resources.read(items.first_with_several_pairs, study.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        protocol_name = st.selectbox(
            "Protocol",
            list(registry.usable()),
            format_func=lambda name: registry.PROTOCOLS[name].title,
            key="protocol",
            width=260,
        )
        protocol = registry.PROTOCOLS[protocol_name]
        name = st.text_input("Name of the run", placeholder=protocol.name, key="run_name", width=320)
        with st.popover("Load settings", icon=":material/upload_file:", key="load_settings"):
            load = partial(_load, protocol, criteria)
            st.file_uploader("A settings file", type=["yaml", "yml", "json"], key="settings_upload", on_change=load)
    if problem := st.session_state.get("settings_problem", ""):
        st.error(escape_markdown(problem), icon=":material/error:")
    st.caption(f"{protocol.description} {protocol.paper}.")
    needs_scale = protocol.judges == "score" and protocol.scales is scales_of
    loaded = st.session_state.get("run_settings", {"number": 0, "draft": {}})
    prefix = f"{protocol.name}{loaded['number']}_"
    form = SettingsForm(protocol.settings, loaded["draft"], prefix, criteria, needs_scale=needs_scale)
    unchanged = {name: value for name, value in form.start.items() if name in protocol.settings.model_fields}
    draft: Draft = unchanged | resolve_name(protocol.form)(form)
    selection = _draw_items(scenarios)
    own_prompts = draw_prompts(study, protocol.name)
    extractor = _draw_extractor(form)
    extent = {"selection": selection, **_draw_limits()}
    request = _build_request(study, protocol, draft, form.problems, name or protocol.name, extent)
    if request is None:
        return None
    pairs = _draw_pairs(request, several, form)
    request = replace(request, own_prompts=own_prompts, extractor=extractor, pairs=pairs)
    can_start = _draw_estimate(request) and not problem
    with st.container(horizontal=True, vertical_alignment="center"):
        clicked = can_start and st.button("Start", type="primary", icon=":material/play_arrow:", key="start")
        _draw_save(request)
    return _start(request, criteria) if clicked else None


def _load(protocol: Protocol, criteria: list[Criterion]) -> None:
    """Start the form with the settings of the uploaded file, or keep why they are invalid."""
    st.session_state.pop("settings_problem", None)
    file = st.session_state["settings_upload"]
    if not isinstance(file, UploadedFile):  # it was removed
        return
    try:
        settings, own = settings_file.parse_run_file(upload.read_text(file), protocol, criteria)
    except TiebreakError as error:
        st.session_state["settings_problem"] = f"{file.name} was not loaded: {error}"
        return
    prefill(settings.model_dump(mode="json"), own.extractor, own.pairs)
    use_in_run(protocol.name, own.prompts)


def _draw_extractor(form: SettingsForm) -> Spec | None:
    """Draw the optional model that is asked about unreadable replies; returns None for none."""
    start = st.session_state.get("run_settings", {}).get("extractor")
    with st.expander("Extractor" if start is None else "Extractor (in use)", key=form.key("unread_extractor")):
        st.caption(
            "Optional: a model that is shown an unreadable reply and the instruction for the answer, nothing else, and "
            "asked which value the reply states. Its readings are marked, and its calls count in the cost."
        )
        rows = [] if start is None else [{"name": "extractor", "spec": start}]
        models = settings_form.draw_judges(form.key("unread_extractor_"), rows, form.problems, 0, 1)
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
    names: dict[Pairs | None, str] = {None: "Compare all responses at once"}
    names |= {pairs: f"Compare each response with that of {pairs.baseline}" for pairs in options if pairs is not None}
    names[Pairs()] = "Compare all pairs"
    return st.selectbox(
        "Items with more than two responses",
        options,
        index=options.index(start) if start in options else 0,
        format_func=lambda pairs: names[pairs],
        key=form.key("pairs"),
        width=420,
        help="Each pair is judged separately: it has its own trace and its own labels.",
    )


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
    st.caption("For *Load settings*, or `python cli.py runs start --settings FILE.yaml`.", width="content")


def _draw_limits() -> Draft:
    with st.expander("Cost limit, parallel calls and random seed", key="limits"):
        second, third, fourth = st.columns(3, gap="medium", vertical_alignment="bottom")
    parallel_help = "For each model. Providers limit the rate of calls."
    parallel = second.number_input("Parallel calls", 1, 1000, PARALLEL_CALLS, key="parallel", help=parallel_help)
    limit: Draft = {"value": None, "step": 1.0, "placeholder": "none"}
    ceiling = third.number_input("Cost limit, dollars", 0.0, key="ceiling", help=CEILING_HELP, **limit)
    seed_help = "Determines all random choices, together with the item."
    seed = fourth.number_input("Random seed", 0, value=0, key="seed", help=seed_help)
    return {"parallel": parallel, "ceiling": ceiling, "seed": seed}


def _draw_items(scenarios: list[str]) -> ItemSelection:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = [ALL_ITEMS, FIRST_ITEMS, *([ONE_SCENARIO] if scenarios else [])]
        selected = st.segmented_control("Items", options, default=ALL_ITEMS, required=True, key="run_items")
        if selected == FIRST_ITEMS:
            return ItemSelection(limit=st.number_input("Number of items", 1, value=10, key="run_limit", width=140))
        if selected == ONE_SCENARIO:
            return ItemSelection(scenario=st.selectbox("Scenario", scenarios, key="run_scenario", width=240))
    return ItemSelection()


def _build_request(
    study: studies.Study, protocol: Protocol, draft: Draft, problems: list[str], name: str, extent: Draft
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
    return RunRequest(study, protocol, settings, name, **extent)


def _check_complete(draft: Draft) -> Draft:
    """Raise TiebreakError for missing fields that the settings class would report less clearly."""
    for judge in settings_form.iter_models(draft):
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
    st.markdown(escape_markdown(f"{estimate.summary()}."), help="Retries of failed calls are not included.")
    if note := format_note(request.settings):
        st.caption(escape_markdown(note))
    st.markdown(f":material/send: {escape_markdown(receivers_sentence(request))}")
    if warning := ceiling_warning(request, estimate):
        st.warning(warning, icon=":material/payments:")
    return True


@guards.operation()
def _start(request: RunRequest, criteria: list[Criterion]) -> int:
    """Start the run for the visitor; raises Forbidden unless they may, with these addresses, keys and prices."""
    specs = [spec for _, spec in model_specs(request.settings)]
    actor = require_models(request.study, [*specs, *([request.extractor] if request.extractor else [])])
    for criterion in request.protocol.criteria(request.settings):
        if criterion not in criteria:
            permissions.write(
                request.study.id,
                Permission.run,
                f"criterion {criterion.name}",
                studies.add_criterion,
                request.study.id,
                CriterionRecord(criterion=criterion),
            )
    with audit.acting(actor.name):
        return create_run(resources.engine(), request)


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
