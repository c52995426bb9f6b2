"""MetaCritique's settings: who judges, who writes what is missing, and the paper's variants."""

from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from core.frozen import Frozen
from core.protocols import unique_names
from core.trace import Spec


class Judge(Frozen):
    """Who decides about AIUs."""

    name: str = Field(min_length=1)
    spec: Spec
    recall: Spec | None = None
    """Another model for the recall task, as in the paper's Meta-Open; the same model where it is left out."""


class Settings(Frozen):
    """How critiques are evaluated; every default is the paper's."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    judges: tuple[Judge, ...] = Field(min_length=1)
    """Who decides which AIUs are factual, and which are covered. The paper has one, GPT-4; several judge apart, and
    where they differ a person decides."""
    writer: Judge | None = None
    """Who writes what the item does not bring: the reference answer, the reference critique, the AIUs. The first judge
    where nobody is named. The paper advises the best model there is, whoever judges."""
    tasks: Literal["both", "precision", "recall"] = "both"
    """Which of the two tasks are done. F1 needs both; recall says little for creative tasks, where critiques differ
    because good answers do (Section 8)."""
    answer: Literal["first", "in the same step"] = "first"
    """How the judge of precision knows the right answer. "first": a reference answer is there, or written before.
    "in the same step": it works the answer out while it judges (the paper's "GPT-4 w/o ans", 3 to 6 points worse)."""
    words: int = Field(default=120, ge=20, le=2000)
    """The limit on each rationale that the prompts name."""

    @field_validator("judges")
    @classmethod
    def _names_differ(cls, judges: tuple[Judge, ...]) -> tuple[Judge, ...]:
        unique_names.differ((judge.name for judge in judges), "judges")
        return judges

    @property
    def writing(self) -> Judge:
        """Whoever writes."""
        return self.writer or self.judges[0]
