"""An item's texts are shown as judges receive them, unless the study declares Markdown."""

import pytest
from streamlit.testing.v1 import AppTest

from core.formats.records import ItemRecord, StudyRecord, StudyRules
from core.items import Response
from tests.conftest import make_item
from tests.pages.visits import prepare_study, visit_trace
from tests.storage.shared import RUN, a_trace

CHAT = "+ Hello, <b>Ann</b>.\n- Is *this* $5$ or #1?"


def visit(*, markdown: bool) -> AppTest:
    item = make_item(prompt=CHAT, responses=(Response(text="this"), Response(text="")))
    rules = StudyRules(markdown=markdown)
    prepare_study([StudyRecord(rules=rules), ItemRecord(item=item), RUN, a_trace("item 0")])
    app = visit_trace("item 0")
    return app


def html(app: AppTest) -> list[str]:
    return [element.proto.body for element in app.get("html")]


@pytest.mark.parametrize("markdown", [False, True])
def test_a_text_is_escaped_for_the_script_that_draws_it(markdown: bool) -> None:
    escaped = CHAT.replace("<", "&lt;").replace(">", "&gt;").replace("\n", "&#10;")
    (shown,) = [body for body in html(visit(markdown=markdown)) if "Hello" in body]
    assert f">{escaped}</div>" in shown and ("data-plain" in shown) != markdown
