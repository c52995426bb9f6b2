"""Where the area chair of a peer review goes right and wrong, by how many of its peers were right (ReFeR, Figure 3)."""

import streamlit as st

from core.statistics.data.estimate import Estimate
from core.statistics.reports import peer_errors as error_analysis
from core.statistics.reports.peer_errors import Case
from pages.parts import numbers, resources, shell
from pages.parts.text import plain
from pages.watch.parts import peer_charts, peer_review
from storage import database
from storage.reports import peer_errors
from storage.reports.peer_errors import Errors
from storage.runs import Run
from storage.studies import Study

SAYS = {
    "some": ("Right where peers differed", "The chair was right, and some but not all of its peers were."),
    "led astray": ("Wrong though a peer was right", "The chair was wrong, and at least one of its peers was right."),
    "alone": ("Right though no peer was", "The chair was right, and none of its peers was."),
}


def chosen_run(known: list[Run]) -> tuple[Run, float]:
    """Which run, and how near to people counts as right; both are in the address."""
    names = [run.name for run in known]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        name = st.selectbox("Run", names, key="run", bind="query-params", width=300, on_change=close)
        run = known[names.index(name) if name in names else 0]
        percent = 25
        if run.settings.get("verdict", "score") == "score":
            percent = st.slider(
                "A score is right within",
                0,
                100,
                round(100 * error_analysis.THRESHOLD),
                5,
                format="%d %%",
                key="within",
                bind="query-params",
                width=320,
                help="Of the length of the scale, from the mean of people's scores. The paper takes 25 %.",
                on_change=close,
            )
    return run, percent / 100


def nothing(study: Study) -> None:
    """No peer review yet."""
    st.info("No peer review has run in this study yet. Start one with the protocol ReFeR, or import one.")
    shell.offer_sample("results/peer_errors.py", "refer")
    st.page_link(
        shell.page("setup/runs.py"),
        label="Start a run",
        icon=":material/play_circle:",
        query_params={"study": study.name},
    )


def show(study: Study) -> None:
    """The chart, what it says in figures, and the items behind what was clicked."""
    with database.reading(resources.engine()) as session:
        known = peer_errors.runs_of(session, study.id)
    if not known:
        return nothing(study)
    run, threshold = chosen_run(known)
    with database.reading(resources.engine()) as session:
        found = peer_errors.errors(session, run, shell.annotator())
    if not found.reviewed:
        return no_truth(study, found)
    score = found.settings.kind == "score"
    within = error_analysis.allowed(found.settings.scale, threshold) if score else None
    judged = error_analysis.cases(found.reviewed, within)
    headline(judged)
    st.space("small")
    chart(judged)
    st.caption(basis(found, within))
    peers(judged)
    behind(judged, found)


def no_truth(study: Study, found: Errors) -> None:
    """Nothing to compare with."""
    if not found.without_truth:
        st.info("This run has no verdict yet. Come back when its first traces are done.")
        return
    st.info("Nobody has labelled what this run judged, and its items bring no reference answer.")
    st.page_link(
        shell.page("label/scores.py"), label="Label", icon=":material/star_half:", query_params={"study": study.name}
    )


def headline(judged: list[Case]) -> None:
    """The three shares that the paper speaks of."""
    with st.container(horizontal=True, gap="large", key="headline"):
        for name, share in error_analysis.findings(judged).items():
            title, sentence = SAYS[name]
            with st.container(width="content", gap=None):
                st.caption(title, help=sentence)
                st.markdown(f"### {percent(share)}")
                st.caption(f"{share.items} of {numbers.count(share.items_there, 'trace')}")


def percent(share: Estimate) -> str:
    """`43 % [30, 56]`."""
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{100 * share.value:.0f} % \\[{100 * share.low:.0f}, {100 * share.high:.0f}\\]"


def basis(found: Errors, within: float | None) -> str:
    """What counts as right, and what is left out."""
    if found.settings.kind == "score":
        right = f"A score is right at most {within:g} from people's mean" if within is not None else "A score is right"
        parts = [right if within is not None else f"{right} where it equals people's mean"]
    else:
        parts = ["An answer is right where it is people's, or the item's reference"]
    parts += ["what could not be read is not right"]
    if found.without_truth:
        parts.append(f"{numbers.count(found.without_truth, 'trace')} without a truth to compare with left out")
    return "; ".join(parts) + "."


def chart(judged: list[Case]) -> None:
    """One bar for each number of right peers, the chair right below and wrong above; a click opens the items."""
    found = error_analysis.slices(judged)
    several = len({one.peers for one in found}) > 1
    st.markdown("**The area chair, by how many peers were right**")
    figure = peer_charts.errors(found, chosen(), several)
    told = "; ".join(
        f"{one.peers_right} of {one.peers} right, chair {'right' if one.chair_right else 'wrong'}: {len(one.cases)}"
        for one in found
    )
    peer_charts.draw_errors(figure, "errors", told, _clicked)


def _clicked() -> None:
    points = st.session_state["errors"].selection.points
    close()
    if points:
        st.query_params["slice"] = points[0]["customdata"]


def close() -> None:
    """Forget what was clicked."""
    st.query_params.pop("slice", None)


def chosen() -> str | None:
    """The slice that was clicked."""
    return st.query_params.get("slice")


def peers(judged: list[Case]) -> None:
    """Which peers misled the chair."""
    counts = error_analysis.misleading(judged).most_common()
    wrong = sum(not case.chair_right for case in judged)
    if counts:
        parts = [f"**{plain(name)}** in {count}" for name, count in counts]
        st.markdown(
            f"Of {numbers.count(wrong, 'trace')} where the chair was wrong, a peer had erred the same way: "
            f"{', '.join(parts)}."
        )


def behind(judged: list[Case], found: Errors) -> None:
    """The traces of the slice that was clicked, each one click away."""
    there = [case for case in judged if peer_charts.name_of(case) == chosen()]
    if not there:
        st.caption("Click a bar to see the items behind it.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"Items behind what you clicked: {len(there):,}", anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_items", on_click=close)
    rows = [line(case, found) for case in there]
    st.dataframe(
        rows,
        key="behind",
        on_select=lambda: _opened(there),
        selection_mode="single-row",
        hide_index=True,
        height=min(38 + 35 * len(rows), 460),
    )
    number = st.session_state.pop("open_trace", None)
    if number is not None:
        st.switch_page(shell.page("watch/traces.py"), query_params={"trace": str(number)})
    if any(case.reviewed.item in found.hidden for case in there):
        st.caption(":material/visibility_off: What was said of items that you have not labelled yourself is hidden.")


def line(case: Case, found: Errors) -> dict[str, str]:
    """An item as the table shows it: ✓ and ✗ say who was right."""
    one = case.reviewed
    row = {"Item": one.item}
    if one.item in found.hidden:
        return row | {"Truth": "hidden"}
    row |= {"Truth": peer_review.told(one.truth)}
    row |= {name: mark(peer_review.told(value), name in case.peers_right) for name, value in one.peers}
    return row | {"Chair": mark(peer_review.told(one.chair), case.chair_right)}


def mark(text: str, right: bool) -> str:
    """`2.0 ✓`."""
    return f"{text} {'✓' if right else '✗'}"


def _opened(there: list[Case]) -> None:
    rows = st.session_state["behind"].selection.rows
    if rows:
        st.session_state["open_trace"] = there[rows[0]].reviewed.trace


show(shell.opened("Peer errors", "When a peer review goes wrong: was the area chair right when its peers were?"))
