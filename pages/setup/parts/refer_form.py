"""The settings form of ReFeR: peers, area chair, samples, and the parts of the prompting schema."""

import asyncio

import streamlit as st
from pydantic import ValidationError

from core.errors import TiebreakError
from core.items import Criterion
from core.llm import secrets
from core.llm.client import available_models
from core.protocols.prompt_parts import is_numeric
from core.protocols.refer import auto_prompt
from core.protocols.refer import protocol as refer
from core.protocols.refer.auto_prompt import RatedItem
from core.protocols.refer.settings import Reviewer, Settings
from core.protocols.registry import PROTOCOLS
from core.trace import Ask, Spec
from pages.parts import numbers, permissions, resources
from pages.parts.text import escape_markdown
from pages.setup.parts import judges_form
from pages.setup.parts.settings_form import Draft, SettingsForm
from storage.accounts.access import Permission
from storage.db import audit, connections
from storage.db.audit import Action
from storage.reports import peer_reviews
from storage.studies import studies

# Drafts evaluation guidelines with a model from items that people rated, into a field that can be edited.


def draw_draft_button(field: str, criterion: Draft, task: str, steps: str) -> None:
    """Draw the button for the field whose key is `field`; a finished draft is written to the field first.

    Streamlit allows this only before the field's widget is created.
    """
    draft = st.session_state.pop(f"{field}_draft", None)
    if draft is not None:
        st.session_state[field], st.session_state[f"{field}_from"] = draft
    draft_count = st.session_state.get(f"{field}_drafts", 0)  # a new key closes the popover
    with st.popover("Draft from rated examples", icon=":material/auto_awesome:", key=f"{field}_auto{draft_count}"):
        _draw_dialog(field, Criterion.model_validate(criterion), task, steps)
    source = st.session_state.get(f"{field}_from")
    if source:
        st.caption(f"Drafted by {source}. Review it: the run uses this text.")


def _draw_dialog(field: str, criterion: Criterion, task: str, steps: str) -> None:
    if not is_numeric(criterion.scale):
        st.caption("The criterion needs a numeric scale.")
        return
    rated = _load_ratings(criterion.name)
    if len({rating.value for rating in rated}) < 2:
        st.caption(f"Items with different ratings of {escape_markdown(criterion.name)} by people are needed.")
        return
    st.caption(
        f"A model reads examples from {numbers.format_count(len(rated), 'rated item')} and drafts the meaning of "
        "each score. Exclude these examples when you compare judges with people."
    )
    models = [offer.model for offer in available_models()]
    model = st.selectbox("Model", models, accept_new_options=True, key=f"{field}_model", placeholder="any litellm name")
    example_count = (
        st.slider("Examples", 2, min(20, len(rated)), min(auto_prompt.DEFAULT_EXAMPLES, len(rated)), key=f"{field}_few")
        if len(rated) > 2
        else 2
    )
    examples = auto_prompt.select_examples(rated, int(example_count))
    st.caption("Examples: " + ", ".join(escape_markdown(rating.item.id) for rating in examples))
    if st.button("Draft", type="primary", key=f"{field}_go", disabled=not model):
        try:
            with st.spinner("The model reads the examples …"):
                draft = _draft(str(model), criterion, task, steps, examples)
        except TiebreakError as error:
            st.error(escape_markdown(str(error)), icon=":material/error:")
            return
        source = f"{model} from {numbers.format_count(len(examples), 'example')}"
        st.session_state[f"{field}_draft"] = (draft.text, source if draft.complete else f"{source} (cut off)")
        st.session_state[f"{field}_drafts"] = st.session_state.get(f"{field}_drafts", 0) + 1
        st.rerun()


def _load_ratings(criterion: str) -> list[RatedItem]:
    with connections.reading(resources.engine()) as session:
        study = studies.get(session, str(st.session_state["study"]))
        return peer_reviews.rated_items(session, study.id, criterion)


def _draft(model: str, criterion: Criterion, task: str, steps: str, examples: list[RatedItem]) -> auto_prompt.Draft:
    """Return the draft that a model gives in one call; raises TiebreakError."""
    if problem := secrets.describe_problem(model, "", ""):
        raise TiebreakError(f"{model}: {problem}")
    with connections.reading(resources.engine()) as session:
        study = studies.get(session, str(st.session_state["study"]))
    with permissions.writing(study.id, Permission.run, "") as session:
        audit.record(session, Action.run, study_id=study.id, change="guidelines drafted", models=[model])
    spec = Spec(model=model, max_tokens=800)
    try:
        settings = Settings(
            peers=(Reviewer(name="peer", spec=spec),),
            chair=Reviewer(name="chair", spec=spec),
            criterion=criterion,
            task=task,
            steps=steps,
        )
    except ValidationError as error:
        raise TiebreakError(error.errors()[0]["msg"].removeprefix("Value error, ").capitalize() + ".") from None
    structure = auto_prompt.prompt_structure(settings, study.templates(refer.NAME))
    ask = auto_prompt.draft_request(criterion, structure, examples, spec)
    return asyncio.run(_request_draft(ask))


async def _request_draft(ask: Ask) -> auto_prompt.Draft:
    client = resources.model_client()
    try:
        return await auto_prompt.draft_guidelines(client, ask)
    finally:
        await client.close()


VERDICT_NAMES = {"score": "a score of the response", "option": "one of several options", "number": "a number"}
SHARED_NAMES = {"scores": "scores only", "comments": "comments only", "both": "scores and comments"}
LITE, TURBO, OTHER = "1 (Lite)", "20 (Turbo)", "Other"


def render(form: SettingsForm) -> Draft:
    """Draw the form; returns the settings so far."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        draft: Draft = {"verdict": form.setting("verdict", "Verdict", VERDICT_NAMES)}
        if draft["verdict"] == "score":
            draft["criterion"] = form.criterion()
            draft["criteria"] = form.criteria_list("criteria", "Further criteria")
        if draft["verdict"] == "option":
            draft["letters"] = form.setting("letters", "Options, one letter each")
        draft["samples"] = _draw_samples(form)
        draft["shared_with_chair"] = form.setting("shared_with_chair", "Shared with the chair", SHARED_NAMES)
    with right:
        peers = judges_form.draw_models(form, "peers", "Peers", default_count=3)
        chair = judges_form.draw_models(form, "chair", "Area chair", maximum=1)
    with st.expander("Prompt: task, steps, guidelines", key=form.key("schema")):
        draft |= _draw_schema(form, draft)
    with st.expander("Prompt of the chair, if it differs", key=form.key("chair_schema")):
        draft |= _draw_chair_schema(form)
    with st.expander("More settings", key=form.key("more")):
        draft["dispute_threshold"] = form.setting("dispute_threshold", "Disputed above this contention")
        shared = judges_form.draw_shared_settings(form)
    (chair_model,) = judges_form.add_shared_settings(chair, shared)
    return draft | {
        "peers": judges_form.add_shared_settings(peers, shared),
        # Lite too: its one sample is a draw from the same distribution as Turbo's.
        "chair": judges_form.with_sampling_temperature(chair_model),
    }


def _draw_samples(form: SettingsForm) -> int:
    """Draw the number of samples: Lite, Turbo, or any other."""
    start = int(form.start.get("samples", 1))
    variants = {1: LITE, 20: TURBO}
    variant = st.segmented_control(
        "Samples of the chair",
        [LITE, TURBO, OTHER],
        default=variants.get(start, OTHER),
        required=True,
        key=form.key("variant"),
        help=form.help("samples"),
    )
    if variant == OTHER:
        return int(
            st.number_input("Number of samples", 1, 200, start if start not in variants else 5, key=form.key("samples"))
        )
    return 1 if variant == LITE else 20


def _draw_schema(form: SettingsForm, draft: Draft) -> Draft:
    """Draw the parts of the schema; an empty part means the default."""
    left, right = st.columns(2, gap="large")
    with left:
        texts = {name: _draw_text(form, name, label, 110) for name, label in (("task", "Task"), ("steps", "Steps"))}
    criterion = draft.get("criterion") or {}
    if criterion.get("name"):
        with right:
            draw_draft_button(form.key("guidelines"), criterion, texts["task"], texts["steps"])
    with right:
        texts["guidelines"] = _draw_text(form, "guidelines", "Evaluation guidelines: meaning of each score", 260)
    return texts


def _draw_chair_schema(form: SettingsForm) -> Draft:
    """Draw the parts that the chair reads in another wording; an empty part means the peers'."""
    left, right = st.columns(2, gap="large")
    with left:
        texts = {
            "chair_task": _draw_text(form, "chair_task", "Task", 110),
            "chair_steps": _draw_text(form, "chair_steps", "Steps", 110),
        }
    with right:
        texts["chair_rubric"] = _draw_text(form, "chair_rubric", "Criterion and meaning of each score", 110)
        texts["chair_guidelines"] = _draw_text(form, "chair_guidelines", "Evaluation guidelines", 110)
    return texts


def _draw_text(form: SettingsForm, name: str, label: str, height: int) -> str:
    key = form.key(name)
    if key not in st.session_state:
        st.session_state[key] = str(form.start.get(name, ""))
    return st.text_area(label, key=key, height=height, help=form.help(name), placeholder=_placeholder(name))


def _placeholder(name: str) -> str:
    """Return the default text of a part."""
    if name.startswith("chair_"):
        return "same as for the peers"
    return "none" if name == "guidelines" else PROTOCOLS[refer.NAME].prompts[f"{name}_score"].replace("$criterion", "…")
