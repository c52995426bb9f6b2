"""The page of the audit log."""

import re
from datetime import date

import pytest

from core.formats.records import ItemRecord
from pages.parts import resources
from storage.db import audit
from storage.db.audit import Action
from storage.db.connections import writing
from storage.studies import studies
from tests.conftest import make_item
from tests.pages.visits import file_client, page_text, prepare_study, visit


@pytest.fixture
def page():
    prepare_study([ItemRecord(item=make_item("item 0"))])
    with audit.acting("=HYPERLINK(1)"), writing(resources.engine()) as session:
        audit.record(session, Action.export, study_id=studies.get(session, "s").id, file="gold")
        audit.record(session, Action.sign_in, address="192.0.2.7")
    return visit("setup/audit", "ann", study="s")


def test_the_page_lists_and_filters_the_entries_of_the_study(page):
    assert list(page.dataframe[0].value["What"]) == ["export", "import"]
    page.multiselect(key="audit_actions").set_value(["import"])
    assert list(page.run().dataframe[0].value["Details"]) == ["result: added 1 item"]
    page.multiselect(key="audit_actions").set_value([])
    page.date_input(key="audit_until").set_value(date(2020, 1, 1))
    assert "No entry matches" in page_text(page.run())
    page.date_input(key="audit_until").set_value(None)
    assert list(page.run().dataframe[0].value["What"]) == ["export", "import"]
    page.text_input(key="audit_actor").set_value("nobody")
    assert "No entry matches" in page_text(page.run())


def test_the_whole_log_can_be_downloaded_safely_and_the_export_is_recorded(page):
    page.segmented_control(key="audit_scope").set_value("Whole server")
    page.run()
    assert list(page.dataframe[0].value["What"]) == ["sign-in", "export", "import"]
    (link,) = re.findall(r'href="(/files/[^"]+)"', "".join(element.proto.body for element in page.get("html")))
    client = file_client()
    lines = client.get(link).text.splitlines()
    assert lines[0] == "at,actor,action,study,address,details"
    assert len(lines) == 5 and ",'=HYPERLINK(1),export,s,,file: gold" in lines[3]
    assert ",ann,export,s,,file: audit log of the server" in lines[1]
