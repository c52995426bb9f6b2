"""Pages in the browser, with what their own tests cannot show: selections, keys, history, and figures that follow."""

from urllib.parse import quote

import pytest

from storage.db.connections import connect, reading, writing
from storage.db.tables import RunRow
from storage.labels import labels
from storage.runs import runs
from storage.studies import studies
from storage.transfer import imports
from tests.browser.conftest import serve, stop_server
from tests.storage.reports import planted_policies as planted
from tests.storage.shared import debates

pytestmark = pytest.mark.browser


SAMPLE = quote("Sample: ScaleEval")
POINTS = "[...document.querySelectorAll('.st-key-alignment .scatterlayer .point')]"


def wait_until(page, condition):
    """Wait until an expression is true. The page's security policy forbids Playwright to wait for one."""
    for _ in range(300):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {condition}")


def test_a_row_of_a_table_opens_with_the_keyboard_and_with_a_click(visit, served):
    page = visit(f"{served.address}/discussions?study={SAMPLE}")
    table = page.locator("[data-testid=stDataFrame]").first
    page.locator(".js-plotly-plot .main-svg").first.wait_for()  # a chart that is drawn later moves the table
    page.get_by_test_id("data-grid-canvas").first.wait_for()
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    table.scroll_into_view_if_needed()
    table.click(position={"x": 300, "y": 52})
    page.get_by_text("changes its opinion").wait_for()
    page.get_by_role("button", name="Close").click()
    page.get_by_text("changes its opinion").wait_for(state="hidden")
    canvas = page.get_by_test_id("data-grid-canvas").first
    canvas.focus()
    canvas.press("ArrowDown")
    page.get_by_text("changes its opinion").wait_for()


def test_the_point_of_a_judge_is_marked_until_its_targets_are_closed(visit, served):
    page = visit(f"{served.address}/alignment?study={SAMPLE}", "annotator 1")
    points = page.locator(".st-key-alignment .scatterlayer .point")
    points.first.scroll_into_view_if_needed()
    box = points.first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_text("Selected targets").wait_for()
    pale = f"{POINTS}.some((point) => +getComputedStyle(point).opacity < 1)"
    wait_until(page, pale)
    page.get_by_role("button", name="Close").click()
    page.get_by_text("Click a point, a cell").wait_for()
    wait_until(page, f"{POINTS}.length && !{pale}")
    page.wait_for_timeout(700)  # the page looks for newer labels twice a second, and draws nothing then
    assert page.evaluate(f"!{pale}")


# The page Policy: found from the sidebar, the risk set to 5 %, and the escalated targets sent to people.


def test_a_person_sets_five_percent_and_sends_the_others_to_people(served, visit):
    imports.import_records(connect(served.database), "judged", planted.records(400, 300, error=0.1))
    page = visit(f"{served.address}/?study=judged", "annotator 1")
    page.get_by_role("link", name="Judges", exact=True).first.click()
    page.get_by_role("link", name="Policy").click()
    slider = page.get_by_role("slider")
    slider.wait_for()
    slider.press("ArrowRight")
    page.get_by_text("At most 5.5 % of them differ").wait_for()
    slider.press("ArrowLeft")
    page.get_by_text("At most 5 % of them differ").wait_for()
    page.get_by_role("button", name="targets to people").click()
    page.get_by_text("added to the annotators' queue.").wait_for()
    page.get_by_role("button", name="Open").last.click()
    page.get_by_text("Selected targets:").wait_for()


# Pages of Traces in the browser: Back and Forward return to the pages that were opened.


def opened(page, name):
    """Wait until the page has one of its buttons as stated, and return its key in the address."""
    page.locator(f".st-key-{name} button:not([disabled])").wait_for()
    return page.evaluate("new URL(location).searchParams.get('after')")


def test_back_and_forward_show_the_pages_of_traces_that_were_opened(visit, served):
    debates(connect(served.database), 120, study="three pages")
    page = visit(f"{served.address}/traces?study=three+pages")
    assert opened(page, "chevron_right") is None
    assert page.locator(".st-key-chevron_left button[disabled]").count() == 1
    page.locator(".st-key-chevron_right button").click()
    second = opened(page, "chevron_left")
    page.locator(".st-key-chevron_right button").click()
    page.wait_for_function("key => new URL(location).searchParams.get('after') !== key", arg=second)
    page.locator(".st-key-chevron_right button[disabled]").wait_for()
    third = opened(page, "chevron_left")
    assert None not in (second, third)
    page.go_back()
    assert (opened(page, "chevron_right"), opened(page, "chevron_left")) == (second, second)
    page.go_back()
    page.locator(".st-key-chevron_left button[disabled]").wait_for()
    assert opened(page, "chevron_right") is None
    page.go_forward()
    assert opened(page, "chevron_left") == second
    page.go_forward()
    page.locator(".st-key-chevron_right button[disabled]").wait_for()
    assert opened(page, "chevron_left") == third


# Adjudication with the keyboard in the real browser: a value, words, and Ctrl+Enter.


STUDY = "Sample: ScaleEval"


def decisions(served):
    with reading(connect(served.database)) as session:
        return labels.adjudications(session, studies.get(session, STUDY).id)


def test_a_case_is_decided_by_keys_and_a_digit_in_the_words_chooses_nothing(served, visit):
    before = decisions(served)
    page = visit(f"{served.address}/adjudication?study={quote(STUDY)}", "annotator 9")
    page.locator(".st-key-start button").click()
    page.locator(".st-key-decide button").wait_for()
    first = page.url
    page.keyboard.press("2")
    chosen = page.locator("[data-testid=stBaseButton-primary]").filter(has_text="Response 2 is better")
    chosen.wait_for()
    page.get_by_label("In your own words").click()
    page.keyboard.type("because 1 and s 0")
    assert page.url == first
    assert chosen.count() == 1
    page.keyboard.press("Control+Enter")
    page.get_by_text("Decision saved.").wait_for()
    (decision,) = decisions(served)[len(before) :]
    assert (decision.value, decision.adjudicator, decision.reason) == (2, "annotator 9", "because 1 and s 0")
    page.wait_for_url(lambda url: url != first)


# The page Runs in the browser: every card follows its run, whoever started, cancelled or resumed it.


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
