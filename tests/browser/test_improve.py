"""A variant of a judge in a real browser: its evaluation by the app's worker, and its acceptance."""

from collections.abc import Iterator

import pytest

from storage.db.connections import connect
from tests.openai_server import run_server
from tests.storage.improvement import studies_to_improve as planted
from tests.test_cli_improve import reply

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def judged(served) -> Iterator[None]:
    """A study with a split and the variant "brief" of a judge, whose model answers until the end of the tests.

    It is made before the browser starts, whose event loop is that of this thread.
    """
    with run_server() as models:
        models.text = reply
        judge = f"{{name: j, model: openai/judge, address: '{models.address}', answer_format: text}}"
        settings = f"{{judge: {judge}, criterion: helpfulness, shuffle_responses: false}}"
        engine = connect(served.database)
        study = planted.prepare(engine, settings=settings)
        planted.split(engine, study)
        planted.propose(engine, study, "brief", planted.BETTER)
        yield


def test_a_variant_is_evaluated_once_and_accepted(served, judged, visit) -> None:
    page = visit(f"{served.address}/improve?study=s&improve_step=Variants", "ann")
    page.get_by_text("0 of 5").wait_for()
    page.get_by_role("button", name="Evaluate once").click()
    page.get_by_text("This is use 1 of 5.").wait_for()
    page.get_by_role("button", name="Start").click()
    page.get_by_text("1 of 5").wait_for()
    page.get_by_text("is above 0; p, corrected for 5 planned evaluations").wait_for()
    page.get_by_role("button", name="Accept").click()
    page.get_by_text("Version 2", exact=True).wait_for()
