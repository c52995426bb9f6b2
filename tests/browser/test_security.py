"""A browser that records every request: hostile texts load nothing from other hosts, and run nothing."""

import hashlib
from urllib.parse import quote, urlsplit

import pytest

from core.formats.records import CriterionRecord, ItemRecord, RunRecord, StudyRecord, StudyRules, TraceRecord
from core.items import Criterion, Item, Response
from core.trace import TraceFailed
from storage.db.connections import connect, upgrade
from storage.transfer import imports
from tests.browser.conftest import open_page, serve, stop_server
from tests.core.test_remote_images import picture
from tests.storage.shared import a_turn, a_verdict

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
PAGES = [
    "/",
    "/traces?trace=1",
    "/traces?trace=2",
    "/disagreements",
    "/scores",
    "/agreement",
    "/alignment",
    "/studies",
    "/runs",
]


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory):
    """A server with a study in which every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    url = f"sqlite:///{folder}/tiebreak.db"
    engine = connect(url)
    upgrade(engine)
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
    imports.import_records(engine, PICTURES, picture_study(folder / "media"))
    engine.dispose()
    server = serve(url, folder / "server.log", TIEBREAK_MEDIA=str(folder / "media"))
    yield server
    stop_server(server)


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
def watched(hostile_server, visit):
    """A page of the server, and what it requests from other hosts."""
    page, foreign = visit(f"{hostile_server.address}/ready", "annotator 1"), []
    own = (urlsplit(hostile_server.address).netloc, "")

    def record(request):
        if urlsplit(request.url).netloc not in own and not request.url.startswith("blob:"):
            foreign.append(request.url)

    page.context.on("request", record)
    return page, foreign


@pytest.mark.parametrize("path", ["/traces?trace=3", "/disagreements?"])
def test_images_of_allowed_hosts_are_shown_from_this_server(hostile_server, watched, path):
    page, foreign = watched
    page.goto(f"{hostile_server.address}{path}&study={PICTURES}")
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


def test_a_hostile_study_loads_nothing_from_other_hosts_and_runs_nothing(hostile_server, watched):
    page, foreign = watched
    dialogs, violations = [], []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: "Content Security Policy" in message.text and violations.append(message.text))
    for path in PAGES:
        open_page(page, f"{hostile_server.address}{path}{'&' if '?' in path else '?'}study={quote(STUDY)}")
        page.wait_for_timeout(500)
        assert (foreign, dialogs) == ([], []), path
        assert violations == [], f"{path}: the policy is the last defence"
