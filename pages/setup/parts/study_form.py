"""The page of one study: guidelines and labelling rules, criteria, design, training, exports, and its deletion."""

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TextIO

import streamlit as st

from core.designs import AGREED, CONTENTION, GROUP, SCENARIO, WHOLE, Form, disputes_only
from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.study_records import CriterionRecord, StudyRules
from core.formats.text import temporary_folder
from core.items import Criterion
from core.labels import Kind, Scale, Value
from core.transcripts import ERROR_CATEGORY
from core.wording import format_count
from pages.parts import downloads, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts import settings_form
from storage.accounts.access import Permission
from storage.labelling import offers, training
from storage.labels import views
from storage.reports import label_designs, peer_reviews
from storage.runs import aspects
from storage.runs.runs import Run
from storage.studies import annotators, studies, transcripts
from storage.transfer import deletions, exports, instructions
from storage.transfer.bundle import write_bundle
from storage.transfer.gold import GoldOptions, verdict_runs, write

# The rules of a study.

FIRST = (("overlap",), ("lease_minutes",), ("reason",))
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


def _draw_in_columns(rules: StudyRules, *columns: Sequence[str]) -> dict[str, Any]:
    entered: dict[str, Any] = {}
    for column, names in zip(st.columns(len(columns), gap="medium"), columns, strict=True):
        with column:
            entered |= {name: settings_form.draw_rule(rules, name) for name in names}
    return entered


def _read_rules(entered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the rules; raises TiebreakError for an entry that is missing or cannot be read."""
    reason = " ".join(entered["response_order_reason"].split())
    if entered["response_order"] == "as_given" and not reason:
        raise TiebreakError("The item's order of responses for everybody needs a reason.")
    groups = {
        scenario: tuple(dict.fromkeys(map(annotators.normalize_name, names.split(","))))
        for scenario, names in map(_pair, entered["groups"])
    }
    return {
        **entered,
        "response_order_reason": reason,
        "annotators": tuple(dict.fromkeys(map(annotators.normalize_name, entered["annotators"]))),
        "groups": groups,
        "families": dict(map(_pair, entered["families"])),
    }


def _pair(line: str) -> tuple[str, str]:
    """Return the parts of a line such as "my-judge: OpenAI"; the first may have colons."""
    name, _, value = line.rpartition(":")
    if not name.strip() or not value.strip():
        raise TiebreakError(f"This should be a name, a colon and what belongs to it: {line[:60]!r}.")
    return name.strip(), value.strip()


# Renaming, archiving and deleting a study, deleting its runs, and restoring what was deleted.


def draw_actions(study: studies.Study) -> None:
    """Draw the forms that rename, archive and delete the study, for its owners."""
    if not permissions.allows(study.id, Permission.manage):
        st.caption("Owners of the study can rename, archive and delete it.")
        return
    with st.form("rename", border=False):
        left, right = st.columns([4, 1], vertical_alignment="bottom")
        name = left.text_input("Name", study.name, max_chars=studies.MAX_NAME_LENGTH)
        if right.form_submit_button("Rename", width="stretch"):
            with permissions.writing(study.id, Permission.manage, "") as session:
                studies.rename(session, study.id, name)
                new = studies.by_id(session, study.id).name
            shell.replace_study(study.name, new)
            shell.open_view(view="study", open=new)
            st.rerun()
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
            shell.replace_study(study.name, None)
            shell.open_view()
            st.rerun()
    st.caption(f"A deleted study can be restored for {deletions.PERIOD.days} days on the page Studies.")


def draw_deleted_studies(deleted: Sequence[deletions.Deleted]) -> None:
    """Draw the studies that can be restored, if there are any."""
    if (chosen := _draw_deleted(deleted, "study", "studies")) is not None:
        permissions.write(chosen, Permission.manage, "", deletions.restore_study, chosen)
        st.rerun()


def draw_deleted_runs(study: studies.Study) -> None:
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


def _draw_deleted(deleted: Sequence[deletions.Deleted], noun: str, nouns: str) -> int | None:
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


def draw_study(study: studies.Study) -> None:
    """Draw the tabs."""
    names = [*shell.STUDY_TABS, "Training and checks", "Export", "Name and deletion"]
    linked = st.query_params.get("tab")
    tabs = st.tabs(names, default=linked if linked in names else None)
    parts = (_draw_rules, _draw_criteria, draw_design, draw_training, _draw_exports, draw_actions)
    for tab, draw in zip(tabs, parts, strict=True):
        with tab:
            draw(study)


def _draw_rules(study: studies.Study) -> None:
    rules = study.rules
    with st.form("rules", border=False):
        description = st.text_area("Description", study.description, height=110)
        guidelines = st.text_area(
            "Guidelines for annotators",
            study.guidelines,
            height=260,
            help="In Markdown. Annotators can open them next to every item.",
        )
        changed = _draw_in_columns(rules, *FIRST)
        with st.container(horizontal=True, gap="large"):
            changed |= {name: settings_form.draw_rule(rules, name) for name in ("reveal", "evidence")}
        with st.expander("Assignment and adjudication"):
            more = _draw_in_columns(rules, LEFT, RIGHT)
        if not st.form_submit_button("Save", type="primary"):
            return
    _save_rules(study, "guidelines and rules", changed | _read_rules(more), description, guidelines)


def _save_rules(study: studies.Study, change: str, rules: dict[str, Any], description: str, guidelines: str) -> None:
    new = StudyRules.model_validate(study.rules.model_dump() | rules)
    with permissions.writing(study.id, Permission.edit, change) as session:
        studies.update(session, study.id, description=description, guidelines=guidelines, rules=new)
    st.toast("Saved.", icon=":material/check:")


def _draw_criteria(study: studies.Study) -> None:
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


def _draw_categories(study: studies.Study) -> None:
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


def _draw_criterion(study: studies.Study, current: Criterion | None, key: str) -> None:
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


def _draw_exports(study: studies.Study) -> None:
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
    bundle = downloads.File(lambda: bundle_bytes(study), f"{study.name} bundle.zip", "application/zip", "bundle")
    downloads.draw_file_link("Bundle as zip", bundle, "export_bundle", Permission.export)
    if has_reviews:
        st.markdown("**Analyses of the area chairs**")
        st.caption("Instruction-tuning examples for training a smaller judge (ReFeR, Appendix J).")
        file_name = f"{study.name} instructions.jsonl"
        _draw_download("Analyses as JSON lines", write_instructions, file_name, "application/jsonl", "instructions")


def _may_download(study: studies.Study) -> bool:
    """Return whether no target is left to label blind; otherwise draw the button that gives up blindness."""
    annotator = shell.current_annotator()
    if annotator is not None and resources.read(views.is_study_viewed, study.id, annotator):
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


def _draw_gold_export(study: studies.Study) -> None:
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
            help="Their source is `judges`. Do not evaluate these runs, or other runs of their judges, with this file.",
        )
    options = GoldOptions(tuple(judges), judge_columns, pseudonyms)
    with_policy = bool(study.rules.policies) and st.toggle(
        "Verdicts that stand by a policy as gold for unlabelled targets", key="gold_with_policy",
        help="Their source is `policy`, and the column `policy` names it.",
    )  # fmt: skip

    def write_gold(stream: TextIO) -> None:
        write(resources.engine(), study, stream, options, with_policy=with_policy)

    _draw_download("Gold labels as CSV", write_gold, f"{study.name} gold.csv", "text/csv", "gold")


def _draw_download(label: str, write: Callable[[TextIO], None], name: str, mime: str, kind: str) -> None:
    file = downloads.File(lambda: file_bytes(write), name, mime, kind)
    downloads.draw_file_link(label, file, f"export_{kind}", Permission.export)


def bundle_bytes(study: studies.Study) -> bytes:
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


# The design of a study: which pairs people label, and what that makes known.

# The form of a design, by what it divides the pairs, and what it draws.
DESIGNS: Mapping[str, tuple[Form, str, str]] = {
    "A random sample of all pairs": (Form.random, "", "Drawn from all pairs, also those that no judge has seen."),
    "Every pair": (Form.everything, "", "All pairs of all items, also those that no judge has seen."),
    "Disputed pairs only": (Form.disputed, "", ""),
    "A share of each scenario": (
        Form.stratified, SCENARIO, "The same share of every scenario, with or without disputes.",
    ),
    "A share of each group": (
        Form.stratified, GROUP, "The same share of every group of items, with or without disputes.",
    ),
    "By uncertainty": (
        Form.weighted, "", "The probability is this share times the contention of the judges, and at least 5 %.",
    ),
}  # fmt: skip


def draw_design(study: studies.Study) -> None:
    """Draw the present design of a criterion, and the forms that change it."""
    scores = [one for one in resources.read(offers.scales, study.id) if one[0] == "score"]
    subjects = [*((offers.KIND, name) for name in resources.read(offers.offered_criteria, study.id)), *scores]
    if not subjects:
        st.info(f"This study has no criterion yet. Add one in the tab {shell.CRITERIA_TAB}.")
        return
    subject = subjects[0]
    if len(subjects) > 1:
        subject = st.selectbox(
            "Criterion", subjects, key="design_criterion",
            format_func=lambda one: one[1] if one[0] == offers.KIND else f"{one[1]}, scores",
        )  # fmt: skip
    kind, criterion = subject
    st.markdown(f"**Which {'pairs' if kind == offers.KIND else 'scores'} people label**")
    report = resources.read(label_designs.find, study.id, criterion, kind)
    present = label_designs.describe(report, kind)
    if report is not None:
        present = f"{label_designs.form_name(report)}. {present} {label_designs.consequence(report)}"
    st.markdown(escape_markdown(present))
    _draw_agreed(study, criterion, kind, report)
    with st.expander("Other designs", expanded=report is None):
        _draw_others(study, criterion, kind)


def _draw_agreed(study: studies.Study, criterion: str, kind: Kind, report: label_designs.DesignReport | None) -> None:
    """Draw the number of agreed targets, with what it makes known before it is drawn."""
    if report is None:
        report = resources.read(label_designs.preview, study.id, criterion, disputes_only(), kind)
    agreed = next((one for one in report.strata if one.name == AGREED), None)
    if report.design.by != CONTENTION or agreed is None:
        if kind == offers.KIND and report.design.by == CONTENTION and not any(one.targets for one in report.strata):
            share = f"{100 * study.rules.agreed_share:g} %"
            st.caption(f"The first run draws every disputed pair and {share} of the agreed ones ({shell.RULES_TAB}).")
        return
    left, right = st.columns([2, 3], gap="medium", vertical_alignment="bottom")
    number = left.number_input(
        f"Agreed {report.noun}s that people label",
        0,
        agreed.targets,
        agreed.drawn,
        key=f"design_agreed_{kind}_{criterion}_{agreed.drawn}",
        help="Drawn at random, and shown among the disputed ones: annotators cannot tell them apart.",
    )
    st.caption(label_designs.consequence_of_agreed(report, number))
    if right.button("Draw", key="design_draw", disabled=number == agreed.drawn):
        change = partial(offers.change_design, study=study, criterion=criterion, sizes={AGREED: number}, kind=kind)
        _write(study, change)


def _draw_others(study: studies.Study, criterion: str, kind: Kind) -> None:
    def named(text: str) -> str:
        return text if kind == offers.KIND else text.replace("pair", "score").replace("Pair", "Score")

    left, middle, right = st.columns(3, gap="medium", vertical_alignment="bottom")
    form, by, drawn = DESIGNS[left.selectbox(named("Pairs"), list(DESIGNS), format_func=named)]
    count, share = None, 0.0
    if form is Form.random:
        count = middle.number_input(named("Number of pairs"), 1, value=50, key="offer_pairs")
    elif form in (Form.stratified, Form.weighted):
        share = middle.number_input("Share, %", 1, 100, 20, key="design_share") / 100
    seed = right.number_input("Random seed", 0, value=None, placeholder="the present one", key="offer_seed")
    if form is Form.disputed:
        report = resources.read(label_designs.preview, study.id, criterion, disputes_only(), kind)
        st.caption(label_designs.consequence(report))
    else:
        stays = " Every dispute stays in the queue." if form is Form.random and kind == offers.KIND else ""
        st.caption(named(drawn) + stays)
    if not st.button("Use this design", key="offer"):
        return
    if form in (Form.random, Form.everything) and kind == offers.KIND:
        _write(study, partial(offers.offer, study=study, criterion=criterion, count=count, seed=seed))
        return
    change = partial(offers.change_design, study=study, criterion=criterion, kind=kind, form=form, by=by, seed=seed)
    _write(study, partial(change, shares={WHOLE: share} if share else {}, sizes={WHOLE: count} if count else None))


def _write(study: studies.Study, change: Callable[..., object]) -> None:
    permissions.write(study.id, Permission.edit, "", change)
    st.toast("The queue follows this design.", icon=":material/check:")
    st.rerun()


# The training of annotators: its items, its pass mark, and the share of hidden checks.

SHARES = ("training_pass_mark", "check_share", "repeat_share")
TRAINING_RULES = ("training_required", "training_number", "tolerance", "weight_tolerance")


def draw_training(study: studies.Study) -> None:
    """Draw the rules, the training items, and the forms that add items."""
    st.caption(
        "Annotators first answer items with known answers, and see the known answer and its reason after each. These "
        "answers are not labels: agreement, gold and alignment do not contain them."
    )
    with st.form("training_rules", border=False):
        changed = _draw_in_columns(study.rules, SHARES, TRAINING_RULES)
        clicked = st.form_submit_button("Save", type="primary")
    if clicked:
        _save_rules(study, "training and checks", changed, study.description, study.guidelines)
    items = resources.read(training.list_items, study.id)
    candidates = len(resources.read(training.candidate_items, study.id))
    st.subheader(f"Training items ({len(items):,})", anchor=False)
    for name, count in Counter(item.queue for item in items).items():
        if count < study.rules.training_number:
            st.warning(f"A training needs {study.rules.training_number} items; the queue {name} has {count}.")
    if items:
        _draw_training_items(study, items)
    else:
        st.info("This study has no training items: annotators begin with their queue.")
    _draw_candidates(study, candidates)
    if st.toggle("Add an item and its known answer", key="training_add"):
        _draw_new_item(study)


def _draw_training_items(study: studies.Study, items: list[training.ListedItem]) -> None:
    verdicts = {str(value): name for value, name in numbers.VERDICT_NAMES.items()}
    table = st.dataframe(
        [
            {
                "Item": item.target.item,
                "Judgement": _pair_name((item.target.kind, item.target.criterion)),
                "Part": item.target.part,
                "Known answer": verdicts.get(str(item.value), numbers.format_value(item.value))
                if item.queue == "disagreements"
                else numbers.format_value(item.value),
                "Reason": item.reason,
            }
            for item in items
        ],
        key="training_items",
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
        column_config={"Reason": st.column_config.TextColumn(width="large")},
    )
    chosen = [items[row].target_id for row in table.selection.rows]
    if st.button(f"Remove {len(chosen) or ''} selected".replace("  ", " "), disabled=not chosen, key="training_remove"):
        permissions.write(study.id, Permission.edit, "training items removed", training.remove_item, study.id, chosen)
        st.rerun()


def _draw_candidates(study: studies.Study, count: int) -> None:
    """Draw the button that takes adjudicated targets at random."""
    if not count:
        st.caption("There is no adjudicated target and no imported gold left to add.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = st.number_input(
            "Items from gold",
            1,
            count,
            min(10, count),
            width=160,
            help="Chosen at random from the targets with an adjudicated or imported gold value, unlabelled ones first.",
        )
        if st.button(f"Add from {numbers.format_count(count, 'gold value')}", key="training_draw"):
            permissions.write(
                study.id, Permission.edit, "training items added", training.draw_items, study.id, int(wanted)
            )
            st.rerun()


def _draw_new_item(study: studies.Study) -> None:
    possible = resources.read(training.possible_targets, study.id)
    scales = resources.read(studies.scales, study.id)
    if not possible:
        st.caption("This study has no targets yet: run or import judges first.")
        return
    pairs = sorted({(target.kind, target.criterion) for target in possible})
    kind, criterion = st.selectbox("Judgement", pairs, format_func=_pair_name, key="training_pair")
    listed = [target for target in possible if (target.kind, target.criterion) == (kind, criterion)]
    names = {one: " · ".join(filter(None, (one.item, possible[one]))) for one in listed}
    target = st.selectbox("Item", listed, format_func=names.__getitem__, key="training_target")
    value: Value | None
    if kind == "aspect_weights":
        value = _draw_weights(resources.read(aspects.of_target, study.id, target))
    else:
        value = _draw_value(kind, scales.get((kind, criterion)) or studies.DEFAULT_SCALES.get(kind))
    reason = st.text_area(
        "Reason",
        key="training_reason",
        height=90,
        help="Shown to annotators after their answer, with the known answer.",
    )
    if not st.button("Add", type="primary", key="training_save"):
        return
    if value is None:
        raise TiebreakError("A training item needs a known answer.")
    permissions.write(
        study.id, Permission.edit, "training item added", training.add_item, study.id, target, value, reason
    )
    st.session_state.pop("training_reason")
    st.rerun()


def _pair_name(pair: tuple[Kind, str]) -> str:
    kind, criterion = pair
    return " · ".join(filter(None, (kind.replace("_", " "), criterion)))


def _draw_weights(names: Sequence[str]) -> dict[str, float]:
    columns = st.columns(min(len(names), 4))
    equal = round(100 / len(names), 1)
    return {
        name: columns[place % len(columns)].number_input(
            f"{name}, percent", 0.0, 100.0, equal, step=1.0, key=f"training_weight_{name}"
        )
        for place, name in enumerate(names)
    }


def _draw_value(kind: Kind, scale: Scale | None) -> Value | None:
    if scale is not None and scale.categories:
        names = numbers.VERDICT_NAMES if kind == "preference" else {}
        return st.selectbox(
            "Known answer",
            scale.categories,
            format_func=lambda value: names.get(value) or numbers.format_value(value),
            key="training_value",
        )
    if kind == "answer":
        return st.text_input("Known answer", key="training_value").strip() or None
    low, high = (scale.low, scale.high) if scale else (None, None)
    return st.number_input("Known answer", low, high, value=None, key="training_value")
