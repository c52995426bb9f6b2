"""DnA-Eval's settings: how aspects are found, scored and weighed; every default is the paper's (arXiv:2405.15329)."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from core.frozen import Frozen
from core.items import Criterion
from core.protocols import unique_names
from core.protocols.scaleeval.protocol import Judge

Aggregation = Literal["weighted sum", "chain of aspects"]
QUALITIES = ("relevance", "clarity", "comprehensiveness")
"""What people rate a set of aspects on, 1 to 5 (Table 3, Appendix D.3)."""


class Scoring(Frozen):
    """What DnA-Eval and its baselines have in common: who scores, on what, from what to what."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    judges: tuple[Judge, ...] = Field(min_length=1)
    """Who judges. The paper has one model at a time, at temperature 0; more work side by side without hearing each
    other, and where their verdicts differ a person decides."""
    aspects: tuple[Criterion, ...] = ()
    """The aspects, where the study gives them: the paper has helpfulness, relevance, accuracy and level of detail for
    FairEval, and creativity and depth beside them for MT-Bench. None given: DnA-Eval lets the judge propose some for
    each item, as for LLMBar and InstruSum, and the baselines name none."""
    lowest: int = Field(default=1, ge=0, le=100)
    """The worst score."""
    highest: int = Field(default=10, ge=1, le=100)
    """The best score."""
    shuffle_responses: bool = False
    """Draw for each item the order in which the responses are read. The paper reads them in their own order."""
    criterion: Criterion | None = None
    """What the preference is called, so that it meets people's labels of the same criterion. The judge is not told."""

    @field_validator("aspects", mode="before")
    @classmethod
    def _by_name(cls, told: object) -> object:
        if isinstance(told, list | tuple):
            return [{"name": one} if isinstance(one, str) else one for one in told]
        return told

    @model_validator(mode="after")
    def _fit(self) -> Self:
        unique_names.differ((judge.name for judge in self.judges), "judges")
        if twice := _twice([aspect.name.casefold() for aspect in self.aspects]):
            raise ValueError(f"the aspect {twice!r} is given twice")
        if self.lowest >= self.highest:
            raise ValueError("the best score has to be above the worst one")
        return self


class Settings(Scoring):
    """How aspects are found, scored and weighed."""

    proposed: int = Field(default=3, ge=1, le=10)
    """k: how many aspects a judge proposes where none are given. Agreement tends to rise with k, not always (Figure 3);
    each costs one more ask."""
    aggregation: Aggregation = "weighted sum"
    """Who adds up. "weighted sum": the judge weighs the aspects and we compute. "chain of aspects": the judge is shown
    all scores and gives the overall ones itself (the ablation of Section 4.3, after Gong and Mao 2023)."""


def _twice(names: Sequence[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
