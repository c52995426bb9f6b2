"""The fields of a study's rules about assignment, adjudication and statistics."""

from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from core.errors import TiebreakError
from core.formats.study_records import StudyRules
from core.remote_images import normalize_host
from storage import annotators

ORDERS: dict[Literal["shuffled", "fixed", "informative"], str] = {
    "shuffled": "A different random order for each annotator",
    "fixed": "The order of the items",
    "informative": "Most informative first",
}


RESPONSE_ORDERS: dict[Literal["counterbalanced", "as_given"], str] = {
    "counterbalanced": "Counterbalanced over annotators and items",
    "as_given": "The item's order for everybody",
}


@dataclass(frozen=True)
class RuleFields:
    """The entered values; lists have one entry a line."""

    order: str
    response_order: str
    response_order_reason: str
    annotators: str
    groups: str
    reasons: str
    adjudicate_own: bool
    own_statistics: bool
    markdown: bool
    image_hosts: str
    families: str

    def rules(self) -> dict[str, Any]:
        """Return the fields of the rules; raises TiebreakError for an entry that is missing or cannot be read."""
        response_order = next(order for order, name in RESPONSE_ORDERS.items() if name == self.response_order)
        reason = " ".join(self.response_order_reason.split())
        if response_order == "as_given" and not reason:
            raise TiebreakError("The item's order of responses for everybody needs a reason.")
        return {
            "order": next(order for order, name in ORDERS.items() if name == self.order),
            "response_order": response_order,
            "response_order_reason": reason,
            "annotators": tuple(dict.fromkeys(map(annotators.normalize_name, _lines(self.annotators)))),
            "groups": dict(map(_group, _lines(self.groups))),
            "adjudication_reasons": tuple(dict.fromkeys(_lines(self.reasons))),
            "adjudicate_own": self.adjudicate_own,
            "own_statistics": self.own_statistics,
            "markdown": self.markdown,
            "image_hosts": tuple(dict.fromkeys(map(normalize_host, _lines(self.image_hosts)))),
            "families": dict(map(_family, _lines(self.families))),
        }


def draw_fields(rules: StudyRules) -> RuleFields:
    """Draw the fields inside of the form of a study."""
    left, right = st.columns(2, gap="medium")
    with left:
        order = st.selectbox("Order of a queue", list(ORDERS.values()), list(ORDERS).index(rules.order))
        response_order = st.selectbox(
            "Order of responses",
            list(RESPONSE_ORDERS.values()),
            list(RESPONSE_ORDERS).index(rules.response_order),
            help="Who sees one response first in every item may prefer it for its position. Labels have the item's own "
            "numbers in both cases, with the order in which they were given.",
        )
        why = st.text_input(
            "Reason for the item's order", rules.response_order_reason, help="Required if it is not counterbalanced."
        )
        named = st.text_area(
            "Annotators", "\n".join(rules.annotators), height=110, help="One name a line; empty for all annotators."
        )
        groups = st.text_area(
            "Annotators by scenario",
            "\n".join(f"{scenario}: {', '.join(names)}" for scenario, names in rules.groups.items()),
            height=110,
            help="One scenario a line, such as: math: annotator 1, annotator 2. All annotators label the others.",
        )
    with right:
        reasons = st.text_area(
            "Reasons of an adjudication",
            "\n".join(rules.adjudication_reasons),
            height=150,
            help="One reason a line. Adjudicators select one, and add their own words.",
        )
        own = st.toggle(
            "Adjudicate own labels",
            rules.adjudicate_own,
            help="Otherwise adjudicators cannot decide on items that they have labelled.",
        )
        statistics = st.toggle(
            "Annotators see their own statistics", rules.own_statistics, help="Their pace, agreement and changes."
        )
        markdown = st.toggle(
            "Texts are Markdown",
            rules.markdown,
            help="Questions and responses are formatted, with code and mathematics. Otherwise they are shown exactly "
            "as they are, which is what judges receive.",
        )
        hosts = st.text_area(
            "Image hosts",
            "\n".join(rules.image_hosts),
            height=80,
            help="One host a line, such as images.example.org. This server fetches images of items from these hosts "
            "and shows them. Images of other hosts are not loaded.",
        )
        families = st.text_area(
            "Families of models",
            "\n".join(f"{name}: {family}" for name, family in rules.families.items()),
            height=80,
            help="For self-preference: one judge, model or system a line, such as my-judge: OpenAI. The family of "
            "well-known models is read from their names.",
        )
    return RuleFields(order, response_order, why, named, groups, reasons, own, statistics, markdown, hosts, families)


def _lines(text: str) -> list[str]:
    """Return the lines that are not blank, each with single spaces."""
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def _group(line: str) -> tuple[str, tuple[str, ...]]:
    """Return scenario and annotators of a line such as "math: annotator 1, annotator 2"."""
    scenario, colon, names = line.partition(":")
    listed = [name for name in names.split(",") if name.strip()]
    if not colon or not scenario.strip() or not listed:
        raise TiebreakError(f"This should be a scenario, a colon and names: {line[:60]!r}.")
    return scenario.strip(), tuple(dict.fromkeys(map(annotators.normalize_name, listed)))


def _family(line: str) -> tuple[str, str]:
    """Return name and family of a line such as "my-judge: OpenAI"; a name may have colons."""
    name, _, family = line.rpartition(":")
    if not name.strip() or not family.strip():
        raise TiebreakError(f"This should be a name, a colon and a family: {line[:60]!r}.")
    return name.strip(), family.strip()
