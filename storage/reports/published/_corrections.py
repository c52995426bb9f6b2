"""RealCritic: whether the corrections that critiques lead to are right (Tang et al. 2025, arXiv:2501.14492)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.items import Item
from core.labels import Value
from core.protocols.critique_baselines.correction import BEFORE, NAME, RIGHT, Settings
from core.statistics.data.frames import ALL
from core.statistics.measures.means import mean_estimate
from core.statistics.reports.peer_errors import is_correct
from core.wording import scenario_name
from storage.db import connections
from storage.reports import peer_reviews
from storage.reports.opinions import opinion_frame
from storage.reports.published._metacritique import score_row
from storage.reports.published.rows import PublishedRow, PublishedTable, Request, from_estimate, share
from storage.runs import runs
from storage.studies import items

if TYPE_CHECKING:
    import pandas as pd

PAPER = "RealCritic, Tang et al. 2025"
# Item, whether the solution was right before and after the correction; None if its answer cannot be read.
Corrected = tuple[str, bool | None, bool | None]


def corrections(request: Request) -> list[PublishedRow]:
    """Return the shares of solutions that are right before and after each critic's correction, and of those changed.

    Repeats of a run of an experiment are pooled, with intervals over items. A solution whose answer cannot be read
    before or after is left out of all of them, and counted in the note.
    """
    with connections.reading(request.engine) as session:
        own = [run for run in runs.of_study(session, request.study.id) if run.protocol == NAME]
        found = [(run, one) for run in own if (one := peer_reviews.valid_settings(run, Settings)) is not None]
        if not found:
            return []
        opinions = opinion_frame(session, request.study.id, ["answer"])
        all_items = items.of_study(session, request.study.id)
    groups: dict[tuple[str, str], list[Corrected]] = {}
    for run, settings in found:
        for group, corrected in _groups(opinions[opinions["run"] == run.id], settings, all_items).items():
            groups.setdefault((run.name_of_cell, group), []).extend(corrected)
    rows = [row for (scorer, group), corrected in groups.items() for row in _rows(scorer, group, corrected)]
    return [*rows, *_scores(request, {settings.critic.name for _, settings in found})]


def _groups(opinions: "pd.DataFrame", settings: Settings, all_items: Sequence[Item]) -> dict[str, list[Corrected]]:
    """Return all corrections of a run, those of each scenario, and those of each round if there are several."""
    values: dict[str, dict[str, Value | None]] = {}
    columns = (opinions[name] for name in ("item", "stage", "part", "value"))
    for item, stage, part, value in zip(*columns, strict=True):
        values.setdefault(part or stage, {})[str(item)] = value
    texts = {item.id: item.responses[0].text for item in all_items if item.responses}
    before = values.get("first") or values.get(BEFORE) or peer_reviews.read_answers(texts, settings.answer)
    truths = peer_reviews.reference_answers(all_items, settings.answer)
    truths = truths if settings.grader is None else dict.fromkeys(truths, RIGHT)  # it has compared with the reference
    scenarios = {item.id: scenario_name(item.scenario or "") for item in all_items}
    rounds = [f"round {number}" for number in range(1, settings.rounds + 1)] if settings.rounds > 1 else []
    found: dict[str, list[Corrected]] = {}
    for part in ("", *rounds):
        for item, value in values.get(part or "verdict", {}).items():
            if item not in truths:
                continue
            first, last = (None if v is None else is_correct(v, truths[item]) for v in (before.get(item), value))
            found.setdefault(part or ALL, []).append((item, first, last))
            if not part and len(set(scenarios.values())) > 1:
                found.setdefault(scenarios[item], []).append((item, first, last))
    return found


def _rows(scorer: str, group: str, corrected: Sequence[Corrected]) -> Iterator[PublishedRow]:
    read = [(item, a, b) for item, a, b in corrected if a is not None and b is not None]
    unread = len(corrected) - len(read)
    note = f"{unread} of {len(corrected)} left out: an answer could not be read" if unread else ""
    shares = {
        "right before": [(item, a) for item, a, _ in read],
        "right after": [(item, b) for item, _, b in read],
        "wrong to right": [(item, b) for item, a, b in read if not a],
        "right to wrong": [(item, not b) for item, a, b in read if a],
    }
    for statistic, hits in shares.items():
        yield share(scorer, group, statistic, [hit for _, hit in hits], [item for item, _ in hits], note)
    own = [item for item, _, _ in read]
    gain = mean_estimate([float(b) - float(a) for _, a, b in read], groups=own)
    yield replace(from_estimate(scorer, group, "right after less before", gain, note), items=len({*own}))


def _scores(request: Request, critics: set[str]) -> list[PublishedRow]:
    """Return the macro F1 on AIUs of the critiques by these authors, by who judged them."""
    return [
        score_row(row, row.author, f"judged by {row.source}", "f1", "AIU F1")
        for row in request.leaderboard.rows
        if row.author in critics and row.level == "macro" and row.f1.value is not None
    ]


TABLES = (
    PublishedTable(
        "realcritic", PAPER, "self-, cross- and iterative critique: right before and after the correction",
        "Whose critiques lead to right corrections?",
        "runs of critique and correction, and reference answers", corrections,
        has_reference=False, labels="no value", kinds=("answer",),
    ),
)  # fmt: skip
