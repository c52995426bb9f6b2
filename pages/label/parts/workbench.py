"""Mounts the workbench element on a label page, below Streamlit's header and next to a closed sidebar."""

import hashlib
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.labels import Kind, Target
from core.own_addresses import own_address
from pages.parts import current_study, permissions, resources, shell
from storage.accounts.access import Permission
from storage.db import connections
from storage.labelling import context
from storage.studies import items as stored_items
from storage.studies import studies
from storage.studies.studies import Study

API, SCRIPT = "/api/label", "/assets/workbench/workbench.js"
PAGE_STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding: 0; max-width: none; }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0; }
[data-testid="stHeader"] { background: none; height: 44px; min-height: 44px; width: 3rem; padding: 0; }
label-workbench { --workbench-inset: 34px; }
</style>"""
LINKED = ("tab", "run")
"""Parameters of the page's URL that the element uses."""


def choose_study() -> Study:
    """Draw the study selection in the sidebar; the screen belongs to the item. Stops the page if there is none."""
    st.set_page_config(initial_sidebar_state="collapsed")
    names = permissions.study_names()
    if not names:
        shell.draw_no_study()
    name = shell.study_name(names)
    with st.sidebar:
        current_study.draw_choice(names, name)
    with connections.reading(resources.engine()) as session:
        study = studies.get(session, name)
    permissions.require_page(study.id)
    if study.archived:
        owner = permissions.allows(study.id, Permission.manage)
        how = "It can be activated on the page Studies." if owner else "Its owner can activate it."
        st.info(f"This study is archived, so its targets are not offered. {how}")
        st.stop()
    return study


def choose_scenario(study: Study) -> str | None:
    """Draw the choice of a scenario in the sidebar; it is in the URL."""
    with connections.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
    if not scenarios:
        return None
    with st.sidebar:
        return st.selectbox("Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params")


def linked_item(study: Study, kind: Kind) -> str | None:
    """Return the target of the link: a task if the URL names a criterion or part of the item, otherwise the item."""
    item, criterion = st.query_params.get("item"), st.query_params.get("on")
    if item is None or criterion is None:
        return item
    target = Target(item=item, kind=kind, criterion=criterion, part=st.query_params.get("part", ""))
    with connections.reading(resources.engine()) as session:
        return context.link_name(session, study.id, target) or item


def mount(kind: context.QueueName, study: Study, choices: Mapping[str, str | None], *, item: str | None = None) -> None:
    """Draw the element for one queue. Another queue is another element, so nothing of the first one is left.

    `item` is the task or item to begin with, if it is not the one that the URL names.
    """
    linked = {name: st.query_params.get(name) for name in LINKED}
    linked["item"] = item or linked_item(study, context.TARGET_KINDS[kind])
    # The id is the one that counts: the study may be renamed while the window is open.
    query = {
        "study": study.name,
        "study_id": str(study.id),
        "kind": kind,
        **{name: value for name, value in choices.items() if value},
    }
    query |= {name: value for name, value in linked.items() if value}
    st.html(PAGE_STYLE)
    address = urlencode(query)
    name = f"workbench-{hashlib.blake2b(address.encode(), digest_size=8).hexdigest()}"
    element(name, address)(key=name)


def element(name: str, query: str) -> Any:
    """Return the component of a queue. It has no script: the element is one file that the page loads."""
    attributes = f'api="{own_address(API)}" query="{escape(query)}"'
    script = f'<script type="module" src="{own_address(SCRIPT)}"></script>'
    html = f"<label-workbench {attributes}></label-workbench>{script}"
    return st.components.v2.component(name, html=html, isolate_styles=False)


# The names of the queues, and the pages that they are labelled on.

TITLES: Mapping[str, str] = {
    "disagreements": "Disagreements",
    "scores": "Scores",
    "answers": "Answers",
    "weights": "Aspect weights",
    "aius": "AIUs",
    "critiques": "Critique comparison",
    "critique_ratings": "Critique ratings",
    "refined_answers": "Refined answers",
}
SCRIPTS: Mapping[str, str] = {
    "disagreements": "label/disagreements.py",
    "scores": "label/scores.py",
    "answers": "label/scores.py",
    "weights": "label/weights.py",
    "aius": "label/aius.py",
    "critiques": "label/critiques.py",
    "critique_ratings": "label/critiques.py",
    "refined_answers": "label/critiques.py",
}
CRITIQUE_TASKS: Mapping[str, str] = {
    "critiques": "Compare critiques",
    "critique_ratings": "Rate critiques",
    "refined_answers": "Compare refined answers",
}
"""The queues of one page, and their names in its URL."""


def queue_address(queue: str) -> dict[str, str]:
    """Return the URL parameters of the page, besides the study, if it has several queues."""
    return {"task": CRITIQUE_TASKS[queue]} if queue in CRITIQUE_TASKS else {}


def queue_page(queue: str) -> str:
    """Return the path of the page of a queue."""
    return shell.page_path(SCRIPTS[queue])
