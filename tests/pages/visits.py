"""Visits to the app's pages in a test, on the test's own database."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import streamlit as st
from sqlalchemy.orm import Session
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.PageLink_pb2 import PageLink
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from core.formats.records import ItemRecord, Record, RunRecord, StudyRecord, TraceRecord
from core.items import Item
from core.labels import Target, Value
from core.trace import Event
from pages.parts import downloads, live, resources
from pages.parts.account_guard import AccountGuard
from pages.parts.sections import ENTRIES, SECTIONS
from storage.db import connections
from storage.runs import runs
from storage.runs.traces import Filter
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from tests.databases import create_database, create_study, sample_records
from tests.paths import ROOT
from tests.storage.shared import find_traces, store_label

APP = ROOT / "app.py"
# Every app of a test looks for components in the metadata of all installed packages, which takes most of its time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
app_test.ScriptCache = cache(app_test.ScriptCache)  # otherwise each run compiles the scripts


def _wait_for_script(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
    """Wait until a script has ended, without asking a thousand times a second whether it has."""
    assert runner._script_thread is not None
    runner._script_thread.join(timeout)
    if not runner.script_stopped():
        runner.request_stop()
        raise RuntimeError(f"The script of a page has not ended after {timeout} seconds.")


local_script_runner.require_widgets_deltas = _wait_for_script


def visit(page: str, /, annotator: str | None = None, **parameters: str | list[str]) -> AppTest:
    """Follow a link to a page such as "setup/studies"; with "" as the annotator nobody is signed in.

    The tables of the database are created first if there are none.
    """
    prepare_study()
    forget_other_databases()
    app = AppTest.from_file(str(APP), default_timeout=20)
    app.switch_page(str(APP.parent / "pages" / f"{page}.py"))
    if annotator is not None:
        app.session_state["annotator"] = annotator
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def switch_to(page: str, annotator: str = "zoe", **parameters: str) -> AppTest:
    """Open a page whose address differs from its file: AppTest finds it only after another page has run."""
    app = visit("setup/studies")
    app.session_state["annotator"] = annotator
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.switch_page(str(APP.parent / "pages" / f"{page}.py")).run()


def visit_trace(item: str, run: str | None = None, annotator: str = "", **parameters: str) -> AppTest:
    """Open the newest trace in the study "s" of an item, given by its name or a part of it, in one run or in any."""
    with connections.reading(resources.engine()) as session:
        study = studies.get(session, "s")
        run_id = next((candidate.id for candidate in runs.of_study(session, study.id) if candidate.name == run), None)
        matches = find_traces(session, Filter(study.id, run_id=run_id, item=item))
    trace_id = next((trace.id for trace in matches if trace.item == item), matches[0].id)
    return visit("watch/traces", annotator, **parameters, trace=str(trace_id))


def forget_other_databases() -> None:
    """Clear the caches of the pages if they hold another test's database: visits of one test share them."""
    if _visited != [connections.database_url()]:
        _visited[:] = [connections.database_url()]
        st.cache_data.clear()
        st.cache_resource.clear()
        live._figures.clear()


_visited: list[str] = []
"""The address of the database of the last visit."""


def prepare_study(records: Sequence[Record] = (), study: str = "s") -> None:
    """Create the tables, and a study of `records` if there are any, without the samples.

    Without a record of the study, people label disputes alone.
    """
    path = Path(connections.database_url().removeprefix("sqlite:///"))
    if not path.exists():
        create_database(path)
    if records:
        imports.import_records(resources.engine(), study, [StudyRecord(), *records])


def prepare_copy(make: Callable[..., Iterable[Record]], *arguments: Hashable, study: str = "s") -> None:
    """Prepare a study of the records that a function returns, which a process imports once for all tests."""
    create_study(Path(connections.database_url().removeprefix("sqlite:///")), make, *arguments, name=study)


def prepare_sample(protocol: str, study: str = "s") -> None:
    """Prepare the sample study of a protocol under another name."""
    prepare_copy(sample_records, protocol, study=study)


def recorded(item: Item, protocol: str, settings: Any, events: Iterable[Event], criterion: str = "") -> list[Record]:
    """Return an item, and the run "r" with the trace of it that has these events."""
    run = RunRecord(name="r", protocol=protocol, criterion=criterion, settings=settings.model_dump(mode="json"))
    return [ItemRecord(item=item), run, TraceRecord(run="r", item=item.id, events=tuple(events))]


@contextmanager
def study_session(study: str = "s") -> Iterator[tuple[Session, Study]]:
    """Begin a transaction in the test's own database; the session, and a study in it."""
    with connections.writing(resources.engine()) as session:
        yield session, studies.get(session, study)


def label_is_blind(target: Target, annotator: str, value: Value = 1, study: str = "s") -> bool:
    """Label a target; return whether the label is stored as blind."""
    with study_session(study) as (session, found):
        return store_label(session, found.id, target, annotator, value).blind


def page_text(app: AppTest) -> str:
    """Return the texts on the page."""
    elements = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning, *app.error]
    bodies = [unescape(element.proto.body) for element in app.get("html")]  # questions and responses
    html = [body for body in bodies if not body.startswith(("<style", '<a href="/account/language'))]
    return "\n".join([*(str(element.value) for element in [*elements, *app.success]), *html])


def file_client() -> TestClient:
    """Return a browser on this machine that requests the files that pages offer."""
    guarded = AccountGuard(Starlette(routes=downloads.routes()))
    return TestClient(guarded, base_url="http://localhost", client=("127.0.0.1", 1))


def page_links(app: AppTest) -> list[PageLink]:
    """Return the links of the page to other pages, without those to the sections and to the account."""
    titles = {"Account", *(section.title for section in SECTIONS), *(entry.title for entry in ENTRIES)}
    return [link.proto for link in app.get("page_link") if link.proto.label not in titles]


def trace_text(item: str, run: str | None = None) -> str:
    """Return the texts on the page of a trace, which must have no error."""
    app = visit_trace(item, run)
    assert not app.exception and not app.error
    return page_text(app)
