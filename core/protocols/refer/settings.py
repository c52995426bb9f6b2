"""ReFeR's settings: the peers, the area chair, the form of the verdict, and the parts of the prompting schema (Figure
4)."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import AliasChoices, Field, field_validator, model_validator

from core.items import Criterion
from core.labels import Kind, Scale
from core.protocols import Judge, WithCriteria, check_unique_names
from core.protocols.prompt_parts import is_numeric
from core.verdicts import DISPUTE_THRESHOLD

VerdictForm = Literal["score", "option", "number"]
SharedReviews = Literal["scores", "comments", "both"]


class Reviewer(Judge):
    """A peer, or the area chair. The chair sees the peers as "Reviewer n": no model knows whose review it reads."""


class Settings(WithCriteria):
    """A review's configuration; every default is the paper's."""

    peers: tuple[Reviewer, ...] = Field(max_length=20)
    """The K peers, which review in parallel. The paper uses three small models (two for tasks with images) and finds
    little gain from more than three. An empty list: the chair alone, with the peers' prompt and no reviews, which is
    the single-agent baseline of reasoning tasks (zero-shot chain of thought, Table 4)."""
    chair: Reviewer
    """The area chair, which decides. The paper uses a larger model; it should be stronger than some of the peers. There
    it runs with replies of at most 256 tokens, and at temperature 1 also for a single sample, which is its default."""
    samples: int = Field(default=1, ge=1, le=200)
    """Area-chair decisions averaged: 1 is ReFeR-Lite, 20 is ReFeR-Turbo."""
    # The key was `told` before; settings files and stored runs that have it remain valid.
    shared_with_chair: SharedReviews = Field(
        default="scores", validation_alias=AliasChoices("shared_with_chair", "told")
    )
    """The part of each review that the chair sees: the scores alone, which the paper chose (Table 11), the comments
    alone, or both."""
    verdict: VerdictForm = "score"
    """The form of the verdict: a score for the item's one response, or the answer to a reasoning task: the letter of an
    option, or a number."""
    criterion: Criterion = Criterion(name="")
    """The criterion of the score, with its scale. A reasoning task has no criterion."""
    criteria: tuple[Criterion, ...] = Field(default=(), exclude_if=lambda criteria: not criteria)
    """Further criteria that the same run scores, each with its own reviews and decisions, as in the paper; the verdict
    has an outcome for each. The texts of the schema below are shared by all criteria."""
    letters: str = Field(default="ABCDE", pattern=r"^[A-Z]{2,26}$")
    """The options of a reasoning task, one letter each."""
    task: str = ""
    """The task in a few sentences, the first part of the schema (Figure 4). Empty: a general text."""
    steps: str = ""
    """Evaluation steps, one per line. Empty: general steps."""
    guidelines: str = ""
    """Evaluation guidelines: meaning of each score, the paper's addition to the schema. Write them, or have a model
    draft them from rated examples with `cli.py improve guidelines` (auto prompt, Appendix E). Empty: none."""
    rubric_in: Literal["criterion", "guidelines"] = Field(
        title="Place of the rubric", default="criterion", exclude_if=lambda place: place == "criterion"
    )
    """Where the prompts have the rubric of the criterion: below its definition, or as the evaluation guidelines, if
    there are no others (Figure 4, Appendix E)."""
    way: Literal["analyse, then rate", "score only"] = Field(
        title="Form of the reply", default="analyse, then rate", exclude_if=lambda way: way == "analyse, then rate"
    )
    """Form of the replies of peers and chair: "score only" is G-Eval's schema (Table 7)."""
    failing_peer: Literal["stops the trace", "left out"] = Field(
        default="stops the trace", exclude_if=lambda rule: rule == "stops the trace"
    )
    """A peer whose call fails, such as a model that its provider has retired. "left out": the chair decides without
    it, and the peer has no opinion."""
    chair_task: str = ""
    """The task as the chair reads it: the paper words it differently for peers and chair (Appendix N). Empty: the
    peers' task."""
    chair_rubric: str = ""
    """The criterion as the chair reads it: a definition, and the meaning of each score. Empty: the criterion's own."""
    chair_steps: str = ""
    """The chair's evaluation steps, one per line. Empty: those of the peers."""
    chair_guidelines: str = ""
    """The chair's evaluation guidelines. Empty: those of the peers."""
    altered_reviews: Mapping[str, Mapping[str, Mapping[str, str]]] = Field(
        default_factory=dict, exclude_if=lambda reviews: not reviews
    )
    """Peer -> criterion -> item -> the text that the chair reads in place of the peer's review, to measure its
    influence. `judges influence --altered` writes it."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """A verdict whose chair's samples have a contention above this is disputed: people are asked, and the value stays
    the mean. 0.5: the samples span more than half of the scale, or no answer has a majority. 1: never, except if
    answers tie."""

    @field_validator("chair", mode="before")
    @classmethod
    def _sample_at_temperature_1(cls, chair: Any) -> Any:
        spec = chair.get("spec") if isinstance(chair, dict) else None
        return {**chair, "spec": {"temperature": 1.0, **spec}} if isinstance(spec, dict) else chair

    @field_validator("letters")
    @classmethod
    def _letters_differ(cls, letters: str) -> str:
        if len(set(letters)) < len(letters):
            raise ValueError("an option's letter occurs twice")
        return letters

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        check_unique_names((reviewer.name for reviewer in (*self.peers, self.chair)), "reviewers")
        self._check_criteria()
        if self.samples > 1 and self.chair.spec.temperature == 0:
            raise ValueError(
                "a chair at temperature 0 gives the same reply every time; use temperature 1, or samples: 1"
            )
        return self

    def _check_criteria(self) -> None:
        if self.verdict == "score" and not self.criterion.name:
            raise ValueError("a score needs a criterion")
        every = (self.criterion, *self.criteria)
        unscaled = next((one for one in every if not is_numeric(one.scale)), None)
        if self.verdict == "score" and unscaled:
            raise ValueError(f"criterion {unscaled.name!r} needs a scale of numbers, such as 1, 2, 3")
        if self.verdict != "score" and self.criteria:
            raise ValueError("an answer to a reasoning task has no criteria")
        if self.chair_rubric.strip() and self.criteria:
            raise ValueError("chair_rubric is of one criterion: leave it out, or score each criterion in its own run")

    @property
    def kind(self) -> Kind:
        """The kind of the opinions."""
        return "score" if self.verdict == "score" else "answer"

    @property
    def scale(self) -> Scale:
        """The values that may be given: the criterion's scale, the letters, or any number."""
        if self.verdict == "option":
            return Scale(level="nominal", categories=tuple(self.letters))
        return self.criterion.scale if self.criterion.scale and self.verdict == "score" else Scale(level="interval")
