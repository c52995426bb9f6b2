"""The study that ships with the app: its figures hold the truth that docs/showcase.md states."""

import pytest

from core.formats import tiebreak
from core.formats.records import LabelRecord, RunRecord, TraceRecord
from storage.db import connections
from storage.reports import alignment, judge_ranking, systems
from storage.studies import studies
from storage.transfer import imports, samples
from tests.sessions import read

TRUE_WIN_RATE = 0.76


@pytest.fixture(scope="module")
def showcase(tmp_path_factory):
    """Return an engine with the showcase, and the study."""
    engine = connections.connect(f"sqlite:///{tmp_path_factory.mktemp('showcase')}/t.db")
    connections.upgrade(engine)
    imports.import_records(engine, samples.SHOWCASE_NAME, tiebreak.read(samples.SHOWCASE))
    return engine, read(engine, studies.get, samples.SHOWCASE_NAME)


def test_what_is_simulated_is_called_simulated():
    records = list(tiebreak.read(samples.SHOWCASE))
    assert all(record.label.annotator.startswith("simulated") for record in records if isinstance(record, LabelRecord))
    runs = {record.name for record in records if isinstance(record, RunRecord)}
    models = {
        event.turn.model
        for record in records
        if isinstance(record, TraceRecord)
        for event in record.events
        if event.type == "turn"
    }
    assert {name for name in runs if not name.startswith("simulated")} == {
        "local model, one order", "local model, without reasons", "debate of local models",
    }  # fmt: skip
    assert models == {"simulated/a", "simulated/b", "simulated/c", "local"}


def test_figures_hold_the_truth(showcase):
    engine, study = showcase
    data = alignment.load_data(engine, study, "gold")
    report = judge_ranking.report(data, judge_ranking.RankingQuery("preference", "helpfulness"))
    decisions = {judge.judge: judge.decision.value for judge in report.ranking.judges}
    assert decisions["simulated accurate judge"] == "use"
    assert decisions["simulated length judge"] == decisions["local model"] == "do not use"
    rows = systems.report(engine, study, judge="simulated A").rows
    [detailed] = [row for row in rows if row.system == "detailed" and row.scenario == "all"]
    assert detailed.low < TRUE_WIN_RATE < detailed.high
