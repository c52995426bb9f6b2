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
    assert not app.exception
    return app


def html(app: AppTest) -> list[str]:
    return [element.proto.body for element in app.get("html")]


def test_a_text_is_shown_with_every_character() -> None:
    escaped = CHAT.replace("<", "&lt;").replace(">", "&gt;")
    app = visit(markdown=False)
    assert f'<div class="plain-text" dir="auto">{escaped}</div>' in html(app)
    assert not any("Hello" in element.value for element in app.markdown)


def test_declared_markdown_is_formatted_without_html() -> None:
    app = visit(markdown=True)
    (text,) = [element.value for element in app.markdown if "Hello" in element.value]
    assert "*this*" in text and "<b>" not in text
    assert not any("Hello" in body for body in html(app))


@pytest.mark.parametrize("markdown", [False, True])
def test_an_empty_response_is_no_error(markdown: bool) -> None:
    visit(markdown=markdown)
