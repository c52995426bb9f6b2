"""The form of a new run: protocol, settings, prompts, items and limits, with an estimate of calls and cost."""

from dataclasses import dataclass, replace

import streamlit as st
import yaml
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import TiebreakError
from core.formats.study_records import CriterionRecord
from core.items import Criterion, Item
from core.llm import setting_checks
from core.llm.defaults import PARALLEL_CALLS
from core.pairs import Pairs
from core.protocols import Protocol, registry, scales_of, settings_file
from core.protocols.prompt_parts import format_note
from core.protocols.registry import PROTOCOLS
from core.trace import Spec, model_specs
from pages.parts import downloads, numbers, permissions, resources, visitor
from pages.parts.text import escape_markdown
from pages.setup.parts import judges_form, panel_form, prompts_form, protocol_forms
from pages.setup.parts.run_cards import CEILING_HELP
from pages.setup.parts.settings_form import Draft, SettingsForm
from storage import access, audit, database, items, operations, studies
from storage.access import Permission
from storage.item_selection import ItemSelection
from storage.studies import Study
from storage.worker import RunRequest, ceiling_warning, create_run, estimate_run, receivers_sentence

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
    with database.reading(resources.engine()) as session:
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
    draft = protocol_forms.render(protocol.name, form)
    own_prompts = prompts_form.draw_prompts(study, protocol.name)
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
    prompts_form.use_in_run(protocol.name, loaded.prompts)


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
    for name, reason in setting_checks.describe_problems(spec):
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
    st.caption("Load them here again, or use them with `python cli.py run --settings FILE.yaml`.")


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
    for judge in panel_form.iter_models(draft):
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


@operations.operation()
def _start(request: RunRequest, criteria: list[Criterion]) -> int:
    _check_permission(request)
    for criterion in request.protocol.criteria(request.settings):
        if criterion not in criteria:
            with permissions.writing(request.study.id, Permission.run, f"criterion {criterion.name}") as session:
                studies.add_criterion(session, request.study.id, CriterionRecord(criterion=criterion))
    with audit.acting(visitor.current_actor().name):
        return create_run(resources.engine(), request)


def _check_permission(request: RunRequest) -> None:
    """Raise Forbidden unless the visitor may start the run, with these addresses, keys and prices."""
    specs = [spec for _, spec in model_specs(request.settings)]
    specs += [request.extractor] if request.extractor is not None else []
    with database.reading(resources.engine()) as session:
        actor = visitor.current_actor()
        access.require(session, request.study.id, actor, Permission.run)
        access.require_models(session, request.study.id, actor, specs)


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
