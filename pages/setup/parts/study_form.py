"""A study's own page: how it is labelled, its criteria, and what can be taken away."""

import io
from collections.abc import Callable
from typing import TextIO

import streamlit as st

from core.formats import gold, instruction_tuning, tiebreak
from core.formats.records import CriterionRecord, StudyRules
from core.items import Criterion
from core.labels import Scale
from core.problems import Problem
from pages.parts import resources
from pages.parts.text import plain
from pages.setup.parts import scale_form
from storage import database, labels, studies
from storage.reports import peer_errors
from storage.studies import Study
from storage.transfer import exports, instructions


def show(study: Study) -> None:
    """Three things that can be done with a study."""
    guidelines, criteria, away = st.tabs(["Guidelines and rules", "Criteria", "Take away"])
    with guidelines:
        _rules(study)
    with criteria:
        _criteria(study)
    with away:
        _take_away(study)


def _rules(study: Study) -> None:
    with st.form("rules", border=False):
        description = st.text_area("What the study is about", study.description, height=110)
        words = st.text_area(
            "Guidelines for annotators",
            study.guidelines,
            height=260,
            help="In Markdown. Annotators can open them beside every item.",
        )
        left, middle, right = st.columns(3, gap="medium", vertical_alignment="bottom")
        overlap = left.number_input(
            "Labels wanted for each target", 1, 100, study.rules.overlap, help="At most so many people are given it."
        )
        minutes = middle.number_input(
            "Minutes a target is held", 1, 10_000, study.rules.lease_minutes, help="Then somebody else may have it."
        )
        reveal = right.toggle(
            "Reveal after a blind label",
            study.rules.reveal,
            help="Annotators decide first without the judges. Then they see the debate and may change their mind; "
            "both answers are kept.",
        )
        if not st.form_submit_button("Save", type="primary"):
            return
    rules = StudyRules(overlap=overlap, reveal=reveal, lease_minutes=minutes)
    with database.writing(resources.engine()) as session:
        studies.change(session, study.id, description=description, guidelines=words, rules=rules)
    st.toast("Saved.", icon=":material/check:")


def _criteria(study: Study) -> None:
    with database.reading(resources.engine()) as session:
        known = studies.criteria(session, study.id)
    if not known:
        st.caption("No criterion yet. A run and a label say by which criterion they judge.")
    for place, criterion in enumerate(known):
        with st.expander(plain(criterion.name)):
            _criterion(study, criterion, f"criterion{place}")
    with st.expander("Add a criterion", icon=":material/add:", expanded=not known):
        _criterion(study, None, f"criterion_new{len(known)}")


def _criterion(study: Study, known: Criterion | None, key: str) -> None:
    """A criterion's words. Its name stays: labels and runs are filed under it."""
    with st.form(key, border=False):
        name = st.text_input("Name", known.name if known else "", disabled=known is not None, key=f"{key}_name")
        definition = st.text_area("Definition", known.definition if known else "", height=90, key=f"{key}_definition")
        rubric = st.text_area(
            "Rubric",
            "\n".join(known.rubric) if known else "",
            height=160,
            key=f"{key}_rubric",
            help="One level a line, the lowest first, such as: Not helpful - The response misses what was asked.",
        )
        scale = scale_form.of_a_score(f"{key}_", known.scale if known else None)
        if not st.form_submit_button("Save" if known else "Add"):
            return
    _keep(study, known, name, definition, rubric, scale)


def _keep(study: Study, known: Criterion | None, name: str, definition: str, rubric: str, scale: Scale | None) -> None:
    name = " ".join(name.split())
    if not name:
        raise Problem("A criterion needs a name.")
    fields = {
        "name": name,
        "definition": definition.strip(),
        "rubric": tuple(line.strip() for line in rubric.splitlines() if line.strip()),
        "scale": scale,
    }
    with database.writing(resources.engine()) as session:
        if known is None and name in {one.name for one in studies.criteria(session, study.id)}:
            raise Problem(f'There is a criterion called "{name}" already.')
        changed = (known or Criterion(name=name)).model_copy(update=fields)
        studies.put_criterion(session, study.id, CriterionRecord(criterion=changed))
    st.rerun()


def _take_away(study: Study) -> None:
    """Files are made when somebody asks for them, not before."""

    def golds(stream: TextIO) -> None:
        with database.reading(resources.engine()) as session:
            gold.write(labels.golds(session, study.id), stream)

    def everything(stream: TextIO) -> None:
        tiebreak.write(exports.records(resources.engine(), study), stream)

    def taught(stream: TextIO) -> None:
        instruction_tuning.write(instructions.of_study(resources.engine(), study), stream)

    st.markdown("**Gold labels**")
    st.caption("One row a target: the value that stands, where it comes from, who labelled, how the votes fell.")
    _download("Gold labels as CSV", golds, f"{study.name} gold.csv", "text/csv", "gold")
    st.markdown("**The whole study**")
    st.caption("Items, criteria, runs with every event, labels with their history: Tiebreak reads it back as it is.")
    _download("Study as JSON lines", everything, f"{study.name}.jsonl", "application/jsonl", "whole")
    with database.reading(resources.engine()) as session:
        reviewed = bool(peer_errors.runs_of(session, study.id))
    if reviewed:
        st.markdown("**What the area chairs said**")
        st.caption(
            "Their analyses as instruction-tuning examples, to teach a smaller model to judge (ReFeR, Appendix J)."
        )
        _download("Analyses as JSON lines", taught, f"{study.name} instructions.jsonl", "application/jsonl", "taught")


def _download(label: str, write: Callable[[TextIO], None], name: str, mime: str, key: str) -> None:
    st.download_button(
        label, lambda: written(write), name, mime, key=f"take_{key}", icon=":material/download:", on_click="ignore"
    )


def written(write: Callable[[TextIO], None]) -> bytes:
    """A file's bytes, the same on every system; the server keeps them in memory until they are fetched."""
    held = io.BytesIO()
    stream = io.TextIOWrapper(held, encoding="utf-8", newline="")
    write(stream)
    stream.flush()
    return held.getvalue()
