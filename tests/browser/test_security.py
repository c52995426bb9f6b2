"""A browser that records every request: hostile texts load nothing from other hosts, and run nothing."""

import hashlib
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from core.formats.records import CriterionRecord, ItemRecord, RunRecord, StudyRecord, StudyRules, TraceRecord
from core.items import Criterion, Item, Response
from core.trace import TraceFailed
from storage.db.connections import connect, reading
from storage.runs.traces import Filter
from storage.transfer import imports
from tests.browser.conftest import PAINTED, open_page
from tests.core.test_remote_images import picture
from tests.storage.shared import a_turn, a_verdict, find_traces, stored_study

pytestmark = pytest.mark.browser
BEACON = "http://beacon.example"
HOSTILE = (
    f"![a]({BEACON}/1.png) <img src={BEACON}/2.png onerror=alert(1)> x ```![b]({BEACON}/3.png) "
    f"\\`![c]({BEACON}/4.png)` ![d][r] :material/home: <script>alert(2)</script>\n\n[r]: {BEACON}/5.png\n"
    f'$$![e]({BEACON}/6.png)$$ \\![f]({BEACON}/7.png) <svg><image href="{BEACON}/8.png"></svg> '
    f"[g](javascript:alert(3)) <style>@import '{BEACON}/9.css';</style> & <b>"
)
ONE_LINE = " ".join(HOSTILE.split())
STUDY = "hostile"
PICTURES = "pictures"
HOST = "images.example.org"
PAGES = ["/", "/disagreements", "/scores", "/agreement", "/alignment", "/studies", "/runs"]


@pytest.fixture(scope="module")
def traces(served):
    """The ids of the traces of two studies: in one every text is hostile, the other has images."""
    engine = connect(served.database)
    responses = (Response(text=HOSTILE, system=ONE_LINE), Response(text=HOSTILE))
    items = [
        Item(id=f"{ONE_LINE} {number}", prompt=HOSTILE, context=HOSTILE, responses=responses, scenario=ONE_LINE)
        for number in (1, 2)
    ]
    criterion = Criterion(name=ONE_LINE, definition=HOSTILE)
    turn = a_turn(speaker=ONE_LINE, reply=HOSTILE, problem=HOSTILE, model=ONE_LINE, notes=(HOSTILE,), criterion="")
    imports.import_records(
        engine,
        STUDY,
        [
            StudyRecord(description=HOSTILE, guidelines=HOSTILE),
            CriterionRecord(criterion=criterion),
            *(ItemRecord(item=item) for item in items),
            RunRecord(name=ONE_LINE, protocol="scaleeval", criterion=ONE_LINE),
            TraceRecord(run=ONE_LINE, item=items[0].id, events=(turn, a_verdict())),
            TraceRecord(run=ONE_LINE, item=items[1].id, events=(turn, TraceFailed(problem=HOSTILE))),
        ],
    )
    media = Path(served.database.removeprefix("sqlite:///")).with_name("media")
    imports.import_records(engine, PICTURES, picture_study(media))
    with reading(engine) as session:
        return {
            name: [trace.id for trace in find_traces(session, Filter(stored_study(engine, name).id))]
            for name in (STUDY, PICTURES)
        }


def picture_study(media):
    """Return a study with Markdown images of an allowed host, whose copies are stored, and of others."""
    for number in (1, 2):
        file = media / ".remote" / hashlib.sha256(f"https://{HOST}/{number}.png".encode()).hexdigest()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture())
    text = (
        f"See ![shown](https://{HOST}/1.png) and ![hidden](https://beacon.example/1.png) <img src=https://{HOST}/3.png>"
        r" and $x^2$ and $y \href{https://beacon.example}{z}$"
    )
    item = Item(
        id="item", prompt=text, image=f"https://{HOST}/2.png", responses=(Response(text=text), Response(text="that"))
    )
    rules = StudyRules(markdown=True, image_hosts=(HOST,))
    run = RunRecord(name="run", protocol="scaleeval", criterion="helpfulness")
    trace = TraceRecord(run="run", item="item", events=(a_turn(), a_verdict()))
    return [StudyRecord(rules=rules), ItemRecord(item=item), run, trace]


@pytest.fixture
def watched(served, visit):
    """A page of the server, and what it requests from other hosts."""
    page, foreign = visit(f"{served.address}/ready", "annotator 1"), []
    own = (urlsplit(served.address).netloc, "")

    def record(request):
        if urlsplit(request.url).netloc not in own and not request.url.startswith("blob:"):
            foreign.append(request.url)

    page.context.on("request", record)
    return page, foreign


@pytest.mark.parametrize("path", ["/traces?trace={}", "/disagreements?"])
def test_images_of_allowed_hosts_are_shown_from_this_server(served, traces, watched, path):
    page, foreign = watched
    page.goto(f"{served.address}{path.format(*traces[PICTURES])}&study={PICTURES}")
    for _ in range(100):
        widths = page.locator("img[src*=image]").evaluate_all("(found) => found.map((one) => one.naturalWidth)")
        if widths.count(3) >= 3:
            break
        page.wait_for_timeout(100)
    assert widths.count(3) >= 3, "two texts and the image of the item"
    page.locator(".maths .typeset").first.wait_for()
    set, refused = page.locator(".maths").all()[:2]
    assert set.locator("msup").count() == 1
    assert refused.inner_text() == r"$y \href{https://beacon.example}{z}$"
    assert foreign == []


def test_a_hostile_study_loads_nothing_from_other_hosts_and_runs_nothing(served, traces, watched):
    page, foreign = watched
    dialogs, violations = [], []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: "Content Security Policy" in message.text and violations.append(message.text))
    for path in [*PAGES, *(f"/traces?trace={number}" for number in traces[STUDY])]:
        open_page(page, f"{served.address}{path}{'&' if '?' in path else '?'}study={quote(STUDY)}")
        page.wait_for_function(PAINTED)
        assert (foreign, dialogs) == ([], []), path
        assert violations == [], f"{path}: the policy is the last defence"
    page.wait_for_timeout(500)
    assert (foreign, dialogs, violations) == ([], [], [])
