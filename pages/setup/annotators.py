"""The annotators of a study: labels, pace, agreement, drift and changes after the reveal."""

import time
from functools import partial

import streamlit as st

from core.formats.tables import Column, Table
from pages.parts import live, numbers, permissions, resources, shell, tables
from pages.parts.text import natural_order
from storage.accounts.access import Permission
from storage.labelling import claims
from storage.reports import annotators
from storage.studies.studies import Study


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


DRIFT_COLUMNS = (
    Column("Week", lambda row: f"{row[0]:%Y-%m-%d}", help="From its Monday."),
    Column(
        "With the majority", lambda row: row[1].interval, "estimate",
        help="Share of labels that equal the value of the majority of the others.",
    ),
    Column("n drift", lambda row: row[1].n, "count"),
)  # fmt: skip


INTERVAL = 0.5  # seconds after which a page that shows earlier figures looks for newer ones again
NEWER = "There are newer labels, opinions or decisions. The figures are computed with them in a while."


def load_shown(study: Study) -> list[annotators.AnnotatorSummary]:
    """Return the summaries to draw: the newest, or of a large study the last ones that were computed.

    The page is drawn again when newer ones are due.
    """
    zone = shell.time_zone()
    key = (str(resources.engine().url), study.id, "annotators", str(zone))
    # Changes with every label, opinion, adjudication and view.
    read_version = partial(resources.read, annotators.version, study.id)
    newest = live.load_shared("annotators", (live.study_topic(study.id),), read_version)
    start, shown = time.thread_time(), live.shown_version(key, newest)
    read = partial(resources.read, annotators.summaries, study.id, zone)
    summaries = live.cached(study, shown, "annotators", read, str(zone))
    live.computed(key, shown, time.thread_time() - start)
    if shown != newest:
        st.caption(f":material/sync: {NEWER}")
        permissions.rerun_when(lambda: live.shown_version(key, newest) != shown, INTERVAL)
    return summaries


def draw_training(results: list[annotators.TrainingResult]) -> None:
    """Draw the results of training, hidden checks and repeats, if there are any."""
    if results:
        st.subheader("Training, hidden checks and repeats", anchor=False)
        tables.draw(Table("training", results, TRAINING_COLUMNS, ()))
        st.caption("Shares of right answers, and of equal ones on repeats, with Wilson's 95 % intervals.")


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
        tables.draw(Table("drift", summary.drift, DRIFT_COLUMNS, ()))
    else:
        st.caption("Drift: labels of two or more weeks are needed, on targets where the others have a majority.")


study = shell.draw_header("Annotators", "Progress, pace and reliability of each annotator.")
viewer = shell.require_annotator()
is_annotator = claims.is_named(study.rules, viewer) or not permissions.allows(study.id, Permission.view)
if is_annotator and not study.rules.own_statistics:
    st.info("This study does not show annotators their statistics.")
    st.stop()
all_summaries = load_shown(study)
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
    for name, columns in (("pace", PACE_COLUMNS), ("quality", QUALITY_COLUMNS)):
        tables.draw(Table(name, all_summaries, columns, ()))
    draw_training(trained)
    draw_details(all_summaries)
