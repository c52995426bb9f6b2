"""Improving a judge: split, disagreements on development items, variants, and their acceptance on held-out items."""

from functools import partial

import streamlit as st

from core.errors import TiebreakError
from core.improvement.changes import Changes, Part, describe_difference
from core.improvement.comparison import LEVEL, AcceptanceRule, PairedResult
from core.improvement.suggestion import DEFAULT_CASES, Case, value_text
from core.items import target_item, target_name
from core.labels import Kind
from core.llm.client import available_models
from core.wording import format_count
from pages.parts import account_guard, items, live, numbers, paging, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts.cards import ACTIVE, draw_progress, require_start
from pages.setup.parts.experiment_form import draw_notes
from storage.accounts import access
from storage.accounts.access import Permission
from storage.db import audit, guards
from storage.db.audit import Action
from storage.improvement import evaluations, judges, splits, variants
from storage.runs import experiments
from storage.studies.studies import Study
from storage.worker import Plan, estimate

CASES, PROPOSE, VARIANTS = "Disagreements", "Propose", "Variants"
STEPS = (CASES, PROPOSE, VARIANTS)


def draw_page(study: Study) -> None:
    """Draw the split, or its form; then the steps."""
    split = resources.read(splits.find, study.id)
    runs = resources.read(judges.choices, study.id)
    version = resources.read(evaluations.version, study.id)
    if split is None:
        draw_split_form(study)
        return
    draw_summary(study, split)
    if not runs:
        st.info("A judge is improved from a run with verdicts by a criterion: start a run first.")
        shell.draw_links(study, ("setup/runs.py", "Runs", ":material/play_circle:"))
        return
    current = draw_choice(study, runs)
    step = st.segmented_control(
        "Step",
        STEPS,
        default=CASES,
        required=True,
        key="improve_step",
        bind="query-params",
        label_visibility="collapsed",
    )
    if step == VARIANTS:
        draw_variants(study, split, current.kind, current.judge.criterion.name, version)
        return
    criterion = current.judge.criterion.name
    read = partial(resources.read, splits.disagreement_cases, study.id, current)
    cases = live.cached(study, version, "disagreement cases", read, current.run.id, criterion)
    if step == CASES:
        draw_disagreements(study, cases)
    elif draw_form(study, current, cases):
        st.session_state["improve_next"] = VARIANTS
        st.rerun()


def draw_choice(study: Study, runs: dict[str, list[str]]) -> judges.CurrentJudge:
    """Draw the choice of the run and of one of its criteria, which are in the URL, and return its judge."""
    names = list(runs)
    requested = st.query_params.get("run")
    if requested not in runs:
        requested = names[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox("Run of the judge", names, names.index(requested), key=f"improve_run_{study.id}", width=520)
        criteria = runs[run]
        named = st.query_params.get("criterion")
        chosen = criteria.index(named) if named in criteria else 0
        criterion = st.selectbox("Criterion", criteria, chosen, key=f"improve_criterion_{run}", width=300)
    # Not bound to the URL: a bound widget omits its default there, which changes with the next run.
    st.query_params["run"], st.query_params["criterion"] = run, criterion
    return resources.read(judges.of_run, study.id, run, criterion)


def draw_disagreements(study: Study, cases: list[Case]) -> None:
    """Draw a page of disagreements, and record that their opinions are seen."""
    if not cases:
        st.info("On no development item does this judge differ from people's decision.")
        return
    adjudicated = sum(case.source == "adjudicated" for case in cases)
    st.caption(
        f"{format_count(len(cases), 'disagreement')} on development items, {adjudicated:,} of them adjudicated. "
        "Held-out items are not shown here."
    )
    page = paging.current_page("cases_page", len(cases), CASES_PER_PAGE)
    shown = paging.page_slice(cases, page, CASES_PER_PAGE)
    shell.record_views(study.id, [case.target for case in shown])
    for place, case in enumerate(shown):
        _draw_case(study, case, f"case-{page}-{place}")
    paging.draw_pagination("cases_page", len(cases), CASES_PER_PAGE)


# The form of a variant, which a model can fill from the disagreements on development items.

# Keys of the state with the last proposal of a model, and with their number: widgets with it in their key are new.
DRAFT, NUMBER = "improve_draft", "improve_draft_number"


def draw_form(study: Study, current: judges.CurrentJudge, cases: list[Case]) -> bool:
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
    if stored:
        origin = f"model: {model}" if model else variants.PERSON
        if model and entered != _effective(current, drafted):
            origin += ", edited"
        permissions.write(study.id, Permission.edit, "", variants.add, study.id, name, current, entered, origin=origin)
        st.session_state[NUMBER] = st.session_state.get(NUMBER, 0) + 1
    return stored


def _draw_fields(current: judges.CurrentJudge, cases: list[Case], drafted: Changes, scope: str) -> Changes:
    """Draw the fields with the current texts or the drafted ones, and return what differs from the current ones."""
    judge = current.judge
    criterion = judge.criterion
    definition = st.text_area(
        "Definition", drafted.definition or criterion.definition, key=f"variant_definition_{scope}"
    )
    rubric = None
    if criterion.rubric:
        text = st.text_area(
            f"Rubric, {len(criterion.rubric)} levels, one a line, lowest first",
            "\n".join(drafted.rubric or criterion.rubric),
            key=f"variant_rubric_{scope}",
        )
        rubric = tuple(line.strip() for line in text.splitlines() if line.strip())
    guidelines = st.text_area(
        "Guidelines for the judge",
        drafted.guidelines or judge.guidelines,
        key=f"variant_guidelines_{scope}",
        help="In the prompts, after the criterion. Annotators do not see them.",
    )
    examples = st.multiselect(
        "Examples with people's decisions",
        list(dict.fromkeys(case.item.id for case in cases)),
        key=f"variant_examples_{scope}",
        placeholder="development items",
    )
    prompts = {}
    with st.expander("Replace a prompt", key=f"variant_prompt_{scope}"):
        names = list(judge.templates)
        name = st.selectbox("Prompt", names, index=None, key=f"variant_template_{scope}", placeholder="none")
        if name is not None:
            text = st.text_area("Text", judge.templates[name], height="content", key=f"variant_text_{scope}_{name}")
            prompts = {name: text} if text != judge.templates[name] else {}
    chosen = tuple(examples) or None
    entered = Changes(definition=definition, rubric=rubric, guidelines=guidelines, examples=chosen, prompts=prompts)
    return _effective(current, entered)


def _effective(current: judges.CurrentJudge, changes: Changes) -> Changes:
    criterion = current.judge.criterion
    before = {
        "definition": criterion.definition,
        "rubric": criterion.rubric,
        "guidelines": current.judge.guidelines,
    }
    return changes.model_copy(update={name: None for name, old in before.items() if getattr(changes, name) == old})


def _draw_model(study: Study, current: judges.CurrentJudge, cases: list[Case]) -> None:
    with st.popover("Let a model propose changes", icon=":material/auto_awesome:", key="improve_model"):
        if not cases:
            st.caption("A model needs disagreements on development items.")
            return
        own = [spec.model for spec in variants.suggestion_specs(current.run)]
        models = list(dict.fromkeys([*own, *available_models()]))
        model = st.selectbox("Model", models, accept_new_options=True, key=f"improve_model_{current.run.id}")
        most = min(len(cases), 30)
        count = int(st.number_input("Disagreements", 1, most, min(DEFAULT_CASES, most), key=f"improve_cases_{most}"))
        st.caption(
            "The model receives the criterion and these development items, with the judge's replies and people's "
            "decisions."
        )
        try:
            if st.button("Propose", type="primary", key="improve_propose", disabled=not model):
                _propose(study, current, str(model), count)
        except TiebreakError as error:  # the form is drawn, so it keeps what was entered
            st.error(escape_markdown(str(error)), icon=":material/error:")


def _propose(study: Study, current: judges.CurrentJudge, model: str, count: int) -> None:
    """Draft changes by a model; raises Forbidden unless the visitor may start runs with it."""
    criterion = current.judge.criterion.name
    request = variants.prepare_suggestions(resources.engine(), study, current.run.name, criterion, model, count)
    spec = request.ask.spec
    with permissions.writing(study.id, Permission.run, "") as session:
        access.require_models(session, study.id, account_guard.current_actor(), [spec])
        audit.record(session, Action.run, study_id=study.id, change="variant requested of a model", models=[spec.model])
    with st.spinner(f"The model reads {format_count(request.cases, 'disagreement')} …"):
        changes = variants.request_changes(request, resources.model_client())
    number = st.session_state.get(NUMBER, 0) + 1
    st.session_state[NUMBER] = number
    st.session_state[DRAFT] = {f"{current.run.id}_{criterion}_{number}": (changes, model)}
    st.rerun()


# The split of a study's items: its form, and its counts with the rule of acceptance.


def draw_split_form(study: Study) -> None:
    """Draw the form of the split, which is made once."""
    st.subheader("Split the items with gold")
    st.write(
        "Changes of a judge are made from development items. Held-out items are for one evaluation of each change. "
        "Items of the same group, context or prompt have the same part. The split and the rule of acceptance cannot be "
        "changed."
    )
    first, second, third, fourth = st.columns(4, gap="medium", vertical_alignment="bottom")
    share = first.slider("Held-out items, percent", 10, 90, 50, 5, key="split_share") / 100
    planned = second.number_input(
        "Planned evaluations on held-out items",
        1,
        100,
        5,
        key="split_evaluations",
        help="For each criterion. p-values are corrected for this number.",
    )
    margin = third.number_input(
        "Lower bound has to be above",
        0.0,
        0.99,
        0.0,
        0.01,
        key="split_margin",
        help="Of the 95 % interval of the difference between the variant and the current judge.",
    )
    seed = int(fourth.number_input("Random seed", 0, value=0, key="split_seed"))
    version = resources.read(evaluations.version, study.id)
    read = partial(resources.read, splits.preview, study.id, share=share, seed=seed)
    counts = live.cached(study, version, "split", read, share, seed)
    total = format_count(sum(counts.values()), "item")
    st.markdown(f"**{total} with gold: {counts['development']:,} development, {counts['held-out']:,} held-out**")
    if st.button("Split", type="primary", icon=":material/call_split:", key="split"):
        rule = AcceptanceRule(evaluations=int(planned), margin=float(margin))
        permissions.write(study.id, Permission.edit, "", splits.create, study.id, share=share, seed=seed, rule=rule)
        st.rerun()


def draw_summary(study: Study, split: splits.Split) -> None:
    """Draw the counts of the parts, the rule, and the addition of items with new gold."""
    name = shell.current_annotator()
    seen = resources.read(splits.count_seen, study.id, name) if name else 0
    development, held_out = split.count("development"), split.count("held-out")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{development:,} development items · {held_out:,} held-out items**", width="content")
        with st.popover("Split and rule", icon=":material/call_split:"):
            st.markdown(
                f"A variant is accepted if on held-out items the lower bound of the 95 % interval of the difference is "
                f"above **{split.rule.margin:g}**, and p, corrected for **{split.rule.evaluations:,}** planned "
                f"evaluations of the criterion, is at most {LEVEL:g}."
            )
            st.dataframe(
                [{"scenario": name or "–", **counts} for name, counts in split.items.items()],
                hide_index=True,
                key="split_counts",
            )
            st.caption(f"Seed {split.seed}; by {escape_markdown(split.author)}, {split.at:%Y-%m-%d %H:%M} UTC")
        if st.button("Add items with new gold", icon=":material/add:", key="extend_split"):
            added = permissions.write(study.id, Permission.edit, "", splits.extend, study.id)
            st.toast(f"Added to the split: {format_count(added, 'item')}.")
            st.rerun()
    if seen:
        st.caption(
            f":material/visibility: You have seen opinions on {seen:,} of the {held_out:,} held-out items on other "
            "pages. Do not use what you know of them in a proposal."
        )


# The disagreements of a judge on development items: people's decision with its reason, the verdict, and the texts.

CASES_PER_PAGE = 5


def _draw_case(study: Study, case: Case, key: str) -> None:
    verdict = "no verdict" if case.verdict is None else value_text(case.target, case.verdict)
    with st.container(border=True, key=key):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{escape_markdown(target_name(case.target))}** :gray-badge[{case.source}]", width="content")
            shell.draw_link("watch/traces.py", "Trace", "forum", study=study.name, trace=str(case.trace))
        decision = escape_markdown(value_text(case.target, case.gold))
        st.markdown(f"People: **{decision}** · Judge: **{escape_markdown(verdict)}**")
        if case.source == "adjudicated":
            st.caption(escape_markdown(case.reason))
        with st.expander("Question and responses", key=f"{key}-texts"):
            items.draw_item(target_item(case.item, case.target), key, study)
        with st.expander("Replies of the judges", key=f"{key}-replies"):
            if not case.replies:
                st.caption("The run has no stored replies.")
            for speaker, reply in case.replies:
                st.caption(f"**{escape_markdown(speaker)}**")
                st.code(reply, language=None, wrap_lines=True)


# The variants of a criterion: changes, results on development and held-out items, acceptance, and versions.


def draw_variants(study: Study, split: splits.Split, kind: Kind, criterion: str, version: evaluations.Version) -> None:
    """Draw how often the held-out items were used, the variants, newest first, and the versions of the criterion."""
    every_variant = resources.read(variants.of_study, study.id)
    of_criterion = [one for one in every_variant if (one.kind, one.criterion) == (kind, criterion)]
    made = resources.read(evaluations.uses, study.id, kind, criterion)
    history = resources.read(judges.versions_of_criterion, study.id, criterion)
    st.markdown(
        f"Held-out items used for {escape_markdown(criterion)}: **{len(made):,} of {split.rule.evaluations:,}** "
        "planned evaluations"
    )
    if problem := resources.execution_problem():
        st.warning(f"Runs are not being executed. {escape_markdown(problem)}", icon=":material/error:")
    if not of_criterion:
        st.info("No variant of this criterion yet. Propose one from the disagreements on development items.")
    for variant in of_criterion:
        evaluate = partial(evaluations.evaluate, resources.engine(), study, variant.name)
        _draw_variant(study, split, live.cached(study, version, "variant", evaluate, variant.name), len(made))
    if history:
        _draw_history(study, criterion, history)


def _draw_variant(study: Study, split: splits.Split, evaluation: evaluations.Evaluation, used: int) -> None:
    variant = evaluation.variant
    with st.container(border=True, key=f"variant-{variant.id}"):
        accepted = evaluation.accepted_version
        badge = f" :green-badge[:material/check_circle: version {accepted}]" if accepted else ""
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


def _draw_development(study: Study, evaluation: evaluations.Evaluation) -> None:
    variant, progress = evaluation.variant, evaluation.development_progress
    st.caption("**Development items**")
    _draw_result(evaluation.development)
    label = "Evaluate" if progress is None else "Evaluate again"
    if not _draw_progress(variant.development, study, progress):
        sentence = "Development items can be used as often as you want."
        _draw_question(study, label, variant, "development", sentence)


def _draw_held_out(study: Study, split: splits.Split, evaluation: evaluations.Evaluation, used: int) -> None:
    variant, use, decision = evaluation.variant, evaluation.use, evaluation.decision
    st.caption("**Held-out items**")
    if use is None:
        left = split.rule.evaluations - used
        if left <= 0:
            st.caption("All planned evaluations were made.")
        else:
            st.caption(f"Not evaluated yet. A variant is evaluated once; {format_count(left, 'evaluation')} left.")
            sentence = f"This is use {used + 1} of {split.rule.evaluations}. It cannot be undone."
            _draw_question(study, "Evaluate once", variant, "held-out", sentence)
        return
    st.caption(f"Used by {escape_markdown(use.author)}, {use.at:%Y-%m-%d %H:%M} UTC")
    _draw_result(use.result)
    if use.result is None:
        if not _draw_progress(use.experiment, study, evaluation.held_out_progress):
            _draw_question(study, "Continue", variant, "held-out", "This continues the same use.")
    elif decision is not None:
        icon = ":material/check_circle:" if decision.accepted else ":material/cancel:"
        st.markdown(f"{icon} {escape_markdown(decision.reason)}")
        can_accept = decision.accepted and evaluation.accepted_version is None
        if can_accept and st.button("Accept", type="primary", key=f"accept_{variant.id}", icon=":material/check:"):
            version = permissions.write(study.id, Permission.edit, "", evaluations.accept, study, evaluation)
            st.toast(f"Version {version} of {variant.criterion}.", icon=":material/check:")
            st.rerun()


def _draw_result(result: PairedResult | None) -> None:
    if result is None:
        return
    difference = numbers.format_estimate(result.difference, result.low, result.high)
    st.markdown(f"Difference **{'+' * (result.difference > 0)}{difference}**")
    st.caption(
        f"Score {result.current:.2f} current, {result.variant:.2f} variant · "
        f"{format_count(result.targets, 'target')} in {format_count(result.sets, 'set')} of items · "
        f"p {numbers.format_p(result.p)} · "
        f"no verdict: {result.current_missing:,} current, {result.variant_missing:,} variant"
    )


def _draw_progress(name: str | None, study: Study, progress: experiments.Progress | None) -> bool:
    """Draw the progress of an experiment while it is executed; return whether it is."""
    if name is None or progress is None:
        return False
    if progress.state not in ACTIVE:
        if progress.problem or progress.failed or progress.state != "finished":
            st.caption(escape_markdown(progress.problem or progress.summary()))
        return False
    if (experiment := resources.read(experiments.find, study.id, name)) is not None:
        draw_progress(experiment)
    return True


def _draw_question(study: Study, label: str, variant: variants.Variant, part: Part, sentence: str) -> None:
    """Draw the estimate of an evaluation, which is computed when it is opened, and the button that starts it."""
    question = st.popover(label, icon=":material/play_arrow:", key=f"evaluate_{variant.id}_{part}", on_change="rerun")
    if not question.open:
        return
    with question:
        try:
            planned = evaluations.prepare(resources.engine(), study, variant, part)
        except TiebreakError as error:
            st.error(escape_markdown(str(error)), icon=":material/error:")
            return
        st.markdown(
            f"**{escape_markdown(variant.name)}** and the judge without its changes, on "
            f"{format_count(len(planned.definition.items), f'{part} item')}. {sentence}"
        )
        if planned.new:
            st.markdown(escape_markdown(f"{estimate(resources.engine(), planned)}."))
        draw_notes(planned)
        if st.button("Start", type="primary", icon=":material/play_arrow:", key=f"start_{variant.id}_{part}"):
            _start(study, variant, part, planned)
            st.rerun()


@guards.operation()
def _start(study: Study, variant: variants.Variant, part: Part, planned: Plan) -> None:
    """Start an evaluation for the visitor; raises Forbidden unless they may start its runs."""
    with audit.acting(require_start(study, planned).name):
        evaluations.begin(resources.engine(), study, variant, part, planned)


def _draw_history(study: Study, criterion: str, history: list[judges.Version]) -> None:
    st.subheader("Versions")
    for version in history:
        newest = version.version == history[0].version
        with st.container(border=True, key=f"version-{version.version}"):
            with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
                mark = " :green-badge[newest]" if newest else ""
                st.markdown(f"**Version {version.version}**{mark}", width="content")
                if not newest and st.button("Restore", key=f"restore_{version.version}", icon=":material/undo:"):
                    permissions.write(
                        study.id, Permission.edit, "", judges.restore_version, study.id, criterion, version.version
                    )
                    st.rerun()
            st.caption(
                f"{escape_markdown(version.note)} · {escape_markdown(version.author)} · {version.at:%Y-%m-%d %H:%M} UTC"
            )
            st.code(
                "\n".join([version.criterion.definition, *version.criterion.rubric]), language=None, wrap_lines=True
            )


if next_step := st.session_state.pop("improve_next", None):
    st.session_state["improve_step"] = next_step
draw_page(
    shell.draw_header(
        "Improve a judge",
        "Change a criterion or its prompts on development items, and accept a change that is better on held-out items.",
    )
)
