"""The page of one study: guidelines and labelling rules, criteria, and exports."""

import io
from collections.abc import Callable
from typing import Literal, TextIO

import streamlit as st

from core.errors import TiebreakError
from core.formats import gold, instruction_tuning, tiebreak
from core.formats.output import temporary_folder
from core.formats.study_records import CriterionRecord, StudyRules
from core.items import Criterion
from core.labels import Scale
from pages.parts import downloads, permissions, resources, shell
from pages.parts.downloads import File
from pages.parts.text import escape_markdown
from pages.setup.parts import offer_form, rules_form, scale_form, study_actions, training_form
from storage import database, studies, views
from storage.access import Permission
from storage.reports import peer_reviews
from storage.studies import Study
from storage.transfer import GoldOptions, exports, gold_rows, instructions, verdict_runs
from storage.transfer.bundle import write_bundle

REASONS: tuple[Literal["optional", "required", "none"], ...] = ("optional", "required", "none")


def draw_study(study: Study) -> None:
    """Draw the tabs."""
    names = ["Guidelines and rules", "Criteria", "Training and checks", "Export", "Name and deletion"]
    guidelines, criteria, training, exports_tab, actions = st.tabs(names)
    with guidelines:
        _draw_rules(study)
        offer_form.draw_form(study)
    with criteria:
        _draw_criteria(study)
    with training:
        training_form.draw_training(study)
    with exports_tab:
        _draw_exports(study)
    with actions:
        study_actions.draw_actions(study)


def _draw_rules(study: Study) -> None:
    with st.form("rules", border=False):
        description = st.text_area("Description", study.description, height=110)
        guidelines = st.text_area(
            "Guidelines for annotators",
            study.guidelines,
            height=260,
            help="In Markdown. Annotators can open them next to every item.",
        )
        left, middle, right = st.columns(3, gap="medium", vertical_alignment="bottom")
        overlap = left.number_input(
            "Labels per target", 1, 100, study.rules.overlap, help="The number of annotators who label each target."
        )
        minutes = middle.number_input(
            "Lease, minutes",
            1,
            10_000,
            study.rules.lease_minutes,
            help="A target is reserved for an annotator for this long.",
        )
        reason = right.selectbox(
            "Reason", REASONS, index=REASONS.index(study.rules.reason), help="Whether a label has a reason."
        )
        with st.container(horizontal=True, gap="large"):
            reveal = st.toggle(
                "Reveal judges after a blind label",
                study.rules.reveal,
                help="Annotators first label without seeing the judges, then see the trace and can change their "
                "label. Both labels are stored.",
            )
            evidence = st.toggle(
                "Evidence",
                study.rules.evidence,
                help="Annotators can select passages, which are stored with the label.",
            )
        with st.expander("Assignment and adjudication"):
            more = rules_form.draw_fields(study.rules)
        if not st.form_submit_button("Save", type="primary"):
            return
    changed = {"overlap": overlap, "reveal": reveal, "lease_minutes": minutes, "reason": reason, "evidence": evidence}
    rules = StudyRules.model_validate(study.rules.model_dump() | changed | more.rules())
    with permissions.writing(study.id, Permission.edit, "guidelines and rules") as session:
        studies.update(session, study.id, description=description, guidelines=guidelines, rules=rules)
    st.toast("Saved.", icon=":material/check:")


def _draw_criteria(study: Study) -> None:
    with database.reading(resources.engine()) as session:
        criteria = studies.criteria(session, study.id)
    if not criteria:
        st.caption("This study has no criteria yet. Runs and labels refer to a criterion.")
    for index, criterion in enumerate(criteria):
        with st.expander(escape_markdown(criterion.name)):
            _draw_criterion(study, criterion, f"criterion{index}")
    with st.expander("Add a criterion", icon=":material/add:", expanded=not criteria):
        _draw_criterion(study, None, f"criterion_new{len(criteria)}")


def _draw_criterion(study: Study, current: Criterion | None, key: str) -> None:
    """Draw the form of a criterion. Its name cannot change, because labels and runs refer to it."""
    with st.form(key, border=False):
        name = st.text_input("Name", current.name if current else "", disabled=current is not None, key=f"{key}_name")
        definition = st.text_area(
            "Definition", current.definition if current else "", height=90, key=f"{key}_definition"
        )
        rubric = st.text_area(
            "Rubric",
            "\n".join(current.rubric) if current else "",
            height=160,
            key=f"{key}_rubric",
            help="One level per line, lowest first, such as: Not helpful - The response misses the question.",
        )
        scale = scale_form.draw_score_scale(f"{key}_", current.scale if current else None)
        if not st.form_submit_button("Save" if current else "Add"):
            return
    _save_criterion(study, current, name, definition, rubric, scale)


def _save_criterion(
    study: Study, current: Criterion | None, name: str, definition: str, rubric: str, scale: Scale | None
) -> None:
    name = " ".join(name.split())
    if not name:
        raise TiebreakError("A criterion needs a name.")
    fields = {
        "name": name,
        "definition": definition.strip(),
        "rubric": tuple(line.strip() for line in rubric.splitlines() if line.strip()),
        "scale": scale,
    }
    with permissions.writing(study.id, Permission.edit, f"criterion {name}") as session:
        if current is None and name in {criterion.name for criterion in studies.criteria(session, study.id)}:
            raise TiebreakError(f'A criterion named "{name}" already exists.')
        updated = (current or Criterion(name=name)).model_copy(update=fields)
        studies.save_criterion(session, study.id, CriterionRecord(criterion=updated))
    st.rerun()


def _draw_exports(study: Study) -> None:
    """Draw the downloads; a file is written only when its button is clicked."""
    permissions.require(study.id, Permission.export)

    def write_study(stream: TextIO) -> None:
        tiebreak.write(exports.export_records(resources.engine(), study), stream)

    def write_instructions(stream: TextIO) -> None:
        instruction_tuning.write_jsonl(instructions.instruction_examples(resources.engine(), study), stream)

    if not _may_download(study):
        return
    _draw_gold_export(study)
    st.markdown("**Complete study**")
    st.caption("Items, criteria, runs with all events, and labels with their history. Tiebreak can import it again.")
    _draw_download("Study as JSON lines", write_study, f"{study.name}.jsonl", "application/jsonl", "study")
    with database.reading(resources.engine()) as session:
        has_reviews = bool(peer_reviews.find_runs(session, study.id))
    st.markdown("**Files for a publication**")
    st.caption("Labels, gold, verdicts, agreement and alignment as CSV, all traces, a codebook and a manifest.")
    bundle = File(lambda: bundle_bytes(study), f"{study.name} bundle.zip", "application/zip", "bundle")
    downloads.draw_file_link("Bundle as zip", bundle, "export_bundle", Permission.export)
    if has_reviews:
        st.markdown("**Analyses of the area chairs**")
        st.caption("Instruction-tuning examples for training a smaller judge (ReFeR, Appendix J).")
        file_name = f"{study.name} instructions.jsonl"
        _draw_download("Analyses as JSON lines", write_instructions, file_name, "application/jsonl", "instructions")


def _may_download(study: Study) -> bool:
    """Return whether no target is left to label blind; otherwise draw the button that gives up blindness."""
    annotator = shell.current_annotator()
    with database.reading(resources.engine()) as session:
        if annotator is not None and views.is_study_viewed(session, study.id, annotator):
            return True
    st.info(
        "The files contain opinions of judges and labels of other people. Labels that you give in this study after a "
        "download are recorded as not blind.",
        icon=":material/visibility:",
    )
    if annotator is None:
        st.caption("Sign in on a page of the section Label to download them.")
    elif st.button("Show the downloads", key="show_downloads"):
        with permissions.writing(study.id, Permission.export, "") as session:
            views.record_study(session, study.id, annotator)
        st.rerun()  # a download would be cancelled when its button moves up
    return False


def _draw_gold_export(study: Study) -> None:
    """Draw the choices of the gold export and its download."""
    with database.reading(resources.engine()) as session:
        run_names = verdict_runs(session, study)
    st.markdown("**Gold labels**")
    st.caption("One row per target: people's decision, its source, the labels behind it, and who adjudicated.")
    judges: list[str] = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pseudonyms = st.toggle("Pseudonyms for annotators", key="gold_pseudonyms")
        judge_columns = bool(run_names) and st.toggle("Columns with the judges' verdicts", key="gold_judge_columns")
    if run_names:
        judges = st.multiselect(
            "Verdicts of judges as gold for unlabelled targets",
            run_names,
            key="gold_judges",
            placeholder="None: gold is people's decisions",
            help="Their source is `judges`. Do not select a run that is evaluated with this gold.",
        )
    if judges:
        selected = escape_markdown(", ".join(judges))
        st.warning(
            f"Values with the source `judges` are verdicts of {selected}: do not evaluate these runs, or other runs of "
            "their judges, with this file.",
            icon=":material/warning:",
        )
    options = GoldOptions(tuple(judges), judge_columns, pseudonyms)

    def write_gold(stream: TextIO) -> None:
        with database.reading(resources.engine()) as session:
            columns = verdict_runs(session, study) if judge_columns else None
            gold.write_csv(gold_rows(session, study, options), stream, columns)

    _draw_download("Gold labels as CSV", write_gold, f"{study.name} gold.csv", "text/csv", "gold")


def _draw_download(label: str, write: Callable[[TextIO], None], name: str, mime: str, kind: str) -> None:
    file = File(lambda: file_bytes(write), name, mime, kind)
    downloads.draw_file_link(label, file, f"export_{kind}", Permission.export)


def bundle_bytes(study: Study) -> bytes:
    """Return the bundle of a study as the bytes of a zip file."""
    with temporary_folder() as folder:
        path = folder / "bundle.zip"
        write_bundle(resources.engine(), study, path)
        return path.read_bytes()


def file_bytes(write: Callable[[TextIO], None]) -> bytes:
    """Return the bytes of a file, with the same line endings on every platform."""
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="utf-8", newline="")
    write(stream)
    stream.flush()
    return buffer.getvalue()
