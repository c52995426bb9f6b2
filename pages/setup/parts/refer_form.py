"""The settings form of ReFeR: peers, area chair, samples, and the parts of the prompting schema."""

import asyncio

import streamlit as st

from core.errors import TiebreakError
from core.items import Criterion
from core.llm import secrets
from core.llm.client import available_models
from core.protocols.prompt_parts import is_numeric
from core.protocols.refer import auto_prompt
from core.protocols.refer import protocol as refer
from core.protocols.refer.auto_prompt import RatedItem
from core.trace import Ask, Spec
from pages.parts import numbers, permissions, resources
from pages.parts.text import escape_markdown
from pages.setup.parts import judges_form
from pages.setup.parts.default_form import Layout
from pages.setup.parts.settings_form import Draft, SettingsForm
from storage.accounts.access import Permission
from storage.db import audit, connections
from storage.db.audit import Action
from storage.improvement import variants
from storage.studies import studies
from storage.studies.studies import Study

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
    with connections.reading(resources.engine()) as session:
        study = studies.get(session, str(st.session_state["study"]))
        rated = variants.examples_of(session, study.id, criterion.name)
    if len({rating.value for rating in rated}) < 2:
        st.caption(f"Items with different ratings of {escape_markdown(criterion.name)} by people are needed.")
        return
    st.caption(
        f"A model reads examples from {numbers.format_count(len(rated), 'rated item')} and drafts the meaning of "
        "each score; held-out items are none of them. Exclude the examples when you compare judges with people."
    )
    models = [offer.model for offer in available_models()]
    model = st.selectbox("Model", models, accept_new_options=True, key=f"{field}_model", placeholder="any litellm name")
    most = min(20, len(rated))
    count = st.number_input("Examples", 2, most, min(auto_prompt.DEFAULT_EXAMPLES, most), key=f"{field}_few")
    examples = auto_prompt.select_examples(rated, int(count))
    st.caption("Examples: " + ", ".join(escape_markdown(rating.item.id) for rating in examples))
    if st.button("Draft", type="primary", key=f"{field}_go", disabled=not model):
        try:
            with st.spinner("The model reads the examples …"):
                draft = _draft(study, str(model), criterion, task, steps, examples)
        except TiebreakError as error:  # the form is drawn, so it keeps what was entered
            st.error(escape_markdown(str(error)), icon=":material/error:")
            return
        source = f"{model} from {numbers.format_count(len(examples), 'example')}"
        st.session_state[f"{field}_draft"] = (draft.text, source if draft.complete else f"{source} (cut off)")
        st.session_state[f"{field}_drafts"] = st.session_state.get(f"{field}_drafts", 0) + 1
        st.rerun()


def _draft(
    study: Study, model: str, criterion: Criterion, task: str, steps: str, examples: list[RatedItem]
) -> auto_prompt.Draft:
    """Return the draft that a model gives in one call; raises TiebreakError."""
    if problem := secrets.describe_problem(model, "", ""):
        raise TiebreakError(f"{model}: {problem}")
    with permissions.writing(study.id, Permission.run, "") as session:
        audit.record(session, Action.run, study_id=study.id, change="guidelines drafted", models=[model])
    spec = Spec(model=model, max_tokens=auto_prompt.DRAFT_TOKENS)
    ask = auto_prompt.guidelines_request(criterion, examples, spec, study.templates(refer.NAME), task, steps)
    return asyncio.run(_request_draft(ask))


async def _request_draft(ask: Ask) -> auto_prompt.Draft:
    client = resources.model_client()
    try:
        return await auto_prompt.draft_guidelines(client, ask)
    finally:
        await client.close()


def _finish(form: SettingsForm, draft: Draft) -> Draft:
    """Draw the guidelines, which a model can draft."""
    key = form.key("guidelines")
    if key not in st.session_state:
        st.session_state[key] = str(form.start.get("guidelines", ""))
    if draft["verdict"] != "score":  # a reasoning task has no criterion, also none without a name
        draft = {name: value for name, value in draft.items() if name != "criterion"}
    elif draft["criterion"].get("name"):
        draw_draft_button(key, draft["criterion"], draft["task"], draft["steps"])
    guidelines = st.text_area(
        "Evaluation guidelines: meaning of each score", key=key, height=260, help=form.help("guidelines")
    )
    # Lite too: its one sample is a draw from the same distribution as Turbo's.
    return draft | {"guidelines": guidelines, "chair": judges_form.with_sampling_temperature(draft["chair"])}


REFER = Layout(
    first=("verdict", "criterion", "criteria", "letters", "samples", "shared_with_chair"),
    names={
        "criteria": "Further criteria",
        "letters": "Options, one letter each",
        "samples": "Samples of the chair",
        "chair": "Area chair",
        "chair_rubric": "Criterion and meaning of each score for the chair",
        "chair_guidelines": "Evaluation guidelines of the chair",
        "dispute_threshold": "Disputed above this contention",
        "rubric_in": "Place of the rubric",
        "failing_peer": "A peer whose call fails",
    },
    shown={
        "rubric_in": lambda draft: draft["verdict"] == "score",
        "criterion": lambda draft: draft["verdict"] == "score",
        "criteria": lambda draft: draft["verdict"] == "score",
        "letters": lambda draft: draft["verdict"] == "option",
    },
    models={"peers": 3},
    own=("guidelines",),
    finish=_finish,
)
