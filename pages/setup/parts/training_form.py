"""The training of a study's annotators: its items, its pass mark, and the share of hidden checks."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from core.errors import TiebreakError
from core.formats.study_records import StudyRules
from core.frozen import help_text
from core.labels import Kind, Scale, Value
from pages.parts import numbers, permissions, resources
from pages.parts.numbers import VERDICT_NAMES, format_value
from pages.setup.parts.settings_form import draw_rule
from storage.accounts.access import Permission
from storage.db import connections
from storage.labelling import training
from storage.labelling.training import ListedItem
from storage.runs import aspects
from storage.studies import studies
from storage.studies.studies import DEFAULT_SCALES, Study

# The rules that are shares, with their names and the highest percentages.
RULES = ("training_required", "training_number", "tolerance", "weight_tolerance")
PERCENTAGES = (
    ("training_pass_mark", "Pass mark, percent", 100),
    ("check_share", "Hidden checks, percent", 50),
    ("repeat_share", "Repeats, percent", 20),
)


def draw_training(study: Study) -> None:
    """Draw the rules, the training items, and the forms that add items."""
    st.caption(
        "Annotators first answer items with known answers, and see the known answer and its reason after each. These "
        "answers are not labels: agreement, gold and alignment do not contain them."
    )
    _draw_rules(study)
    with connections.reading(resources.engine()) as session:
        items = training.list_items(session, study.id)
        candidates = len(training.candidate_items(session, study.id))
    st.subheader(f"Training items ({len(items):,})", anchor=False)
    for name, count in Counter(item.queue for item in items).items():
        if count < study.rules.training_number:
            st.warning(f"A training needs {study.rules.training_number} items; the queue {name} has {count}.")
    if items:
        _draw_items(study, items)
    else:
        st.info("This study has no training items: annotators begin with their queue.")
    _draw_candidates(study, candidates)
    if st.toggle("Add an item and its known answer", key="training_add"):
        _draw_new_item(study)


def _draw_rules(study: Study) -> None:
    rules = study.rules
    with st.form("training_rules", border=False):
        left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
        changed: dict[str, object] = {}
        with left:
            for name, label, most in PERCENTAGES:
                share = round(100 * getattr(rules, name))
                changed[name] = st.number_input(label, 0, most, share, help=help_text(StudyRules, name)) / 100
        with right:
            changed |= {name: draw_rule(rules, name) for name in RULES}
        if not st.form_submit_button("Save", type="primary"):
            return
    with permissions.writing(study.id, Permission.edit, "training and checks") as session:
        rules = StudyRules.model_validate(rules.model_dump() | changed)
        studies.update(session, study.id, description=study.description, guidelines=study.guidelines, rules=rules)
    st.toast("Saved.", icon=":material/check:")


def _draw_items(study: Study, items: list[ListedItem]) -> None:
    verdicts = {str(value): name for value, name in VERDICT_NAMES.items()}
    table = st.dataframe(
        [
            {
                "Item": item.item,
                "Judgement": _pair_name((item.kind, item.criterion)),
                "Part": item.part,
                "Known answer": verdicts.get(str(item.value), format_value(item.value))
                if item.queue == "disagreements"
                else format_value(item.value),
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


def _draw_candidates(study: Study, count: int) -> None:
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


def _draw_new_item(study: Study) -> None:
    with connections.reading(resources.engine()) as session:
        possible = training.possible_targets(session, study.id)
        scales = studies.scales(session, study.id)
        texts = training.aiu_texts(session, study.id)
    if not possible:
        st.caption("This study has no targets yet: run or import judges first.")
        return
    pairs = sorted({(target.kind, target.criterion) for target in possible})
    kind, criterion = st.selectbox("Judgement", pairs, format_func=_pair_name, key="training_pair")
    listed = [target for target in possible if (target.kind, target.criterion) == (kind, criterion)]
    parts = {one: texts.get((one.item, one.kind, one.part), one.part) for one in listed}
    names = {one: f"{one.item} · {part}" if part else one.item for one, part in parts.items()}
    target = st.selectbox("Item", listed, format_func=names.__getitem__, key="training_target")
    value: Value | None
    if kind == "aspect_weights":
        with connections.reading(resources.engine()) as session:
            value = _draw_weights(aspects.of_target(session, study.id, target))
    else:
        value = _draw_value(kind, scales.get((kind, criterion)) or DEFAULT_SCALES.get(kind))
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
    """Draw a field for the weight of each aspect."""
    columns = st.columns(min(len(names), 4))
    equal = round(100 / len(names), 1)
    return {
        name: columns[place % len(columns)].number_input(
            f"{name}, percent", 0.0, 100.0, equal, step=1.0, key=f"training_weight_{name}"
        )
        for place, name in enumerate(names)
    }


def _draw_value(kind: Kind, scale: Scale | None) -> Value | None:
    """Draw the field of a known answer by its scale."""
    if scale is not None and scale.categories:
        names = VERDICT_NAMES if kind == "preference" else {}
        return st.selectbox(
            "Known answer",
            scale.categories,
            format_func=lambda value: names.get(value) or format_value(value),
            key="training_value",
        )
    if kind == "answer":
        return st.text_input("Known answer", key="training_value").strip() or None
    low, high = (scale.low, scale.high) if scale else (None, None)
    return st.number_input("Known answer", low, high, value=None, key="training_value")
