"""Files of docs/papers are executed on the local server up to their printed table, their LaTeX and their page.

One of the files that differ in their data set or in settings alone, and each with published figures of its own;
`test_reduced` executes more cells of others, and `test_packs` checks the settings and the cells of each.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from core import experiments as files
from core.formats.records import ItemRecord
from core.llm.router import Router
from core.trace import Ask
from storage.db.connections import connect, reading
from storage.reports import experiments as report
from storage.reports import published
from storage.reports.published import PublishedRow, _values
from storage.runs import experiments
from storage.runs.experiments import Experiment
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from storage.worker import _worker, execute_experiment, plan, start
from tests.core.llm.test_images import PNG
from tests.core.protocols.scripted_runs import run_script, start_flow
from tests.databases import create_database
from tests.openai_server import Server, run_server
from tests.pages.visits import visit
from tests.papers.packs import load, settings_of, write_variant
from tests.papers.studies import records_for, study_of
from tests.papers.test_packs import RUNS
from tests.storage.shared import stored_study

pytestmark = pytest.mark.slow


KEPT = {
    "criterion and scenario": ["helpfulness · brainstorming", "interpretability · coding"],
    "criterion": ["Maintains Context", "Uses Knowledge", "coherence"],
    "samples": ["1", "20"],
    "method": ["G-Eval", "ReFeR Turbo", "ReFeR Lite", "zero-shot CoT", "direct scoring", "DnA-Eval", "ChatEval"],
    "judge": ["gpt-4", "without a reference answer"],
}
"""The levels of axes that are executed, if they are named; otherwise the first two."""


EXECUTED = (
    "chateval/table-1",
    "chateval/table-2",
    "chateval/table-3",
    "dna_eval/table-2-llmbar",
    "dna_eval/table-4-llmbar",
    "metacritique/critiques",
    "metacritique/table-4",
    "refer/samples",
    "refer/table-2",
    "refer/table-3-images",
    "refer/table-4",
    "refer/table-4-gsm8k",
    "refer/table-7",
    "refer/table-9",
    "scaleeval/debates",
    "scaleeval/table-3",
    "scaleeval/table-4",
)
"""Files that are executed and printed; of the others a cell of each level is, without a database."""
ON_PAGE = {"chateval/table-1", "dna_eval/table-2-llmbar", "metacritique/table-4", "refer/table-2", "scaleeval/table-3"}
"""Files whose results are shown on the page as well, one of each paper."""
ALONE = {"refer/table-2", "dna_eval/table-4-llmbar"}
"""Files that are executed in a study of their own, of which all published tables are computed."""
REPEATS = {"chateval/table-1": 2}
"""The repeats of the files that are executed more than once."""


@dataclass(frozen=True)
class Bench:
    """A database and a server of models for all files."""

    url: str
    engine: Engine
    server: Server
    folder: Path

    def study(self, name: str, own: str = "") -> Study:
        """Return the study of a file, or one of its `own`, which is imported when it is needed for the first time."""
        study_name = own or study_of(name)
        with reading(self.engine) as session:
            exists = study_name in studies.names(session)
        if not exists:
            imports.import_records(self.engine, study_name, records_for(name, self.folder))
        return stored_study(self.engine, study_name)

    def execute(self, name: str, own: str = "") -> Experiment:
        """Execute some cells of a file, of current models once."""
        study = self.study(name, own)
        most = 1 if name == "chateval/table-3" or name.endswith("-today") else 2
        options: dict[str, Any] = {"keep": kept(name, most), "repeats": REPEATS.get(name, 1)}
        file = write_variant(self.folder, name, self.server.address, prefix="panel", choices="x", **options)
        definition = files.load(file)
        experiment_id = start(self.engine, study, plan(self.engine, study, definition))
        progress = asyncio.run(execute_experiment(self.engine, experiment_id, lambda progress: None, Router()))
        assert (progress.state, progress.failed) == ("finished", 0), progress
        with reading(self.engine) as session:
            found = experiments.find(session, study.id, definition.name)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("papers")
    for study in ("captions", "images"):
        (folder / "media" / study).mkdir(parents=True)
        (folder / "media" / study / "boat.png").write_bytes(PNG)
    url = create_database(folder / "p.db")
    with pytest.MonkeyPatch.context() as environment, run_server() as server:
        environment.setenv("TIEBREAK_MEDIA", str(folder / "media"))
        environment.setattr(_worker, "LOOK_SECONDS", 0.05)
        environment.setattr(_values, "is_of", lambda *of: True)  # these studies have the shape of the papers' data
        yield Bench(url, connect(url), server, folder)


def kept(name: str, most: int) -> dict[str, Any]:
    """Return the levels of each axis that are executed; `most` is their number for an axis that `KEPT` lacks."""
    axes = {axis.name: axis.labels for axis in load(name).axes}
    return {axis: [one for one in KEPT.get(axis, ()) if one in labels] or most for axis, labels in axes.items()}


@pytest.mark.parametrize("name", EXECUTED)
def test_a_file_is_printed(name: str, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    own = f"{name} alone" if name in ALONE else ""
    experiment = bench.execute(name, own)
    study = bench.study(name, own)
    table = published.find_experiment_table(bench.engine, study.id, experiment.name)
    if table is None or name in ON_PAGE:
        results = report.results(bench.engine, study, experiment)
        assert all(report.render(results, None, None, None, format)[1] for format in ("text", "latex"))
    tables = {} if table is None else {table.name: _rows_of(table.name, bench.engine, study)}
    if own or name == "scaleeval/debates":  # the first file of its study
        tables = _published_tables(name, bench.engine, study)
    if table is not None:  # of a file with published figures
        rows = tables[table.name]
        assert any(row.published is not None and row.difference[0] is not None and row.why for row in rows)
    if name in ON_PAGE:
        monkeypatch.setenv("TIEBREAK_DATABASE_URL", bench.url)
        page = visit("setup/experiments", study=study.name, experiment=experiment.name)
        assert not page.exception and not page.error


@pytest.mark.parametrize("name", sorted(RUNS.keys() - {*EXECUTED}))
def test_the_cells_of_another_file_have_verdicts(name: str, tmp_path: Path) -> None:
    file = write_variant(tmp_path, name, "http://127.0.0.1:1", keep=kept(name, 2))
    item = next(record.item for record in records_for(name, tmp_path) if isinstance(record, ItemRecord))
    for cell in files.design(files.load(file)):
        settings = settings_of(cell)
        found = run_script(start_flow(cell.protocol, settings, item), reply_to)
        assert found.verdict is not None, cell.label
        problems = {turn.step for turn in found.turns if turn.problem}
        # The server proposes three aspects, however many are asked for, and its weights do not sum to 100.
        assert problems <= {"aspects", "weights"}, cell.label


def reply_to(ask: Ask) -> str:
    """Return a reply as the server gives it."""
    return Server().reply(ask.schema, ask.spec.model, ask.prompt)


def _rows_of(table: str, engine: Engine, study: Study) -> list[PublishedRow]:
    return published.compute(engine, study, table, resamples=10)


def _published_tables(name: str, engine: Engine, study: Study) -> dict[str, list[PublishedRow]]:
    """Return the rows of every published table of a study, which all have a layout."""
    with reading(engine) as session:
        tables = published.available(session, study.id)
    rows = {table.name: _rows_of(table.name, engine, study) for table in tables}
    assert all(published.layout(of_table, None, None) for of_table in rows.values() if of_table)
    if name == "refer/table-2":  # means of 20 samples, and single verdicts
        assert {row.statistic for row in rows["refer-12"] if row.note != "not computed here"} == {"pearson"}
        assert any(row.value is not None for row in rows["refer-12"])
    return rows


@pytest.mark.parametrize("name", ["metacritique/table-4", "scaleeval/debates"])
def test_a_file_with_current_models_is_printed(name: str, bench: Bench) -> None:
    experiment = bench.execute(f"{name}-today")
    results = report.results(bench.engine, bench.study(name), experiment)
    assert report.render(results, None, None, None, "text")[1]
