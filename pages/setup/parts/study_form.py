"""The page of one study: guidelines and labelling rules, criteria, and exports."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

import streamlit as st

from core.errors import TiebreakError
from core.formats import gold, tiebreak
from core.formats.study_records import CriterionRecord, StudyRules
from core.formats.text import temporary_folder
from core.items import Criterion
from core.remote_images import normalize_host
from core.transcripts import ERROR_CATEGORY
from core.wording import format_count
from pages.parts import current_study, downloads, permissions, resources, shell
from pages.parts.downloads import File
from pages.parts.text import escape_markdown
from pages.setup.parts import design_form, settings_form, training_form
from pages.setup.parts.settings_form import draw_rule
from storage.accounts.access import Permission
from storage.db import connections
from storage.labels import views
from storage.reports import peer_reviews
from storage.reports.certificates import standing_values
from storage.runs.runs import Run
from storage.studies import annotators, studies, transcripts
from storage.studies.studies import Study
from storage.transfer import deletions, exports, instructions
from storage.transfer.bundle import write_bundle
from storage.transfer.deletions import Deleted
from storage.transfer.gold import GoldOptions, gold_rows, verdict_runs

# The rules of a study.

FIRST = ("overlap", "lease_minutes", "reason")
LEFT = ("order", "response_order", "response_order_reason", "annotators", "groups")
RIGHT = (
    "adjudication_reasons",
    "adjudicate_own",
    "agreed_share",
    "own_statistics",
    "markdown",
    "image_hosts",
    "families",
)


def _draw_more_rules(rules: StudyRules) -> dict[str, Any]:
    """Draw the rules of assignment and adjudication."""
    entered: dict[str, Any] = {}
    for column, names in zip(st.columns(2, gap="medium"), (LEFT, RIGHT), strict=True):
        with column:
            entered |= {name: draw_rule(rules, name) for name in names}
    return entered


def _read_rules(entered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the rules; raises TiebreakError for an entry that is missing or cannot be read."""
    reason = " ".join(entered["response_order_reason"].split())
    if entered["response_order"] == "as_given" and not reason:
        raise TiebreakError("The item's order of responses for everybody needs a reason.")
    return {
        **entered,
        "response_order_reason": reason,
        "annotators": tuple(dict.fromkeys(map(annotators.normalize_name, entered["annotators"]))),
        "groups": dict(map(_group, entered["groups"])),
        "adjudication_reasons": tuple(dict.fromkeys(entered["adjudication_reasons"])),
        "image_hosts": tuple(dict.fromkeys(map(normalize_host, entered["image_hosts"]))),
        "families": dict(map(_family, entered["families"])),
    }


def _group(line: str) -> tuple[str, tuple[str, ...]]:
    """Return scenario and annotators of a line such as "math: annotator 1, annotator 2"."""
    scenario, colon, names = line.partition(":")
    listed = [name for name in names.split(",") if name.strip()]
    if not colon or not scenario.strip() or not listed:
        raise TiebreakError(f"This should be a scenario, a colon and names: {line[:60]!r}.")
    return scenario.strip(), tuple(dict.fromkeys(map(annotators.normalize_name, listed)))


def _family(line: str) -> tuple[str, str]:
    """Return name and family of a line such as "my-judge: OpenAI"; a name may have colons."""
    name, _, family = line.rpartition(":")
    if not name.strip() or not family.strip():
        raise TiebreakError(f"This should be a name, a colon and a family: {line[:60]!r}.")
    return name.strip(), family.strip()


# Renaming, archiving and deleting a study, deleting its runs, and restoring what was deleted.


def draw_actions(study: Study) -> None:
    """Draw the forms that rename, archive and delete the study, for its owners."""
    if not permissions.allows(study.id, Permission.manage):
        st.caption("Owners of the study can rename, archive and delete it.")
        return
    with st.form("rename", border=False):
        left, right = st.columns([4, 1], vertical_alignment="bottom")
        name = left.text_input("Name", study.name, max_chars=studies.MAX_NAME_LENGTH)
        if right.form_submit_button("Rename", width="stretch"):
            _rename(study, name)
    st.caption("Links with the former name lead to the study until another one has that name.")
    st.divider()
    label = "Activate" if study.archived else "Archive"
    if st.button(label, icon=":material/archive:", key="archive"):
        permissions.write(study.id, Permission.manage, "", studies.archive, study.id, archived=not study.archived)
        st.rerun()
    st.caption("Nobody is offered targets of an archived study. Its traces, labels and results stay.")
    st.divider()
    with st.popover("Delete", icon=":material/delete:", key="delete_study"):
        st.markdown(f"**{escape_markdown(study.name)}** with its runs and labels is no longer listed anywhere.")
        if st.button("Delete the study", type="primary", key="delete_study_confirmed"):
            permissions.write(study.id, Permission.manage, "", deletions.delete_study, study.id)
            current_study.replace(study.name, None)
            current_study.open_view()
            st.rerun()
    st.caption(f"A deleted study can be restored for {deletions.PERIOD.days} days on the page Studies.")


def draw_deleted_studies(deleted: Sequence[Deleted]) -> None:
    """Draw the studies that can be restored, if there are any."""
    if (chosen := _draw_deleted(deleted, "study", "studies")) is not None:
        permissions.write(chosen, Permission.manage, "", deletions.restore_study, chosen)
        st.rerun()


def draw_deleted_runs(study: Study) -> None:
    """Draw the runs of a study that can be restored, if there are any and the visitor may."""
    if not permissions.allows(study.id, Permission.edit):
        return
    deleted = resources.read(deletions.deleted_runs, study.id)
    if (chosen := _draw_deleted(deleted, "run", "runs")) is not None:
        permissions.write(study.id, Permission.edit, "", deletions.restore_run, study.id, chosen)
        st.rerun()


def draw_run_deletion(run: Run) -> None:
    """Draw the deletion of a run, in the popover of its settings, if the visitor may."""
    if not permissions.allows(run.study_id, Permission.edit):
        return
    if st.button("Delete this run", key=f"delete_{run.id}", icon=":material/delete:"):
        permissions.write(run.study_id, Permission.edit, "", deletions.delete_run, run.id)
        st.toast(f"Deleted. It can be restored for {deletions.PERIOD.days} days, at the end of this page.")
        st.rerun(scope="app")
    st.caption("Its traces and verdicts are deleted, and its labels stay.")


def _draw_deleted(deleted: Sequence[Deleted], noun: str, nouns: str) -> int | None:
    """Draw what can be restored; returns the id of the one that the user chose."""
    if not deleted:
        return None
    chosen = None
    with st.expander(f"{format_count(len(deleted), f'deleted {noun}', f'deleted {nouns}')}"):
        for one in deleted:
            with st.container(horizontal=True, vertical_alignment="center"):
                traces = f" · {format_count(one.traces, 'trace')}" if noun == "run" else ""
                st.markdown(
                    f"{escape_markdown(one.name)}  \n:small[deleted {one.deleted_at:%Y-%m-%d}{traces}, "
                    f"can be restored until {one.until:%Y-%m-%d}]"
                )
                if st.button("Restore", key=f"restore_{noun}_{one.id}", icon=":material/restore_from_trash:"):
                    chosen = one.id
    return chosen


def _rename(study: Study, name: str) -> None:
    with permissions.writing(study.id, Permission.manage, "") as session:
        studies.rename(session, study.id, name)
        new = studies.by_id(session, study.id).name
    current_study.replace(study.name, new)
    current_study.open_view(view="study", open=new)
    st.rerun()


def draw_study(study: Study) -> None:
    """Draw the tabs."""
    names = [*shell.STUDY_TABS, "Training and checks", "Export", "Name and deletion"]
    linked = st.query_params.get("tab")
    tabs = st.tabs(names, default=linked if linked in names else None)
    guidelines, criteria, design, training, exports_tab, actions = tabs
    with guidelines:
        _draw_rules(study)
    with criteria:
        _draw_criteria(study)
    with design:
        design_form.draw_design(study)
    with training:
        training_form.draw_training(study)
    with exports_tab:
        _draw_exports(study)
    with actions:
        draw_actions(study)


def _draw_rules(study: Study) -> None:
    rules = study.rules
    with st.form("rules", border=False):
        description = st.text_area("Description", study.description, height=110)
        guidelines = st.text_area(
            "Guidelines for annotators",
            study.guidelines,
            height=260,
            help="In Markdown. Annotators can open them next to every item.",
        )
        changed = {}
        for name, column in zip(FIRST, st.columns(3, gap="medium", vertical_alignment="bottom"), strict=True):
            with column:
                changed[name] = draw_rule(rules, name)
        with st.container(horizontal=True, gap="large"):
            changed |= {name: draw_rule(rules, name) for name in ("reveal", "evidence")}
        with st.expander("Assignment and adjudication"):
            more = _draw_more_rules(rules)
        if not st.form_submit_button("Save", type="primary"):
            return
    new = StudyRules.model_validate(rules.model_dump() | changed | _read_rules(more))
    permissions.write(
        study.id,
        Permission.edit,
        "guidelines and rules",
        studies.update,
        study.id,
        description=description,
        guidelines=guidelines,
        rules=new,
    )
    st.toast("Saved.", icon=":material/check:")


def _draw_criteria(study: Study) -> None:
    criteria = resources.read(studies.criteria, study.id)
    if not criteria:
        st.caption("This study has no criteria yet. Runs and labels refer to a criterion.")
    for index, criterion in enumerate(criteria):
        with st.expander(escape_markdown(criterion.name)):
            _draw_criterion(study, criterion, f"criterion{index}")
    with st.expander("Add a criterion", icon=":material/add:", expanded=not criteria):
        _draw_criterion(study, None, f"criterion_new{len(criteria)}")
    if resources.read(transcripts.has_any, study.id):
        with st.expander("Error categories of steps", icon=":material/list:"):
            _draw_categories(study)


def _draw_categories(study: Study) -> None:
    """Draw the form of the values that people choose from for what went wrong in a step."""
    scale = resources.read(studies.scale, study.id, "answer", ERROR_CATEGORY)
    with st.form("error_categories", border=False):
        lines = st.text_area(
            "Categories, one a line",
            "\n".join(map(str, scale.categories if scale else ())),
            key="error_categories_list",
            help="People choose one for each step that was named as the first wrong one. A category in use remains.",
        )
        if not st.form_submit_button("Save"):
            return
    categories = [line.strip() for line in lines.splitlines() if line.strip()]
    with permissions.writing(study.id, Permission.edit, "error categories") as session:
        studies.set_categories(session, study.id, ERROR_CATEGORY, categories)
    st.toast("Saved.", icon=":material/check:")


def _draw_criterion(study: Study, current: Criterion | None, key: str) -> None:
    """Draw the form of a criterion."""
    start = {} if current is None else current.model_dump(mode="json")
    with st.form(key, border=False):
        draft = settings_form.draw_criterion(key, start, is_new=current is None)
        if not st.form_submit_button("Save" if current else "Add"):
            return
    name = draft["name"]
    if not name:
        raise TiebreakError("A criterion needs a name.")
    changed = Criterion.model_validate({**start, "scale": None, **draft})
    with permissions.writing(study.id, Permission.edit, f"criterion {name}") as session:
        if current is None and name in {criterion.name for criterion in studies.criteria(session, study.id)}:
            raise TiebreakError(f'A criterion named "{name}" already exists.')
        studies.save_criterion(session, study.id, CriterionRecord(criterion=changed))
    st.rerun()


def _draw_exports(study: Study) -> None:
    """Draw the downloads; a file is written only when its button is clicked."""
    permissions.require(study.id, Permission.export)

    def write_study(stream: TextIO) -> None:
        tiebreak.write(exports.export_records(resources.engine(), study), stream)

    def write_instructions(stream: TextIO) -> None:
        instructions.write_jsonl(instructions.instruction_examples(resources.engine(), study), stream)

    if not _may_download(study):
        return
    _draw_gold_export(study)
    st.markdown("**Complete study**")
    st.caption("Items, criteria, runs with all events, and labels with their history. Tiebreak can import it again.")
    _draw_download("Study as JSON lines", write_study, f"{study.name}.jsonl", "application/jsonl", "study")
    has_reviews = bool(resources.read(peer_reviews.find_runs, study.id))
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
    with connections.reading(resources.engine()) as session:
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
        permissions.write(study.id, Permission.export, "", views.record_study, study.id, annotator)
        st.rerun()  # a download would be cancelled when its button moves up
    return False


def _draw_gold_export(study: Study) -> None:
    """Draw the choices of the gold export and its download."""
    run_names = resources.read(verdict_runs, study)
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
    with_policy = bool(study.rules.policies) and st.toggle(
        "Verdicts that stand by a policy as gold for unlabelled targets", key="gold_with_policy",
        help="Their source is `policy`, and the column `policy` names it.",
    )  # fmt: skip

    def write_gold(stream: TextIO) -> None:
        policy = standing_values(resources.engine(), study) if with_policy else {}
        with connections.reading(resources.engine()) as session:
            columns = verdict_runs(session, study) if judge_columns else None
            rows = gold_rows(session, study, replace(options, policy=policy))
            gold.write_csv(rows, stream, columns, with_policy=with_policy)

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
