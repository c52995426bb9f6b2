"""Runs as people watch them: how far, what came of it, what it took; and the ways to stop one and to go on."""

from collections.abc import Sequence
from typing import Any

import streamlit as st
import yaml

from core.protocols.registry import PROTOCOLS
from pages.parts import colours, numbers, resources, shell
from pages.parts.text import plain
from storage import database, runs
from storage.runs import Progress, Run
from storage.studies import Study

ACTIVE = ("requested", "cancelling")
ENDED = {
    "sample": ("Sample", ":material/info:", "gray"),
    "imported": ("Imported", ":material/download_done:", "gray"),
    "cancelling": ("Stopping", ":material/pending:", "gray"),
    "cancelled": ("Cancelled", ":material/cancel:", "gray"),
    "stopped": ("Stopped", ":material/error:", "red"),
    "finished": ("Finished", ":material/check_circle:", "green"),
}
WORDS = {"agreed": "agreed", "disputed": "need a person", "no_verdict": "no verdict", "failed": "failed"}


def show(study: Study, every: Sequence[Run]) -> None:
    """The runs that are on their way, which keep themselves up to date, then those that ended."""
    active = [run.id for run in every if run.state in ACTIVE]
    if active:
        _live(study, active)
    for run in every:
        if run.id not in active:
            _card(study, run)


def _live(study: Study, active: Sequence[int]) -> None:
    @st.fragment(run_every=1.0)
    def growing() -> None:
        with database.reading(resources.engine()) as session:
            now = [runs.get(session, number) for number in active]
        if any(run.state not in ACTIVE for run in now):
            st.rerun()
        for run in now:
            _card(study, run)

    growing()


def _card(study: Study, run: Run) -> None:
    with database.reading(resources.engine()) as session:
        progress = runs.progress(session, run.id)
    with st.container(border=True, key=f"run-{run.id}"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            _head(run, progress)
            _ways(study, run, progress)
        if run.state in ACTIVE or _share(progress) < 1:
            st.progress(_share(progress), _so_far(progress))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(" ".join(_outcomes(progress)), width="content")
            st.caption(" · ".join(_took(progress)), width="content")
        if run.problem:
            st.warning(plain(run.problem), icon=":material/error:")


def _head(run: Run, progress: Progress) -> None:
    word, icon, colour = state(run, progress)
    protocol = PROTOCOLS[run.protocol].title if run.protocol in PROTOCOLS else plain(run.protocol)
    about = " · ".join(part for part in (protocol, plain(run.criterion)) if part)
    st.markdown(f"**{plain(run.name)}** :{colour}-badge[{icon} {word}]  \n:small[{about}]", width="content")


def state(run: Run, progress: Progress) -> tuple[str, str, str]:
    """A run's state in words, with its sign and its colour."""
    if run.state == "requested" and run.alive:
        return "Running", ":material/sync:", "blue"
    if run.state == "requested":
        return "Goes on in a moment" if progress.done else "Starts in a moment", ":material/schedule:", "gray"
    if run.state == "finished" and progress.failed:
        return "Finished, but for some", ":material/error:", "orange"
    return ENDED.get(run.source) or ENDED.get(run.state) or (plain(run.state), ":material/help:", "gray")


def _ways(study: Study, run: Run, progress: Progress) -> None:
    """What can be done with a run."""
    with st.container(horizontal=True, width="content", vertical_alignment="center", gap="small"):
        if run.state == "requested" and st.button("Cancel", key=f"cancel_{run.id}", icon=":material/stop:"):
            _do(runs.cancel, run)
        if can_resume(run, progress) and st.button("Resume", key=f"resume_{run.id}", icon=":material/play_arrow:"):
            _do(runs.resume, run)
        st.page_link(
            shell.page("watch/traces.py"),
            label="Traces",
            icon=":material/forum:",
            query_params={"study": study.name, "run": run.name},
        )
        with st.popover("Settings", type="tertiary", icon=":material/tune:", key=f"settings_{run.id}"):
            _settings(run)


def can_resume(run: Run, progress: Progress) -> bool:
    """Whether something of the run is left to do, and can be done here."""
    return run.source == "live" and run.state not in ACTIVE and progress.done < progress.traces


def _do(what: Any, run: Run) -> None:
    with database.writing(resources.engine()) as session:
        what(session, run.id)
    st.rerun()


def _settings(run: Run) -> None:
    if run.settings:
        st.code(yaml.safe_dump(_said(run.settings), sort_keys=False, allow_unicode=True), language="yaml", height=320)
    else:
        st.caption("The file did not say.")
    if run.protocol in PROTOCOLS and run.source == "live":
        if st.button("A new run with these", key=f"again_{run.id}", icon=":material/content_copy:"):
            from pages.setup.parts import run_form

            run_form.begin_with(run.settings)
            st.query_params["view"] = "new"
            st.rerun(scope="app")
        st.caption(f"Seed {run.seed} · {run.parallel} calls at once")


def _said(settings: Any) -> Any:
    """Without what says nothing."""
    if isinstance(settings, list):
        return [_said(one) for one in settings]
    if not isinstance(settings, dict):
        return settings
    return {name: _said(value) for name, value in settings.items() if value not in (None, "", [], {})}


def _share(progress: Progress) -> float:
    return progress.done / progress.traces if progress.traces else 0.0


def _so_far(progress: Progress) -> str:
    return f"{progress.done:,} of {numbers.count(progress.traces, 'trace')} done"


def _outcomes(progress: Progress) -> list[str]:
    """How many traces came to which end; none is left out, so that the eye finds it in the same place."""
    counts = {"agreed": progress.agreed, "disputed": progress.disputed, "no_verdict": progress.no_verdict}
    if progress.failed:
        counts["failed"] = progress.failed
    return [
        f":{colours.STATUS[status][2]}-badge[{colours.STATUS[status][1]} {count:,} {WORDS[status]}]"
        for status, count in counts.items()
    ]


def _took(progress: Progress) -> list[str]:
    took = progress.totals
    if not took.calls and not took.errors:
        return ["no call yet" if progress.done < progress.traces else "no calls on record"]
    tokens = took.prompt_tokens + took.completion_tokens
    parts = [numbers.count(took.calls, "call")]
    if tokens:
        parts += [numbers.count(tokens, "token"), numbers.dollars(took.dollars, took.unpriced).replace("$", r"\$")]
    if took.errors:
        parts.append(numbers.count(took.errors, "failed try", "failed tries"))
    return parts
