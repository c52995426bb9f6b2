"""The variants of a criterion: changes, results on development and held-out items, acceptance, and versions."""

import streamlit as st

from core.errors import TiebreakError
from core.improvement.changes import describe_difference
from core.improvement.comparison import PairedResult
from core.improvement.split import Part
from core.labels import Kind
from core.wording import format_count
from pages.parts import numbers, permissions, resources
from pages.parts.text import escape_markdown
from pages.setup.parts.experiment_form import draw_notes, require_start
from storage import audit, database, experiments, operations
from storage.access import Permission
from storage.experiments import Progress
from storage.improvement import evaluations, variants, versions
from storage.improvement.evaluations import Evaluation, Version
from storage.improvement.splits import Split
from storage.improvement.variants import Variant
from storage.studies import Study
from storage.worker import Plan, estimate

ACTIVE = ("running", "waiting")
CONFIRM = "improve_confirm"
"""Key of the state with the variant and the part of the evaluation that is to be confirmed."""


def draw_variants(study: Study, split: Split, kind: Kind, criterion: str, version: Version) -> None:
    """Draw how often the held-out items were used, the variants, newest first, and the versions of the criterion."""
    with database.reading(resources.engine()) as session:
        of_criterion = [v for v in variants.of_study(session, study.id) if (v.kind, v.criterion) == (kind, criterion)]
        made = evaluations.uses(session, study.id, kind, criterion)
        history = versions.of_criterion(session, study.id, criterion)
    st.markdown(
        f"Held-out items used for {escape_markdown(criterion)}: **{len(made):,} of {split.rule.evaluations:,}** "
        "planned evaluations"
    )
    if problem := resources.worker_problem():
        st.warning(f"Runs are not being executed. {escape_markdown(problem)}", icon=":material/error:")
    if not of_criterion:
        st.info("No variant of this criterion yet. Propose one from the disagreements on development items.")
    for variant in of_criterion:
        evaluation = load_evaluation(str(resources.engine().url), study.id, variant.name, version, study)
        _draw_variant(study, split, evaluation, len(made))
    if history:
        _draw_history(study, criterion, history)


@st.cache_data(max_entries=64, show_spinner="Computing the results …")
def load_evaluation(url: str, study_id: int, variant: str, version: Version, _study: Study) -> Evaluation:
    """Return the results of a variant at a version of the study; the cache is shared by all visitors."""
    return evaluations.evaluate(resources.engine(), _study, variant)


def _draw_variant(study: Study, split: Split, evaluation: Evaluation, used: int) -> None:
    variant = evaluation.variant
    with st.container(border=True, key=f"variant-{variant.id}"):
        badge = f" :green-badge[:material/check_circle: version {evaluation.accepted_version}]" * bool(
            evaluation.accepted_version
        )
        st.markdown(
            f"**{escape_markdown(variant.name)}**{badge}  \n"
            f":small[{escape_markdown(', '.join(variant.changes.names))} · {escape_markdown(variant.origin)} · "
            f"{escape_markdown(variant.author)} · {variant.at:%Y-%m-%d %H:%M} UTC]"
        )
        with st.expander("Changes", key=f"changes_{variant.id}"):
            st.code(describe_difference(variant.current, variant.assignments), language="diff", wrap_lines=True)
        left, right = st.columns(2, gap="medium")
        with left:
            _draw_development(study, evaluation)
        with right:
            _draw_held_out(study, split, evaluation, used)
        asked, part = st.session_state.get(CONFIRM, (None, "development"))
        if asked == variant.id:
            sentence = "This continues the same use."
            if part == "development":
                sentence = "Development items can be used as often as you want."
            elif evaluation.use is None:
                sentence = f"This is use {used + 1} of {split.rule.evaluations}. It cannot be undone."
            _draw_confirmation(study, variant, part, sentence)


def _draw_development(study: Study, evaluation: Evaluation) -> None:
    st.caption("**Development items**")
    _draw_result(evaluation.development)
    if _draw_progress(evaluation.variant.development, study, evaluation.development_progress):
        return
    again = evaluation.development_progress is not None
    if st.button(
        "Evaluate again" if again else "Evaluate", key=f"develop_{evaluation.variant.id}", icon=":material/play_arrow:"
    ):
        _ask(evaluation.variant, "development")


def _draw_held_out(study: Study, split: Split, evaluation: Evaluation, used: int) -> None:
    variant, use = evaluation.variant, evaluation.use
    st.caption("**Held-out items**")
    if use is None:
        _draw_first_use(study, split, variant, used)
        return
    st.caption(f"Used by {escape_markdown(use.author)}, {use.at:%Y-%m-%d %H:%M} UTC")
    _draw_result(use.result)
    if use.result is not None:
        _draw_decision(study, evaluation)
    elif not _draw_progress(use.experiment, study, evaluation.held_out_progress) and st.button(
        "Continue", key=f"continue_{variant.id}", icon=":material/play_arrow:"
    ):
        _ask(variant, "held-out")


def _draw_first_use(study: Study, split: Split, variant: Variant, used: int) -> None:
    left = split.rule.evaluations - used
    if left <= 0:
        st.caption("All planned evaluations were made.")
        return
    st.caption(f"Not evaluated yet. A variant is evaluated once; {format_count(left, 'evaluation')} left.")
    if st.button("Evaluate once", key=f"hold_{variant.id}", icon=":material/lock_open:"):
        _ask(variant, "held-out")


def _draw_decision(study: Study, evaluation: Evaluation) -> None:
    decision = evaluation.decision
    if decision is None:
        return
    icon = ":material/check_circle:" if decision.accepted else ":material/cancel:"
    st.markdown(f"{icon} {escape_markdown(decision.reason)}")
    can_accept = decision.accepted and evaluation.accepted_version is None
    key = f"accept_{evaluation.variant.id}"
    if can_accept and st.button("Accept", type="primary", key=key, icon=":material/check:"):
        _accept(study, evaluation)


def _draw_result(result: PairedResult | None) -> None:
    if result is None:
        return
    difference = numbers.format_estimate(result.difference, result.low, result.high)
    st.markdown(f"Difference **{'+' * (result.difference > 0)}{difference}**")
    missing, sets = "", ""
    if result.sets < result.targets:
        sets = f" in {format_count(result.sets, 'set')} of items"
    if result.current_missing or result.variant_missing:
        missing = f" · no verdict: {result.current_missing:,} current, {result.variant_missing:,} variant"
    st.caption(
        f"Score {result.current:.2f} current, {result.variant:.2f} variant · "
        f"{format_count(result.targets, 'target')}{sets} · p {numbers.format_p(result.p)}{missing}"
    )


def _draw_progress(name: str | None, study: Study, progress: Progress | None) -> bool:
    """Draw the progress of an experiment while it is executed; return whether it is."""
    if name is None or progress is None:
        return False
    if progress.state not in ACTIVE:
        if progress.problem:
            st.warning(escape_markdown(progress.problem), icon=":material/error:")
        elif progress.failed or progress.state != "finished":
            st.caption(escape_markdown(progress.summary()))
        return False

    @permissions.fragment(run_every=1.0)
    def refresh() -> None:
        with database.reading(resources.engine()) as session:
            experiment = experiments.find(session, study.id, name)
            now = None if experiment is None else experiments.progress(session, experiment.id)
        if now is None or now.state not in ACTIVE:
            st.rerun()
        else:
            share = (now.done + now.failed) / now.traces if now.traces else 0.0
            st.progress(share, f"{now.done + now.failed:,} of {format_count(now.traces, 'trace')}")

    refresh()
    return True


def _ask(variant: Variant, part: Part) -> None:
    """Ask for a confirmation of an evaluation, below the variant."""
    st.session_state[CONFIRM] = variant.id, part
    st.rerun()


def _draw_confirmation(study: Study, variant: Variant, part: Part, sentence: str) -> None:
    """Draw the estimate, and start the evaluation on request."""
    engine = resources.engine()
    with st.container(key=f"confirm_{variant.id}", border=True):
        try:
            planned = evaluations.prepare(engine, study, variant, part)
            st.markdown(
                f"**{escape_markdown(variant.name)}** and the judge without its changes, on "
                f"{format_count(len(planned.definition.items), f'{part} item')}. {sentence}"
            )
            if planned.new:
                st.markdown(escape_markdown(f"{estimate(engine, planned).summary()}."))
            draw_notes(planned)
            with st.container(horizontal=True):
                if st.button("Start", type="primary", icon=":material/play_arrow:", key="start_evaluation"):
                    _start(study, variant, part, planned)
                    _close()
                if st.button("Cancel", key="cancel_evaluation"):
                    _close()
        except TiebreakError as error:
            st.warning(escape_markdown(str(error)), icon=":material/error:")


@operations.operation()
def _start(study: Study, variant: Variant, part: Part, planned: Plan) -> None:
    """Start an evaluation for the visitor; raises Forbidden unless they may start its runs."""
    with audit.acting(require_start(study, planned).name):
        evaluations.begin(resources.engine(), study, variant, part, planned)


def _close() -> None:
    del st.session_state[CONFIRM]
    st.rerun()


def _accept(study: Study, evaluation: Evaluation) -> None:
    try:
        with permissions.writing(study.id, Permission.edit, "") as session:
            version = evaluations.accept(session, study, evaluation)
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return
    st.toast(f"Version {version} of {evaluation.variant.criterion}.", icon=":material/check:")
    st.rerun()


def _draw_history(study: Study, criterion: str, history: list[versions.Version]) -> None:
    st.subheader("Versions")
    for version in history:
        newest = version.version == history[0].version
        with st.container(border=True, key=f"version-{version.version}"):
            with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
                mark = " :green-badge[newest]" if newest else ""
                st.markdown(f"**Version {version.version}**{mark}", width="content")
                if not newest and st.button("Restore", key=f"restore_{version.version}", icon=":material/undo:"):
                    with permissions.writing(study.id, Permission.edit, "") as session:
                        versions.restore(session, study.id, criterion, version.version)
                    st.rerun()
            st.caption(
                f"{escape_markdown(version.note)} · {escape_markdown(version.author)} · {version.at:%Y-%m-%d %H:%M} UTC"
            )
            st.code(
                "\n".join([version.criterion.definition, *version.criterion.rubric]), language=None, wrap_lines=True
            )
