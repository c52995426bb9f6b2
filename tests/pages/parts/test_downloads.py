"""Files that pages offer: their content, who may request them, and what the audit log records."""

import ast
import re

import pytest
from streamlit.testing.v1 import AppTest

from core.formats.records import ItemRecord
from core.formats.tables import csv_text
from pages.parts import account_guard, downloads, resources
from pages.parts.account_guard import SESSION_COOKIE
from storage.accounts import access, logins
from storage.accounts.access import Role
from storage.db import audit
from storage.db.audit import Action, Filter
from storage.db.connections import reading, write
from tests.accounts import add_account, enter, fast_hashes
from tests.conftest import make_item
from tests.pages.visits import file_client, prepare_study
from tests.paths import ROOT

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)


def test_formulas_and_line_ends_are_quoted_and_negative_numbers_are_not() -> None:
    assert csv_text(["name", "value"], [("=A1", -0.5)]) == "name,value\n'=A1,-0.5\n"
    assert csv_text(["name"], [("a\rb",), ("a\nb",), (None,)]) == 'name\n"a\rb"\n"a\nb"\n""\n'


def page_of_results() -> None:
    import plotly.graph_objects as go

    from pages.parts import charts, downloads, permissions
    from storage.accounts.access import Permission

    permissions.enter_page(Permission.view)
    permissions.require_page(1)
    downloads.draw_csv_download(lambda: "judge,value\nA,1\n", "judges.csv")
    charts.draw(
        go.Figure().update_layout(title="Accuracy"), "accuracy", "Accuracy", data=charts.ChartData([{"judge": "A"}])
    )


@pytest.fixture
def results(monkeypatch):
    """Draw the page as the account "vera", a viewer of the study "s"; its links, and a function for another browser."""
    prepare_study([ItemRecord(item=make_item("item 0"))])
    engine, cookies = resources.engine(), {}
    for name in ("administrator", "vera", "otto"):
        add_account(engine, name)
        cookies[name] = enter(engine, name)
    for name in ("vera", "otto"):
        write(engine, lambda session, name=name: access.set_role(session, 1, name, Role.viewer))
    with reading(engine) as session:
        identity = logins.identify(session, cookies["vera"])
    monkeypatch.setattr(account_guard, "current_identity", lambda: identity)
    app = AppTest.from_function(page_of_results).run()
    html = "".join(element.proto.body for element in app.get("html"))
    links = re.findall(r'href="(/files/[^"]+)" download>(?:Download as CSV|CSV)<', html)

    def get(link, name):
        client = file_client()
        client.cookies.set(SESSION_COOKIE, cookies[name])
        return client.get(link)

    return links, get


def exports() -> list[tuple[str, str, str]]:
    with reading(resources.engine()) as session:
        entries = audit.entries(session, Filter(actions=(Action.export,)))
    return [(entry.actor, entry.study, entry.details["file"]) for entry in reversed(entries)]


def test_a_file_is_its_visitor_s_and_each_download_is_recorded(results):
    links, get = results
    assert [get(link, "vera").text for link in links] == ["judge,value\nA,1\n", "judge\nA\n"]
    assert exports() == [("vera", "s", "judges.csv"), ("vera", "s", "chart accuracy.csv")]
    for name in ("otto", "administrator"):
        assert [get(link, name).status_code for link in links] == [404, 404], "of another account, also with the role"
    assert len(exports()) == 2


def test_a_file_that_was_offered_is_refused_without_the_role(results):
    links, get = results
    for role in (None, Role.annotator):
        write(resources.engine(), lambda session, role=role: access.set_role(session, 1, "vera", role))
        assert [get(link, "vera").status_code for link in links] == [403, 403]
    assert exports() == []


def test_a_table_is_written_when_it_is_requested(monkeypatch):
    offered, written = [], []
    monkeypatch.setattr(downloads, "draw_file_link", lambda label, file, key: offered.append(file))
    downloads.draw_csv_download(lambda: written.append(1) or "a,b\n", "a.csv")
    assert not written
    assert offered[0].make() == b"a,b\n" and written == [1]


def test_pages_put_nothing_into_streamlit_s_route_of_files() -> None:
    """Streamlit serves a file under /media to every session, by an address that is a hash of the content."""
    stored = {"download_button", "image", "audio", "video", "pdf", "logo"}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "pages").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in stored
        if isinstance(node.value, ast.Name) and node.value.id == "st"
    ]
    assert found == []
