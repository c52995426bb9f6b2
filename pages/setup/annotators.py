"""The annotators of a study: labels, pace, agreement, drift and changes after the reveal."""

import streamlit as st

from core.formats.charts import IntervalChart, Mark
from core.formats.tables import Column, Table
from core.statistics.reports.agreement import agreement_row
from pages.parts import charts, numbers, permissions, resources, shell, tables
from pages.parts.text import natural_order
from pages.setup.parts import annotator_figures
from storage.accounts.access import Permission
from storage.labelling import claims
from storage.reports import annotators


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)


PACE_COLUMNS = (
    Column("Annotator", "name"),
    Column("Labels", "labels", "count"),
    Column("Kinds", lambda row: ", ".join(kind.replace("_", " ") for kind in sorted(row.by_kind))),
    Column("Last label", lambda row: f"{row.last.astimezone(shell.time_zone()):%Y-%m-%d}" if row.last else "–"),
    Column(
        "Per hour", lambda row: _rounded(row.pace.per_hour), "count",
        help="Labels per hour of active time; a pause counts as at most 30 seconds.",
    ),
    Column(
        "Seconds, median", lambda row: _rounded(row.median_seconds), "count",
        help="Active time per target, summed over the labels of a target.",
    ),
)  # fmt: skip
QUALITY_COLUMNS = (
    Column("Annotator", "name"),
    Column(
        "With others", "others.value others.low others.high", "estimate",
        help="Mean share of the other annotators' labels on the same target that are equal, without a correction for "
        "chance: kappa and AC1 are on the agreement page. Aspect weights are left out.",
    ),
    Column("n others", "others.items", "count", help="Targets that another annotator labelled too."),
    Column(
        "With gold", lambda row: row.gold.interval, "estimate", help="Share of labels that equal the adjudicated value."
    ),
    Column("n gold", "gold.n", "count", help="Adjudicated targets."),
    Column(
        "Changed", lambda row: row.changes.share_changed.interval, "estimate",
        help="Share of revealed labels that were changed after the reveal.",
    ),
    Column(
        "Towards judges", lambda row: row.changes.share_towards.interval, "estimate",
        help="Share of revealed labels that were changed to a value nearer to the judges' last opinions.",
    ),
    Column("n revealed", "changes.revealed", "count"),
)  # fmt: skip
PASSED = {True: "passed", False: "not passed", None: "not finished"}
TRAINING_COLUMNS = (
    Column("Annotator", "annotator"),
    Column("Training", lambda row: PASSED[row.passed] if row.attempts else "–"),
    Column("Attempts", "attempts", "count"),
    Column(
        "First attempt", lambda row: row.first.interval, "estimate",
        help="Right answers in the first attempt at the training: later ones were made after feedback.",
    ),
    Column("n training", "first.n", "count", help="Answers in the first attempt."),
    Column(
        "Hidden checks", lambda row: row.checks.interval, "estimate",
        help="Blind labels that equal the adjudicated value, of the targets that were adjudicated before.",
    ),
    Column(
        "n checks", "checks.n", "count", help="Targets that were adjudicated before the annotator's blind label."
    ),
    Column(
        "Same on repeats", lambda row: row.repeats.interval, "estimate",
        help="Repeated items whose answer equals the annotator's label before. They are in no other figure.",
    ),
    Column("n repeats", "repeats.n", "count", help="Items that the annotator labelled and answered again."),
)  # fmt: skip


def draw_training(results: list[annotators.TrainingResult]) -> None:
    """Draw the results of training, hidden checks and repeats, if there are any."""
    if results:
        st.subheader("Training, hidden checks and repeats", anchor=False)
        tables.draw(Table("training", results, TRAINING_COLUMNS, ()))
        st.caption("Shares of right answers, and of equal ones on repeats, with Wilson's 95 % intervals.")


def draw_agreement(summaries: list[annotators.AnnotatorSummary]) -> None:
    """Draw the agreement with the others as points with intervals."""
    measured = [summary for summary in summaries if summary.others.value is not None]
    if not measured:
        st.caption("No target has labels of two annotators yet.")
        return
    ordered = sorted(measured, key=lambda summary: -(summary.others.value or 0.0))
    marks = [Mark.of(summary.name, summary.others) for summary in ordered]
    title, axis = "Agreement with the other annotators", "Share of equal labels and 95 % interval"
    figure = charts.shared_interval_figure(IntervalChart("agreement", title, axis, [("", "circle")], marks))
    alt = "Agreement of each annotator with the others, with 95 % intervals"
    rows = [agreement_row("", "", summary.name, "percent", summary.others) for summary in ordered]
    charts.draw(figure, "agreement_with_others", alt, data=charts.ChartData(rows))


def describe_time(pace: annotators.Pace) -> str:
    """Return `3 min of active time (2 labels without a time)`."""
    untimed = numbers.format_count(pace.labels - pace.timed, "label")
    if not pace.timed:
        return "no label has a time"
    missing = f" ({untimed} without a time)" if pace.labels > pace.timed else ""
    return f"{numbers.format_duration(pace.seconds)} of active time{missing}"


def draw_details(summaries: list[annotators.AnnotatorSummary]) -> None:
    """Draw one annotator: assigned targets, and the drift over time."""
    names = [summary.name for summary in summaries]
    name = st.selectbox("Annotator", names, key="annotator_details", bind="query-params")
    summary = summaries[names.index(name) if name in names else 0]
    kinds = ", ".join(f"{kind.replace('_', ' ')}: {count:,}" for kind, count in sorted(summary.by_kind.items()))
    st.markdown(f"{kinds or 'No labels in effect'} · {describe_time(summary.pace)}")
    changed = summary.changes
    if changed.revealed:
        st.markdown(
            f"After the reveal: {changed.changed:,} of {changed.revealed:,} labels changed, "
            f"{changed.towards:,} towards the judges, {changed.away:,} away from them."
        )
    if len(summary.drift) > 1:
        alt = f"Agreement of {name} with the majority by week"
        charts.draw(
            annotator_figures.drift_figure(summary.drift),
            "drift",
            alt,
            data=charts.ChartData(annotator_figures.drift_rows(summary.drift)),
        )
    else:
        st.caption("Drift: labels of two or more weeks are needed, on targets where the others have a majority.")


study = shell.draw_header("Annotators", "Progress, pace and reliability of each annotator.")
viewer = shell.require_annotator()
is_annotator = claims.is_named(study.rules, viewer) or not permissions.allows(study.id, Permission.view)
if is_annotator and not study.rules.own_statistics:
    st.info("This study does not show annotators their statistics.")
    st.stop()
all_summaries = annotator_figures.load_shown(study)
trained = resources.read(annotators.results, study) if not is_annotator else []
if is_annotator:
    all_summaries = [summary for summary in all_summaries if summary.name == viewer]
all_summaries = sorted(all_summaries, key=lambda summary: natural_order(summary.name))
if is_annotator and study.rules.check_share:
    all_summaries = [annotators.without_gold(summary) for summary in all_summaries]
if not any(summary.labels for summary in all_summaries):
    st.info("You have no labels in this study yet." if is_annotator else "This study has no labels yet.")
    shell.draw_links(study, ("label/home.py", "Label", ":material/home:"))
    draw_training(trained)
else:
    st.caption(
        f"{'Your own figures · ' * is_annotator}{numbers.format_count(len(all_summaries), 'annotator')} · "
        f"{numbers.format_count(sum(summary.labels for summary in all_summaries), 'label')} · 95 % intervals"
    )
    if not is_annotator:
        draw_agreement(all_summaries)
    for name, columns in (("pace", PACE_COLUMNS), ("quality", QUALITY_COLUMNS)):
        tables.draw(Table(name, all_summaries, columns, ()))
    draw_training(trained)
    draw_details(all_summaries)
