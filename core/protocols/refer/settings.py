"""ReFeR's settings: who reviews, who decides, what is concluded, and the parts of the prompting schema (Figure 4)."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from core.frozen import Frozen
from core.items import Criterion
from core.labels import Kind, Scale
from core.protocols import unique_names
from core.protocols.ratings import numeric
from core.trace import Spec

Wanted = Literal["score", "option", "number"]
Told = Literal["scores", "comments", "both"]


class Reviewer(Frozen):
    """A peer, or the area chair. To the chair the peers are "Reviewer n", so that no model knows whose review it is."""

    name: str = Field(min_length=1)
    spec: Spec


class Settings(Frozen):
    """A review's configuration; every default is the paper's."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    peers: tuple[Reviewer, ...] = Field(min_length=1, max_length=20)
    """Who reviews: K peers, asked at once. The paper has three small models (two where they must see), and finds that
    more than three add little."""
    chair: Reviewer
    """Who decides. The paper takes a larger model; it should be stronger than some of the peers. It is asked at
    temperature 1 there, with replies of at most 256 tokens."""
    samples: int = Field(default=1, ge=1, le=200)
    """Area-chair decisions averaged: 1 is ReFeR-Lite, 20 is ReFeR-Turbo."""
    told: Told = "scores"
    """What the chair is told of each review: the scores alone, as the paper chose in the end (Table 11), the comments
    alone, or both."""
    verdict: Wanted = "score"
    """What is concluded: a score for the item's one response, or the answer to a reasoning task: the letter of an
    option, or a number."""
    criterion: Criterion = Criterion(name="")
    """What a score is about, with its scale. A reasoning task has none."""
    letters: str = Field(default="ABCDE", pattern=r"^[A-Z]{2,26}$")
    """The options of a reasoning task, a letter each."""
    task: str = ""
    """The task in a few sentences, the first part of the schema (Figure 4). Empty: general words of ours."""
    steps: str = ""
    """Evaluation steps, one a line. Empty: general ones of ours."""
    guidelines: str = ""
    """Evaluation guidelines: when to give which score. The paper's addition to the schema; a model can draft them from
    rated examples (Appendix E), and people's own guidelines do as well. Empty: none."""

    @field_validator("letters")
    @classmethod
    def _letters_differ(cls, letters: str) -> str:
        if len(set(letters)) < len(letters):
            raise ValueError("an option's letter occurs twice")
        return letters

    @model_validator(mode="after")
    def _fits(self) -> Self:
        unique_names.differ((one.name for one in (*self.peers, self.chair)), "reviewers")
        if self.verdict == "score" and not self.criterion.name:
            raise ValueError("a score needs a criterion")
        if self.verdict == "score" and not numeric(self.criterion.scale):
            raise ValueError(f"criterion {self.criterion.name!r} needs a scale of numbers, such as 1, 2, 3")
        if self.samples > 1 and self.chair.spec.temperature == 0:
            raise ValueError("a chair at temperature 0 says the same every time; give it temperature 1, or samples: 1")
        return self

    @property
    def kind(self) -> Kind:
        """What the opinions are about."""
        return "score" if self.verdict == "score" else "answer"

    @property
    def scale(self) -> Scale:
        """The values that may be given: the criterion's scale, the letters, or any number."""
        if self.verdict == "option":
            return Scale(level="nominal", categories=tuple(self.letters))
        return self.criterion.scale if self.criterion.scale and self.verdict == "score" else Scale(level="interval")
