"""Metrics of a text against a reference, computed by optional libraries: requirements-metrics.txt installs them.

ROUGE: Lin 2004. BLEU: Papineni et al. 2002, by sacreBLEU (Post 2018, arXiv:1804.08771). chrF: Popović 2015.
BERTScore: Zhang et al. 2020, arXiv:1904.09675. Each is a score from 0 to 1 of a single text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

from core.errors import TiebreakError

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


def load(name: str) -> tuple[Scorer, str]:
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
