"""MetaCritique's Tables 1 to 6 and Figures 3 to 5 (Sun et al. 2024, arXiv:2401.04518, Sections 3 to 5).

From Table 5 on, every scorer of critiques is side by side. Scores are MetaCritique's precision, recall and F1 from each
judge's AIUs, ratings from 1 to 7 by judges ("Single") and by people, of each repeat. Choices are those of judges
("Pairwise") and people, and of every score by the rule of `core.statistics.measures.pairwise`. The gold score of a
critique is its F1 from people's AIU labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, TypeVar

import numpy as np

from core import critique_ratings
from core.critique_ratings import SEVEN_POINT_SCALE
from core.critiques import Critique, hypothesis_critiques
from core.labels import Scale
from core.protocols.critique_baselines.protocol import PAIR_SEPARATOR, QUALITY, REFINED
from core.statistics.data.arrays import Estimate
from core.statistics.data.dataset import Frames
from core.statistics.data.frames import select_rows
from core.statistics.measures.continuous import FUNCTIONS
from core.statistics.measures.means import mean_estimate
from core.statistics.measures.pairwise import preference_of_scores, win
from core.statistics.reports.experiment_differences import axis_differences
from core.statistics.reports.experiments import RunOfCell
from core.wording import equate_p, format_count, join_notes, repeats_note
from storage.db import connections
from storage.reports.alignment import FIRST_OPINION, AlignmentData
from storage.reports.critiques import PEOPLE, SCORES, CritiqueData, Row, ScoredCritique, load_data
from storage.reports.published.rows import (
    DATA_SET,
    PublishedRow,
    PublishedTable,
    Request,
    evaluators,
    from_estimate,
    mean_rows,
    share,
)

PAPER = "MetaCritique, Sun et al. 2024"
AIUS = "people's true/false labels of AIUs"
# Item, critique.
Key = tuple[str, str]
# Item, first critique, second critique.
PairKey = tuple[str, str, str]
K = TypeVar("K")
V = TypeVar("V")
# The values of each repeat.
Repeats = Sequence[Mapping[K, V]]
GROUPS = {"people": "human", "llm": "llm"}
SCORE_FIELDS = {"Meta-P": "precision", "Meta-R": "recall", "Meta-F1": "f1"}
RATINGS = f"ratings {SEVEN_POINT_SCALE.categories[0]}-{SEVEN_POINT_SCALE.categories[-1]}"


@dataclass(frozen=True)
class CritiqueScorers:
    """The scores and choices of all scorers."""

    gold: Mapping[Key, float]
    """People's F1."""
    scores: Mapping[str, Repeats[Key, float]]
    choices: Mapping[str, Repeats[PairKey, int]]
    """Direct choices between two critiques: 1, 2 or 0."""
    refined: Mapping[str, Repeats[PairKey, int]]
    """By the judge of refined answers, or "people": which answer is better, the one refined by the first critique
    (1), by the second (2), or neither (0)."""
    groups: Mapping[Key, str]
    """Whether a critique is "human" or "llm"."""
    pairs: Sequence[PairKey]
    """Every two critiques of an item whose authors are of the same group."""

    def preferences(self) -> dict[str, Repeats[PairKey, int]]:
        """Return the choices of every scorer on the pairs: direct ones, and those that its scores imply."""
        implied = {name: [self._preferences_of(scores) for scores in repeats] for name, repeats in self.scores.items()}
        return {**implied, **self.choices}

    def gold_preferences(self) -> dict[PairKey, int]:
        """Return which of two critiques has the higher gold F1."""
        return self._preferences_of(self.gold)

    def group_of_pair(self, pair: PairKey) -> str:
        """Return "human" or "llm" if both critiques are of that group, otherwise "mixed"."""
        item, first, second = pair
        groups = {self.groups.get((item, first)), self.groups.get((item, second))}
        return str(groups.pop()) if len(groups) == 1 else "mixed"

    def _preferences_of(self, scores: Mapping[Key, float]) -> dict[PairKey, int]:
        values = {
            (item, first, second): preference_of_scores(scores.get((item, first)), scores.get((item, second)))
            for item, first, second in self.pairs
        }
        return {pair: choice for pair, choice in values.items() if choice is not None}


def _load_scorers(request: Request) -> CritiqueScorers:
    """Return the scorers of a study, from the truth values of AIUs, and from ratings and choices."""
    data = request.data
    with connections.reading(request.engine) as session:
        critique_data = load_data(session, request.study.id, data.choices)
    names = evaluators(request, map(str, data.opinions["judge"].unique()) if len(data.opinions) else ())
    scored = critique_data.scored()
    scores: dict[str, Repeats[Key, float]] = {}
    for source, critiques in scored.items():
        if source != PEOPLE:
            scores |= {f"{source}: {title}": _score_repeats(critiques, field) for title, field in SCORE_FIELDS.items()}
    scores |= {f"{scorer}: {RATINGS}": of for scorer, of in _given(data, "likert", QUALITY, names).items()}
    groups, pairs = _groups_and_pairs(critique_data)
    return CritiqueScorers(
        gold=_scores(scored[PEOPLE], "f1"),
        scores={name: repeats for name, repeats in scores.items() if any(repeats)},
        choices=_given(data, "preference", QUALITY, names),
        refined=_given(data, "preference", REFINED, names),
        groups=groups,
        pairs=pairs,
    )


def _scores(critiques: Sequence[ScoredCritique], field: str) -> dict[Key, float]:
    """Return the defined scores: those of critiques with at least one readable AIU."""
    values = {(scored.item, scored.critique.id): getattr(scored.score, field) for scored in critiques}
    return {key: float(value) for key, value in values.items() if value is not None}


def _score_repeats(critiques: Sequence[ScoredCritique], field: str) -> Repeats[Key, float]:
    numbers = sorted({scored.repeat for scored in critiques})
    return [_scores([scored for scored in critiques if scored.repeat == number], field) for number in numbers]


def _given(data: AlignmentData, kind: str, criterion: str, names: Mapping[str, str]) -> dict[str, Repeats[Any, Any]]:
    """Return scorer, or "people", -> critique or pair of critiques -> its rating or choice, in each repeat.

    People's are those of the reference, by default adjudicated, or their mean rating; a tie of their labels is no
    choice.
    """
    opinions, gold = (select_rows(frame, kind, criterion) for frame in (data.opinions, data.gold))
    is_rating = kind == "likert"
    rows: list[tuple[Any, ...]] = []
    if len(opinions):
        given = opinions[opinions["value"].notna() & ~opinions["judge"].str.endswith(FIRST_OPINION)]
        rows += zip(*(given[name] for name in ("judge", "item", "part", "value")), strict=True)
    if len(gold):
        column = "number" if is_rating else "value"
        given = gold[gold[column].notna()]
        rows += [(PEOPLE, *row) for row in zip(given["item"], given["part"], given[column], strict=True)]
    values: dict[str, dict[Any, Any]] = {}
    for name, item, part, value in rows:
        key = (str(item), *([str(part)] if is_rating else str(part).split(PAIR_SEPARATOR, 1)))
        if is_rating or len(key) == 3:
            values.setdefault(str(name), {})[key] = float(value) if is_rating else int(value)
    found: dict[str, list[Mapping[Any, Any]]] = {}
    for name, of_judge in values.items():
        found.setdefault(names.get(name, name), []).append(of_judge)
    return {**found}


def _groups_and_pairs(data: CritiqueData) -> tuple[dict[Key, str], list[PairKey]]:
    groups: dict[Key, str] = {}
    pairs: list[PairKey] = []
    for item, critiques in data.critiques.items():
        hypotheses = hypothesis_critiques(critiques)
        groups |= {(item, critique.id): GROUPS[critique.source] for critique in hypotheses}
        pairs += [(item, a.id, b.id) for a, b in combinations(hypotheses, 2) if _comparable(a, b)]
    return groups, pairs


def _comparable(first: Critique, second: Critique) -> bool:
    """Return whether the paper compares two critiques: of the same response, by authors of the same group."""
    return first.of == second.of and first.source == second.source


def scores(request: Request, level: str) -> list[PublishedRow]:
    """Return precision, recall and F1 by author and source, at one level or, for "", at both."""
    return [
        score_row(row, row.source, f"{row.author}, {row.level}", name, name)
        for row in request.leaderboard.rows
        if level in ("", row.level) and row.precision.value is not None
        for name in SCORES
    ]


def score_row(row: Row, scorer: str, group: str, score: str, statistic: str) -> PublishedRow:
    """Return a score of the leaderboard, with the number of critiques if items have several."""
    count = f"{row.critiques:,} critiques of {row.items:,} items" if row.items < row.critiques else ""
    estimate: Estimate = getattr(row, score)
    notes = "; ".join(filter(None, (count, row.reason)))
    return PublishedRow(scorer, group, statistic, estimate.value, estimate.low, estimate.high, row.items, notes)


def data_set(request: Request) -> list[PublishedRow]:
    """Return the numbers of critiques and of their AIUs, by their authors (Table 1)."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for item, critique in _critiques(request):
        groups.setdefault(_group(critique), []).append((item, float(len(critique.aius or ()))))
    rows = []
    for group, found in sorted(groups.items()):
        of_items, counts = zip(*found, strict=True)
        number = PublishedRow(DATA_SET, group, "critiques", float(len(counts)), None, None, len({*of_items}))
        mean = mean_estimate(counts, groups=of_items, resamples=request.resamples)
        rows += [number, replace(from_estimate(DATA_SET, group, "AIUs of a critique", mean), items=number.items)]
    return rows


def _critiques(request: Request) -> list[tuple[str, Critique]]:
    """Return the critiques of a study with their items."""
    with connections.reading(request.engine) as session:
        of_items = load_data(session, request.study.id).critiques
    return [(item, critique) for item, of_item in of_items.items() for critique in of_item]


def _group(critique: Critique) -> str:
    return "reference" if critique.role == "reference" else GROUPS[critique.source]


def text_ratings(request: Request) -> list[PublishedRow]:
    """Return people's mean ratings from 1 to 7 of reference answers, reference critiques and AIUs (Table 3)."""
    authors = {(item, critique.id): _group(critique) for item, critique in _critiques(request)}
    rows = []
    for criterion in (
        critique_ratings.REFERENCE_ANSWER, critique_ratings.REFERENCE_CRITIQUE, critique_ratings.AIU_EXTRACTION,
    ):  # fmt: skip
        labels = select_rows(request.data.labels, "likert", criterion.name)
        by_target: dict[Key, list[float]] = {}
        columns = (labels["item"], labels["part"], labels["value"]) if len(labels) else ((), (), ())
        for item, part, value in zip(*columns, strict=True):
            by_target.setdefault((str(item), str(part)), []).append(float(value))
        groups = {key: authors.get(key, "") for key in by_target}
        for group in dict.fromkeys(groups.values()):
            keys = [key for key in by_target if groups[key] == group]
            means = [float(np.mean(by_target[key])) for key in keys]
            estimate = mean_estimate(means, groups=[item for item, _ in keys], resamples=request.resamples)
            name = f"{criterion.name}, {group}" if group else criterion.name
            rows.append(from_estimate("people", name, "mean rating", estimate))
    return rows


def aiu_accuracy(request: Request) -> list[PublishedRow]:
    """Return the share of AIUs on which each judge equals people, by task and authors (Table 4)."""
    rows = []
    for row in request.leaderboard.accuracies:
        unread = f"{row.unread} unreadable, left out" if row.unread else ""
        note = "; ".join(filter(None, (unread, row.reason)))
        subject = row.judge, f"{row.task}, {row.critiques}", "accuracy"
        found = row.accuracy
        rows.append(PublishedRow(*subject, found.value, found.low, found.high, row.aius, note))
    return rows


def correlations(request: Request) -> list[PublishedRow]:
    """Return each score's correlations with the gold F1, by the critiques' authors (Table 5)."""
    scorers = _load_scorers(request)
    baselines = [name for name in scorers.scores if name.endswith(RATINGS) and not name.startswith("people")]
    rows: list[PublishedRow] = []
    for name, repeats in scorers.scores.items():
        for group in (*dict.fromkeys(GROUPS.values()), "all"):
            keys = [key for key in scorers.gold if group in ("all", scorers.groups.get(key))]
            gold = {key: scorers.gold[key] for key in keys if _is_scored(key, repeats)}
            if gold:
                rows += _correlations_of(name, group, repeats, gold, request.resamples)
                others = {baseline: scorers.scores[baseline] for baseline in baselines if baseline != name}
                rows += _less_baselines(name, group, repeats, gold, others, request.resamples)
    return rows


def _is_scored(key: Key, repeats: Repeats[Key, float]) -> bool:
    return any(key in values for values in repeats)


def _frames(
    group: str, scorers: Mapping[str, Repeats[Key, float]], gold: Mapping[Key, float]
) -> tuple[Frames, dict[int, RunOfCell]]:
    """Return scores of critiques with their gold, and the run of each repeat of a scorer."""
    import pandas as pd

    def frame(rows: Sequence[tuple[object, ...]], *columns: str) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=["item", "part", *columns]).assign(kind="score", criterion=group)

    every = [(name, number, values) for name, of in scorers.items() for number, values in enumerate(of, 1)]
    values = [(*key, of[key], run, name) for run, (name, _, of) in enumerate(every) for key in gold if key in of]
    reference = frame([(*key, value) for key, value in gold.items()], "value")
    scales = {("score", group): Scale(level="interval", low=0, high=SEVEN_POINT_SCALE.categories[-1])}
    opinions = frame(values, "value", "run", "judge")
    runs = {run: RunOfCell((name,), number) for run, (name, number, _) in enumerate(every)}
    return Frames(frame([], "rater", "value"), opinions, reference, scales), runs


def _correlations_of(
    name: str, group: str, repeats: Repeats[Key, float], gold: Mapping[Key, float], resamples: int
) -> list[PublishedRow]:
    """Return the means over the repeats of a scorer's correlations, as in every other table."""
    rows = mean_rows(*_frames(group, {name: repeats}, gold), {function: function for function in FUNCTIONS}, resamples)
    return [replace(row, weighted=False) for row in rows]  # people's F1 counts every critique once


def _less_baselines(
    name: str,
    group: str,
    repeats: Repeats[Key, float],
    gold: Mapping[Key, float],
    baselines: Mapping[str, Repeats[Key, float]],
    resamples: int,
) -> Iterator[PublishedRow]:
    """Yield the difference in Pearson's r from each single rating by a judge, by the paired bootstrap (Koehn 2004).

    Of the means over the repeats of both, as in their rows, on the critiques that both have scored.
    """
    for baseline, others in baselines.items():
        shared = {key: value for key, value in gold.items() if _is_scored(key, others)}
        if not shared:
            continue
        frames, runs = _frames(group, {name: repeats, baseline: others}, shared)
        for row in axis_differences(frames, runs, ("scorer",), "pearson", resamples=resamples):
            p = f"{equate_p(row.p)} (paired bootstrap)" if row.p is not None else ""
            part = f"on {len(shared):,} of {len(gold):,} critiques" if len(shared) < len(gold) else ""
            note, statistic = join_notes(p, part, row.reason), f"pearson less {baseline}"
            yield PublishedRow(name, group, statistic, row.difference, row.low, row.high, row.items, note)


def pair_agreement(request: Request) -> list[PublishedRow]:
    """Return how often each scorer's choice between two critiques is that of the gold F1 (Figure 3)."""
    scorers = _load_scorers(request)
    gold = scorers.gold_preferences()
    return [
        _pair_row(name, group, [pair for pair in gold if scorers.group_of_pair(pair) == group], repeats, gold)
        for name, repeats in scorers.preferences().items()
        for group in dict.fromkeys(scorers.group_of_pair(pair) for pair in gold if any(pair in one for one in repeats))
    ]


def _pair_row(
    name: str,
    group: str,
    pairs: Sequence[PairKey],
    repeats: Repeats[PairKey, int],
    gold: Mapping[PairKey, int],
) -> PublishedRow:
    used = [(pair, choices[pair]) for choices in repeats for pair in pairs if pair in choices]
    equal = [choice == gold[pair] for pair, choice in used]
    ties = sum(choice == 0 for _, choice in used), sum(gold[pair] == 0 for pair, _ in used)
    without = len(pairs) * len(repeats) - len(used)
    note = join_notes(
        repeats_note(len(repeats)),
        f"ties: {ties[0]} by the scorer, {ties[1]} by gold; a tie equals a tie only",
        f"{format_count(without, 'pair')} without a choice" if without else "",
    )
    return share(name, group, "agreement", equal, [pair[0] for pair, _ in used], note)


def refinement_wins(request: Request) -> list[PublishedRow]:
    """Return how often the answer refined by each scorer's better critique is the better one (Figures 4 and 5)."""
    scorers = _load_scorers(request)
    preferences = {"gold: Meta-F1": [scorers.gold_preferences()], **scorers.preferences()}
    return [
        row
        for judge, outcomes in scorers.refined.items()
        for name, choices in preferences.items()
        for row in _wins(name, judge, choices, outcomes)
    ]


def _wins(
    name: str, judge: str, choices: Repeats[PairKey, int], outcomes: Repeats[PairKey, int]
) -> Iterator[PublishedRow]:
    """Yield the shares over every repeat of the scorer with every repeat of the answers."""
    every = product(outcomes, choices)
    both = [(pair[0], found[pair], chosen[pair]) for found, chosen in every for pair in found if pair in chosen]
    decided = [item for item, _, choice in both if choice]
    won = [win(outcome, choice) for _, outcome, choice in both if choice]
    tied = len(both) - len(decided)
    answers = f"answers of {len(outcomes)} repeats" if len(outcomes) > 1 else ""
    left_out = f"{format_count(tied, 'pair')} that the scorer ties left out" if tied else ""
    note = join_notes(repeats_note(len(choices)), join_notes(answers, left_out))
    group = f"refined answers compared by {judge}"
    for statistic, value in (("win", 1.0), ("tie", 0.5), ("loss", 0.0)):
        yield share(name, group, statistic, [one == value for one in won], decided, note)
    estimate = mean_estimate(won, groups=decided)
    row = from_estimate(name, group, "win rate", estimate, join_notes("a tie is one half", note))
    yield replace(row, items=len({*decided}))


TABLES = (
    PublishedTable(
        "metacritique-1", PAPER, "Table 1: critiques and their AIUs", "How many AIUs do critiques have?",
        "critiques with AIUs", data_set, has_reference=False, labels="no value", kinds=("aiu_precision", "aiu_recall"),
    ),
    PublishedTable(
        "metacritique-2", PAPER, "Table 2: gold scores", "How good are the critiques of people and of models?", AIUS,
        lambda request: scores(request, ""),
        has_reference=False, labels="values of people", kinds=("aiu_precision", "aiu_recall"),
    ),
    PublishedTable(
        "metacritique-3", PAPER, "Table 3: ratings of generated texts",
        "How good are the reference answers, the reference critiques and the AIUs?",
        "people's ratings from 1 to 7 of these texts", text_ratings,
        has_reference=False, kinds=("likert",),
    ),
    PublishedTable(
        "metacritique-4", PAPER, "Table 4: accuracy on AIUs", "How often does each judge label an AIU as people do?",
        f"{AIUS} and a run of MetaCritique", aiu_accuracy,
        has_reference=False, kinds=("aiu_precision", "aiu_recall"),
    ),
    PublishedTable(
        "metacritique-5", PAPER, "Table 5: correlation with the gold F1", "Which score orders critiques as people do?",
        f"{AIUS}, and runs of MetaCritique or of critique ratings, or people's ratings", correlations,
        kinds=("aiu_precision", "aiu_recall"),
    ),
    PublishedTable(
        "metacritique-figure-3", PAPER, "Figure 3: agreement on pairs of critiques",
        "Which scorer picks the better of two critiques as the gold F1 does?",
        f"{AIUS}, and any scores or comparisons of critiques", pair_agreement, kinds=("aiu_precision", "aiu_recall"),
    ),
    PublishedTable(
        "metacritique-figure-4", PAPER, "Figures 4 and 5: win rate of refined answers",
        "Does the better critique lead to the better answer?",
        "a run of critique refinement, or people's comparisons of refined answers", refinement_wins,
        kinds=("preference/refined answer",),
    ),
    PublishedTable(
        "metacritique-6", PAPER, "Table 6: leaderboard of critique models", "Which author writes the best critiques?",
        "a run of MetaCritique, or people's labels of AIUs", lambda request: scores(request, "macro"),
        has_reference=False, labels="values of people", kinds=("aiu_precision", "aiu_recall"),
    ),
)  # fmt: skip
