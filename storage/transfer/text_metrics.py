"""Metrics of texts as judges: their scores against the items' references become the verdicts of a run of their own.

Optional libraries compute them: requirements-metrics.txt installs them. ROUGE: Lin 2004. BLEU: Papineni et al. 2002, by
sacreBLEU (Post 2018, arXiv:1804.08771). chrF: Popović 2015. BERTScore: Zhang et al. 2020, arXiv:1904.09675. Each is a
score from 0 to 1 of a single text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.mapping.judges import convert
from core.formats.records import Record, RunRecord, TraceRecord
from core.items import Item, pair_numbers, pair_parts
from core.labels import PREFERENCE, Kind, Opinion, Scale, Value
from core.trace import Outcome, Verdict, VerdictReached
from storage.db.connections import reading
from storage.db.tables import TargetRow
from storage.runs import runs
from storage.studies import items, studies
from storage.transfer import imports

# Scores of texts against their references, both of the same length.
Scorer = Callable[[Sequence[str], Sequence[str]], list[float]]


@dataclass(frozen=True)
class Metric:
    """A metric, and the library that computes it."""

    title: str
    module: str
    package: str
    variant: str
    """What the library computes, in its own words."""
    scorer: Callable[[Any], Scorer]
    """Returns the scorer of the imported module."""


def _rouge(variant: str) -> Callable[[Any], Scorer]:
    def scorer(module: Any) -> Scorer:
        own = module.RougeScorer([variant], use_stemmer=True)
        return lambda texts, references: [
            float(own.score(reference, text)[variant].fmeasure)
            for text, reference in zip(texts, references, strict=True)
        ]

    return scorer


def _sacrebleu(function: str) -> Callable[[Any], Scorer]:
    def scorer(module: Any) -> Scorer:
        own = getattr(module, function)
        return lambda texts, references: [
            min(1.0, float(own(text, [reference]).score) / 100)
            for text, reference in zip(texts, references, strict=True)
        ]

    return scorer


def _bert_score(module: Any) -> Scorer:
    def score(texts: Sequence[str], references: Sequence[str]) -> list[float]:
        try:
            _, _, f1 = module.score(list(texts), list(references), lang="en", rescale_with_baseline=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise TiebreakError(f"The model of BERTScore cannot be loaded here: {type(error).__name__}.") from None
        return [min(1.0, max(0.0, float(value))) for value in f1]

    return score


_ROUGE, _BLEU = ("rouge_score.rouge_scorer", "rouge-score"), ("sacrebleu", "sacrebleu")
METRICS: Mapping[str, Metric] = {
    "rouge-1": Metric("ROUGE-1", *_ROUGE, "rouge1 F1, stemmer", _rouge("rouge1")),
    "rouge-2": Metric("ROUGE-2", *_ROUGE, "rouge2 F1, stemmer", _rouge("rouge2")),
    "rouge-l": Metric("ROUGE-L", *_ROUGE, "rougeL F1, stemmer", _rouge("rougeL")),
    "bleu": Metric("BLEU-4", *_BLEU, "sentence_bleu, exponential smoothing", _sacrebleu("sentence_bleu")),
    "chrf": Metric("chrF", *_BLEU, "sentence_chrf", _sacrebleu("sentence_chrf")),
    "bert-score": Metric("BERTScore", "bert_score", "bert-score", "F1, roberta-large, no baseline", _bert_score),
}


def load_metric(name: str) -> tuple[Scorer, str]:
    """Return the scorer of a metric, and its library with version; raises TiebreakError where it is not installed."""
    metric = METRICS.get(name)
    if metric is None:
        raise TiebreakError(f"There is no metric {name!r}; there are {', '.join(METRICS)}.")
    try:
        module = import_module(metric.module)
    except ImportError:
        raise TiebreakError(
            f"{metric.title} needs the library {metric.package}: pip install -r requirements-metrics.txt."
        ) from None
    return metric.scorer(module), f"{metric.package} {version(metric.package)} ({metric.variant})"


UNIT = Scale(level="interval", low=0.0, high=1.0)
NO_REFERENCE = "the item has no reference"
OWN_REFERENCE = "the response is of the system that the references are from"
# Kind, criterion and whether it is of single responses of items with several -> its scale.
Targets = Mapping[tuple[Kind, str, bool], Scale]


@dataclass(frozen=True)
class MetricCounts:
    """What a metric scored."""

    imported: imports.ImportCounts
    scored: int
    """Responses with a score."""
    own: int
    """Responses without one: those of a system that the references are from."""

    def summary(self) -> str:
        """Return the counts as a phrase."""
        left_out = f"; {self.own:,} left out, which are the references themselves" if self.own else ""
        return f"{self.imported.summary()}: n = {self.scored:,} responses with a score{left_out}"


def add_run(engine: Engine, study: studies.Study, metric: str, name: str = "") -> MetricCounts:
    """Score every response with a metric, and store the scores as an imported run.

    The score of a response is moved linearly from 0 to 1 onto the scale of each criterion for scores that the study has
    targets for, on an item with several responses those of one response each; the higher score of a pair is the
    preference on each criterion for preferences. A system whose responses are the reference on each of its items (the
    original responses of Topical-Chat) has no score, and its pairs no preference. Raises TiebreakError if the metric is
    not installed, no item has a reference, or the study has a run of this name.
    """
    with reading(engine) as session:
        found = items.of_study(session, study.id)
        names = {run.name for run in runs.of_study(session, study.id)}
        targets = _targets(session, study.id)
    scorer, library = load_metric(metric)
    named = name or METRICS[metric].title
    if named in names:
        raise TiebreakError(f"The study has a run called {named!r}; name another one.")
    answers = [
        (item, number, answer) for item in found if item.reference for number, answer in enumerate(item.responses, 1)
    ]
    others = {answer.system for item, _, answer in answers if answer.text != item.reference}
    compared = [answer for answer in answers if answer[2].system is None or answer[2].system in others]
    if not compared:
        raise TiebreakError("No item has a reference and another response, which a metric compares.")
    values = scorer([answer.text for *_, answer in compared], [item.reference or "" for item, *_ in compared])
    scores = {(item.id, number): value for (item, number, _), value in zip(compared, values, strict=True)}
    has_pairs = all(len(item.responses) > 1 for item, *_ in compared)
    protocol = "single-judge" if has_pairs and {kind for kind, *_ in targets} == {"preference"} else "single-score"
    settings = {"judge": {"name": named, "spec": {"model": library}}}
    records: list[Record] = [RunRecord(name=named, protocol=protocol, settings=settings)]
    for item in found:
        own = [scores.get((item.id, number)) for number in range(1, len(item.responses) + 1)]
        for part in dict.fromkeys(["", *pair_parts(len(item.responses))]):
            if opinions := _opinions(item, part, own, named, targets):
                records.append(_trace(named, item, part, opinions))
    if len(records) == 1:
        raise TiebreakError("The study has no criterion for scores, or for preferences, that its items fit.")
    imported = imports.import_records(engine, study.name, records)
    return MetricCounts(imported, len(compared), len(answers) - len(compared))


def _trace(run: str, item: Item, part: str, opinions: tuple[Opinion, ...]) -> TraceRecord:
    outcome: Outcome = "no_verdict" if all(opinion.value is None for opinion in opinions) else "agreed"
    value = opinions[0].value if len(opinions) == 1 else None
    reason = opinions[0].problem if outcome == "no_verdict" else ""
    verdict = Verdict(outcome=outcome, value=value, opinions=opinions, reason=reason)
    return TraceRecord(run=run, item=item.id, part=part, events=(VerdictReached(verdict=verdict),))


def _targets(session: Session, study_id: int) -> Targets:
    """Return the scales of scores, and of the preferences and scores of single responses that have targets."""
    query = select(col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part)).where(
        col(TargetRow.study_id) == study_id, col(TargetRow.kind).in_(("score", "preference"))
    )
    declared = studies.scales_of_labels(session, study_id)
    scales: dict[tuple[Kind, str, bool], Scale] = {
        (kind, criterion, False): scale for (kind, criterion), scale in declared.items() if kind == "score"
    }
    for kind, criterion, part in sorted(session.execute(query.distinct()).all()):
        if kind == "preference" and (not part or pair_numbers(part)):
            scales["preference", criterion, False] = PREFERENCE
        elif kind == "score" and part.isdecimal() and (scale := declared.get(("score", criterion))):
            scales["score", criterion, True] = scale
    return scales


def _opinions(
    item: Item, part: str, scores: Sequence[float | None], judge: str, targets: Targets
) -> tuple[Opinion, ...]:
    """Return the verdicts of a pair, or of the item and its responses; those without a score have no value.

    `scores` are those of the item's responses in their order.
    """
    first, second = pair_numbers(part) or (1, 2)
    several = len(scores) > 1
    found: list[tuple[Kind, str, str, Value | None]] = []
    for (kind, criterion, single), scale in targets.items():
        if kind == "preference" and several and part in pair_parts(len(scores)):
            one, other = scores[first - 1], scores[second - 1]
            preferred = None if one is None or other is None else 0 if one == other else 1 + (other > one)
            found.append((kind, criterion, part, preferred))
        elif kind == "score" and part == "" and several == single:
            for number, score in enumerate(scores, 1):
                value = None if score is None else convert(score, UNIT, scale)
                found.append((kind, criterion, str(number) if several else "", value))
    problem = OWN_REFERENCE if item.reference else NO_REFERENCE
    return tuple(
        Opinion(
            kind=kind, judge=judge, stage="verdict", value=value, criterion=criterion, part=of,
            problem=problem if value is None else "",
        )
        for kind, criterion, of, value in found
    )  # fmt: skip
