"""Every page and every route of the API, with every role, against one table of permissions."""

import re
from collections.abc import Collection

import pytest
from starlette.testclient import TestClient
from streamlit import config

import app
from pages.parts import account_guard, resources
from pages.parts.sections import ENTRIES, SECTIONS, offered, title_of
from storage.accounts import access, registry
from storage.accounts.access import PERMISSIONS, Permission, Role
from storage.accounts.registry import Actor, Identity
from storage.db.connections import reading, writing
from storage.reports.contents import StudyContents
from storage.studies import studies
from tests.accounts import add_account, enter, fast_hashes, one_trace
from tests.pages.visits import page_text, prepare_copy, switch_to, visit

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)
HOST = "http://127.0.0.1:8501"
MEMBERS = {"owner", "researcher", "adjudicator", "annotator", "viewer"}
LABELLERS = {"owner", "researcher", "adjudicator", "annotator"}
READERS = {"owner", "researcher", "viewer"}
PAGES = {
    "results/overview": MEMBERS,
    "watch/traces": READERS,
    "watch/unread": READERS,
    "watch/search": READERS,
    "label/home": LABELLERS,
    "label/disagreements": LABELLERS,
    "label/aius": LABELLERS,
    "label/critiques": LABELLERS,
    "label/scores": LABELLERS,
    "label/peers": LABELLERS,
    "label/weights": LABELLERS,
    "label/adjudication": {"owner", "researcher", "adjudicator"},
    "label/inbox": LABELLERS,
    "results/judges": READERS,
    "results/policy": READERS,
    "results/biases": READERS,
    "results/compare_runs": READERS,
    "results/causes": READERS,
    "results/discussions": READERS,
    "results/systems": READERS,
    "results/agreement": READERS,
    "results/alignment": READERS,
    "results/critiques": READERS,
    "results/peer_errors": READERS,
    "results/weights": READERS,
    "results/laboratory": READERS,
    "results/published": READERS,
    "setup/studies": MEMBERS,
    "setup/annotators": MEMBERS,
    "setup/inputs": {"owner", "researcher"},
    "setup/runs": {"owner", "researcher"},
    "setup/experiments": {"owner", "researcher"},
    "setup/improve": {"owner", "researcher"},
    "setup/access": {"owner"},
    "setup/audit": {"owner"},
    "setup/account": MEMBERS,
}
ROUTES = [
    ("GET", "/api/label/session"),
    ("POST", "/api/label/tasks"),
    ("GET", "/api/label/tasks/t"),
    ("POST", "/api/label/actions"),
    ("GET", "/api/label/history"),
    ("POST", "/api/label/presence"),
    ("GET", "/api/label/image"),
]
PUBLIC = {
    "/account/sign-in",
    "/account/invitation",
    "/account/invitation/name",
    "/account/oidc",
    "/account/language",
    "/assets/account",
    "/assets/workbench",
    "/assets/texts/{language}",
    "/ready",
    "/metrics",
    "/_stcore/health",
    "/_stcore/host-config",
    "/component/{path:path}",
    "/_stcore/bidi-components/{path:path}",
    "/auth/login",
    "/auth/logout",
    "/oauth2callback",
}
"""Routes without data of a study; metrics are answered to the server's machine only."""
SIGNED_IN = {
    "/_stcore/metrics": "of Streamlit: sizes of caches",
    "/media/{file_id:path}": "of Streamlit: the icon of the pages (tests/pages/parts/test_downloads.py)",
    "/_stcore/upload_file/{session_id}/{file_id}": "of Streamlit: needs the random id of a session",
    "/_stcore/agent/interact": "of Streamlit: switched off",
    "/_stcore/agent/openapi.json": "of Streamlit: switched off",
    "/_stcore/agent/mcp": "of Streamlit: switched off",
    "/_stcore/stream": "the socket of the pages",
    "": "the page of Streamlit, without data",
    "/files/{token}": "own files, with the role checked (tests/pages/parts/test_downloads.py)",
    "/transcripts": "with the role checked (tests/pages/parts/test_routes.py)",
    "/images/remote": "signed by a study that the visitor may open (tests/pages/parts/test_routes.py)",
}


@pytest.fixture
def members(monkeypatch):
    """Accounts of all roles in the study "s", and a function that makes one of them the visitor of pages."""
    prepare_copy(one_trace)
    engine, found = resources.engine(), {}
    add_account(engine, "administrator")
    with writing(engine) as session:
        study_id = studies.get(session, "s").id
        for name in (*Role, "stranger"):
            account = registry.add(session, name)
            found[name] = Actor(name, account.id)
            if name in PERMISSIONS:
                access.set_role(session, study_id, name, Role(name))

    def become(name):
        actor = found.get(name)
        monkeypatch.setattr(account_guard, "current_identity", lambda: Identity(True, actor, None))

    return become


def test_the_table_has_every_page_and_every_route():
    assert {section.script.removesuffix(".py") for section in SECTIONS} == PAGES.keys()
    declared = {
        (method, route.path)
        for route in app.api.routes()
        for method in getattr(route, "methods", ()) or ()
        if method != "HEAD"
    }
    assert {(method, path.replace("/tasks/t", "/tasks/{task}")) for method, path in ROUTES} == declared


def test_every_route_of_the_server_has_a_rule_and_only_public_ones_are_answered_without_a_session(members):
    client = TestClient(app.app, base_url=HOST, client=("127.0.0.1", 1), headers={"origin": HOST})
    client.get("/ready")
    routes = {route.path: route for route in app.app._starlette_app.routes}
    labelling = {path.replace("/tasks/t", "/tasks/{task}") for _, path in ROUTES}
    assert routes.keys() == PUBLIC | SIGNED_IN.keys() | labelling | account_guard.PAGE_PATHS
    assert not PUBLIC & SIGNED_IN.keys()
    link_of_another_site = {"sec-fetch-site": "cross-site", "accept": "text/html"}
    for path in (SIGNED_IN.keys() | labelling) - {"/_stcore/stream", ""}:
        address = re.sub(r"{[^}]*}", "x", path)
        for method in routes[path].methods:
            assert client.request(method, address).status_code == 401, (method, path)
            reply = client.request(method, address, headers=link_of_another_site, follow_redirects=False)
            assert reply.status_code in (401, 303), (method, path)
    assert client.get("/no/page", headers=link_of_another_site, follow_redirects=False).status_code == 303
    for path in account_guard.PAGE_PATHS:  # Streamlit's page without data, also for the link of another site
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"accept": "text/html"}, follow_redirects=False).status_code == 303
    assert config.get_option("server.enableAgentApi") is False


def test_the_declared_permission_of_each_page_allows_the_roles_of_the_table():
    for section in SECTIONS:
        allowed = {role.value for role, permissions in PERMISSIONS.items() if section.permission in permissions}
        assert allowed == PAGES[section.script.removesuffix(".py")], section


EVERYTHING = StudyContents(True, 2, True, True, True, True, True, True)
RESULTS = ["Judges", "People", "Systems", "Methods"]


def entries_of(granted: Collection[Permission], contents: StudyContents) -> list[str]:
    shown = [(entry, offered(entry, granted, contents)) for entry in ENTRIES]
    return [title_of(entry, sections) for entry, sections in shown if sections]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role.owner, ["Overview", "Watch", "Label", "Adjudicate", *RESULTS, "Data", "Runs", "Admin"]),
        (Role.adjudicator, ["Overview", "Label", "Adjudicate", "People", "Data", "Admin"]),
        (Role.annotator, ["Overview", "Label", "People", "Data", "Admin"]),
        (Role.viewer, ["Overview", "Watch", *RESULTS, "Data", "Runs", "Admin"]),
    ],
)
def test_a_role_has_few_entries_in_a_study_with_everything(role, expected):
    assert entries_of(PERMISSIONS[role], EVERYTHING) == expected


def test_entries_without_data_are_not_offered_and_one_method_gives_its_entry_the_name():
    assert entries_of(frozenset(Permission), StudyContents()) == ["Overview", "Data", "Admin"]
    methods = [
        entries_of(frozenset(Permission), StudyContents(**{method: True}))[1]
        for method in ("critiques", "aspects", "peer_reviews")
    ]
    assert methods == ["Critiques", "Weights", "Peer errors"]


def test_the_sidebar_follows_the_role_and_the_study(members):
    members("annotator")
    shown = visit("results/overview", study="s").sidebar.get("page_link")
    assert [link.proto.label for link in shown[:3]] == ["Overview", "Label", "Data"]
    members("viewer")
    shown = visit("watch/traces", study="s")
    labels = [link.proto.label for link in shown.sidebar.get("page_link")]
    assert {"Overview", "Watch", "Data"} <= set(labels) and not {"Label", "Runs", "Methods"} & set(labels)
    assert {"Traces", "Search"} <= {link.proto.label for link in shown.main.get("page_link")}


@pytest.mark.slow
@pytest.mark.parametrize("role", ["researcher", "adjudicator", "annotator", "viewer"])
def test_a_page_is_refused_without_the_role_in_its_study_also_to_the_owner_of_another_study(members, role):
    members(role)
    with writing(resources.engine()) as session:
        access.set_role(session, studies.get_or_create(session, "other").id, role, Role.owner)
    refused = [page for page, roles in PAGES.items() if role not in roles]
    assert len(refused) > 1
    if role == "adjudicator":  # elsewhere as an annotator
        refused = [page for page in refused if page.startswith("setup/")]
    for page in refused:
        same_name = page in ("label/critiques", "label/weights")  # as a page of results
        shown = switch_to(page, study="s") if same_name else visit(page, study="s")
        text = page_text(shown)
        assert not shown.exception and "item 0" not in text, page
        assert "does not allow" in text or "You may see the traces" in text, (page, text)


WITHOUT_A_ROLE = [
    ("signed out", "results/overview", "You are signed out"),
    ("signed out", "setup/account", "You are signed out"),
    ("stranger", "results/overview", "not a member of any study"),
    ("stranger", "watch/traces", "no role in a study"),
    ("annotator", "setup/access", "no role in a study"),
]


def test_a_visitor_without_any_role_is_told_so(members):
    for visitor, page, sentence in WITHOUT_A_ROLE:
        members(visitor)
        shown = visit(page, study="s") if visitor == "annotator" else visit(page)
        assert sentence in page_text(shown) and not shown.exception, (visitor, page)


LINKS = [
    ("watch/traces", {"trace": "1"}),
    ("setup/studies", {"view": "study", "open": "s"}),
    ("setup/studies", {"view": "import"}),
]


def test_a_link_to_a_trace_a_study_or_the_import_is_refused(members):
    for role in ("annotator", "adjudicator", "stranger"):
        members(role)
        for page, parameters in LINKS:
            shown = visit(page, **parameters)
            assert shown.error and "item 0" not in page_text(shown), (role, page)
            assert not shown.get("file_uploader") and not shown.tabs, (role, page)


def test_the_overview_of_an_annotator_has_no_results_and_lists_only_own_studies(members):
    members("annotator")
    shown = page_text(visit("results/overview", study="s"))
    assert "**1 target** to label" in shown
    assert "Judges" not in shown and "People" not in shown
    members("stranger")
    assert "**s**" not in page_text(visit("setup/studies"))


def test_a_route_is_refused_to_roles_that_may_not_label(members):
    engine = resources.engine()
    client = TestClient(app.app, base_url=HOST, client=("127.0.0.1", 1), headers={"origin": HOST})
    refusals = {"viewer": {"forbidden"}, "stranger": {"unknown"}}  # as if there were no such study
    for role in (*Role, "stranger"):
        with writing(engine) as session:
            registry.set_password(session, registry.get(session, role).id, registry.password_hash(session, 1))
        client.cookies.set("tiebreak_session", enter(engine, role))
        for method, path in ROUTES:
            body = {"json": {}} if method == "POST" else {}
            reply = client.request(method, path, params={"study": "s", "kind": "disagreements"}, **body)
            found = reply.json()["error"] if reply.status_code in (403, 404) else ""
            allowed = {"", "csrf", "unknown"} if path.endswith(("/t", "/image")) else {"", "csrf"}
            assert found in refusals.get(role, allowed), (role, path)
    with reading(engine) as session:
        assert access.permissions_anywhere(session, Actor("stranger", 7)) == frozenset()
        assert Permission.label not in PERMISSIONS[Role.viewer]
