"""The pages of the queues: each chooses a queue in the sidebar, and mounts the workbench or draws what is missing.

The screen belongs to the item: the element is below Streamlit's header and next to a closed sidebar.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.critique_ratings import extraction_target
from core.labels import Target
from core.own_addresses import own_address
from core.texts import _, mark
from pages.parts import paging, permissions, resources, shell, tour
from pages.parts.text import escape_markdown
from storage.accounts.access import Permission
from storage.labelling import claims, context, home, offers, queue
from storage.studies import items as stored_items
from storage.studies import studies

# The queues: their names, the pages that they are labelled on, and what is missing if they are empty.


@dataclass(frozen=True)
class QueuePage:
    """How a queue is shown."""

    title: str
    script: str
    empty: str
    """What an empty queue lacks, and what to do about it."""
    advice: str
    links: tuple[shell.Link, ...] = (shell.IMPORT,)
    sample: str = ""
    """The protocol of a sample study with such a queue."""
    task: str = ""
    """Its name in the URL of a page with several queues."""


NO_CRITIQUES = (
    mark("This study has no critiques."),
    mark("Import critiques, such as MetaCritique's annotation_data.json."),
)
NO_SCALE = (
    mark("This study has no criterion with a scale yet."),
    mark("Import scores, or start a ReFeR run on a criterion with a scale."),
)
QUEUE_PAGES: Mapping[context.QueueName, QueuePage] = {
    "disagreements": QueuePage(
        mark("Preferences"),
        "label/disagreements.py",
        mark("There are no pairs to label yet."),
        "",
        (shell.RUN,),
    ),
    "scores": QueuePage(mark("Scores"), "label/scores.py", *NO_SCALE, (shell.IMPORT, shell.RUN), "refer"),
    "answers": QueuePage(mark("Answers"), "label/scores.py", *NO_SCALE, (shell.IMPORT, shell.RUN), "refer"),
    "weights": QueuePage(
        mark("Aspect weights"),
        "label/weights.py",
        mark("This study has no aspects yet."),
        mark("Start a DnA-Eval run, with your own aspects or proposed ones, or import a file of weights."),
        (shell.RUN, shell.IMPORT),
        "dna_eval",
    ),
    "aius": QueuePage(mark("AIUs"), "label/aius.py", *NO_CRITIQUES, sample="metacritique"),
    "critiques": QueuePage(
        mark("Critique comparison"),
        "label/critiques.py",
        mark("No item of this study has two critiques of the same response."),
        mark("Import critiques to compare them."),
        task=mark("Compare critiques"),
    ),
    "critique_ratings": QueuePage(
        mark("Critique ratings"), "label/critiques.py", *NO_CRITIQUES, task=mark("Rate critiques")
    ),
    "refined_answers": QueuePage(
        mark("Refined answers"),
        "label/critiques.py",
        mark("This study has no refined answers."),
        mark("Start a critique refinement run to generate them."),
        (shell.RUN,),
        task=mark("Compare refined answers"),
    ),
    "peers": QueuePage(
        mark("Misleading peers"),
        "label/peers.py",
        mark("You have scored no item of a peer review."),
        mark("A review shows the judges' scores, so score its item first."),
        (("label/scores.py", mark("Scores"), ":material/star_half:"),),
        "refer",
    ),
}


def draw_page(name: context.QueueName) -> None:
    """Draw the page of a queue, or of several ones with a choice."""
    study = choose_study()
    annotator = shell.require_annotator()
    if draw_excluded(study, annotator):
        return None
    chosen: tuple[context.QueueName, str | None] | None = name, None
    if name == "disagreements":
        open_dispute(study, annotator)
        tour.draw(study, name)
        chosen = name, _choose(mark("Criterion"), resources.read(offers.judged_criteria, study.id))
    elif name == "scores":
        chosen = choose_scale(study)
    elif name == "critiques":
        tasks = {page.task: one for one, page in QUEUE_PAGES.items() if page.task}
        with st.sidebar:
            chosen = tasks[paging.choose_coded(_("Task"), list(tasks), "task", st.selectbox)], None
    if chosen is None:
        return draw_empty(study, name)
    kind, criterion = chosen
    scenario = _choose(mark("Scenario"), resources.read(stored_items.scenarios, study.id))
    annotator_id = None
    if name in ("aius", "critiques", "peers"):
        annotator_id = home.prepare(resources.engine(), study.id, annotator)
    wanted = context.queue_named(study.id, kind, criterion, annotator_id=annotator_id)
    has_targets = resources.read(queue.has_targets, wanted)
    if has_targets:
        mount(kind, study, {"criterion": criterion, "scenario": scenario})
    else:
        draw_empty(study, kind)


def open_dispute(study: studies.Study, annotator: str) -> None:
    """Begin with a dispute that the annotator has neither seen nor labelled, if the tour leads here."""
    if st.query_params.pop(tour.PARAMETER, None) is None:
        return
    home.prepare(resources.engine(), study.id, annotator)
    task = resources.read(offers.unseen_dispute, study, annotator)
    if task is not None:
        st.query_params["item"] = task


def draw_empty(study: studies.Study, kind: context.QueueName) -> None:
    """Draw the empty state of a queue."""
    page = QUEUE_PAGES[kind]
    st.title(_(page.title), anchor=False)
    if kind == "disagreements":
        return draw_no_pairs(study, page.empty)
    shell.draw_missing(study, page.empty, page.advice, *page.links, script=page.script, protocol=page.sample)


def draw_no_pairs(study: studies.Study, fact: str) -> None:
    """Draw the two ways for pairs into the queue, with the next step of each; the second one needs no judges."""
    how = _("Pairs are offered if judges disagree or give no verdict, or if they are chosen for people without judges.")
    st.info(f"{_(fact)} {how}")
    first = resources.read(stored_items.of_study, study.id, 1)
    if not first:
        return shell.draw_links(study, shell.IMPORT)
    shell.draw_links(study, shell.RUN)
    if resources.read(offers.offered_criteria, study.id):
        shell.draw_setting(study, shell.DESIGN_TAB, _("Choose pairs that people label"))
    elif len(first[0].responses) < 2:
        shell.draw_setting(study, shell.CRITERIA_TAB, _("Add a criterion, so that people can label pairs"))
    elif permissions.allows(study.id, Permission.edit):
        with st.form("offer_pairs", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            criterion = st.text_input(_("Criterion"), _("overall quality"), max_chars=80, width=320)
            wanted = st.form_submit_button(_("Let people label every pair"), type="primary")
        if wanted:
            permissions.write(study.id, Permission.edit, "", offers.offer_on_new, study, criterion.strip())
            st.rerun()


def draw_excluded(study: studies.Study, annotator: str) -> bool:
    """Say that the study has other annotators, and how to become one, if that is why there is nothing to label."""
    if not claims.is_excluded(study.rules, annotator):
        return False
    home.prepare(resources.engine(), study.id, annotator)
    if resources.read(home.summaries, study, annotator):
        return False  # labels of before
    how = _("Ask its owner to add “{name}” under Assignment and adjudication.", name=escape_markdown(annotator))
    st.info(_("You are not among the annotators of this study.") + f" {how}", icon=":material/group:")
    shell.draw_setting(study, shell.RULES_TAB, _("Guidelines and rules"))
    return True


def queue_address(queue: context.QueueName) -> dict[str, str]:
    """Return the URL parameters of the page, besides the study, if it has several queues."""
    task = QUEUE_PAGES[queue].task
    return {"task": task} if task else {}


def queue_page(queue: context.QueueName) -> str:
    """Return the path of the page of a queue."""
    return shell.page_path(QUEUE_PAGES[queue].script)


# The choices in the sidebar; they are in the URL.


def choose_study() -> studies.Study:
    """Draw the study selection in the sidebar; the screen belongs to the item. Stops the page if there is none."""
    st.set_page_config(initial_sidebar_state="collapsed")
    names = permissions.study_names()
    if not names:
        shell.draw_no_study()
    name = shell.study_name(names)
    with st.sidebar:
        shell.draw_study_choice(names, name)
    study = resources.read(studies.get, name)
    permissions.require_page(study.id)
    if study.archived:
        owner = permissions.allows(study.id, Permission.manage)
        how = _("It can be activated on the page Studies.") if owner else _("Its owner can activate it.")
        st.info(_("This study is archived, so its targets are not offered.") + f" {how}")
        st.stop()
    return study


def _choose(label: str, options: list[str]) -> str | None:
    """Draw an optional choice in the sidebar, which is in the URL; None means all."""
    if not options:
        return None
    with st.sidebar:
        return st.selectbox(_(label), options, index=None, placeholder=_("all"), key=label.lower(), bind="query-params")


def choose_scale(study: studies.Study) -> tuple[context.QueueName, str] | None:
    """Draw the choice of a criterion with a scale, and add its targets that are missing; None if there is none."""
    scales = resources.read(offers.scales, study.id)
    if not scales:
        return None
    # Marked as an answer if a score has the same name.
    keys_by_name = {
        (criterion or "answer") if kind == "score" or ("score", criterion) not in scales else f"{criterion} (answer)": (
            kind,
            criterion,
        )
        for kind, criterion in scales
    }
    names, on = list(keys_by_name), st.query_params.get("on")
    # A link from a trace names the criterion as `on`; the choice below is bound to `criterion`.
    linked = next((name for name, (_, criterion) in keys_by_name.items() if criterion and criterion == on), names[0])
    with st.sidebar:
        selected = st.selectbox(_("Criterion"), names, index=names.index(linked), key="criterion", bind="query-params")
    kind, criterion = keys_by_name.get(str(selected), keys_by_name[names[0]])
    permissions.write(
        study.id, Permission.label, "", offers.create_targets, study.id, kind, criterion, scales[kind, criterion]
    )
    return "answers" if kind == "answer" else "scores", criterion


# The element.

API, SCRIPT = "/api/label", "/assets/workbench/workbench.js"
PAGE_STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding: 0; max-width: none; }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0; }
[data-testid="stHeader"] { background: none; height: 44px; min-height: 44px; width: 3rem; padding: 0; }
label-workbench { --workbench-inset: 34px; }
</style>"""
# Parameters of the page's URL that the element uses.
LINKED = ("tab", "run")


def linked_item(study: studies.Study, kind: context.QueueName) -> str | None:
    """Return the task to begin with if the URL names its criterion, part or critique, otherwise the item."""
    item, criterion, critique = (st.query_params.get(name) for name in ("item", "on", "of"))
    if item is not None and kind == "aius" and critique is not None:
        target = extraction_target(item, critique)
    elif item is not None and criterion is not None:
        part = st.query_params.get("part", "")
        target = Target(item=item, kind=context.QUEUES[kind].kind, criterion=criterion, part=part)
    else:
        return item
    return resources.read(context.link_name, study.id, target) or item


def mount(kind: context.QueueName, study: studies.Study, choices: Mapping[str, str | None]) -> None:
    """Draw the element for one queue. Another queue is another element, so nothing of the first one is left."""
    linked = {name: st.query_params.get(name) for name in LINKED} | {"item": linked_item(study, kind)}
    # The id is the one that counts: the study may be renamed while the window is open.
    query: dict[str, str | None] = {"study": study.name, "study_id": str(study.id), "kind": kind, **choices, **linked}
    st.html(PAGE_STYLE)
    address = urlencode({name: value for name, value in query.items() if value})
    name = f"workbench-{hashlib.blake2b(address.encode(), digest_size=8).hexdigest()}"
    element(name, address)(key=name)


def element(name: str, query: str) -> Any:
    """Return the component of a queue. It has no script: the element is one file that the page loads."""
    attributes = f'api="{own_address(API)}" query="{escape(query)}"'
    script = f'<script type="module" src="{own_address(SCRIPT)}"></script>'
    html = f"<label-workbench {attributes}></label-workbench>{script}"
    return st.components.v2.component(name, html=html, isolate_styles=False)
