"""Tags in the reasons of labels, such as "#length": a taxonomy with the annotators' agreement on each tag."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import TRUTH
from core.statistics.data.frames import ALL
from core.statistics.reports.agreement import AgreementRow, agreement_rows
from core.wording import format_count, report_criterion
from storage.db.tables import AnnotatorRow, LabelRow
from storage.labels import targets

if TYPE_CHECKING:
    import pandas as pd

TAG = re.compile(r"(?<![\w#&/])#([^\W\d_][\w-]{1,39})")
"""A word after #, which is not in an address or an entity."""
KIND, STATISTIC = "tag", "fleiss_kappa"
MAX_TAGS = 40
"""The most frequent ones are compared."""
MIN_USES = 10
"""No interval of kappa for a tag in fewer reasons: with 5 expected uses the intervals held the truth in 82 %."""
Reasons = Mapping[tuple[int, str], str]
"""(Target id, annotator) -> the reason of the current label."""


@dataclass(frozen=True)
class TagRow:
    """One tag, or all of them."""

    tag: str
    """ "all" for the pooled tags; a tag of this name is in quotes."""
    labels: int
    """Current labels whose reason has it."""
    targets: int
    annotators: int
    kappa: float | None
    """Fleiss' kappa of using the tag or not, on targets for which two annotators gave a reason."""
    low: float | None
    high: float | None
    compared: int
    """Targets of kappa; for all tags, targets x tags."""
    reason: str


def find_tags(text: str) -> list[str]:
    """Return the tags of a reason in lower case, each once."""
    return list(dict.fromkeys(tag.lower() for tag in TAG.findall(text)))


def report(session: Session, study_id: int, *, resamples: int = 1000) -> list[TagRow]:
    """Return every tag, the most frequent first, after the row of all tags; empty without a tag."""
    reasons = _current_reasons(session, study_id)
    used: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for label, text in reasons.items():
        for tag in map(report_criterion, find_tags(text)):
            used[tag].append(label)
    if not used:
        return []
    tags = sorted(used, key=lambda tag: (-len(used[tag]), tag))[:MAX_TAGS]
    frame = _frame(targets.frame(session, study_id), reasons, tags)
    scales = {(KIND, tag): TRUTH for tag in tags}
    found = {
        row.criterion: row
        for row in agreement_rows(frame, by="all", scales=scales, resamples=resamples)
        if row.statistic == STATISTIC
    }
    every = sorted({label for of_tag in used.values() for label in of_tag})
    pooled = [_row(ALL, every, found.get(ALL))] if len(tags) > 1 else []
    return [*pooled, *(_row(tag, used[tag], found.get(tag)) for tag in tags)]


def _row(tag: str, labels: Sequence[tuple[int, str]], agreement: AgreementRow | None) -> TagRow:
    counts = len(labels), len({target for target, _ in labels}), len({annotator for _, annotator in labels})
    if agreement is None:
        return TagRow(tag, *counts, None, None, None, 0, "no target has reasons of two annotators")
    low, high, reason = agreement.low, agreement.high, agreement.reason
    if low is not None and len(labels) < MIN_USES:
        few = f"no interval: {format_count(len(labels), 'use')} of the tag, {MIN_USES} are needed"
        low, high, reason = None, None, "; ".join(filter(None, (few, reason)))
    return TagRow(tag, *counts, agreement.value, low, high, agreement.items, reason)


def _current_reasons(session: Session, study_id: int) -> Reasons:
    """Return the reasons of the annotators' newest labels that have one."""
    query = (
        select(col(LabelRow.target_id), col(AnnotatorRow.name), col(LabelRow.reason), col(LabelRow.value).is_(None))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(col(LabelRow.study_id) == study_id)
        .order_by(col(LabelRow.id))
    )
    newest = {
        (target, name): "" if is_withdrawn else reason for target, name, reason, is_withdrawn in session.execute(query)
    }
    return {label: reason for label, reason in newest.items() if reason.strip()}


def _frame(known: "pd.DataFrame", reasons: Reasons, tags: Sequence[str]) -> "pd.DataFrame":
    """Return one row for each tag and reason: whether the reason has the tag."""
    import pandas as pd

    rows = [
        (target, name, tag, tag in tags_of)
        for (target, name), text in reasons.items()
        for tags_of in [set(map(report_criterion, find_tags(text)))]
        for tag in tags
    ]
    ids, names, criteria, values = zip(*rows, strict=True)
    frame = known.reindex(list(ids)).reset_index(drop=True)
    part = frame["kind"] + "\n" + frame["criterion"] + "\n" + frame["part"]
    frame["value"] = pd.Series(values, dtype=object)
    return frame.assign(kind=KIND, criterion=list(criteria), part=part, rater=list(names))
