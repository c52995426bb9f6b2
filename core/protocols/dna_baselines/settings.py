"""Settings of DnA-Eval's baselines."""

from pydantic import Field

from core.protocols.dna_eval.settings import ScoringSettings


class Settings(ScoringSettings):
    """One ask for each judge and item; every default is the paper's direct scoring."""

    reasons: bool = False
    """Off: direct scoring. On: scoring with chain of thought, an explanation before the scores."""
    words: int = Field(default=150, ge=20, le=2000)
    """Maximum number of words of an explanation, as stated in the prompt."""
