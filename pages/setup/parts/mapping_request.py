"""A model that proposes the mapping of a file, asked from the import page or elsewhere with the same prompt."""

from functools import partial
from pathlib import Path

import streamlit as st

from core.errors import TiebreakError
from core.formats.mapping import request
from core.formats.mapping.mapping import Mapping
from core.llm import router, secrets
from core.llm.client import available_models
from core.trace import Spec
from pages.parts import downloads, permissions, resources
from pages.parts.text import escape_markdown
from pages.setup.parts import mapping_form
from pages.setup.parts.upload import FileSource


def draw_request(source: FileSource) -> None:
    """Draw the choice of a model; its mapping replaces the choices in the form."""
    with st.popover("Let a model propose", icon=":material/auto_awesome:", key="map_model"):
        st.caption("The model receives the names of the fields, examples of their values, and the first three records.")
        about = st.text_area(
            "Documentation of the data set",
            key=f"map_about_{source.key}",
            height=120,
            help="What the values mean, such as the ends of a scale: the text of its README or paper.",
        )
        if permissions.may_ask_models():
            model = st.selectbox("Model", list(available_models()), accept_new_options=True, key="map_model_name")
            if st.button("Propose", type="primary", key="map_propose", disabled=not model):
                try:
                    _propose(source, str(model), about)
                except TiebreakError as error:  # the form is drawn, so it keeps what was entered
                    st.error(escape_markdown(str(error)), icon=":material/error:")
        try:
            prompt = _prompt(source, about)
        except TiebreakError as error:  # the file can be imported all the same
            st.caption(escape_markdown(f"No prompt: {error}"))
            return
        name = f"{Path(source.name).stem}-prompt.txt"
        downloads.draw_text_link("Save the prompt", prompt, name, "save_mapping_prompt", kind="mapping")
        st.caption("Give it to any other model, and load its reply as a mapping.")


def _prompt(source: FileSource, about: str) -> str:
    prompt: str = source.read(_make_prompt, tuple(own.name for own in source.others), about)
    return prompt


def _make_prompt(path: Path, others: tuple[str, ...], about: str) -> str:
    return request.mapping_prompt([path, *(path.parent / name for name in others)], about)


def _propose(source: FileSource, model: str, about: str) -> None:
    spec = Spec(model=model, max_tokens=request.MAX_TOKENS)
    secrets.check_key(spec)
    prompt = _prompt(source, about)
    permissions.record_request(model, "mapping requested of a model")
    with st.spinner("The model reads the fields and first records …"), source.on_disk() as path:
        paths = [path, *(path.parent / own.name for own in source.others)]
        ask = partial(request.propose, paths=paths, prompt=prompt, spec=spec)
        found: list[Mapping] = router.call(ask, resources.model_client())
    mapping_form.start_loaded(source, found)
    st.rerun()
