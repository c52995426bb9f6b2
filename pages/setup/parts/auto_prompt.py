"""Let a model draft evaluation guidelines from what people rated; the draft goes into a field, for a person to edit."""

import asyncio

import streamlit as st
from pydantic import ValidationError

from core.items import Criterion
from core.llm.client import available
from core.problems import Problem
from core.protocols import ratings
from core.protocols.refer import auto_prompt
from core.protocols.refer import protocol as refer
from core.protocols.refer.auto_prompt import Rated
from core.trace import Ask, Spec
from pages.parts import numbers, resources
from pages.parts.text import plain
from pages.setup.parts import judges_form
from pages.setup.parts.settings_form import Draft
from storage import database, studies
from storage.reports import rated_items


def show(field: str, criterion: Draft, task: str, steps: str) -> None:
    """The button beside the field whose key is `field`; what was drafted before is put into the field first."""
    waiting = st.session_state.pop(f"{field}_draft", None)
    if waiting is not None:
        st.session_state[field], st.session_state[f"{field}_from"] = waiting
    drafts = st.session_state.get(f"{field}_drafts", 0)  # another key closes what was open
    with st.popover("Draft from rated examples", icon=":material/auto_awesome:", key=f"{field}_auto{drafts}"):
        _ask(field, Criterion.model_validate(criterion), task, steps)
    used = st.session_state.get(f"{field}_from")
    if used:
        st.caption(f"Drafted by {used}. Read it and change what is wrong: it is used as it stands here.")


def _ask(field: str, criterion: Criterion, task: str, steps: str) -> None:
    if not ratings.numeric(criterion.scale):
        st.caption("The criterion needs a scale of numbers first.")
        return
    there = _rated(criterion.name)
    if len({one.value for one in there}) < 2:
        st.caption(f"People have to rate a few items on {plain(criterion.name)} first, not all of them alike.")
        return
    st.caption(
        f"A model is shown some of {numbers.count(len(there), 'rated item')} and drafts when to give which score. "
        "Leave the items that it is shown out when you compare judges with people."
    )
    offers = [offer.model for offer in available()]
    model = st.selectbox("Model", offers, accept_new_options=True, key=f"{field}_model", placeholder="any litellm name")
    few = (
        st.slider("Examples", 2, min(20, len(there)), min(auto_prompt.FEW, len(there)), key=f"{field}_few")
        if len(there) > 2
        else 2
    )
    chosen = auto_prompt.spread(there, int(few))
    st.caption("Shown: " + ", ".join(plain(one.item.id) for one in chosen))
    if st.button("Draft", type="primary", key=f"{field}_go", disabled=not model):
        try:
            with st.spinner("The model reads the examples …"):
                draft = _drafted(str(model), criterion, task, steps, chosen)
        except Problem as problem:
            st.error(str(problem), icon=":material/error:")
            return
        source = f"{model} from {numbers.count(len(chosen), 'example')}"
        st.session_state[f"{field}_draft"] = (draft.text, source if draft.whole else f"{source}, and cut off")
        st.session_state[f"{field}_drafts"] = st.session_state.get(f"{field}_drafts", 0) + 1
        st.rerun()


def _rated(criterion: str) -> list[Rated]:
    with database.reading(resources.engine()) as session:
        study = studies.get(session, str(st.session_state["study"]))
        return rated_items.scored(session, study.id, criterion)


def _drafted(model: str, criterion: Criterion, task: str, steps: str, chosen: list[Rated]) -> auto_prompt.Drafted:
    """One call; raises Problem in a sentence."""
    if trouble := judges_form.refusal(model, "", ""):
        raise Problem(f"{model}: {trouble}")
    with database.reading(resources.engine()) as session:
        study = studies.get(session, str(st.session_state["study"]))
    spec = Spec(model=model, max_tokens=800)
    try:
        settings = refer.Settings(
            peers=(refer.Reviewer(name="peer", spec=spec),),
            chair=refer.Reviewer(name="chair", spec=spec),
            criterion=criterion,
            task=task,
            steps=steps,
        )
    except ValidationError as error:
        raise Problem(error.errors()[0]["msg"].removeprefix("Value error, ").capitalize() + ".") from None
    structure = auto_prompt.structure(settings, study.templates(refer.NAME))
    question = auto_prompt.ask(criterion, structure, chosen, spec)
    return asyncio.run(_answer(question))


async def _answer(question: Ask) -> auto_prompt.Drafted:
    model = resources.model()
    try:
        return await auto_prompt.drafted(model, question)
    finally:
        await model.close()
