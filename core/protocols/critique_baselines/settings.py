"""Settings of MetaCritique's baselines: single ratings, pairwise comparison, refinement of the answer."""

from typing import Literal

from pydantic import Field

from core.frozen import Frozen
from core.protocols.metacritique.settings import CritiqueJudge
from core.verdicts import DISPUTE_THRESHOLD


class SingleSettings(Frozen):
    """A rating of each critique."""

    judges: tuple[CritiqueJudge, ...] = Field(min_length=1)
    """The judges that rate. The paper has one, GPT-4."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """The contention of the judges on any critique above which the verdict is disputed: the range of their ratings as a
    share of the scale. 0.5: ratings that are more than 3 apart."""


class PairwiseSettings(Frozen):
    """A comparison of each pair of critiques."""

    judges: tuple[CritiqueJudge, ...] = Field(min_length=1)
    """The judges that compare. The paper has one, GPT-4."""
    among: Literal["models", "people", "everybody"] = "models"
    """Whose critiques are compared with each other. The paper compares the critiques of models only: those of people
    differ in style, and the style would decide."""
    shuffle: bool = True
    """Randomise for each pair which critique is read first, as the paper did; no effect if both orders are asked."""
    both_orders: bool = False
    """Ask twice about each pair, once in each order. A choice that changes with the order is no preference, and has the
    contention 1."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """The contention of the choices on any pair above which the verdict is disputed: two judges that differ have 1, two
    against one 0.5."""


class RefinementSettings(PairwiseSettings):
    """A comparison of the answers that each pair of critiques leads to."""

    writer: CritiqueJudge | None = None
    """The model that refines the answers. Empty: the first judge. The paper uses GPT-4 for both."""

    @property
    def effective_writer(self) -> CritiqueJudge:
        """The writer, by default the first judge."""
        return self.writer or self.judges[0]
