"""Settings of the example: a judge and the criteria."""

from pydantic import Field

from tiebreak import Criterion, Frozen, Judge


class Settings(Frozen):
    """One judge on several criteria."""

    judge: Judge
    """The only judge."""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    """The criteria, each judged in a separate ask."""
