"""A new run: what judges, how, over which items, and what it will take before it starts."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
import yaml

from core.formats.records import CriterionRecord
from core.frozen import Frozen
from core.items import Criterion
from core.problems import Problem
from core.protocols import settings_file
from core.protocols.protocol import Protocol
from core.protocols.registry import PROTOCOLS
from pages.parts import numbers, resources
from pages.parts.text import plain
from pages.setup.parts import panel_form, prompts_form, protocol_forms
from pages.setup.parts.settings_form import Draft, SettingsForm
from storage import database, items, studies
from storage.studies import Study
from storage.worker import launch
from storage.worker.launch import Order

ALL, FIRST, SCENARIO = "All", "The first", "One scenario"


@dataclass(frozen=True)
class Extent:
    """Over which items, how fast, and for how much."""

    limit: int | None
    scenario: str | None
    parallel: int
    ceiling: float | None
    seed: int


def show(study: Study) -> int | None:
    """The form; the number of the run once it was started."""
    with database.reading(resources.engine()) as session:
        criteria = studies.criteria(session, study.id)
        scenarios = items.scenarios(session, study.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        protocol = PROTOCOLS[st.selectbox("Protocol", list(PROTOCOLS), format_func=_title, key="protocol", width=260)]
        name = st.text_input("Name of the run", placeholder=protocol.name, key="run_name", width=320)
        _load(protocol, criteria)
        beside = st.container(width="content")
    st.caption(f"{protocol.description} {protocol.paper}.")
    form = SettingsForm(protocol.settings, *_start(protocol), criteria)
    draft = protocol_forms.render(protocol.name, form)
    prompts_form.show(study, protocol.name)
    extent = _extent(scenarios)
    order = _order(study, protocol, draft, form.troubles, name or protocol.name, extent)
    if order is None:
        return None
    with beside:
        _save(order.settings, order.name)
    return _begin(order, criteria) if _expected(order) else None


def begin_with(settings: Draft) -> None:
    """Let the form begin with other settings: widgets take their values when they are made."""
    number = st.session_state.get("run_settings", {}).get("number", 0) + 1
    st.session_state["run_settings"] = {"number": number, "draft": settings}


def _start(protocol: Protocol) -> tuple[Draft, str]:
    held = st.session_state.get("run_settings", {"number": 0, "draft": {}})
    return held["draft"], f"{protocol.name}{held['number']}_"


def _title(name: str) -> str:
    return PROTOCOLS[name].title


def _load(protocol: Protocol, criteria: list[Criterion]) -> None:
    """Settings from a file or from the clipboard."""
    with st.popover("Load settings", icon=":material/upload_file:", key="load_settings"):
        with st.form("settings_text", border=False):
            text = st.text_area("Settings as YAML", height=220, key="settings_yaml", placeholder="rounds: 3\njudges: …")
            file = st.file_uploader("Or a file", type=["yaml", "yml", "json"], key="settings_upload")
            if not st.form_submit_button("Use these", type="primary"):
                return
        try:
            told = file.getvalue().decode("utf-8-sig") if file else text  # type: ignore[union-attr]
            begin_with(settings_file.parse(told, protocol, criteria).model_dump(mode="json"))
        except UnicodeDecodeError:
            st.error("The file is not text in UTF-8.", icon=":material/error:")
            return
        except Problem as problem:
            st.error(str(problem), icon=":material/error:")
            return
    st.rerun()


def _save(settings: Frozen, name: str) -> None:
    st.download_button(
        "Save settings",
        yaml.safe_dump(
            settings.model_dump(mode="json", exclude_defaults=True), sort_keys=False, allow_unicode=True, width=100
        ),
        file_name=f"{name}.yaml",
        mime="application/yaml",
        key="save_settings",
        icon=":material/download:",
        on_click="ignore",
        help="Load them here again, or use them with `python cli.py run --settings FILE.yaml`.",
    )


def _extent(scenarios: list[str]) -> Extent:
    first, second, third, fourth = st.columns([5, 2, 2, 2], gap="medium", vertical_alignment="bottom")
    with first:
        limit, scenario = _items(scenarios)
    parallel = second.number_input(
        "Calls at once", 1, 1000, 8, key="parallel", help="To each model. More is faster, until the provider objects."
    )
    ceiling = third.number_input(
        "Ceiling, dollars",
        0.0,
        value=None,
        step=1.0,
        key="ceiling",
        placeholder="none",
        help="No call starts that could take the run beyond it. Calls of unknown price are not counted.",
    )
    seed = fourth.number_input(
        "Seed", 0, value=0, key="seed", help="Everything drawn by lot follows from it and from the item."
    )
    return Extent(limit, scenario, parallel, ceiling, seed)


def _items(scenarios: list[str]) -> tuple[int | None, str | None]:
    """Which items; the ways that make sense for this study."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ways = [ALL, FIRST, *([SCENARIO] if scenarios else [])]
        way = st.segmented_control("Items", ways, default=ALL, required=True, key="run_items")
        if way == FIRST:
            return st.number_input("How many", 1, value=10, key="run_limit", width=140), None
        if way == SCENARIO:
            return None, st.selectbox("Scenario", scenarios, key="run_scenario", width=240)
    return None, None


def _order(
    study: Study, protocol: Protocol, draft: Draft, troubles: list[str], name: str, extent: Extent
) -> Order | None:
    """The run that is asked for; None, with a sentence, while something is wrong."""
    try:
        if troubles:
            raise Problem(troubles[0])
        settings = settings_file.checked(_whole(draft), protocol)
    except Problem as problem:
        st.warning(_upper(str(problem).removeprefix("field 'the settings': ")), icon=":material/pending:")
        return None
    return Order(
        study,
        protocol,
        settings,
        name,
        seed=extent.seed,
        parallel=extent.parallel,
        ceiling=extent.ceiling,
        limit=extent.limit,
        scenario=extent.scenario,
    )


def _whole(draft: Draft) -> Draft:
    """What only a form can leave open."""
    for judge in panel_form.every(draft):
        if not judge["name"]:
            raise Problem("Everybody who is asked needs a name.")
        if not judge["spec"].get("model"):
            raise Problem(f"Choose a model for {judge['name']}.")
    if draft.get("criterion") is not None and not draft["criterion"].get("name"):
        raise Problem("The criterion needs a name.")
    return draft


def _expected(order: Order) -> bool:
    """What the run will take, in words; False where it could not even begin."""
    try:
        found = launch.estimate(resources.engine(), order)
    except Problem as problem:
        st.warning(_upper(str(problem)), icon=":material/error:")
        return False
    if not found.items:
        st.warning("There are no items to run over; import some first.", icon=":material/error:")
        return False
    money = _money(found.dollars)
    tokens = numbers.count(round(found.prompt_tokens + found.completion_tokens, -2), "token")
    st.markdown(
        f"**{numbers.count(found.items, 'item')}: at most {numbers.count(found.calls_at_most, 'call')}, "
        f"about {tokens}, {plain(money)}**",
        help=f"At least {found.calls_at_least:,} calls, where the judges agree at once. Replies that cannot be read "
        "are asked for once more, and calls that fail are tried again: they come on top.",
    )
    if warning := launch.not_held(order, found):
        st.warning(warning, icon=":material/payments:")
    return True


def _money(dollars: float | None) -> str:
    if dollars is None:
        return "price unknown"
    return f"about {numbers.dollars(dollars)}" if dollars else "free of charge"


def _begin(order: Order, criteria: list[Criterion]) -> int | None:
    if not st.button("Start", type="primary", icon=":material/play_arrow:", key="start"):
        return None
    criterion: Any = getattr(order.settings, "criterion", None)
    if criterion is not None and criterion not in criteria:
        with database.writing(resources.engine()) as session:
            studies.add_criterion(session, order.study.id, CriterionRecord(criterion=criterion))
    return launch.make(resources.engine(), order)


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
