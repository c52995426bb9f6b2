"""Every scorer of a study's critiques, side by side: MetaCritique's scores, baselines and people (Sections 4.1 to 4.6).

Scores are MetaCritique's precision, recall and F1 from each judge's AIUs, ratings from 1 to 7 by judges ("Single") and
by people, of each repeat. Choices are those of judges ("Pairwise") and people, and of every score by the rule of
`core.statistics.conversions`. The gold score of a critique is its F1 from people's AIU labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from core.critique_ratings import SEVEN_POINT_SCALE
from core.critiques import Critique, hypothesis_critiques
from core.protocols.critique_baselines.protocol import PAIR_SEPARATOR, QUALITY, REFINED
from core.statistics.conversions import preference_of_scores
from core.statistics.data.frames import select_rows
from storage.db import connections
from storage.reports.alignment import FIRST_OPINION, AlignmentData
from storage.reports.critiques import PEOPLE, CritiqueData, ScoredCritique, load_data
from storage.reports.published.rows import Request, evaluators

# Item, critique.
Key = tuple[str, str]
# Item, first critique, second critique.
PairKey = tuple[str, str, str]
K = TypeVar("K")
V = TypeVar("V")
# The values of each repeat.
Repeats = Sequence[Mapping[K, V]]
GROUPS = {"people": "human", "llm": "llm"}
SCORES = {"Meta-P": "precision", "Meta-R": "recall", "Meta-F1": "f1"}
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


def load(request: Request) -> CritiqueScorers:
    """Return the scorers of a study, from the truth values of AIUs, and from ratings and choices."""
    data = request.data
    with connections.reading(request.engine) as session:
        critique_data = load_data(session, request.study.id, data.choices)
    names = evaluators(request, map(str, data.opinions["judge"].unique()) if len(data.opinions) else ())
    scored = critique_data.scored()
    scores: dict[str, Repeats[Key, float]] = {}
    for source, critiques in scored.items():
        if source != PEOPLE:
            scores |= {f"{source}: {title}": _score_repeats(critiques, field) for title, field in SCORES.items()}
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
