"""The first page of a study: what waits for the annotator, its judges, its people, and the next step."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from core.statistics import catalogue
from core.statistics.reports.agreement import AgreementRow
from core.wording import format_n
from pages.label.parts import case_orders
from pages.parts import charts, live, numbers, permissions, resources, shell, tour
from pages.parts.text import escape_markdown
from pages.results.parts import agreement_rows, alignment_data, judge_charts
from pages.results.renderer import Intervals, Mark, draw_chart
from storage.accounts.access import Permission
from storage.labelling import home
from storage.reports import overview
from storage.reports.chosen_labels import ALL_TARGETS, CAVEATS
from storage.reports.overview import Leaders, StudyCounts
from storage.studies.studies import Study

IMPORT: shell.Link = (shell.STUDIES, "Import items", ":material/upload_file:")
LABEL: shell.Link = ("label/home.py", "Label", ":material/edit:")
ADJUDICATE: shell.Link = ("label/adjudication.py", "Adjudicate", ":material/gavel:")
TRACES: shell.Link = ("watch/traces.py", "Traces", ":material/forum:")
JUDGES: shell.Link = ("results/judges.py", "Judges", ":material/verified:")
ALIGNMENT: shell.Link = ("results/alignment.py", "Alignment", ":material/query_stats:")
PAGE = "overview"
AGREEMENT: shell.Link = ("results/agreement.py", "Agreement", ":material/monitoring:")

# The agreement of each kind and criterion, and the number of open adjudications.
People = tuple[list[AgreementRow], int]
# Judges that the chart has: the page fits a screen.
MAX_JUDGES = 6


def load_people(study: Study, version: alignment_data.Version) -> People:
    """Return what the page shows of people at a version."""
    url = str(resources.engine().url)
    scales = resources.read(case_orders.scales_key, study.id)
    cases = case_orders.at_version(url, study.id, version, scales).undecided
    return overview.agreement(alignment_data.load_agreement(url, study.id, version)), cases


def draw_page(study: Study) -> None:
    """Draw the rows, and redraw them when a label, an opinion or a trace is added."""
    tour.draw(study)
    counts = load_counts(study)
    version = alignment_data.follow(study, PAGE, lambda: load_counts(study) != counts)
    url = str(resources.engine().url)
    if not counts.items:
        return draw_steps(study)
    waiting = draw_waiting(study) if permissions.allows(study.id, Permission.label) else 0
    if not permissions.permit(study.id, Permission.view):
        return

    def compute(newer: alignment_data.Version) -> tuple[Leaders | str, People]:
        reference = next(iter(alignment_data.load_references(url, study.id, newer)))
        overlap = study.rules.overlap

        def lead() -> Leaders | str:
            return overview.leading_judges(alignment_data.load_data(url, study.id, newer, reference), overlap)

        leaders = live.cached(study, newer, "leaders", lead, reference, overlap)
        return leaders, live.cached(study, newer, "people", partial(load_people, study, newer))

    leaders, people = alignment_data.figures(study, PAGE, version, compute)
    cases = people[1]
    if permissions.allows(study.id, Permission.edit):
        plan = None if isinstance(leaders, str) else leaders.plan
        more_labels = "" if plan is None or plan.evidence.separated else escape_markdown(plan.sentence)
        draw_row(study, "Next", *next_step(counts, waiting, cases, leaders), more_labels)
    left, right = st.columns(2)
    with left:
        links = [TRACES, JUDGES] if counts.traces else [JUDGES]
        draw_card(study, "Judges", judge_sentences(counts, leaders), links, judge_charts_of(leaders))
    links = [AGREEMENT, *([ADJUDICATE] if cases else [])] if counts.labels else [LABEL]
    with right:
        draw_card(study, "People", people_sentences(counts, *people), links, people_charts(people[0]))


def load_counts(study: Study) -> StudyCounts:
    """Return the numbers of items, runs, traces, labels and annotators."""
    read = partial(resources.read, overview.counts, study.id)
    return live.load_shared("counts", (live.study_topic(study.id),), read)


def draw_waiting(study: Study) -> int:
    """Draw the row of the annotator who is signed in; returns the number of targets that wait."""
    annotator = shell.current_annotator()
    if annotator is None:
        draw_row(study, "For you", "Sign in on a label page to see what waits for you.", LABEL)
        return 0
    home.prepare(resources.engine(), study.id, annotator)
    summaries = resources.read(home.summaries, study, annotator)
    waiting = sum(summary.todo for summary in summaries)
    draw_row(study, "For you", waiting_sentence(summaries), LABEL if waiting else None)
    return waiting


def waiting_sentence(summaries: Sequence[home.QueueSummary]) -> str:
    """Return `12 targets to label, 3 drafts, 2 flagged`."""
    waiting, drafts, flagged = (
        sum(getattr(summary, name) for summary in summaries) for name in ("todo", "drafts", "flagged")
    )
    if not waiting and not flagged:
        return "Nothing waits for you."
    parts = [f"**{numbers.format_count(waiting, 'target')}** to label"]
    parts += [numbers.format_count(drafts, "draft")] if drafts else []
    parts += [f"{flagged:,} flagged"] if flagged else []
    return " · ".join(parts)


def judge_sentences(counts: StudyCounts, leaders: Leaders | str) -> list[str]:
    """Return the size of the runs, and the most accurate judge or why there is none."""
    if not counts.runs:
        return ["No run and no imported judge."]
    size = [f"**{numbers.format_count(counts.runs, 'run')}**", numbers.format_count(counts.traces, "trace")]
    size += [f"{counts.disputed:,} disputed"] if counts.disputed else []
    size += [f"{counts.without_verdict:,} without any verdict"] if counts.without_verdict else []
    if isinstance(leaders, str):
        return [" · ".join(size), escape_markdown(leaders)]
    judge = leaders.judge
    n = format_n(judge.accuracy.items, judge.accuracy.effective)
    n += "" if leaders.population == ALL_TARGETS else f" {CAVEATS[leaders.population]}"
    compared = f" compared with {escape_markdown(leaders.debate)}" if leaders.debate else ""
    if not judge.is_ranked:
        return [" · ".join(size), f"Judges are not ranked{compared}: {judge.decision} · {n}"]
    accuracy = numbers.format_interval(judge.accuracy)
    best = f"Most accurate{compared}: **{escape_markdown(judge.judge)}** · {accuracy} · {n} · {judge.decision}"
    return [" · ".join(size), best]


def people_sentences(counts: StudyCounts, rows: Sequence[AgreementRow], cases: int) -> list[str]:
    """Return the number of labels, their agreement, and the open adjudications."""
    sentences = [people_size(counts)]
    if not counts.labels:
        return sentences
    if not rows:
        sentences.append("Agreement needs two labels of the same target.")
    elif (agreement := rows[0]).value is None:
        sentences.append(f"Agreement, n {agreement.items:,}: {escape_markdown(agreement.reason)}.")
    else:
        name = catalogue.name(agreement.statistic)
        value = numbers.format_interval(agreement)
        sentences.append(
            f"{name} {value} · {format_n(agreement.items, agreement.effective)} · "
            f"{escape_markdown(agreement_rows.criterion_name(agreement.criterion))}"
        )
    if cases:
        sentences.append(f"{numbers.format_count(cases, 'target')} to adjudicate")
    return sentences


def people_size(counts: StudyCounts) -> str:
    """Return the number of annotators and labels."""
    if not counts.labels:
        return "No labels yet."
    return (
        f"**{numbers.format_count(counts.annotators, 'annotator')}** · {numbers.format_count(counts.labels, 'label')}"
    )


def judge_charts_of(leaders: Leaders | str) -> list[Intervals]:
    """Return the accuracies of the judges with the human ceiling, the best first; a click opens the judge."""
    if isinstance(leaders, str):
        return []
    first = replace(leaders.ranking, judges=leaders.ranking.judges[:MAX_JUDGES])
    chart = judge_charts.accuracy_chart(first, charts.ChartData())
    if len(first.judges) < (count := len(leaders.ranking.judges)):
        chart = replace(chart, title=f"Accuracy of {len(first.judges)} of {count} judges")
    return [replace(chart, name="best_judges", on_select=partial(open_clicked, "best_judges", JUDGES[0], "judge"))]


def people_charts(rows: Sequence[AgreementRow]) -> list[Intervals]:
    """Return the agreement on each criterion."""
    marks = [
        Mark.of(
            agreement_rows.criterion_name(row.criterion), row, catalogue.name(row.statistic),
            alignment_data.KINDS.get(row.kind, row.kind), row.criterion,
        )
        for row in rows[:MAX_JUDGES]
        if row.value is not None
    ]  # fmt: skip
    if not marks:
        return []
    series = [(name, "circle") for name in dict.fromkeys(mark.series for mark in marks)]
    opens = partial(open_clicked, "agreement_of_people", AGREEMENT[0], "criterion")
    title, axis = "Agreement of the annotators", "Value and 95 % interval"
    return [Intervals("agreement_of_people", title, axis, series, marks, on_select=opens)]


def open_clicked(chart: str, script: str, parameter: str) -> None:
    """Open a page with the clicked point of a chart as a choice."""
    if (clicked := charts.clicked_point(chart)) is not None:
        st.session_state["open_from_overview"] = script, {parameter: clicked}


def next_step(counts: StudyCounts, waiting: int, cases: int, leaders: Leaders | str) -> tuple[str, shell.Link]:
    """Return what to do next, and the page on which to do it."""
    if not counts.runs:
        return "Run judges over the items, or import their verdicts.", shell.RUN
    if waiting:
        return f"Label the {numbers.format_count(waiting, 'target')} waiting for you.", LABEL
    if cases:
        return f"Decide the {numbers.format_count(cases, 'target')} on which people or judges disagree.", ADJUDICATE
    if isinstance(leaders, str):
        if counts.labels:
            return "See how close the judges are to people.", ALIGNMENT
        return "Label some targets, so judges can be compared with people.", LABEL
    return "See which judge can be used, and how sure that is.", JUDGES


def draw_row(study: Study, title: str, sentence: str, link: shell.Link | None, more: str = "") -> None:
    """Draw a sentence with a link to a page of the study in a line; `more` is shown on request."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{title}:** {sentence}", width="content", help=more or None)
        if link is not None:
            shell.draw_links(study, link)


def draw_card(
    study: Study,
    title: str,
    sentences: Sequence[str],
    links: Sequence[shell.Link],
    figures: Sequence[Intervals] = (),
) -> None:
    """Draw a title, its sentences and charts, and links to pages of the study."""
    with st.container(border=True):
        st.markdown("  \n".join([f"**{title}**", *sentences]))
        for figure in figures:
            draw_chart(figure, title, has_files=False)  # the page that the card links to has them
        shell.draw_links(study, *links)


def draw_steps(study: Study) -> None:
    """Draw the steps of a study without items, for visitors who may take them."""
    if not permissions.allows(study.id, Permission.edit):
        st.info("This study has no items yet.")
        return
    steps = (
        ("1. Import", "A table or the files of a published data set: items, labels, judges' verdicts.", IMPORT),
        ("2. Judge", "Run a protocol over the items, or import judges with the items.", shell.RUN),
        ("3. Label", "Label what the judges could not agree on.", LABEL),
    )
    for title, sentence, link in steps:
        draw_card(study, title, [sentence], [link])


if opened := st.session_state.pop("open_from_overview", None):
    st.switch_page(shell.page_path(opened[0]), query_params={**st.query_params.to_dict(), **opened[1]})
if "trace" in st.query_params:  # the address of a trace before this page was the first one
    st.switch_page(shell.page_path("watch/traces.py"), query_params=st.query_params.to_dict())
draw_page(shell.draw_header("Overview", "Your open targets, the judges, the people, and the next step."))
