"""DnA-Eval's settings: how aspects are defined, scored and weighted (arXiv:2405.15329)."""

from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from core.frozen import Frozen
from core.items import Criterion, Item
from core.protocols import UNIQUE_JUDGES, Judge
from core.verdicts import DISPUTE_THRESHOLD

Aggregation = Literal["weighted sum", "chain of aspects"]
Totals = Literal["normalise", "as stated", "refuse"]
# The qualities on which annotators rate a set of aspects, 1 to 5 (Table 3, Appendix D.3).
QUALITIES = ("relevance", "clarity", "comprehensiveness")


AnySettings = TypeVar("AnySettings", bound="ScoringSettings")


class ScoringSettings(Frozen):
    """The common settings of DnA-Eval and its baselines: the judges, the aspects and the range of the scores."""

    judges: Annotated[tuple[Judge, ...], UNIQUE_JUDGES] = Field(min_length=1)
    """The judges. The paper uses one model at a time, at temperature 0; several work independently, and if their
    verdicts differ an annotator decides."""
    aspects: tuple[Criterion, ...] = ()
    """The aspects, if they are predefined: the paper has helpfulness, relevance, accuracy and level of detail for
    FairEval, and creativity and depth in addition for MT-Bench. Aspects that an item brings replace them. Empty: in
    DnA-Eval the judge proposes aspects for each item, as for LLMBar and InstruSum; the baselines then name none."""
    lowest: int = Field(default=1, ge=0, le=100)
    """The worst score."""
    highest: int = Field(default=10, ge=1, le=100)
    """The best score."""
    both_orders: bool = False
    """Position calibration: the responses are scored in their order and in the reverse one, at twice the calls for
    scores, and a judge's scores are its means over both. A judge that ranks two responses in one order differently than
    in the other has a contention of 1."""
    shuffle_responses: bool = False
    """Randomise for each item the order in which the responses are read. The paper uses the original order. No effect
    with both orders."""
    rule: str = ""
    """Instructions for every judge of aspects and of responses, such as LLMBar's rule that a response first of all
    has to do what was asked (Zeng et al. 2024; see the example dna_eval-llmbar). Empty: none."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """The contention above which the judges' decisions are disputed: two judges that differ have 1, two against one
    0.5. Up to it the majority decides; 0 disputes every difference."""
    criterion: Criterion | None = None
    """The criterion under which the preference is stored and compared with labels. It is not in the prompts."""

    @field_validator("aspects", mode="before")
    @classmethod
    def _names_to_criteria(cls, aspects: object) -> object:
        if isinstance(aspects, list | tuple):
            return [{"name": aspect} if isinstance(aspect, str) else aspect for aspect in aspects]
        return aspects

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        names = [aspect.name.casefold() for aspect in self.aspects]
        if duplicate := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the aspect {duplicate!r} is given twice")
        if self.lowest >= self.highest:
            raise ValueError("the best score has to be above the worst one")
        return self

    @property
    def criterion_name(self) -> str:
        """The name of the criterion; empty for an overall preference."""
        return self.criterion.name if self.criterion else ""


class Settings(ScoringSettings):
    """How aspects are defined, scored and weighted."""

    proposed: int = Field(default=3, ge=1, le=10)
    """k: the number of aspects that a judge proposes if none are predefined. Agreement tends to rise with k, though
    not always (Figure 3); each aspect costs one more call."""
    proposer: Judge | None = None
    """The model that proposes the aspects, for all judges the same. Empty: each judge proposes its own."""
    weigher: Judge | None = None
    """The model that weights the aspects. Empty: each judge weights them itself."""
    totals: Totals = "normalise"
    """Weights that do not sum to 100 %, as the averages in Tables 7 to 10, which sum to 101 to 144. They are stored as
    the judge states them. "normalise": the weighted sum uses the same proportions with a sum of 100. "as stated": it
    uses them as they are (Eq. 3), so overall scores may leave the range of the scores. "refuse": such a reply is
    unreadable, and requested once more."""
    aggregation: Aggregation = "weighted sum"
    """How the overall score is formed. "weighted sum": the judge weights the aspects, and the sum is computed here.
    "chain of aspects": the judge sees all scores and gives the overall ones itself (the ablation of Section 4.3, after
    Gong and Mao 2023)."""


def settings_of_item(settings: AnySettings, item: Item) -> AnySettings:
    """Return the settings with the aspects that an item brings, if it has some; they replace those of the settings."""
    if not item.aspects:
        return settings
    parts = [aspect.partition(": ") for aspect in item.aspects]
    aspects = tuple(Criterion(name=name.strip(), definition=definition.strip()) for name, _, definition in parts)
    return settings.model_copy(update={"aspects": aspects})
