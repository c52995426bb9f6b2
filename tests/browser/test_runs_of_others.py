"""The page Runs in the browser: every card follows its run, whoever started, cancelled or resumed it."""

import pytest

from storage.db.connections import connect, writing
from storage.db.tables import RunRow
from storage.runs import runs
from storage.studies import studies
from tests.browser.conftest import serve, stop_server

pytestmark = pytest.mark.browser
STUDY = "Sample: ScaleEval"


@pytest.fixture
def idle_server(tmp_path):
    """A server that executes no runs."""
    server = serve(f"sqlite:///{tmp_path}/tiebreak.db", tmp_path / "server.log", TIEBREAK_OWN_WORKER="off")
    yield server
    stop_server(server)


def test_an_open_page_follows_runs_that_somebody_else_starts_resumes_and_ends(visit, idle_server):
    engine = connect(idle_server.database)

    def change(act, *arguments):
        with writing(engine) as session:
            return act(session, *arguments)

    def start(session):
        study = studies.get(session, STUDY)
        return runs.create(session, study.id, "other", protocol="scaleeval", criterion="", settings={}, prompts={})

    def finish(session):
        session.get_one(RunRow, run).state = "finished"

    page = visit(f"{idle_server.address}/runs?study={STUDY}", "annotator 1")
    page.get_by_role("button", name="New run").wait_for()
    run = change(start)
    card = page.locator(f".st-key-run-{run}")
    card.get_by_text("Waiting").wait_for()
    change(runs.cancel, run)
    card.get_by_text("Cancelled").wait_for()
    card.get_by_role("button", name="Resume").wait_for()
    change(runs.resume, run)
    card.get_by_text("Waiting").wait_for()
    assert not card.get_by_role("button", name="Resume").count()
    change(finish)
    card.get_by_text("Finished").wait_for()
    engine.dispose()
