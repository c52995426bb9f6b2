"""The app as a visitor meets it, on a database of the test's own."""

from collections.abc import Sequence

import streamlit as st
from streamlit.testing.v1 import AppTest

from core.formats.records import Record
from pages.parts import resources
from storage import database
from storage.transfer import imports
from tests.paths import ROOT

APP = ROOT / "app.py"


def visit(page: str, **parameters: str) -> AppTest:
    """Follow a link to a page such as "setup/studies"."""
    st.cache_data.clear()
    st.cache_resource.clear()
    app = AppTest.from_file(str(APP), default_timeout=20)
    app.switch_page(str(APP.parent / "pages" / f"{page}.py"))
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def prepared(records: Sequence[Record] = (), study: str = "s") -> None:
    """Tables, and a study of `records` where there are any; no sample."""
    engine = resources.engine()
    database.upgrade(engine)
    if records:
        imports.load(engine, study, records)


def whole(app: AppTest) -> str:
    """Everything that is written on the page."""
    shown = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.success]
    return "\n".join(str(element.value) for element in shown)
