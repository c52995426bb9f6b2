"""Which verdicts may stand without a person: risk against coverage, the piles, and what is done with them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from operator import itemgetter

import plotly.graph_objects as go
import streamlit as st

from core.formats.html_report import write_report
from core.formats.tables import Column, Table
from core.statistics.measures.risk import ThresholdRisk
from pages.parts import charts, downloads, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, item_drilldown
from pages.results.renderer import Drawn, Result, Section, draw_result, draw_sections
from storage.accounts.access import Permission
from storage.reports import certificates, policy
from storage.reports.alignment import AlignmentData
from storage.reports.signals import Signal
from storage.studies.studies import Study

NO_SECOND = "people"
# Percent of the choices of risk and confidence.
LEAST_RISK, MOST_RISK, RISK_STEP = 0.5, 30.0, 0.5
CONFIDENCES = ("95 %", "90 %", "99 %")
METHOD = "Exact one-sided binomial bounds at thresholds that are tested from the highest down, until the first failure"
PROMISE_HELP = (
    "The largest share of accepted verdicts that may differ from people's decisions. Decide on it before you look at "
    "the labels: the best of several that you tried has no guarantee."
)
LOOKS_HELP = "How often you will look while labels arrive. Each look spends an equal part of 1 − confidence."
CALIBRATION_COLUMNS = (
    Column("Judge", itemgetter("judge")),
    Column("Signal", itemgetter("name")),
    Column("Calibration error", itemgetter("error", "error_low", "error_high"), "estimate"),
    Column("AUROC", itemgetter("auroc", "auroc_low", "auroc_high"), "estimate"),
    Column("n", itemgetter("n"), "count"),
)


def filters(study: Study, data: AlignmentData) -> policy.PolicyQuery | None:
    """Draw the choices of the judges, the signal and the promise."""
    found = policy.choices(data)
    if not found:
        return None
    choice = alignment_data.choose_offered(found, close)
    judges = choice.judges
    first = alignment_data.choose("Judge", judges, "judge", on_change=close)
    if st.query_params.get("second") == first:
        st.caption(f":material/warning: {escape_markdown(policy.itself(first))}")
    others = [NO_SECOND, *(name for name in judges if name != first)]
    second = alignment_data.choose("Escalates to", others, "second", on_change=close) if len(others) > 1 else NO_SECOND
    query = policy.PolicyQuery((first,) if second == NO_SECOND else (first, second), choice.kind, choice.criterion)
    names = list(map(str, resources.read(policy.available, study.id, data, query)))
    signal = alignment_data.choose("Signal", names, "signal", lambda name: Signal(name).words, close)
    risk = st.slider(
        "Accepted risk", LEAST_RISK, MOST_RISK, 100 * policy.RISK, RISK_STEP, format="%g %%", key="risk",
        bind="query-params", width=240, help=PROMISE_HELP, on_change=close,
    )  # fmt: skip
    with st.popover("Guarantee", icon=":material/tune:"):
        confidence = st.selectbox("Confidence", CONFIDENCES, key="confidence", bind="query-params", on_change=close)
        looks = st.number_input("Planned looks", 1, 50, 1, key="looks", bind="query-params", help=LOOKS_HELP)
    share = float((confidence or CONFIDENCES[0]).removesuffix(" %")) / 100
    return replace(query, signal=signal, risk=round(risk / 100, 6), confidence=share, looks=int(looks))


def show(study: Study, data: AlignmentData, query: policy.PolicyQuery, report: policy.PolicyReport) -> Result:
    """Return the answer and the curve of each judge."""
    number = f"{policy.describe_number(report)} · {report.design}"
    return Result(
        headline=policy.describe(report),
        caption="\n\n".join(map(escape_markdown, (number, policy.describe_basis(report)))),
        figures=[risk_chart(report, place) for place in range(len(report.parts))],
        remark=escape_markdown(
            " ".join(filter(None, (policy.describe_verification(report), policy.describe_ceiling(report))))
        ),
    )


def show_signals(report: policy.PolicyReport) -> Result:
    """Return how well the signals tell right verdicts from wrong ones."""
    calibrations = policy.calibration_rows(report.parts)
    return Result(
        title="Do the signals tell right verdicts from wrong ones?",
        caption="AUROC 0.5: the signal tells nothing. Any signal gives a valid promise; a better one accepts more.",
        tables=[Table("signals", calibrations, CALIBRATION_COLUMNS, calibrations)],
    )


# The curve.


def risk_chart(report: policy.PolicyReport, place: int) -> Drawn:
    """Return the chart of the risk of a judge's verdicts against their coverage."""
    part = report.parts[place]
    key = f"risk_{place}"
    chosen = part.curve.chosen if report.state is policy.State.accept else None
    figure = risk_figure(part.curve.points, chosen, report.query.risk, part.curve.verdicts, part.judge)
    rows = [row for row in policy.curve_rows(report) if row["judge"] == part.judge]
    return Drawn(key, figure, policy.describe(report), data=charts.ChartData(rows, METHOD, "labels"))


@charts.built_once
def risk_figure(
    points: Sequence[ThresholdRisk], chosen: ThresholdRisk | None, promised: float, verdicts: int, judge: str
) -> go.Figure:
    """Return the figure: the bound, the observed share of errors, the promise, and the chosen point."""

    def place(point: ThresholdRisk, value: float | None) -> charts.Point:
        observed = f"{point.errors:,} of {numbers.format_count(point.labelled, 'label')} differ"
        accepted = numbers.format_count(point.accepted, "verdict")
        lines = (f"confidence from {point.threshold:.3g}", accepted, observed, f"bound {point.upper:.3f}")
        return charts.Point(point.accepted / verdicts, value, lines)

    accent = charts.accent_colour()
    bounds, observed = ([place(one, getattr(one, name)) for one in points] for name in ("upper", "risk"))
    drawn = [
        charts.scatter(bounds, accent, "lines+markers", symbol="circle-open", name="upper bound"),
        charts.scatter(observed, charts.GREY, symbol="x-thin-open", name="observed"),
    ]
    figure = go.Figure([one.update(marker_line_width=2) for one in drawn])
    if chosen is not None:
        figure.add_trace(charts.scatter([place(chosen, chosen.upper)], accent, name="chosen").update(marker_size=18))
    figure.add_hline(
        y=promised, line={"color": charts.GREY, "dash": "dash"}, annotation_text=f"promised: {100 * promised:g} %",
        annotation_position="top left",
    )  # fmt: skip
    # Bounds of the first thresholds, of few labels, would leave no room for the others.
    shown = [point.upper for point in points if point.upper < 0.9] or [1.0]
    top = min(1.0, max(3 * promised, 1.1 * sorted(shown)[len(shown) // 2]))
    figure.update_xaxes(title="Coverage: verdicts at or above the threshold", range=[0, 1.02], tickformat=".0%")
    figure.update_yaxes(title="Risk", range=[0, top], tickformat=".0%")
    return charts.apply_layout(figure, f"Risk of {judge} by coverage", 340, legend=True)


# The piles.


def draw_piles(study: Study, data: AlignmentData, query: policy.PolicyQuery, report: policy.PolicyReport) -> None:
    """Draw the piles with their counts and prices, what can be done with them, and the targets of the opened one."""
    counts = [int((report.pile == place).sum()) for place in range(len(report.parts) + 1)]
    titles = [f"Accepted from {part.judge}" for part in report.parts] + ["To people"]
    passed = report.targets
    with st.container(horizontal=True, key="piles"):
        for place, (title, count) in enumerate(zip(titles, counts, strict=True)):
            with st.container(border=True, width=300):
                st.metric(title, f"{count:,}")
                st.caption(escape_markdown(_describe_pile(report, place, passed)))
                if st.button("Open", key=f"open_pile_{place}", disabled=not count):
                    item_drilldown.pick(pile=str(place))
                    st.rerun()
            passed -= count
    draw_actions(study, data, report)
    opened = st.query_params.get("pile", "")
    if opened.isdecimal() and int(opened) < len(counts):
        found = policy.list_pile(
            data, report, int(opened), shell.current_annotator(), limit=item_drilldown.MAX_ITEMS,
            item=st.query_params.get("item"),
        )  # fmt: skip
        item_drilldown.draw_targets(study, found, titles[int(opened)], close)
    if any(part.calibrations for part in report.parts):
        draw_result(show_signals(report))


def _describe_pile(report: policy.PolicyReport, place: int, passed: int) -> str:
    """Return the share of a pile and what it costs; `passed` are the targets that its judge is asked about."""
    if place == len(report.parts):
        hours = "time of a label not known" if report.hours is None else f"{report.hours:,.1f} hours of people"
        return f"{report.undecided_by_people:,} without a decision of people; {hours}"
    part = report.parts[place]
    price = "price not known" if part.dollars is None else f"{numbers.format_dollars(part.dollars)} a verdict"
    share = f"{(report.pile == place).sum() / max(report.targets, 1):.0%} of all targets"
    return f"{share}; {numbers.format_count(passed, 'verdict')} asked, {price}"


def draw_actions(study: Study, data: AlignmentData, report: policy.PolicyReport) -> None:
    """Draw what can be done with the piles, the certificate, and the policy that stands."""
    may_edit = permissions.allows(study.id, Permission.edit)
    certificate = resources.read(certificates.make, study, data, report)
    draw_standing(study, data, report, may_edit)
    with st.container(horizontal=True, vertical_alignment="center", key="policy_actions"):
        if may_edit and report.undecided_by_people:
            label = f"Send {numbers.format_count(report.undecided_by_people, 'target')} to people"
            if st.button(label, icon=":material/person_add:", key="send_to_people", type="primary"):
                added = permissions.write(study.id, Permission.edit, "", policy.send_to_people, study, data, report)
                st.session_state["sent_to_people"] = study.id, report.undecided_by_people, added
        if may_edit and report.query.kind == "preference" and report.more is not None:
            draw_more_labels(study, report, sum(report.more.strata.values()))
        standing = [one.get("checksum") for one in study.rules.policies]
        if may_edit and certificate is not None and certificate["checksum"] not in standing:
            label = f"Let {numbers.format_count(report.accepted, 'verdict')} stand as gold"
            if st.button(label, icon=":material/verified:", key="accept_policy"):
                permissions.write(study.id, Permission.edit, "", certificates.save, study.id, certificate)
                st.rerun()
        if certificate is not None:
            draw_certificate(study, certificate)
    sent_study, sent, added = st.session_state.get("sent_to_people", (None, 0, 0))
    if sent_study == study.id:
        others = f" {sent - added:,} were in it already." if sent > added else ""
        st.success(f"{numbers.format_count(added, 'target')} added to the annotators' queue.{others}")
        shell.draw_links(study, ("label/home.py", "Label", ":material/checklist:"))


def draw_more_labels(study: Study, report: policy.PolicyReport, count: int) -> None:
    """Draw the button that puts the labels that could decide into the queue."""
    label = f"Draw {numbers.format_count(count, 'pair')} that could decide"
    if count and st.button(label, icon=":material/queue:", key="draw_more"):
        permissions.write(study.id, Permission.edit, "", policy.draw_more, study, report)
        st.toast("The queue has these pairs.", icon=":material/check:")


def draw_standing(study: Study, data: AlignmentData, report: policy.PolicyReport, may_edit: bool) -> None:
    """Draw the stored certificate of the kind and criterion, and whether it holds."""
    key = (report.query.kind or "", policy.criterion_of(report))
    stored = [one for one in study.rules.policies if (one["kind"], one["criterion"]["name"]) == key]
    for certificate in stored:
        found = resources.read(certificates.check, study, data, certificate)
        accepted = numbers.format_count(certificate["accepted"], "verdict")
        text = f"The policy that stands accepts {accepted} as gold of the source policy. {found.sentence}"
        draw = st.success if found.standing is certificates.Standing.holds else st.error
        draw(escape_markdown(text), icon=":material/verified:")
        if may_edit and st.button("Withdraw it", key="withdraw_policy", icon=":material/undo:"):
            permissions.write(study.id, Permission.edit, "", certificates.withdraw, study.id, *key)
            st.rerun()


def draw_certificate(study: Study, certificate: certificates.Certificate) -> None:
    """Draw the links to the certificate as JSON and as a page."""
    page = StringIO()
    write_report(f"Policy of {study.name}", certificates.page(certificate), page)
    text = json.dumps(certificate, ensure_ascii=False, indent=2)
    downloads.draw_text_link(
        "Certificate", text, "certificate.json", "certificate", kind="policy certificate", mime="application/json"
    )
    downloads.draw_text_link(
        "Certificate as a page", page.getvalue(), "certificate.html", "certificate_page", kind="policy certificate",
        mime="text/html",
    )  # fmt: skip


def close() -> None:
    """Close the opened pile, after a change of what is in it."""
    item_drilldown.pick(pile=None)


question = "Which verdicts may stand without a person, and which go to people?"
study = shell.draw_header("Policy", question)
section = Section(
    name="policy",
    title="Policy",
    filters=partial(filters, study),
    compute=lambda study, data, query: resources.read(policy.report, study, data, query),
    show=show,
    empty="A policy needs verdicts on a scale with categories, and labels of people. This study has none yet.",
    links=(shell.RUN, (shell.STUDIES, "Import labels or judgements", ":material/upload_file:")),
    below=draw_piles,
)
draw_sections(study, [section], reference=policy.REFERENCE)
