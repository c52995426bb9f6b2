"""The form of a variant, which a model can fill from the disagreements on development items."""

import streamlit as st

from core.errors import TiebreakError
from core.improvement import suggestion
from core.improvement.changes import Changes
from core.improvement.suggestion import DEFAULT_CASES, Case
from core.llm.client import available_models
from core.trace import Spec
from core.wording import format_count
from pages.parts import permissions, resources, visitor
from pages.parts.text import escape_markdown
from storage import access, audit, database, studies
from storage.access import Permission
from storage.audit import Action
from storage.improvement import suggestions, variants
from storage.improvement.judges import CurrentJudge
from storage.studies import Study

DRAFT, NUMBER = "improve_draft", "improve_draft_number"
"""Keys of the state with the last proposal of a model, and with their number: widgets with it in their key are new."""


def draw_form(study: Study, current: CurrentJudge, cases: list[Case]) -> bool:
    """Draw the form; return whether a variant was stored."""
    _draw_model(study, current, cases)
    scope = f"{current.run.id}_{current.judge.criterion.name}_{st.session_state.get(NUMBER, 0)}"
    drafted, model = st.session_state.get(DRAFT, {}).get(scope, (Changes(), ""))
    if model:
        st.caption(f":material/auto_awesome: Proposed by {escape_markdown(model)}. Review it before it is stored.")
    entered = _draw_fields(current, cases, drafted, scope)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the variant", key=f"variant_name_{scope}", width=320, placeholder="brevity")
        stored = st.button("Store the variant", type="primary", icon=":material/save:", key="store_variant")
    if not stored:
        return False
    origin = f"model: {model}" if model and entered == _effective(current, drafted) else f"model: {model}, edited"
    try:
        with permissions.writing(study.id, Permission.edit, "") as session:
            variants.add(session, study.id, name, current, entered, origin=origin if model else variants.PERSON)
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return False
    st.session_state[NUMBER] = st.session_state.get(NUMBER, 0) + 1
    return True


def _draw_fields(current: CurrentJudge, cases: list[Case], drafted: Changes, scope: str) -> Changes:
    """Draw the fields with the current texts or the drafted ones, and return what differs from the current ones."""
    judge = current.judge
    criterion = judge.criterion
    definition = st.text_area(
        "Definition", drafted.definition or criterion.definition, height=110, key=f"variant_definition_{scope}"
    )
    rubric = ""
    if criterion.rubric:
        rubric = st.text_area(
            f"Rubric, {len(criterion.rubric)} levels, one a line, lowest first",
            "\n".join(drafted.rubric or criterion.rubric),
            height=140,
            key=f"variant_rubric_{scope}",
        )
    guidelines = st.text_area(
        "Guidelines for the judge",
        drafted.guidelines or judge.guidelines,
        height=110,
        key=f"variant_guidelines_{scope}",
        help="In the prompts, after the criterion. Annotators do not see them.",
    )
    examples = st.multiselect(
        "Examples with people's decisions",
        list(dict.fromkeys(case.item.id for case in cases)),
        key=f"variant_examples_{scope}",
        placeholder="development items",
    )
    prompts = _draw_prompt(current, scope)
    entered = Changes(
        definition=definition,
        rubric=tuple(line.strip() for line in rubric.splitlines() if line.strip()) if criterion.rubric else None,
        guidelines=guidelines,
        examples=tuple(examples) or None,
        prompts=prompts,
    )
    return _effective(current, entered)


def _effective(current: CurrentJudge, changes: Changes) -> Changes:
    """Return the changes without fields that are as they were."""
    judge = current.judge
    before = {
        "definition": judge.criterion.definition,
        "rubric": judge.criterion.rubric,
        "guidelines": judge.guidelines,
    }
    same = {name: None for name, value in before.items() if getattr(changes, name) == value}
    return changes.model_copy(update=same)


def _draw_prompt(current: CurrentJudge, scope: str) -> dict[str, str]:
    """Draw the choice of a whole template to replace, and return its text if it differs."""
    templates = current.judge.templates
    with st.expander("Replace a prompt", key=f"variant_prompt_{scope}"):
        name = st.selectbox("Prompt", list(templates), index=None, key=f"variant_template_{scope}", placeholder="none")
        if name is None:
            return {}
        text = st.text_area("Text", templates[name], height="content", key=f"variant_text_{scope}_{name}")
    return {name: text} if text != templates[name] else {}


def _draw_model(study: Study, current: CurrentJudge, cases: list[Case]) -> None:
    with st.popover("Let a model propose changes", icon=":material/auto_awesome:", key="improve_model"):
        if not cases:
            st.caption("A model needs disagreements on development items.")
            return
        own = [spec.model for spec in suggestions.specs(current.run)]
        models = list(dict.fromkeys([*own, *(offer.model for offer in available_models())]))
        model = st.selectbox("Model", models, accept_new_options=True, key=f"improve_model_{current.run.id}")
        most = min(len(cases), 30)
        count = int(st.number_input("Disagreements", 1, most, min(DEFAULT_CASES, most), key=f"improve_cases_{most}"))
        st.caption(
            "The model receives the criterion and these development items, with the judge's replies and people's "
            "decisions."
        )
        _draw_template(study)
        if st.button("Propose", type="primary", key="improve_propose", disabled=not model):
            _propose(study, current, str(model), count)


def _propose(study: Study, current: CurrentJudge, model: str, count: int) -> None:
    criterion = current.judge.criterion.name
    try:
        request = suggestions.prepare(resources.engine(), study, current.run.name, criterion, model, count)
        _require_model(study, request.ask.spec)
        with st.spinner(f"The model reads {format_count(request.cases, 'disagreement')} …"):
            changes = suggestions.request_changes(request, resources.model_client())
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return
    number = st.session_state.get(NUMBER, 0) + 1
    st.session_state[NUMBER] = number
    st.session_state[DRAFT] = {f"{current.run.id}_{criterion}_{number}": (changes, model)}
    st.rerun()


def _require_model(study: Study, spec: Spec) -> None:
    """Record the request; raises Forbidden unless the visitor may start runs with this model."""
    with permissions.writing(study.id, Permission.run, "") as session:
        access.require_models(session, study.id, visitor.current_actor(), [spec])
        audit.record(session, Action.run, study_id=study.id, change="variant requested of a model", models=[spec.model])


def _draw_template(study: Study) -> None:
    """Draw the prompt of the model, which the study can replace."""
    with st.expander("Prompt", key="improve_template"):
        current = suggestion.study_template(study.prompts)
        text = st.text_area(
            "Prompt", current, height=300, key=f"improve_text_{len(current)}", label_visibility="collapsed"
        )
        st.caption("Placeholders: `$criterion`, `$guidelines`, `$cases`, `$rubric`.")
        with st.container(horizontal=True):
            if st.button("Save for this study", key="improve_save", disabled=text == current):
                try:
                    suggestion.check(text)
                except TiebreakError as error:
                    st.error(escape_markdown(str(error)), icon=":material/error:")
                    return
                _save_template(study, text)
            if suggestion.TEMPLATE in study.prompts and st.button("Restore the default", key="improve_restore"):
                _save_template(study, None)


def _save_template(study: Study, text: str | None) -> None:
    with database.reading(resources.engine()) as session:
        prompts = dict(studies.by_id(session, study.id).prompts)
    prompts.pop(suggestion.TEMPLATE, None)
    with permissions.writing(study.id, Permission.edit, "prompt of proposals") as session:
        studies.update_prompts(session, study.id, prompts | ({suggestion.TEMPLATE: text} if text is not None else {}))
    st.rerun()
