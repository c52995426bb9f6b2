"""Every scorer of a study's critiques, side by side: MetaCritique's scores, baselines and people (Sections 4.1 to 4.6).

Scores are MetaCritique's precision, recall and F1 from each judge's AIUs, ratings from 1 to 7 by judges ("Single") and
by people, of each repeat. Choices are those of judges ("Pairwise") and people, and of every score by the rule of
`core.statistics.conversions`. The gold score of a critique is its F1 from people's AIU labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

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
    """Return the scorers of a study."""
    with connections.reading(request.engine) as session:
        critique_data = load_data(session, request.study.id, request.data.choices)
    opinions = request.data.opinions
    judges = map(str, opinions["judge"].unique()) if len(opinions) else ()
    return _build(critique_data, request.data, evaluators(request, judges))


def _build(critique_data: CritiqueData, data: AlignmentData, names: Mapping[str, str]) -> CritiqueScorers:
    """Return the scorers from the truth values of AIUs, and from ratings and choices; `names`: judge -> its scorer."""
    scored = critique_data.scored()
    scores: dict[str, Repeats[Key, float]] = {}
    for source, critiques in scored.items():
        if source != PEOPLE:
            scores |= {f"{source}: {title}": _score_repeats(critiques, field) for title, field in SCORES.items()}
    scores |= {f"{scorer}: {RATINGS}": ratings for scorer, ratings in _judge_ratings(data, names).items()}
    if people := _people_ratings(data):
        scores[f"{PEOPLE}: {RATINGS}"] = [people]
    groups, pairs = _groups_and_pairs(critique_data)
    return CritiqueScorers(
        gold=_scores(scored[PEOPLE], "f1"),
        scores={name: repeats for name, repeats in scores.items() if any(repeats)},
        choices=_choices(data, QUALITY, names),
        refined=_choices(data, REFINED, names),
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


def _by_scorer(values: Mapping[str, Mapping[K, V]], names: Mapping[str, str]) -> dict[str, Repeats[K, V]]:
    """Return scorer -> its values in each repeat from those of each judge, whose scorer is in `names`."""
    found: dict[str, list[Mapping[K, V]]] = {}
    for judge, of_judge in values.items():
        found.setdefault(names.get(judge, judge), []).append(of_judge)
    return {**found}


def _judge_ratings(data: AlignmentData, names: Mapping[str, str]) -> dict[str, Repeats[Key, float]]:
    """Return scorer -> critique -> its rating, in each repeat."""
    rows = select_rows(data.opinions, "likert", QUALITY)
    ratings: dict[str, dict[Key, float]] = {}
    if rows.empty:
        return {}
    rows = rows[rows["value"].notna() & ~rows["judge"].str.endswith(FIRST_OPINION)]
    for judge, item, part, value in zip(rows["judge"], rows["item"], rows["part"], rows["value"], strict=True):
        ratings.setdefault(str(judge), {})[str(item), str(part)] = float(value)
    return _by_scorer(ratings, names)


def _people_ratings(data: AlignmentData) -> dict[Key, float]:
    """Return critique -> its rating by the reference, which by default is adjudicated or people's mean."""
    rows = select_rows(data.gold, "likert", QUALITY)
    rows = rows[rows["number"].notna()] if len(rows) else rows
    return {
        (str(item), str(part)): float(number)
        for item, part, number in zip(rows["item"], rows["part"], rows["number"] if len(rows) else [], strict=True)
    }


def _choices(data: AlignmentData, criterion: str, names: Mapping[str, str]) -> dict[str, Repeats[PairKey, int]]:
    """Return scorer, or "people", -> pair -> its choice under a criterion, in each repeat.

    A tie of people's labels is no choice.
    """
    choices: dict[str, dict[PairKey, int]] = {}
    opinions = select_rows(data.opinions, "preference", criterion)
    if len(opinions):
        opinions = opinions[opinions["value"].notna() & ~opinions["judge"].str.endswith(FIRST_OPINION)]
    columns = ("judge", "item", "part", "value")
    rows = list(zip(*(opinions[name] for name in columns), strict=True)) if len(opinions) else []
    gold = select_rows(data.gold, "preference", criterion)
    if len(gold):
        gold = gold[gold["value"].notna()]
        rows += [(PEOPLE, *row) for row in zip(gold["item"], gold["part"], gold["value"], strict=True)]
    for name, item, part, value in rows:
        first, separator, second = str(part).partition(PAIR_SEPARATOR)
        if separator:
            choices.setdefault(str(name), {})[str(item), first, second] = int(value)
    return _by_scorer(choices, names)


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
