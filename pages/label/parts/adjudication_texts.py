"""Draws the texts of a case, the annotators' labels side by side, and the judges' opinions."""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from core import remote_images
from core.llm import images
from pages.label.parts import evidence
from pages.parts import items, resources, shell
from pages.parts.text import escape_markdown, sanitize_markdown
from pages.parts.values import format_value
from storage.labelling.adjudication import Case
from storage.labelling.adjudication_case import CaseContent, JudgeRow, Passage, Person
from storage.labelling.judge_texts import find_references
from storage.labelling.response_order import PAIRS
from storage.studies import Study
from storage.study_images import Route

PEOPLE_PER_ROW = 4
FOLDED = ("context", "reference")
ABOVE = ("context", "question", "reference")


def draw_case(study: Study, case: Case, content: CaseContent) -> None:
    """Draw the decision, the annotators' choices, and the texts with the evidence."""
    st.subheader(escape_markdown(content.question), anchor=False)
    if content.criterion is not None and content.criterion.definition:
        st.caption(sanitize_markdown(content.criterion.definition))
    _draw_people(content)
    _draw_judges(study, case, content)
    above = [passage for passage in content.passages if passage.id in ABOVE]
    texts = [passage for passage in content.passages if passage.id not in ABOVE]
    image_route = resources.image_route(study)
    for passage in above:
        _draw_passage(study, passage, content.people, image_route)
    for start in range(0, len(texts), 2):
        for column, passage in zip(st.columns(min(2, len(texts))), texts[start : start + 2], strict=False):
            with column:
                _draw_passage(study, passage, content.people, image_route)


def _draw_people(content: CaseContent) -> None:
    names = {repr(choice.value): choice.name for choice in content.choices}
    texts = {passage.id: passage for passage in content.passages}
    for start in range(0, len(content.people), PEOPLE_PER_ROW):
        row = content.people[start : start + PEOPLE_PER_ROW]
        for column, person in zip(st.columns(len(row)), row, strict=True):
            with column, st.container(border=True, key=f"person-{person.letter}", height="stretch"):
                st.html(_person_html(person, names.get(repr(person.value), format_value(person.value)), texts))


def _person_html(person: Person, name: str, texts: Mapping[str, Passage]) -> str:
    """Return an annotator's label as HTML: letter, value, reason, evidence and note."""
    lines = [f'<div class="person"><b class="letter">{person.letter}</b> {escape(name)}</div>']
    remarks = [] if person.blind else ["after seeing the judges"]
    remarks += ["newer than the decision"] * person.new + ["flagged"] * person.flagged
    if remarks:
        lines.append(f'<div class="remark">{escape(" · ".join(remarks))}</div>')
    if person.reason:
        lines.append(f'<div class="plain-text words" dir="auto">{_words_html(person.reason, person, texts)}</div>')
    for passage in person.evidence:
        text = texts[passage.block].text[passage.start : passage.end] if passage.block in texts else ""
        if text:
            title = escape(texts[passage.block].title)
            lines.append(f'<blockquote class="quoted" dir="auto" title="{title}">{escape(text)}</blockquote>')
    if person.note:
        lines.append(f'<div class="remark" dir="auto">Note: {_words_html(person.note, person, texts)}</div>')
    return "".join(lines)


def _words_html(words: str, person: Person, texts: Mapping[str, Passage]) -> str:
    """Return an annotator's words as HTML, with the texts under the titles that they have here.

    Who saw response 2 first wrote "Response 1" and meant it.
    """
    nouns = [noun for noun in PAIRS.values() if f"{noun}-2" in texts]  # a pair of critiques after the responses
    pieces, at = [], 0
    for found in find_references(words, person.shown, len(person.shown), *nouns[-1:]):
        passage = texts.get(found["column"])
        if passage is None or found["start"] < at:
            continue
        written = escape(f"written as “{words[found['start'] : found['end']]}”")
        pieces += [escape(words[at : found["start"]]), f'<b title="{written}">{escape(passage.title)}</b>']
        at = found["end"]
    return "".join([*pieces, escape(words[at:])])


def _draw_judges(study: Study, case: Case, content: CaseContent) -> None:
    """Draw the judges' opinions after a toggle: annotators' reasons are read first."""
    if not content.judges:
        return
    if not st.toggle("Judges", key=f"judges_{case.id}", help="The judges' opinions and verdicts on this item"):
        return
    names = {repr(choice.value): choice.name for choice in content.choices}
    st.dataframe([_judge_row(row, names) for row in content.judges], hide_index=True)
    with st.container(horizontal=True):
        for trace, run in {row.trace: row.run for row in content.judges}.items():
            st.page_link(
                shell.page_path("watch/traces.py"),
                label=f"Trace in run “{escape_markdown(run)}”",
                icon=":material/forum:",
                query_params={"study": study.name, "trace": str(trace)},
            )


def _judge_row(row: JudgeRow, names: Mapping[str, str]) -> dict[str, str]:
    last = names.get(repr(row.last), format_value(row.last)) if row.last is not None else f"– {row.problem}".strip()
    return {
        "Run": row.run,
        "Judge": "verdict" if row.verdict else row.judge,
        "First opinion": "" if row.verdict else names.get(repr(row.first), format_value(row.first)),
        "Last opinion": last,
    }


def _draw_passage(study: Study, passage: Passage, people: tuple[Person, ...], image_route: Route) -> None:
    marked = [
        (selected.start, selected.end, person.letter)
        for person in people
        for selected in person.evidence
        if selected.block == passage.id
    ]
    if passage.id in FOLDED:
        with st.expander(passage.title, expanded=bool(marked)):
            _draw_text(study, passage, marked, image_route)
        return
    number = f"response-{passage.number}-case" if passage.number in (1, 2) else f"text-{passage.id}"
    with st.container(border=True, key=number):
        st.caption(f"**{passage.title}**")
        _draw_text(study, passage, marked, image_route)


def _draw_text(study: Study, passage: Passage, marked: Sequence[tuple[int, int, str]], image_route: Route) -> None:
    """Draw a text and its images. With evidence, Markdown is shown as it was written: evidence has positions in it."""
    folder, is_markdown = images.media_folder(study.name), study.rules.markdown and passage.is_item_text
    if is_markdown and not marked and passage.text.strip():
        st.markdown(sanitize_markdown(passage.text, image_route=image_route))
    else:
        st.html(evidence.draw_text(passage.text, marked))
        shown = remote_images.markdown_images(passage.text, study.rules.image_hosts) if is_markdown else []
        for address in shown:
            items.draw_image(address, folder, image_route)
    if passage.image:
        items.draw_image(passage.image, folder, image_route)
