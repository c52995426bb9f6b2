"""Score responses on a criterion: blind first, then with the judges' review."""

import streamlit as st

from core.labels import Scale
from pages.label.parts import workbench
from pages.parts import permissions, resources, shell
from storage.accounts.access import Permission
from storage.db import connections
from storage.labelling import targets
from storage.labelling.targets import ScaleKey
from storage.studies.studies import Study


def choose_scale(scales: dict[ScaleKey, Scale]) -> ScaleKey:
    """Draw the choice of a criterion in the sidebar; it is in the URL."""
    keys_by_name = {_scale_name(key, scales): key for key in scales}
    names = list(keys_by_name)
    # A link from a trace names the criterion as `on`; the choice below is bound to `criterion`.
    linked = next(
        (name for name, key in keys_by_name.items() if key[1] and key[1] == st.query_params.get("on")), names[0]
    )
    with st.sidebar:
        selected = st.selectbox("Criterion", names, index=names.index(linked), key="criterion", bind="query-params")
    return keys_by_name.get(str(selected)) or next(iter(keys_by_name.values()))


def _scale_name(key: ScaleKey, scales: dict[ScaleKey, Scale]) -> str:
    """Return the criterion, marked as an answer if a score has the same name."""
    kind, criterion = key
    return (criterion or "answer") if kind == "score" or ("score", criterion) not in scales else f"{criterion} (answer)"


def empty_state(study: Study) -> None:
    """Draw the empty state if no criterion has a scale."""
    st.title("Scores", anchor=False)
    links = (shell.IMPORT, shell.RUN)
    advice = "Import scores, or start a ReFeR run on a criterion with a scale."
    shell.draw_missing(study, "This study has no criterion with a scale yet.", advice, *links)
    shell.link_sample("label/scores.py", "refer")
    shell.draw_links(study, *links)


study = workbench.choose_study()
annotator = shell.require_annotator()
with connections.reading(resources.engine()) as session:
    scales = targets.scales(session, study.id)
if not scales:
    empty_state(study)
else:
    (kind, criterion), scenario = choose_scale(scales), workbench.choose_scenario(study)
    with permissions.writing(study.id, Permission.label, "") as session:
        targets.create_targets(session, study.id, kind, criterion, scales[kind, criterion])
    choices = {"criterion": criterion, "scenario": scenario}
    workbench.mount("answers" if kind == "answer" else "scores", study, choices)
